package cli

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// pageTools: what was shown before comes back, the selection adds up, hits of a search are stepped through,
// and the help lists the keys that work.
func pageTools(t *testing.T, p *pages) {
	s := p.serve(t, "view", p.heat)
	b := p.open(t, s.url+"?lang=en&view=timeline")
	b.settle()
	run := b.run()
	const vis = `new URLSearchParams(location.search).get("vis")`
	b.keys("w")
	b.wait(vis)
	shown := query[string](b, vis)
	b.keys("z")
	b.wait(vis + ` === null`)
	b.keys("Z") // with Shift
	b.wait(vis+` === %q`, shown)
	b.keys("z")
	b.wait(vis + ` === null`)

	// The sums of a selection are the server's, and the selection can be taken back.
	// It is half of the run: what happens when depends on how busy the computer is.
	wall := query[int64](b, `fetch("/api/runs/%s").then(r => r.json()).then(r => r.wall_ns)`, run)
	from, to := wall/4, wall*3/4
	b.do(chromedp.Navigate(fmt.Sprintf("%s?lang=en&view=timeline&run=%s&sel=%d-%d", s.url, run, from, to)))
	b.settle()
	b.click(`.timeline .toolbar button`, "Sums")
	b.settle()
	want := query[int64](b,
		`fetch("/api/runs/%s/factors?windows=1&from=%d&to=%d").then(r => r.json()).then(f => f.sum.filter(v => v > 0).length)`,
		run, from, to)
	b.wait(`document.querySelectorAll(".selection .table")[0].querySelectorAll(".rows .line[role=row]").length === %d`, want)
	b.wait(`document.querySelectorAll(".selection .table")[1].textContent.includes("step")`)
	b.picture("selection")
	if name, text := b.save(`.selection .save button`, "CSV"); name != "selection-factors.csv" || len(text) < 30 {
		t.Errorf("saved %q: %q", name, text)
	}

	// Hits.
	b.do(chromedp.SendKeys(chromedp.CSS("header .search input"), "step"))
	b.wait(`document.querySelectorAll("#found [role=option]").length > 3`)
	b.keys("\r")
	b.wait(`/^1 \/ \d+/.test(document.querySelector(".search output").textContent.replace(/\s+/g, " "))`)
	first := query[string](b, `new URLSearchParams(location.search).get("pick")`)
	b.click(`.search .steps button:last-child`)
	b.wait(`/^2 \/ \d+/.test(document.querySelector(".search output").textContent.replace(/\s+/g, " "))`)
	b.wait(`new URLSearchParams(location.search).get("pick") !== %q`, first)

	b.click(`header .tools button:last-child`)
	b.wait(`[...document.querySelectorAll("dialog kbd")].some(k => k.textContent === "Z Shift Z")`)
	b.quiet("tools")
}
