package cli

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// media makes the browser believe that it prints, or that its user has chosen colours.
func (b *tab) media(media string, features ...*emulation.MediaFeature) {
	b.Helper()
	b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{Media: media, Features: features})
		return err
	}))
}

// fingers touches the page at some points; none: all are lifted.
func (b *tab) fingers(what input.DispatchTouchEventType, points ...[2]float64) {
	b.Helper()
	p := input.DispatchTouchEventParams{Type: what, TouchPoints: []*input.TouchPoint{}}
	for i, at := range points {
		id := float64(i + 1)
		p.TouchPoints = append(p.TouchPoints, &input.TouchPoint{X: at[0], Y: at[1], ID: &id})
	}
	b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, input.DispatchTouchEvent, p)
		return err
	}))
}

// pageReach: what one does with a mouse can be done with two fingers, with keys, and on paper; what plots
// show is there as a table, and without colours.
func pageReach(t *testing.T, p *pages) {
	s := p.serve(t, "view", p.heat)
	b := p.open(t, s.url+"?lang=en&theme=light&view=timeline")
	run := b.run()
	b.settle()

	// Two fingers in the lanes: what is under them stays under them.
	b.do(chromedp.EmulateViewport(1280, 800, chromedp.EmulateTouch))
	b.settle()
	wall := query[float64](b, `fetch("/api/runs/%s").then(r => r.json()).then(r => r.wall_ns)`, run)
	box := query[[]float64](b,
		`(r => [r.x, r.y, r.width, r.height])(document.querySelector(".lanes").getBoundingClientRect())`)
	const labels = 84 // px of lanes' names
	width := box[2] - labels
	x := func(share float64) float64 { return box[0] + labels + share*width }
	y := box[1] + 60
	b.fingers(input.DispatchTouchEventTypeTouchStart, [2]float64{x(0.4), y})
	b.fingers(input.DispatchTouchEventTypeTouchStart, [2]float64{x(0.4), y}, [2]float64{x(0.6), y})
	b.fingers(input.DispatchTouchEventTypeTouchMove, [2]float64{x(0.3), y}, [2]float64{x(0.7), y})
	b.fingers(input.DispatchTouchEventTypeTouchMove, [2]float64{x(0.2), y}, [2]float64{x(0.8), y})
	b.fingers(input.DispatchTouchEventTypeTouchEnd)
	b.wait(`location.search.includes("vis=")`)
	b.written()
	vis := query[[]float64](b, `new URLSearchParams(location.search).get("vis").split("-").map(Number)`)
	// A fifth of the run, which was between the fingers, is now on three fifths of the width.
	for i, want := range []float64{(0.5 - 0.5/3) * wall, (0.5 + 0.5/3) * wall} {
		if math.Abs(vis[i]-want) > 0.02*wall {
			t.Errorf("after spreading two fingers %.0f to %.0f of %.0f ns are shown", vis[0], vis[1], wall)
			break
		}
	}
	if got := query[string](b, `location.search`); strings.Contains(got, "sel=") {
		t.Errorf("two fingers selected something: %s", got)
	}
	b.picture("reach-pinch")

	// An interval is selected with keys alone: the cursor is moved, its ends are set there.
	b.do(chromedp.Navigate(s.url + "?lang=en&view=nodes&run=" + run + fmt.Sprintf("&t=%.0f", wall/2)))
	b.settle()
	b.keys("[")
	b.wait(`location.search.includes("sel=%.0f-")`, math.RoundToEven(wall/2)) // as %.0f rounds
	b.do(chromedp.Navigate(s.url + "?lang=en&view=nodes&run=" + run + fmt.Sprintf("&t=%.0f", wall/4)))
	b.settle()
	b.keys("]")
	b.wait(`location.search.includes("sel=0-%.0f")`, math.RoundToEven(wall/4))

	// How busy and how uneven nodes are, over time; every plot is there as a table.
	b.wait(`[...document.querySelectorAll("figcaption strong")].some(e => e.innerText.startsWith("How uneven the nodes are"))`)
	plots := query[int](b, `document.querySelectorAll("figure.plot").length`)
	if n := query[int](b, `document.querySelectorAll("figure.plot details.values").length`); n != plots || n < 4 {
		t.Errorf("%d of %d plots are there as tables", n, plots)
	}
	b.click("figure.plot summary")
	b.wait(`document.querySelectorAll("figure.plot table tbody tr").length > 10`)
	if got := query[string](b, `[...document.querySelectorAll("figure.plot tbody td")].find(e => !/^(\d+\.\d %|-)$/.test(e.innerText))?.innerText ?? ""`); got != "" {
		t.Errorf("the busy workers as a table: %q", got)
	}
	// The same utilisation as the overview's useful and structured work allows: never above all workers.
	if most := query[float64](b, `Math.max(...[...document.querySelectorAll("figure.plot tbody td")].map(e => parseFloat(e.innerText) || 0))`); most <= 0 || most > 100 {
		t.Errorf("up to %v %% of the workers are busy", most)
	}
	b.picture("reach-table")

	// The matrix of time lost adds up to the latency of the report, and DFs and CFs are told apart.
	b.do(chromedp.Navigate(s.url + "?lang=en&view=links&f.links.value=lost_ns&run=" + run))
	b.settle()
	lost := query[[]float64](b, `Promise.all([fetch("/api/runs/%[1]s/matrix?value=lost_ns"), fetch("/api/runs/%[1]s/report")]).then(a => Promise.all(a.map(r => r.json()))).then(a => [a[0].total, a[1].factors.L.ns, a[0].cells[0][1], a[1].factors.L.parts["0->1"]])`, run)
	if lost[0] != lost[1] || lost[2] != lost[3] || lost[0] == 0 {
		t.Errorf("lost on links: %v", lost)
	}
	apart := query[[]float64](b, `fetch("/api/runs/%s/at").then(r => r.json()).then(a => a.links.map(l => [l.messages - l.objects - l.data_messages, l.message_bytes - l.object_bytes - l.data_bytes]).flat())`, run)
	for _, v := range apart {
		if v != 0 {
			t.Errorf("messages that are neither DFs nor CFs: %v", apart)
			break
		}
	}
	if len(apart) == 0 {
		t.Error("no links")
	}
	b.wait(`document.querySelector("select[aria-label=Value]").value === "lost_ns" && /ms|µs|s/.test(document.querySelector(".list").innerText)`)
	b.picture("reach-lost")

	// Events name neighbours.
	b.do(chromedp.Navigate(s.url + "?lang=en&view=events&f.events.kinds=CFEvents.onCreated&run=" + run))
	b.settle()
	b.wait(`[...document.querySelectorAll("main [role=cell]")].some(e => /^created .*; reads .*; makes /.test(e.innerText))`)

	// On paper: everything of the view, nothing that only a screen can do, and rows beyond those in sight.
	b.do(chromedp.Navigate(s.url + "?lang=en&view=fragments&run=" + run))
	b.settle()
	b.media("print")
	b.wait(`getComputedStyle(document.querySelector("header")).display === "none" && getComputedStyle(document.querySelector(".player")).display === "none"`)
	b.wait(`getComputedStyle(document.querySelector("main")).overflowY === "visible"`)
	rows := query[[]int](b, `[...document.querySelectorAll("[role=table]")].map(e => [Number(e.getAttribute("aria-rowcount")) - 1, e.querySelectorAll("[role=row]").length - 1]).flat()`)
	for i := 0; i < len(rows); i += 2 {
		if rows[i+1] != min(rows[i], 500) {
			t.Errorf("%d of %d rows are printed", rows[i+1], rows[i])
		}
	}
	b.media("")
	b.wait(`getComputedStyle(document.querySelector("header")).display !== "none"`)

	// Without colours: what is pressed shows, factors have letters.
	b.do(chromedp.Navigate(s.url + "?lang=en&view=overview&run=" + run))
	b.media("", &emulation.MediaFeature{Name: "forced-colors", Value: "active"})
	b.settle()
	b.wait(`matchMedia("(forced-colors: active)").matches`)
	letters := query[string](b, `[...document.querySelectorAll(".tile [data-f]")].map(e => getComputedStyle(e, "::before").content.replaceAll('"', "")).join("")`)
	if letters != "USLOW" {
		t.Errorf("the factors have the letters %q", letters)
	}
	if n := query[int](b, `document.querySelectorAll(".bar [data-f]").length`); n == 0 {
		t.Error("no bar has a letter")
	}
	b.picture("reach-forced")
	b.quiet("reach")
}
