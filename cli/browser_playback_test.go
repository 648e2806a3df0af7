package cli

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
)

// moment is where the cursor is, -1 if it is not set.
func (b *tab) moment() int64 {
	b.Helper()
	b.written()
	t, err := strconv.ParseInt(b.place().Get("t"), 10, 64)
	if err != nil {
		return -1
	}
	return t
}

// pagePlayback steps through a run by events and by CFs, and plays it, forward, backward and in a loop; views
// follow.
func pagePlayback(t *testing.T, p *pages) {
	s := p.serve(t, "view", p.heat)
	b := p.open(t, s.url+"?view=events&lang=en&theme=light")
	b.settle()
	run := b.run()
	ask := func(q string) (at int64) {
		b.Helper()
		return int64(query[float64](b, `fetch("/api/runs/%s/events?%s").then(r => r.json()).then(r =>
			r.rows.length ? r.rows[0].t : -1)`, run, q))
	}
	end := int64(query[float64](b, `fetch("/api/runs/%s").then(r => r.json()).then(r => r.wall_ns)`, run))
	steps := func(what string, from, want int64) int64 {
		b.Helper()
		b.until(what+" moves the cursor", func() bool { return b.moment() != from })
		if got := b.moment(); got != want {
			t.Fatalf("%s goes from %d to %d, not to %d", what, from, got, want)
		}
		return want
	}
	at := int64(-1)
	for range 3 {
		b.keys("l")
		at = steps("L", at, ask("limit=1&from="+strconv.FormatInt(at+1, 10)))
	}
	b.settle()
	if row := query[string](b, `document.querySelector(".list .line.cursor").innerText`); row == "" {
		t.Error("the list of events does not follow")
	}
	b.keys("L")
	cf := steps("Shift L", at, ask("kinds=CFEvents.onStarted&limit=1&from="+strconv.FormatInt(at+1, 10)))
	b.keys("L")
	next := steps("Shift L", cf, ask("kinds=CFEvents.onStarted&limit=1&from="+strconv.FormatInt(cf+1, 10)))
	b.keys("J")
	steps("Shift J", next, cf)
	b.click(`.player button[aria-label="The event before"]`)
	b.until("a click on the event before moves the cursor", func() bool { return b.moment() < cf })
	if back := b.moment(); ask("limit=1&from="+strconv.FormatInt(back+1, 10)) != cf {
		t.Errorf("the event before %d is not at %d", cf, back)
	}

	// Playing takes the cursor to the end, and back to the beginning, in every view.
	speed := `document.querySelector(".player select")`
	fastest := func() {
		b.Helper()
		query[bool](b, `(s => { s.value = "1"; s.dispatchEvent(new Event("change", {bubbles: true})); return true })(`+
			speed+`)`)
	}
	fastest()
	b.view("nodes")
	b.settle()
	b.click(`.player button[aria-label="Play"]`)
	b.until("it was played to its end", func() bool { return b.moment() == end })
	b.wait(`document.querySelector('.player button[aria-label="Play"]')`)
	if got := b.place().Get("speed"); got != "1" {
		t.Errorf("the address has the speed %q", got)
	}
	b.click(`.player button[aria-label="Play backward"]`)
	b.until("it was played back to its beginning", func() bool { return b.moment() == 0 })

	// In a loop it stays within the selected interval.
	b.do(chromedp.Navigate(s.url + "?view=timeline&lang=en&speed=0.01&f.play.loop=1&run=" + run + "&t=0&sel=" +
		strconv.FormatInt(end/4, 10) + "-" + strconv.FormatInt(end/2, 10)))
	b.settle()
	// The cursor on the map of the timeline; the lanes themselves are drawn too often to be read.
	cursor := func() string { return query[string](b, `document.querySelector("span.now").style.left`) }
	before := cursor()
	b.keys(" ")
	b.until("playing moves the cursor of the timeline", func() bool { return cursor() != before })
	seen := map[bool]bool{}
	last := int64(-1)
	b.until("the interval is played again", func() bool {
		now := b.moment()
		if now < end/4-1 || now > end/2+1 {
			t.Fatalf("the loop is at %d, outside of %d to %d", now, end/4, end/2)
		}
		seen[now < last] = true
		last = now
		return seen[true]
	})
	b.keys(" ")

	// Sums up to the cursor are those of the server's series.
	for at = end / 2; ask("limit=1&from="+strconv.FormatInt(at, 10)) == at; at++ {
	}
	b.do(chromedp.Navigate(s.url + "?view=links&lang=en&f.links.value=messages&run=" + run + "&t=" +
		strconv.FormatInt(at, 10)))
	b.settle()
	sums := func(what string, to int64) int64 {
		b.Helper()
		shown := query[string](b, `document.querySelector("main .legend .faint").innerText.replace(/\D/g, "")`)
		sent := int64(query[float64](b, `fetch("/api/runs/%s/series?names=messages_sent&points=1&from=0&to=%d").then(r =>
			r.json()).then(a => a.series.find(s => s.node < 0 && !s.link).sum[0])`, run, to))
		if shown != strconv.FormatInt(sent, 10) {
			t.Errorf("%s: %s messages are shown, %d were sent", what, shown, sent)
		}
		return sent
	}
	all := sums("the whole run", end)
	b.click(".player button", "Σ")
	b.settle()
	if half := sums("up to the cursor", at); half < 1 || half >= all {
		t.Errorf("%d of %d messages were sent up to the middle", half, all)
	}
	b.sumsFollow(s.url, run, at, end)
	b.quiet("playback")
}

// sumsFollow looks at everything that shows sums: those up to the cursor differ from those of the whole run
// unless the cursor is at the end, and boxes of graphs stay where they are.
func (b *tab) sumsFollow(url, run string, at, end int64) {
	b.Helper()
	texts := func(selector, of string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("main %s")].map(e => %s)`, selector, of)
	}
	const inner, content = "e.innerText", "e.textContent"
	boxes := texts("g:is(.code, .group)", `e.getAttribute("transform")`)
	for name, show := range map[string]struct{ query, text string }{
		"factors":    {"view=overview", texts(".tile:nth-child(-n+3) .small", inner)},
		"nodes":      {"view=overview", texts(".bar", "e.title")},
		"fragments":  {"view=fragments", texts(".panel [role=row]", inner)},
		"a fragment": {"view=fragments&f.code=step", texts(".detail .both [role=row]", inner)},
		"the selection": {fmt.Sprintf("view=timeline&sel=0-%d&f.timeline.sums=1", end),
			texts(".selection [role=row]", inner)},
		"memory":         {"view=memory", texts(".held", inner)},
		"node graph":     {"view=graphs", texts("svg title", content)},
		"code graph":     {"view=graphs&f.graphs.what=codes", texts("svg .more", content)},
		"graph of tasks": {"view=graphs&f.graphs.what=tasks", texts("svg .more", content)},
	} {
		look := func(more string) (text, places string) {
			b.Helper()
			b.do(chromedp.Navigate(url + "?lang=en&run=" + run + "&" + show.query + more))
			b.settle()
			b.wait("%s", show.text+".length")
			b.settle()
			return query[string](b, show.text+`.join("\n")`), query[string](b, boxes+`.join(" ")`)
		}
		half, places := look(fmt.Sprintf("&f.play.sums=1&t=%d", at))
		last, same := look(fmt.Sprintf("&f.play.sums=1&t=%d", end))
		whole := last
		if name != "memory" { // which has the peak without a cursor
			whole, _ = look("")
		}
		if half == last || last != whole || places != same {
			b.Errorf("%s, up to the middle, up to the end, of the whole run:\n%s\n\n%s\n\n%s\nboxes: %s, %s", name,
				half, last, whole, places, same)
		}
	}
}
