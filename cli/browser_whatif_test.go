package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// pageWhatIf: sliders and fields change the machine, the prediction follows, and the address has it.
func pageWhatIf(t *testing.T, p *pages) {
	s := p.serve(t, "view", p.heat)
	b := p.open(t, s.url+"?view=whatif&lang=en&theme=light")
	const wall, exact = `document.querySelector("main .wall").innerText`, `Exact simulation of`
	ready := func() {
		b.wait(`document.querySelector("main").innerText.includes(%q)`, exact)
		b.wait(`document.querySelector("main").innerText.includes("divided as in a report")`)
		b.settle()
	}
	ready()
	pictures := func(name string) { // of all of the page
		for i := range 4 {
			query[bool](b, fmt.Sprintf(`(document.querySelector("main").scrollTop = %d) >= 0`, i*650))
			b.picture(fmt.Sprintf("whatif-%s-%d", name, i))
		}
	}
	pictures("recorded")
	before := query[string](b, wall)

	// By the keyboard, and what a screen reader says.
	slider := `document.querySelector('input[type=range][aria-label="Nodes: slider"]')`
	query[bool](b, slider+`.focus() ?? true`)
	b.keys("\u0304") // the right arrow: 6 nodes
	b.wait(`location.search.includes("f.whatif.nodes=6")`)
	if got := query[string](b, slider+`.getAttribute("aria-valuetext")`); got != "6" {
		t.Errorf("the slider says %q", got)
	}
	ready()
	if got := query[int](b, `document.querySelectorAll("main canvas").length`); got != 5 {
		t.Errorf("%d pictures", got)
	}

	// By a field: links that are a hundred times as slow.
	field := `[...document.querySelectorAll("main label")].find(l => l.textContent.includes("Latency")).control`
	query[bool](b, `(e => { e.value = "10000"; return e.dispatchEvent(new Event("change", {bubbles: true})) })(`+
		field+`)`)
	b.wait(`location.search.includes("f.whatif.latency=10000")`)
	ready()
	after := query[string](b, wall)
	// The row of these nodes says the same, between those of fewer and of more.
	rows := query[[][]string](b,
		`[...document.querySelectorAll(".scaling tbody tr")].map(r => [...r.cells].map(c => c.innerText))`)
	if i := slices.IndexFunc(rows, func(r []string) bool { return r[0] == "6" }); i < 1 || i == len(rows)-1 ||
		rows[i][1] != after {
		t.Errorf("scaling: %q", rows)
	}
	if before == after || !strings.HasSuffix(after, "s") {
		t.Errorf("recorded %s, over slow links %s", before, after)
	}
	b.picture("whatif-slow")
	if got := query[string](b, oddWords); got != "" {
		t.Errorf("shows %q", got)
	}
	b.do(chromedp.Reload())
	ready()
	if again := query[string](b, wall); again != after {
		t.Errorf("after a reload %s, before it %s", again, after)
	}

	// Both runs zoom together, lanes and load, by the wheel and by buttons.
	const drawn = `[...document.querySelectorAll(".pictures canvas")].map(c => c.toDataURL())`
	was := query[[]string](b, drawn)
	b.click(`.pictures button[aria-label^="Zoom in"]`)
	b.wait(`location.search.includes("f.whatif.span=")`)
	half := query[[]float64](b, `location.search.match(/whatif.span=(\d+)-(\d+)/).slice(1).map(Number)`)
	b.settle()
	for i, now := range query[[]string](b, drawn) {
		if now == was[i] {
			t.Errorf("picture %d is as before zooming", i)
		}
	}
	pictures("zoomed")
	query[bool](b, `(document.querySelector("main .pictures").scrollIntoView(), true)`)
	at := query[[]float64](b, `(r => [r.x + r.width / 2, r.y + 4])`+
		`(document.querySelector(".pictures canvas").getBoundingClientRect())`)
	b.mouse(input.DispatchMouseEventTypeMouseWheel, at[0], at[1], 2, func(p *input.DispatchMouseEventParams) {
		p.DeltaX, p.DeltaY = 0.001, -200
	})
	b.wait(`(m => m[2] - m[1] < %f)(location.search.match(/whatif.span=(\d+)-(\d+)/))`, half[1]-half[0])
	b.settle()
	b.click(".pictures button", "Whole run")
	b.wait(`!location.search.includes("f.whatif.span=")`)
	b.settle()
	for i, now := range query[[]string](b, drawn) {
		if now != was[i] {
			t.Errorf("picture %d is not the whole run again", i)
		}
	}
	b.click("main button", "As recorded")
	b.wait(`!location.search.includes("whatif.")`)
	ready()
	if again := query[string](b, wall); again != before {
		t.Errorf("as recorded again: %s, first %s", again, before)
	}

	// Every other slider changes the machine, and the prediction.
	code := query[string](b, `(e => { e.value = "step"; e.dispatchEvent(new Event("change", {bubbles: true})); `+
		`return e.value })(document.querySelector("main .speed select"))`)
	for _, of := range []struct{ label, name, value string }{
		{"Speed of " + code + ", times", "speed=step%3D0.1", "0"},
		{"Workers of a node", "workers=2", "1"}, {"Bandwidth of a link, MB/s", "bandwidth=1", "0"},
		{"Latency of a link, µs", "latency=10000", "99"},
	} {
		last := query[string](b, wall)
		b.wait(`document.querySelector('input[aria-label="%s: slider"]')`, of.label)
		query[bool](b, fmt.Sprintf(`(e => { e.value = %q; `+
			`return e.dispatchEvent(new Event("input", {bubbles: true})) })`+
			`(document.querySelector('input[aria-label="%s: slider"]'))`, of.value, of.label))
		b.wait(`location.search.includes("f.whatif." + %q)`, of.name)
		ready()
		if now := query[string](b, wall); now == last {
			t.Errorf("%s changes nothing: %s", of.label, now)
		}
	}
	b.click("main button", "As recorded")
	ready()
	b.click("main button", "Run the balancer")
	b.wait(`document.querySelectorAll(".profile table.plain tbody tr").length >= 7`) // a row for each strategy
	b.wait(`document.querySelectorAll(".profile canvas").length === 2`)              // before and after
	b.wait(`document.querySelector(".profile [role=table]").innerText.includes("Balancer puts it on")`)
	b.settle()
	pictures("balanced")
	for _, width := range []int64{390, 960} {
		b.do(chromedp.EmulateViewport(width, 800))
		for _, more := range []string{"lang=en&theme=light", "lang=ru&theme=dark"} {
			b.do(chromedp.Navigate(s.url + "?view=whatif&" + more))
			b.wait(`document.querySelector(".scaling tbody tr")`)
			b.settle()
			if got := query[string](b, `[...document.querySelectorAll("main .view > *")].filter(e => `+
				`e.scrollWidth > e.clientWidth + 1).map(e => e.className).join()`); got != "" {
				t.Errorf("%d px, %s: too wide: %s", width, more, got)
			}
			pictures(fmt.Sprintf("%d-%s", width, more))
		}
	}
	b.quiet("what if")
}
