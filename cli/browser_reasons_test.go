package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// pageReasons goes from a reason to the waits it counts, from one to the next, and to the line of the source.
func pageReasons(t *testing.T, p *pages) {
	dir := t.TempDir()
	trace := filepath.Join(dir, "heat.trace")
	if err := os.CopyFS(trace, os.DirFS(p.heat2)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../" + heatProgram)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "heat.fa"), text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := p.open(t, p.serve(t, "view", trace).url+"?lang=en")
	b.settle()
	run := b.run()
	ask := fmt.Sprintf(`(path => fetch("/api/runs/%s/" + path).then(r => r.json()))`, run)
	const reasons = `section[aria-labelledby=why] li a[href*="f.waits"]`

	b.click(reasons)
	b.wait(`location.search.includes("view=timeline") && document.querySelector(".reason output").textContent.startsWith("1 / ")`)
	b.settle()
	rows := query[[][]float64](b, ask+`("waits?" + new URLSearchParams(location.search).get("f.waits")).then(w => [[w.count, w.ns, 0], ...w.rows.map(r => [r.from, r.to, r.lane])])`)
	if len(rows) < 4 {
		t.Fatalf("there are waits %v", rows)
	}
	at := func(i int) {
		t.Helper()
		b.wait(`new URLSearchParams(location.search).get("t") === "%.0f"`, rows[i][0])
		b.wait(`(([a, z]) => a < %f && z > %f)(new URLSearchParams(location.search).get("vis").split("-"))`, rows[i][0],
			rows[i][1])
	}
	at(1) // the longest
	b.keys("n")
	at(2)
	b.keys("n")
	at(3)
	b.keys("p")
	at(2)
	b.wait(`(c => new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer).some(x => x))(document.querySelector(".map .waits"))`)
	b.picture("reason")
	b.click(`.reason button[aria-label^="Stop"]`)
	b.wait(`!document.querySelector(".reason") && !location.search.includes("waits")`)

	// The waits of every cause are what its row says.
	if wrong := query[string](b, ask+`("report").then(async r => { for (const c of r.causes.filter(c => c.part !== "extra").slice(0, 12)) {
		const w = await `+ask+`("waits?" + new URLSearchParams({factors: c.factor, producer: c.producer, consumer: c.consumer, df: c.df, ...(c.link ? {link: c.link} : {parts: c.part})}));
		if (w.ns !== c.ns) return JSON.stringify([c, w.ns]) } return "" })`); wrong != "" {
		t.Errorf("the waits of a cause are not its time: %s", wrong)
	}

	// Of an interval: the page's factors are those of its reasons.
	wall := query[float64](b, ask+`("report").then(r => r.wall_ns)`)
	from, to := int64(wall*0.3), int64(wall*0.6)
	b.do(chromedp.Navigate(fmt.Sprintf("%s/?lang=en&run=%s&sel=%d-%d&f.code=step", b.origin, run, from, to)))
	b.settle()
	b.wait(`document.querySelector("section[aria-labelledby=why] [data-scope=interval]")`)
	if wrong := query[string](b, ask+fmt.Sprintf(`("reasons?from=%d&to=%d").then(async r => { const f = await `, from,
		to)+ask+fmt.Sprintf(`("factors?windows=1&from=%d&to=%d"); return ["S", "L", "O"].filter(l => r.causes.filter(c => c.factor === l).reduce((n, c) => n + c.ns, 0) !== f.sum[f.rows.indexOf(l)]).join() })`,
		from, to)); wrong != "" {
		t.Errorf("the reasons of an interval do not add up to its factors: %s", wrong)
	}

	// A code fragment shows its line, with what it cost.
	b.do(chromedp.Navigate(fmt.Sprintf("%s/?lang=en&run=%s&pick=code:step", b.origin, run)))
	b.wait(`/import step.*/.test(document.querySelector("aside .source .here").textContent)`)
	b.wait(`/[µmn]?s$/.test(document.querySelector("aside .source .here .cost").textContent)`)
	b.quiet("reasons")

	// From a difference between two runs to its place in either.
	b = p.open(t, p.serve(t, "view", p.heat, p.heat2).url+"?lang=en&view=compare")
	b.settle()
	for i := range 2 {
		const links = `[...document.querySelectorAll("main .line a[href*='f.waits=factors']")]`
		b.wait(links + `.length > 1`)
		run := query[string](b, fmt.Sprintf(`new URLSearchParams(%s[%d].getAttribute("href")).get("run")`, links, i))
		query[bool](b, fmt.Sprintf(`(%s[%d].click(), true)`, links, i))
		b.wait(`new URLSearchParams(location.search).get("run") === %q`, run)
		b.wait(`document.querySelector(".reason output").textContent.startsWith("1 / ")`)
		b.do(chromedp.Navigate(b.origin + "/?lang=en&view=compare"))
		b.settle()
	}
	b.quiet("a difference")
}
