package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// pageBig: a trace of many events answers as a small one does.
func pageBig(t *testing.T, p *pages) {
	dir := t.TempDir()
	program, trace := filepath.Join(dir, "tasks.fa"), filepath.Join(dir, "big.trace")
	source := "C++ sub task(int i, name x) ${{ x = i; $}}\nC++ sub sum(value x) ${{ (void)x; $}}\nsub " +
		"main(int " +
		"n)\n{\n    df x;\n" +
		"    for i = 1 .. n {\n        task(i, x[i]) @ { locator_cyclic: i; req_count x[i] = 1; };\n        " +
		"sum(x[i]) @ { locator_cyclic: i + i / 8; };\n    }\n}\n"
	if err := os.WriteFile(program, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	tasks := *bigEvents / 36
	p.whyslow(t, "run", "-q", "-n", "4", "-w", "1", "--thread-clock=off", "-o", trace, program,
		fmt.Sprint(tasks))
	s := p.serve(t, "view", trace)
	b := p.open(t, s.url+"?view=timeline&lang=en")
	run := b.run()
	b.settle()
	total := query[int64](b, eventsNow)
	t.Logf("%d events", total)
	if total < int64(*bigEvents)/2 {
		t.Errorf("the trace has %d events only", total)
	}

	// The timeline: of all there are tiles; zoomed in, single CFs.
	b.picture("big-timeline")
	left, top, width, height := b.lanes()
	for i := 0; b.boxes(run) > 2000; i++ {
		if i > 40 {
			t.Fatal("zooming in finds no end")
		}
		b.zoomed("the wheel", func() {
			b.mouse(input.DispatchMouseEventTypeMouseWheel, left+0.6*width, top+height/2, 2,
				func(p *input.DispatchMouseEventParams) { p.DeltaX, p.DeltaY = 0.001, -600 })
		})
	}
	b.settle()
	b.picture("big-boxes")
	if n := b.rects(); n < 20 {
		t.Errorf("zoomed in, %d rectangles are drawn", n)
	}
	for range 3 {
		b.zoomed("D", func() { b.keys("d") })
	}
	b.slash()
	name := fmt.Sprintf("x[%d]", tasks/2)
	b.keys(name)
	b.wait(`document.querySelector("#found [aria-selected=true]")?.innerText.includes(%q)`, name)
	b.keys("\r")
	b.wait(`document.querySelector("aside h2")?.innerText === %q`, name)
	b.wait(`(([a, z], t) => a <= t && t <= z)(new URLSearchParams(location.search).get("vis").split("-").map(Number), Number(new URLSearchParams(location.search).get("t")))`)
	b.click(`aside li a[href*="pick=cf"]`)
	b.wait(`document.querySelector("aside").innerText.includes("What happened")`)
	b.keys("\x1bf")
	b.quiet("the timeline")
	for _, v := range viewNames {
		b.view(v)
		b.picture("big-" + v)
	}
	b.quiet("the views")
	b.manyEvents(total, tasks)
}

// boxes is how many CFs and gaps there are in the visible interval.
func (b *tab) boxes(run string) int {
	b.Helper()
	from, to := b.interval("vis")
	if to == 0 {
		to = 1e15
	}
	return query[int](b,
		`fetch("/api/runs/%s/boxes?from=%.0f&to=%.0f&lanes=0-3&limit=2000").then(r => r.json()).then(r => r.more || r.cfs.cf.length + r.gaps.lane.length)`, run, from, to)
}

// manyEvents scrolls and filters the list of events.
func (b *tab) manyEvents(total int64, tasks int) {
	b.Helper()
	const (
		count = `Number(document.querySelector("main .row strong").innerText.replace(/\D/g, ""))`
		// The rows in sight: whether all are there, and the number of the first.
		rows = `[...document.querySelectorAll("main .list .rows > .line .line")]`
		full = rows + `.length > 5 && ` + rows + `.every(r => r.children.length === 5)`
	)
	b.view("events")
	b.wait(`%s === %d`, count, total)
	end := query[float64](b, `fetch("/api/runs/%s").then(r => r.json()).then(r => r.wall_ns)`, b.run())
	for _, at := range []struct {
		key  string
		want int64
	}{{"End", total}, {"Home", 1}} {
		query[bool](b,
			`(e => { e.dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true})); return true })(document.querySelector("main .list [role=table]"))`, at.key)
		b.wait(`(%s) && document.querySelector("main .list .picked")?.ariaRowIndex === "%d"`, full, at.want+1) // the head is row 1
		b.wait(`new URLSearchParams(location.search).has("t")`)
	}
	// By the scroll bar to the middle.
	query[bool](b,
		`(e => { e.scrollTop = e.scrollHeight / 2; return true })(document.querySelector("main .list [role=table]"))`)
	b.wait(`(%s) && Math.abs(Number(%s[0].ariaRowIndex) / %d - 0.5) < 0.01`, full, rows, total)
	b.picture("big-events-middle")

	// The list goes where the cursor is put.
	b.do(chromedp.KeyEvent("\x1b"))
	r := query[[]float64](b,
		`(r => [r.x, r.y, r.width, r.height])(document.querySelector(".player input[type=range]").getBoundingClientRect())`)
	b.do(chromedp.MouseClickXY(r[0]+r[2]*0.75, r[1]+r[3]/2))
	b.wait(`Number(new URLSearchParams(location.search).get("t")) > %f`, end*0.7)
	b.wait(`(%s) && document.querySelector("main .list .cursor")`, full)

	// Filters by text and by kind; counted as the trace's summary counts.
	finished := query[int64](b,
		`fetch("/api/runs/%s").then(r => r.json()).then(r => r.kinds.find(k => k.event === "CFEvents.onFinished").count)`, b.run())
	b.do(chromedp.Navigate(query[string](b,
		`location.origin + location.pathname + "?view=events&lang=en&f.events.kinds=CFEvents.onFinished"`)))
	b.wait(`document.querySelector("main .row strong") && %s === %d`, count, finished)
	b.do(chromedp.SendKeys(chromedp.CSS("main input[type=search]"), "task"))
	b.wait(`%s === %d && %s.every(r => r.innerText.includes("task"))`, count, tasks, rows)
	b.picture("big-events-filtered")
	b.quiet("the events")
}
