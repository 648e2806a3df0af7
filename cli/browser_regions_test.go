package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

// pageRegions looks at what threads of a program with regions did: names and nesting on lanes, a barrier
// across them, a put as an arrow, a lock with its owner and who waits for it, and the instances of a
// pattern.
func pageRegions(t *testing.T, p *pages) {
	text, err := os.ReadFile("testdata/regions.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "regions.trace")
	if err := twin.Parse(strings.NewReader(string(text)), dir); err != nil {
		t.Fatal(err)
	}
	s := p.serve(t, "view", dir)
	b := p.open(t, s.url+"?view=timeline&lang=en&f.timeline.arrows=1")
	b.settle()
	b.wait(`document.querySelector(".locks .name").textContent === "queue_lock"`)
	// The middle of the lanes' times is at 45 µs of 90.
	at := func(of string, us, share float64) string {
		t.Helper()
		box := query[[]float64](b, `(r => [r.x, r.y, r.width, r.height])(document.querySelector(%q).getBoundingClientRect())`, of)
		x, y := box[0]+84+(box[2]-84)*us/90, box[1]+box[3]*share
		b.mouse(input.DispatchMouseEventTypeMouseMoved, x-3, y, 0)
		b.mouse(input.DispatchMouseEventTypeMouseMoved, x, y, 0)
		return query[string](b, `new Promise(f => setTimeout(() => f(document.querySelector(".tip")?.innerText ?? ""), 60))`)
	}
	// Of each lane the upper half is main, the lower one what it calls.
	for _, c := range []struct {
		us, share float64
		has       []string
	}{
		{20, .15, []string{"main", "90.0 µs", "Worker 0.0"}},
		{20, .4, []string{"upc_barrier", "33.0 µs", "b.upc:5", "main › upc_barrier", "Worker 0.0"}},
		{60, .88, []string{"upc_lock", "16.0 µs", "b.upc:7", "Worker 1.0"}},
	} {
		b.until("a tip has all of "+strings.Join(c.has, ", "), func() bool {
			got := at(".lanes .still", c.us, c.share)
			for _, want := range c.has {
				if !strings.Contains(got, want) {
					return false
				}
			}
			return true
		})
	}
	b.picture("regions")
	b.until("the lock is held by one and another waits", func() bool {
		got := at(".locks canvas", 60, .7)
		return strings.Contains(got, "queue_lock, queue.c:12") && strings.Contains(got, "held by 0.0 for 18.0 µs") &&
			strings.Contains(got, "waiting: 1.0")
	})
	b.picture("locks")

	// The instances of a pattern, in the call path that is chosen.
	b.click(`header nav a`, "Patterns")
	b.wait(`document.querySelector("[role=treeitem][aria-selected=true] .name").innerText === "Wait at barrier"`)
	b.click(`[role=treeitem] .name`, "upc_barrier  b.upc:5")
	b.click(`button.step`)
	b.wait(`document.querySelector(".reason output").textContent.trim() === "1 / 1"`)
	b.wait(`document.querySelector(".reason").innerText.includes("upc_barrier, b.upc:5") && document.querySelector(".timeline")`)
	b.wait(`document.querySelector(".reason").innerText.includes("30.0 µs, 0.0")`)
	b.picture("instances")
	b.quiet("regions")

	// The put is what nodes and links exchange, and there are no CFs to count.
	line := func(file string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("main .table .rows .line[role=row]")].map(e => e.innerText.replace(/\s+/g, " ").trim()).filter(s => s.startsWith(%q)).join()`, file)
	}
	b.settle()
	b.click(`header nav a`, "Nodes") // the reason stays, and does not lead back to its wait
	b.wait(`document.querySelector("main .table strong").textContent === "Nodes at the cursor: 10.00 µs"`)
	b.do(chromedp.Navigate(s.url + "?lang=en&view=nodes"))
	b.settle()
	b.wait(`[...document.querySelector("main .table .head").querySelectorAll("[role=columnheader]")].map(e => e.innerText.replace(/[▲▼]/, "").trim()).join() === "Node,Workers,Messages sent,Bytes sent,Messages received,Bytes received"`)
	b.wait(line("0 1") + ` === "0 1 1 100 bytes 0 0 bytes"`)
	b.wait(line("1 1") + ` === "1 1 0 0 bytes 1 100 bytes"`)
	b.wait(`[...document.querySelectorAll("main .plot strong")].map(e => e.innerText).join().startsWith("Messages sent, per second,Bytes sent, per second")`)
	b.picture("regions-nodes")
	b.click(`header nav a`, "Links")
	b.settle()
	b.wait(line("0 → 1") + `.includes("0 → 1 100 bytes")`)
	b.wait(line("0 → 1") + `.includes("0 → 1 1 100 bytes")`)
	b.picture("regions-links")
	b.click(`header nav a`, "Graphs")
	b.settle()
	b.wait(`document.querySelector("main .link").ariaLabel.startsWith("0 → 1: 1 message, 100 bytes")`)
	b.wait(`document.querySelectorAll("main .node").length === 2 && !document.querySelector("main .node").ariaLabel.includes("CF")`)
	b.picture("regions-graph")
	for _, graph := range []string{"Task graph", "Program over nodes"} {
		b.click(`main .segments button`, graph)
		b.wait(`document.querySelector("main .segments button[aria-pressed=true]").innerText === %q &&
			document.querySelector("main [data-state=empty]").innerText.includes("threads and no CFs")`, graph)
	}
	b.quiet("traffic of threads")

	// In Russian nothing is missing.
	ru := p.open(t, s.url+"?view=patterns&lang=ru")
	ru.settle()
	ru.wait(`document.querySelector("[role=treeitem][aria-selected=true] .name").innerText === "Ожидание у барьера"`)
	if got := query[string](ru, `[...document.querySelectorAll("[role=tree]")[0].querySelectorAll("[role=treeitem]")].map(e => e.querySelector(".name").innerText + " " + e.title).filter(s => !/[а-я]/.test(s)).join("; ")`); got != "" {
		t.Errorf("not in Russian: %s", got)
	}
	ru.quiet("regions in Russian")
}

// message is a run of two ranks: one sends, the other one has waited for that.
const message = `#run {"ended":"done","settings":{"program":"MPI"},"nodes":[{"node":0,"process":0,"workers":1},{"node":1,"process":1,"workers":1}]}
#node 0
#code 1 MPI_Send message
#site 1 code=1 at=p.c:1:0
0 Global.onProgramStarted
20000 Region.onEntered 1
20000 Message.onSent to=1 bytes=8 tag=0 comm=0 transfer=0
25000 Region.onExited 1
100000 Global.onProgramFinished
#node 1
#code 1 MPI_Recv message
#site 1 code=1 at=p.c:2:0
0 Global.onProgramStarted
10000 Region.onEntered 1
60000 Message.onReceived from=0 bytes=8 tag=0 comm=0 receive=1 posted=50000
60000 Region.onExited 1
100000 Global.onProgramFinished
`

// pageMessages looks at the arrow of a message between two ranks.
func pageMessages(t *testing.T, p *pages) {
	dir := filepath.Join(t.TempDir(), "message.trace")
	if err := twin.Parse(strings.NewReader(message), dir); err != nil {
		t.Fatal(err)
	}
	b := p.open(t, p.serve(t, "view", dir).url+"?view=timeline&lang=en")
	b.settle()
	b.pressDraws("Messages")
	b.picture("messages")
	got := query[string](b, `fetch("/api/runs/%s/arrows?from=0&to=100000&lanes=0-1").then(r => r.json()).then(
		r => r.arrows.map(a => [a.kind, a.t0, a.t1, a.from_lane, a.to_lane, a.bytes].join()).join(";"))`, b.run())
	if got != "message,20000,60000,0,1,8" {
		t.Errorf("arrows: %s", got)
	}
	b.quiet("messages")
}

// pressDraws presses a button of the timeline that has more drawn.
func (b *tab) pressDraws(label string) {
	drawn := func() string { // all pixels, canvas by canvas
		return query[string](b, `[...document.querySelectorAll(".lanes canvas")].map(c => c.toDataURL()).join()`)
	}
	b.wait(`document.querySelectorAll(".lanes canvas").length > 0`)
	before := drawn()
	b.until("the lanes are drawn", func() bool { // and stay as they are
		last := before
		before = drawn()
		return before == last
	})
	b.click("main button", label)
	b.until("an arrow is drawn", func() bool { return drawn() != before })
}
