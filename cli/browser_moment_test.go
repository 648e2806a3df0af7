package cli

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
)

// pageMoment: the program over the nodes shows what the server says is there at each moment; frames stay
// where they are; what travels is on the links; groups open down to single CFs, by mouse and keyboard; the
// order of CFs stands beside it; all of it follows while the run is played.
func pageMoment(t *testing.T, p *pages) {
	s := p.serve(t, "view", p.heat2)
	b := p.open(t, s.url+"?lang=en&theme=light&view=graphs&f.graphs.what=moment")
	b.settle()
	run := b.run()
	b.wait(`document.querySelector("main [data-moment]").textContent.startsWith("at the end")`)
	ask := func(js, path string, args ...any) int64 {
		t.Helper()
		return int64(query[float64](b, `fetch("/api/runs/%s%s").then(r => r.json()).then(r => %s)`, run,
			fmt.Sprintf(path, args...), js))
	}
	at := func(when int64) {
		t.Helper()
		b.do(chromedp.Navigate(s.url + "?lang=en&theme=light&view=graphs&f.graphs.what=moment&run=" + run + "&t=" +
			strconv.FormatInt(when, 10)))
		b.settle()
		b.wait(`document.querySelectorAll("main .side:nth-child(2) .item").length > 0`)
	}
	const frames = `[...document.querySelectorAll("main rect.node")].map(r => [r.x.baseVal.value, r.y.baseVal.value]).join()`

	// A DF, and then a CF, on its way: messages of this run take 2 ms.
	sent := ask(`r.rows[0].t`, "/events?kinds=DFEvents.onSent&limit=1&from=%d", ask("r.wall_ns", "")/3)
	at(sent + 1_000_000)
	b.wait(`document.querySelectorAll("main .flight.df").length === %d`, ask(
		`r.flights.filter(f => f.kind === "df" && f.sent <= r.t && f.received > r.t).length`, "/graph/moment?t=%d",
		sent+1_000_000))
	// As many copies of DFs as the server tells of, and links over which they go.
	b.wait(`document.querySelectorAll("main .item.df:not(.gone)").length === %d`, ask("r.dfs.length",
		"/graph/moment?t=%d", sent+1_000_000))
	b.wait(`document.querySelector("main .link title").textContent.includes("on the way")`)
	b.wait(`document.querySelector("main .side:nth-child(2) path.wait title, main .side:nth-child(2) path.child title")`)
	before := query[string](b, frames)
	b.picture("moment")
	moved := ask(`r.rows[0].t`, "/events?kinds=CFEvents.onMigrated&limit=1&from=0")
	at(moved + 1_000_000)
	b.wait(`document.querySelector("main .flight.cf")`)
	if now := query[string](b, frames); now != before || now == "" {
		t.Errorf("nodes are at %s, later at %s", before, now)
	}
	if got := query[string](b, sticksOut); got != "" {
		t.Errorf("too wide: %s", got)
	}

	if over := query[float64](b, `[...document.querySelectorAll("main .item")].filter(e => {
		const r = e.getBoundingClientRect(), top = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)
		return top?.matches(".edge") }).length`); over != 0 {
		t.Errorf("edges lie over the middle of %v items, which then do not open", over)
	}

	// Groups open by mouse and keyboard, in both pictures, and close again.
	b.click(`main .item.cf:not(.gone)[data-node="0"][aria-label$="opens"]`)
	b.wait(`document.querySelectorAll("main button.chip").length === 1 && document.querySelector("main .frame")`)
	b.wait(`document.querySelectorAll("main .item.cf[data-group*='/']").length > 0`)
	b.click("main button.chip")
	b.wait(`document.querySelectorAll("main button.chip").length === 0 && !document.querySelector("main .frame")`)
	query[bool](b, `(document.querySelector('main .item.df[data-node="0"][aria-label$="opens"]').focus(), true)`)
	b.keys("\r")
	b.wait(`document.querySelectorAll("main .item.df[data-group*='/']").length > 0`)
	b.quiet("open groups")

	// A table, saved too.
	b.click("main .side details.values summary")
	b.wait(`[...document.querySelectorAll("main .side details.values th")].some(h => h.textContent.includes("copies"))`)
	if name, data := b.save("main .side .save button", "CSV"); name != "graph-moment.csv" || !bytes.Contains(data,
		[]byte("group,node,running,ready,waiting,copies,bytes")) {
		t.Errorf("saved %s: %.200q", name, data)
	}

	// Without relations and the order of CFs.
	b.click(`main .toolbar label:nth-of-type(2) input`)
	b.wait(`document.querySelectorAll("main .side").length === 1`)

	// It follows while the run is played.
	const shown = `document.querySelector("main [data-moment]").textContent`
	was := query[string](b, shown)
	b.keys(" ")
	b.until("the graph follows", func() bool { return query[string](b, shown) != was })
	b.until("what it holds changes", func() bool {
		return query[bool](b, `[...document.querySelectorAll("main .item.df:not(.gone) .more")].map(e => e.textContent).join() !== (window.held ??= [...document.querySelectorAll("main .item.df:not(.gone) .more")].map(e => e.textContent).join())`)
	})
	b.keys(" ")
	b.quiet("the program over nodes")

	// Links differ, too: at the cursor and over time.
	b.view("links")
	b.settle()
	b.wait(`[...document.querySelectorAll("figcaption strong")].some(e => e.innerText.startsWith("How uneven the links are"))`)
	b.wait(`[...document.querySelectorAll("main strong.ellipsis")].some(e => e.innerText.startsWith("How uneven the links are"))`)
}
