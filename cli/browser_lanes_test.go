package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// ownTrace is a run on two nodes of two workers each, whose CFs tell numbers of their own.
func (p *pages) ownTrace(t *testing.T) string {
	t.Helper()
	var s strings.Builder
	s.WriteString(`#run {"program":"own.fa","ended":"done"}` + "\n")
	for node := range 2 {
		fmt.Fprintf(&s,
			"#node %d\n#code 1 work atomic\n#site 1 code=1\n#kind 256 My.onStep step:Int size:Float\n", node)
		s.WriteString("0 Global.onProgramStarted\n")
		for worker := range 2 {
			for i := range 20 {
				cf := fmt.Sprintf("%d.%d", node, 1+2*i+worker)
				at := 1000 * (i + 1)
				fmt.Fprintf(&s, "%dus s%d CF.onCreated cf=%s site=1\n%dus s%d CF.onReady %s\n%dus s%d CF.onStarted %s\n"+
					"%dus s%d My.onStep %d %d.5\n%dus s%d CF.onFinished %s\n", at, worker, cf, at+10, worker, cf,
					at+20+i*5, worker, cf, at+200, worker, i, node*100+i, at+300+300*node, worker, cf)
			}
		}
		s.WriteString("22ms Global.onProgramFinished\n")
	}
	dir := t.TempDir()
	text := filepath.Join(dir, "own.txt")
	if err := os.WriteFile(text, []byte(s.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "own.trace")
	p.whyslow(t, "dump", "--parse", text, "-o", out)
	return out
}

// pageLanes: lanes are sorted, pinned and hidden; marks are kept with the trace and measured between;
// counters run below the lanes; CFs are coloured by origin, lateness and numbers of their own; a selection
// has a histogram.
func pageLanes(t *testing.T, p *pages) {
	own := p.ownTrace(t)
	s := p.serve(t, "view", own)
	b := p.open(t, s.url+"?lang=en&theme=light&view=timeline")
	b.settle()
	run := b.run()
	popover := func(label string) { b.click(".timeline .popover > button", label+" ▾") }
	filter := func(name, want string) {
		t.Helper()
		b.wait(`(new URLSearchParams(location.search).get("f.timeline.%s") ?? "") === %q`, name, want)
	}

	// Node 1 works longest: by load its lanes come first; then a lane is pinned, and others hidden.
	popover("Lanes")
	b.wait(`document.querySelectorAll(".choice .lane").length === 4`)
	b.changes("the order by load", func() { b.click(".choice .segments button", "Load") })
	filter("order", "load")
	first := query[string](b, `document.querySelector(".choice .lane").innerText`)
	if !strings.HasPrefix(first, "1.") {
		t.Errorf("the busiest lane is %q", first)
	}
	b.changes("a pinned lane", func() { b.click(`.choice [aria-label="Pin at the top: 0.1"]`) })
	filter("pin", "1")
	b.changes("a hidden lane", func() { b.click(`.choice [aria-label="Hide: 1.0"]`) })
	filter("hide", "2")
	b.picture("lanes-list")
	b.changes("the order by host", func() { b.click(".choice .segments button", "Host") })
	b.keys("\x1b") // Escape closes the list, and keeps what was chosen
	b.wait(`!document.querySelector(".choice") && document.activeElement.closest(".popover")`)
	filter("order", "host")
	// The name of a lane has the same buttons: the first row is the pinned lane.
	left, top, _, _ := b.lanes()
	b.do(chromedp.MouseEvent("mouseMoved", left-50, top+8))
	b.wait(`document.querySelector(".lanes .tools [aria-label='Pin at the top: 0.1'][aria-pressed=true]")`)
	b.changes("an unpinned lane", func() { b.click(".lanes .tools button") })
	filter("pin", "")
	popover("Lanes")
	b.changes("all lanes", func() { b.click(".choice button", "Show all, pin none") })
	filter("hide", "")
	b.keys("\x1b")

	// Colours.
	for _, c := range []struct{ name, by, legend string }{{"Node of origin", "origin", "Node 1"},
		{"Lateness", "late", "10.0 µs – 100 µs"}, {"Own value", "value.weight", "1"}} {
		b.changes(c.name, func() { b.click(".timeline .segments button", c.name) })
		filter("by", c.by)
		b.wait(`[...document.querySelectorAll(".legend .key")].some(e => e.innerText.trim() === %q)`, c.legend)
		b.picture("lanes-" + c.by)
	}
	b.wait(`[...document.querySelectorAll("select[aria-label='Own value'] option")].some(o => o.value === "My.onStep.size")`)
	b.changes("a number of the program's own", func() {
		b.do(chromedp.SetValue(chromedp.CSS(`select[aria-label="Own value"]`), "My.onStep.size"))
		query[bool](b, `document.querySelector("select[aria-label='Own value']").dispatchEvent(new Event("change", {bubbles: true}))`)
	})
	edges := query[[]float64](b, `fetch("/api/runs/%s/shades?by=value.My.onStep.size").then(r => r.json()).then(s => [s.edges[0], s.edges.at(-1)])`, run)
	if edges[0] != 0.5 || edges[1] != 119.5 {
		t.Errorf("the program's numbers go from %v to %v", edges[0], edges[1])
	}
	b.picture("lanes-value")
	b.click(".timeline .segments button", "Code fragment")

	// Counters: their values are the server's.
	popover("Counters")
	b.wait(`[...document.querySelectorAll(".popover .tracks label")].some(l => l.innerText.includes("My.onStep.size"))`)
	for _, name := range []string{"Ready queue", "Bytes held", "Message bytes", "Time in the run-time system",
		"My.onStep (own event)", "My.onStep.size (own event)"} {
		b.click(`.popover .tracks label`, name)
	}
	b.keys("\x1b")
	b.wait(`document.querySelectorAll("section.tracks .name").length === 6`)
	b.settle()
	b.wait(`[...document.querySelectorAll("section.tracks .name")].map(e => e.innerText).join() === "Ready queue,Bytes held,Message bytes,Time in the run-time system,My.onStep,My.onStep.size"`)
	b.picture("lanes-counters")
	name, data := b.save("section.tracks .save button", "CSV")
	if told := strings.Count(string(data), "My.onStep,"); name != "counters.csv" || told < 50 {
		t.Errorf("%s has %d values of My.onStep", name, told)
	}
	sum := 0
	for _, line := range strings.Split(string(data), "\n") {
		var n int
		if f := strings.Split(strings.TrimSpace(line), ","); len(f) == 4 && f[0] == "My.onStep" {
			fmt.Sscan(f[3], &n)
			sum += n
		}
	}
	if sum != 80 {
		t.Errorf("%d events in the counter, 80 were told", sum)
	}
	b.click("section.tracks summary")
	b.wait(`document.querySelectorAll("section.tracks tbody tr").length > 20 && document.querySelectorAll("section.tracks thead th").length === 7`)
	popover("Counters")
	b.click(`.popover .tracks label`, "By node")
	b.keys("\x1b")
	b.wait(`[...document.querySelectorAll("section.tracks .name")].some(e => e.innerText === "1: My.onStep")`)

	// Marks: one at the cursor, one of a selection, measured between, with a note; they survive the server.
	at := func(place string) {
		b.do(chromedp.Navigate(fmt.Sprintf("%s?lang=en&view=timeline&run=%s&%s", s.url, run, place)))
	}
	at("t=2000000")
	b.settle()
	b.keys("m")
	b.until("the mark is kept", func() bool { return b.marks(run) == 1 })
	at("sel=9000000-12000000")
	b.settle()
	popover("Marks")
	b.click(".marks button", "Mark the selection (M)")
	b.wait(`document.querySelectorAll(".marks li").length === 2`)
	b.do(chromedp.SendKeys(chromedp.CSS(`.marks li:nth-child(2) input:not([type])`), "slow here\t"))
	b.until("the note is kept", func() bool {
		return query[bool](b, `fetch("/api/runs/%s/marks").then(r => r.json()).then(m => m[1]?.text === "slow here")`, run)
	})
	b.click(`.marks li:nth-child(1) input[type=checkbox]`)
	b.click(`.marks li:nth-child(2) input[type=checkbox]`)
	b.wait(`document.querySelector(".marks [role=status]")?.innerText.includes("Between them: 7.00 ms")`)
	b.picture("lanes-marks")
	b.click(".marks button", "Select it")
	b.wait(`new URLSearchParams(location.search).get("sel") === "2000000-9000000"`)
	var kept []struct{ Text string }
	text, err := os.ReadFile(filepath.Join(own, "marks.json"))
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil || len(kept) != 2 || kept[1].Text != "slow here" {
		t.Errorf("beside the trace: %v, %s", err, text)
	}
	b.click(`.marks [aria-label="Remove: slow here"]`)
	b.wait(`document.querySelectorAll(".marks li").length === 1`)
	b.keys("\x1b")

	// The selection's histogram counts its CFs.
	b.click(`.timeline .toolbar button`, "Sums")
	b.settle()
	name, data = b.save(".selection .histogram .save button", "CSV")
	count := 0
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var n int
		if f := strings.Split(strings.TrimSpace(line), ","); i > 0 && len(f) == 3 {
			fmt.Sscan(f[2], &n)
			count += n
		}
	}
	want := query[int](b, `fetch("/api/runs/%s/fragments?from=2000000&to=9000000").then(r => r.json()).then(f => f.find(r => r.name === "work").count)`, run)
	if name != "selection-work.csv" || count != want || count == 0 {
		t.Errorf("%s counts %d of %d CFs", name, count, want)
	}
	b.picture("lanes-histogram")
	b.quiet("lanes")
}

// marks is how many marks the server keeps of a run.
func (b *tab) marks(run string) int {
	b.Helper()
	return query[int](b, `fetch("/api/runs/%s/marks").then(r => r.json()).then(m => m.length)`, run)
}
