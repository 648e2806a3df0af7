package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// hold replaces the page's fetch: questions that match window.held wait until it changes, and those that
// match window.refused fail.
const hold = `(() => {
	const ask = window.fetch;
	window.fetch = async (u, o) => {
		while (window.held?.test(u)) await new Promise(f => setTimeout(f, 20));
		if (window.refused?.test(u)) throw new TypeError("refused by the test");
		return ask(u, o);
	};
	return true;
})()`

// states are the looks of answers that are missing, and what filters and intervals apply to.
const states = `[...document.querySelectorAll("main [data-state]")].map(e => e.dataset.state).join()`

// bare are the tables, plots and lists that show nothing, and do not say why.
const bare = `[...document.querySelectorAll("main .table, main .plot, main .list:has(.list), main .side")].filter(e => !e.querySelector("[data-state], .line:not(.head)")).map(e => e.className + " " + e.textContent.slice(0, 80)).join()`

// pageStates: loading, failed, empty, of an interval, of a filter: each looks different, a failure can be
// tried again, and what a filter does not apply to says so.
func pageStates(t *testing.T, p *pages) {
	s := p.serve(t, "view", p.heat, p.heat2)
	b := p.open(t, s.url+"?lang=en")
	b.settle()
	query[bool](b, hold)
	for _, view := range []string{"nodes", "links", "memory", "fragments", "graphs", "graphs&f.graphs.what=codes",
		"graphs&f.graphs.what=tasks", "events", "compare", "whatif", "timeline", "overview"} {
		query[bool](b, `window.held = /\/api\/(?!updates)/, true`)
		query[bool](b, `(a => { a.href = "?lang=en&run=%s&view=%s"; document.body.append(a); a.click(); a.remove(); return true })(document.createElement("a"))`, b.run(), view)
		b.wait(`document.querySelector("main [data-state=loading] progress")`)
		b.wait(bare + ` === ""`)
		query[bool](b, `window.refused = window.held, window.held = null, true`)
		b.wait(`document.querySelector("main [data-state=failed] button")`)
		b.wait(bare + ` === ""`)
		if got := query[string](b, states); strings.Contains(got, "empty") {
			t.Errorf("%s: what failed counts as empty: %s", view, got)
		}
		// Everything that failed can be tried again where it stands, and with it goes what it hides: plots of links
		// appear once it is known which links there are, which here takes long.
		query[bool](b, `window.refused = null, window.held = /\/at\?/, true`)
		b.wait(`(e => (e?.click(), !e))(document.querySelector("main [data-state=failed] button:enabled"))`)
		query[bool](b, `window.held = null, true`)
		b.settle()
		b.wait(`!document.querySelector("main [data-state=failed], main [data-state=loading]")`)
	}
	b.quiet("held and refused questions")

	// An answer that is there stays, and says that it is old.
	b.view("nodes")
	query[bool](b, `window.refused = /\/at\?/, true`)
	b.click(`main .plots .area`)
	b.wait(`document.querySelector("main .table [data-state=failed]")`)
	query[bool](b, `window.refused = null, true`)
	b.click(`main .table [data-state=failed] button`)
	b.wait(`!document.querySelector("main [data-state=failed]")`)

	// Nothing was sent before the first CF ran: empty, and why.
	run := b.run()
	b.do(chromedp.Navigate(s.url + "?lang=en&view=links&sel=0-10&run=" + run))
	b.settle()
	b.wait(`document.querySelector("main [data-state=empty]").textContent.includes("Nothing was sent")`)
	b.wait(`document.querySelector("main [data-scope=interval]")`)

	// Filters: what obeys them, and what does not.
	b.do(chromedp.Navigate(s.url + "?lang=en&f.node=2&f.code=step&run=" + run))
	b.settle()
	const scopes = `(title => { const e = [...document.querySelectorAll("main .table, main .plot")].find(e => e.querySelector("strong")?.textContent.includes(title)); return [...e.querySelectorAll("[data-scope]")].map(c => c.dataset.scope + " " + c.textContent.replace(/[▽⟦⟧]|This filter.*/g, "").trim()).join() })(%q)`
	for title, want := range map[string]string{
		"Factors over time": "filter node 2,off code fragment step",
		"Code fragments":    "off node 2,filter code fragment step",
	} {
		if got := query[string](b, scopes, title); got != want {
			t.Errorf("%s: the chips above it are %q, not %q", title, got, want)
		}
	}
	if got := query[string](b,
		`[...document.querySelectorAll("main .table")].find(e => e.textContent.includes("Code fragments")).querySelectorAll(".rows .line").length + ""`); !strings.HasPrefix(got, "1") && got != "2" {
		t.Errorf("the table of code fragments has %s rows of step", got)
	}
	b.click(`nav a[href*="view=compare"]`)
	b.wait(`document.querySelectorAll(".bar .chip.off").length === 2`)
	b.click(`nav a[href*="view=events"]`)
	b.wait(`document.querySelectorAll(".bar .chip").length === 2 && !document.querySelector(".bar .chip.off")`)
	b.quiet("filters")
}

// pageUnset: as long as nobody has set the cursor nothing is shown of a moment; a run that died has it where
// it died; and doubts stand above everything.
func pageUnset(t *testing.T, p *pages) {
	dead := filepath.Join(t.TempDir(), "dead.trace")
	if err := os.CopyFS(dead, os.DirFS(p.heat)); err != nil {
		t.Fatal(err)
	}
	info, err := os.ReadFile(filepath.Join(dead, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	info = []byte(strings.Replace(string(info), `"ended": "done"`, `"ended": "failed"`, 1))
	if err := os.WriteFile(filepath.Join(dead, "run.json"), info, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dead, "00002.wst")); err != nil {
		t.Fatal(err)
	}
	b := p.open(t, p.serve(t, "view", p.heat).url+"?lang=en")
	b.settle()
	for _, view := range []string{"overview", "nodes", "links", "memory", "timeline", "events"} {
		b.view(view)
		if query[bool](b, `!!document.querySelector("main .area .now, main .map .now, main .list .cursor")`) {
			t.Errorf("%s: there is a cursor that nobody set", view)
		}
	}
	b.wait(`document.querySelector(".player").textContent.includes("not set")`)
	b.view("nodes")
	b.wait(`document.querySelector("main .table strong").textContent === "Nodes, on average"`)
	b.click(`main .plots .area`)
	b.wait(`document.querySelector("main .table strong").textContent.startsWith("Nodes at the cursor: ")`)
	b.quiet("no cursor")

	b = p.open(t, p.serve(t, "view", dead).url+"?lang=en")
	b.settle()
	b.wait(`document.querySelector(".player .died").textContent === "failed"`)
	b.wait(`(e => e.value === e.max)(document.querySelector(".player input[type=range]"))`)
	b.wait(`/00002|node 2/i.test(document.querySelector(".doubts").innerText)`)
	above := `document.querySelector(".doubts").getBoundingClientRect().bottom <= document.querySelector("main").getBoundingClientRect().top + 1`
	b.wait(above)
	b.view("nodes")
	b.wait(`document.querySelector(".doubts")`)
	b.quiet("a run that died")
}
