package cli

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// place is what an address holds.
func (b *tab) place() url.Values {
	b.Helper()
	query := query[string](b, `location.search`)
	v, err := url.ParseQuery(strings.TrimPrefix(query, "?"))
	if err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	return v
}

// interval reads an interval of the address; both 0: it is not there.
func (b *tab) interval(name string) (from, to float64) {
	b.Helper()
	text := b.place().Get(name)
	if text == "" {
		return 0, 0
	}
	if _, err := fmt.Sscanf(text, "%f-%f", &from, &to); err != nil {
		b.Fatalf("%s=%s: %v", name, text, err)
	}
	return from, to
}

// lanes are where the lanes are on the page: the part that the time axis takes, and below.
func (b *tab) lanes() (left, top, width, height float64) {
	b.Helper()
	r := query[[]float64](b,
		`(r => [r.x, r.y, r.width, r.height])(document.querySelector(".lanes .still").getBoundingClientRect())`)
	const label, axis = 84, 24
	return r[0] + label, r[1] + axis, r[2] - label, r[3] - axis
}

// drawn stands for what is drawn on the lanes.
func (b *tab) drawn() string {
	b.Helper()
	return query[string](b, `(s => {
		let n = 0;
		for (let i = 0; i < s.length; i++) n = (Math.imul(n, 31) + s.charCodeAt(i)) | 0;
		return String(n);
	})(document.querySelector(".lanes canvas").toDataURL())`)
}

// changes does something that must change what is drawn.
func (b *tab) changes(what string, f func()) {
	b.Helper()
	before := b.drawn()
	f()
	b.until(what+" changes the picture", func() bool { return b.drawn() != before })
	b.settle()
}

// zoomed does something that must change the visible interval, and gives the new one.
func (b *tab) zoomed(what string, f func()) (from, to float64) {
	b.Helper()
	before := b.place().Get("vis")
	b.changes(what, f)
	b.until(what+" changes the address", func() bool { return b.place().Get("vis") != before })
	b.written()
	return b.interval("vis")
}

// written waits until what was done last is in the address: the page writes that at most every 250 ms.
func (b *tab) written() {
	b.Helper()
	query[bool](b, `new Promise(done => setTimeout(() => done(true), 300))`)
}

// pageTimeline moves and zooms the timeline, and asks it for the story of a CF.
func pageTimeline(t *testing.T, p *pages) {
	s := p.serve(t, "view", p.heat)
	b := p.open(t, s.url+"?view=timeline&lang=en&theme=light")
	b.settle()
	run := b.run()
	end := query[float64](b, `fetch("/api/runs/%s").then(r => r.json()).then(r => r.wall_ns)`, run)
	tiles := b.rects()

	// Keys.
	from, to := b.zoomed("W", func() { b.keys("www") })
	if to-from > end/2 {
		t.Errorf("zoomed in thrice it shows %.0f of %.0f ns", to-from, end)
	}
	later, _ := b.zoomed("D", func() { b.keys("d") })
	if later <= from {
		t.Errorf("D moves from %.0f to %.0f", from, later)
	}
	earlier, until := b.zoomed("A", func() { b.keys("aa") })
	if earlier >= later {
		t.Errorf("A moves from %.0f to %.0f", later, earlier)
	}
	if a, z := b.zoomed("S", func() { b.keys("s") }); z-a <= until-earlier {
		t.Errorf("S shows %.0f ns of %.0f", z-a, until-earlier)
	}
	b.zoomed("F", func() { b.keys("f") })
	if b.place().Has("vis") {
		t.Errorf("after F: %v", b.place())
	}

	// The wheel: what is below the mouse stays there.
	left, top, width, height := b.lanes()
	const share = 0.3
	x, middle := left+share*width, top+height/2
	wheel := func(held int64, dy float64) func() {
		return func() {
			b.mouse(input.DispatchMouseEventTypeMouseWheel, x, middle, held, func(p *input.DispatchMouseEventParams) {
				p.DeltaX, p.DeltaY = 0.001, dy
			})
		}
	}
	from, to = b.zoomed("Ctrl and the wheel", wheel(2, -400))
	if at := from + share*(to-from); math.Abs(at-share*end) > end/200 || to-from > end/2 {
		t.Errorf("Ctrl and the wheel show %.0f to %.0f of %.0f ns", from, to, end)
	}
	if moved, _ := b.zoomed("Shift and the wheel", wheel(8, 200)); moved <= from {
		t.Errorf("Shift and the wheel move from %.0f to %.0f", from, moved)
	}
	b.zoomed("F", func() { b.keys("f") })

	// A drag selects; F shows what is selected, F again everything.
	b.drag(left+0.5*width, left+0.52*width, middle)
	b.wait(`location.search.includes("sel=")`)
	from, to = b.interval("sel")
	if math.Abs(from-0.5*end) > end/300 || math.Abs(to-0.52*end) > end/300 {
		t.Errorf("selected from %.0f to %.0f of %.0f ns", from, to, end)
	}
	if a, z := b.zoomed("F", func() { b.keys("f") }); a != from || z != to {
		t.Errorf("F shows %.0f to %.0f, selected is %.0f to %.0f", a, z, from, to)
	}
	b.picture("timeline-boxes")
	if boxes := b.rects(); boxes == tiles {
		t.Errorf("%d rectangles are drawn of the whole run, and as many of a fiftieth", boxes)
	}

	// A click on a CF tells its story, which leads to others.
	cf := query[struct {
		CF         string
		Start, End float64
		Lane       int
	}](b, `fetch("/api/runs/%s/boxes?from=%.0f&to=%.0f&lanes=0-3").then(r => r.json()).then(({cfs}) => {
		const long = i => cfs.structured[i] ? 0 : cfs.end[i] - cfs.start[i];
		const best = cfs.cf.reduce((a, _, i) => long(i) > long(a) ? i : a, 0);
		return {CF: cfs.cf[best], Start: cfs.start[best], End: cfs.end[best], Lane: cfs.lane[best]};
	})`, run, 0.3*end, 0.7*end)
	long := cf.End - cf.Start
	from, to = max(0, cf.Start-5*long), min(end, cf.End+5*long) // on a busy machine it may take much of the run
	b.do(chromedp.Navigate(fmt.Sprintf("%s?run=%s&view=timeline&lang=en&theme=light&vis=%.0f-%.0f", s.url,
		run, from, to)))
	b.settle()
	_, data := b.save(`.bar [role=group] button`, "SVG")
	label := regexp.MustCompile(fmt.Sprintf(`<text[^>]* y="([0-9.]+)"[^>]*>%d\.0<`, cf.Lane)).FindSubmatch(data)
	if label == nil {
		t.Fatalf("lane %d has no name: %.1000s", cf.Lane, data)
	}
	y, err := strconv.ParseFloat(string(label[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	left, top, width, _ = b.lanes()
	b.do(chromedp.MouseClickXY(left+width*(cf.Start+long/2-from)/(to-from), top-24+y))
	b.wait(`location.search.includes(%q)`, "pick=cf:"+cf.CF)
	b.settle()
	b.picture("timeline-story")
	for _, words := range []string{"CF " + cf.CF, "What happened", "Created by", "Ran"} {
		b.wait(`document.querySelector("aside").innerText.includes(%q)`, words)
	}
	b.click(`aside dl a[href*="pick=cf"], aside li a[href*="pick=cf"]`)
	b.wait(`!location.search.includes(%q)`, "pick=cf:"+cf.CF)
	b.wait(`document.querySelector("aside").innerText.includes("What happened")`)
	b.keys("\x1b") // Esc
	b.wait(`!document.querySelector("aside")`)

	// Search: by name, label and number.
	for _, words := range []string{cf.CF, "larger", "u[3][1]"} {
		want := words
		if words == cf.CF {
			want = "" // its title is the first that is found
		}
		b.slash()
		b.wait(`document.activeElement.type === "search"`)
		b.keys(words) // what was there is selected
		b.wait(`document.querySelector("#found [aria-selected=true]")?.innerText.includes(%q)`, want)
		b.picture("search")
		b.keys("\r")
		b.wait(`document.querySelector("aside").innerText.includes(%q)`, words)
		b.settle()
		b.until("the lanes show where "+words+" is", func() bool {
			at := b.place()
			now, _ := strconv.ParseFloat(at.Get("t"), 64)
			a, z := b.interval("vis")
			whole := !at.Has("vis") // the CF may have taken much of the run
			return !strings.HasPrefix(at.Get("pick"), "cf") || whole || a <= now && now <= z
		})
		b.keys("\x1b")
		b.wait(`!document.querySelector("aside")`)
	}

	// What is laid over.
	b.changes("the critical path", func() { b.click(".bar button", "Critical path") })
	b.picture("timeline-path")
	b.changes("the messages", func() { b.click(".bar button", "Messages") })
	b.picture("timeline-messages")
	b.changes("colours by factor", func() { b.click(".bar button", "Factor") })
	b.quiet("the timeline")
}

// drag drags from one point of the page to another one at the same height.
func (b *tab) drag(from, to, y float64) {
	b.Helper()
	left := func(p *input.DispatchMouseEventParams) {
		p.Button, p.Buttons, p.ClickCount = input.MouseButtonLeft, 1, 1
	}
	b.mouse(input.DispatchMouseEventTypeMousePressed, from, y, 0, left)
	b.mouse(input.DispatchMouseEventTypeMouseMoved, (from+to)/2, y, 0, left)
	b.mouse(input.DispatchMouseEventTypeMouseMoved, to, y, 0, left)
	b.mouse(input.DispatchMouseEventTypeMouseReleased, to, y, 0, left)
}

// slash presses the key as a keyboard does: chromedp's own way types it whatever the page does with it.
func (b *tab) slash() {
	b.Helper()
	b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		key := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "/", Code: "Slash",
			Text: "/", WindowsVirtualKeyCode: 191}
		_, err := chromedp.Call(ctx, input.DispatchKeyEvent, key)
		if err == nil {
			key.Type, key.Text = input.DispatchKeyEventTypeKeyUp, ""
			_, err = chromedp.Call(ctx, input.DispatchKeyEvent, key)
		}
		return err
	}))
}

// rects is how many rectangles the picture of the lanes has when it is saved.
func (b *tab) rects() int {
	b.Helper()
	_, data := b.save(`.bar [role=group] button`, "SVG")
	checkXML(b.T, data)
	return strings.Count(string(data), "<rect")
}

// pageDecisions: what a balancer decided is on the timeline, in the words of the list of events.
func pageDecisions(t *testing.T, p *pages) {
	dir := filepath.Join(t.TempDir(), "online.trace")
	p.whyslow(t, "run", "-q", "-n", "4", "-w", "1", "--link-latency", "50us", "--balance", "central", "-o", dir,
		strings.ReplaceAll(heatProgram, "heat", "uneven"), "16", "20", "10", "4")
	s := p.serve(t, "view", dir)
	b := p.open(t, s.url+"?view=timeline&lang=en&theme=light")
	b.settle()
	query[bool](b, `(Promise.all([fetch("/api/runs"), fetch("/api/runs/"+new URLSearchParams(location.search)`+
		`.get("run")+"/events?kinds=GlobalEvents.onBalanced&limit=1")])`+
		`.then(a => Promise.all(a.map(r => r.json())))`+
		`.then(a => { window.runs = a[0]; window.moved = a[1] }), true)`)
	b.wait(`window.moved`)
	at := query[[]float64](b, `(r => [r.x + 84 + window.moved.rows[0].t / `+
		`window.runs[0].wall_ns * (r.width - 84), r.y + 9])(document.querySelector(".decisions").getBoundingClientRect())`)
	b.mouse(input.DispatchMouseEventTypeMouseMoved, at[0], at[1], 0)
	b.wait(`document.querySelector(".decisions .tip")`)
	tip := query[string](b, `document.querySelector(".decisions .tip b").innerText`)
	row := query[string](b, "`Node ${window.moved.rows[0].node}: ${window.moved.rows[0].text}`")
	if tip != row || !strings.Contains(tip, "of work ahead") {
		t.Errorf("the tip says %q, the list of events %q", tip, row)
	}
	b.picture("timeline-decisions")
	b.quiet("decisions")

	// Other runs have no such band.
	b = p.open(t, p.serve(t, "view", p.heat).url+"?view=timeline")
	b.settle()
	if query[bool](b, `!!document.querySelector(".decisions")`) {
		t.Error("a run without a balancer has its decisions")
	}
}
