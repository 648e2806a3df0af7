package cli

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/whyslow/whyslow/internal/testkit/effort"
)

// What is cut at the right although nothing scrolls to it: elements out of sight, and tabs and buttons of the
// frame that are wider than their place.
const cutOff = `[...document.querySelectorAll("body *")].filter(e => {
	const r = e.getBoundingClientRect();
	if (!e.checkVisibility() || !r.width || !r.height || r.right <= innerWidth + 1) return false;
	for (let p = e.parentElement; p; p = p.parentElement) if (getComputedStyle(p).overflowX !== "visible" && p !== document.body && !p.matches("main, .app, html")) return false;
	return true;
}).map(e => e.tagName + "." + e.className + " ends at " + Math.round(e.getBoundingClientRect().right)).slice(0, 5).join()`

// axe is the tool that finds what people with disabilities cannot use.
const axe = "../web/node_modules/axe-core/axe.min.js"

const violations = `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"]}).then(r => r.violations.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(" | ")).join("; "))`

// accessible checks that what is shown fits its window and has no violation of WCAG 2.2 AA.
func (b *tab) accessible(where string) {
	b.Helper()
	for _, look := range []string{sticksOut, cutOff} {
		if got := query[string](b, look); got != "" {
			b.Errorf("%s: too wide: %s", where, got)
		}
	}
	script, err := os.ReadFile(axe)
	if err != nil {
		b.Logf("axe-core is not installed (npm ci in web): only widths are looked at")
		return
	}
	if !query[bool](b, `"axe" in window`) {
		query[bool](b, string(script)+"; true")
	}
	if got := query[string](b, violations); got != "" {
		b.Errorf("%s: %s", where, got)
	}
}

// pageEverybody: every view, language and theme has no violation of WCAG 2.2 AA, and fits a phone, half a
// screen, and a screen.
func pageEverybody(t *testing.T, p *pages) {
	s := p.serve(t, "view", p.heat, p.heat2)
	b := p.open(t, s.url)
	run := b.run()
	sights := []struct {
		lang, theme string
		width       int64
	}{{"ru", "dark", 390}, {"en", "light", 960}, {"en", "light", 390}, {"ru", "light", 768}, {"en", "dark", 1280}}
	if !effort.Long {
		sights = sights[:1] // the least room for the longest words
	}
	for _, at := range sights {
		b.do(chromedp.EmulateViewport(at.width, 844),
			chromedp.Navigate(fmt.Sprintf("%s?lang=%s&theme=%s&run=%s", s.url, at.lang, at.theme, run)))
		b.settle()
		if got := query[string](b, `document.documentElement.lang`); got != at.lang {
			t.Fatalf("the page speaks %q", got)
		}
		for i, v := range append(slices.Clone(viewNames), "runs", "tasks", "moment") {
			where := fmt.Sprintf("%s-%s-%s-%d", v, at.lang, at.theme, at.width)
			switch v {
			case "tasks": // the graph with most to reach
				b.click("nav a:nth-child(5)")
				b.click("main .segments button:nth-child(3)")
				b.wait(`document.querySelector("main .group")`)
				query[bool](b, `(document.querySelectorAll("main .group[aria-expanded]")[1].dispatchEvent(new MouseEvent("click", {bubbles: true})), true)`)
				b.wait(`document.querySelector("main .frame")`)
			case "moment":
				b.click("main .segments button:nth-child(4)")
				b.wait(`document.querySelectorAll("main .side:nth-child(2) .item").length > 0`)
			default:
				b.click(fmt.Sprintf("nav a:nth-child(%d)", i+1))
			}
			b.settle()
			b.picture(where)
			b.accessible(where)
			b.quiet(where)
		}
	}
	// On a usual screen all tabs are in one line, though they are as many and as long as can be.
	b.do(chromedp.EmulateViewport(1280, 844),
		chromedp.Navigate(fmt.Sprintf("%s?lang=ru&run=%s&view=debug", s.url, run)))
	b.settle()
	if lines := query[int](b, `new Set([...document.querySelectorAll("nav a")].map(a => a.offsetTop)).size`); lines != 1 {
		t.Errorf("the tabs take %d lines of 1280 px", lines)
	}
	b.accessible("debug-1280")
	// The side panel covers a phone's screen, and can be closed.
	b.do(chromedp.EmulateViewport(390, 844),
		chromedp.Navigate(fmt.Sprintf("%s?lang=en&run=%s&view=nodes&pick=code:step", s.url, run)))
	b.wait(`document.querySelector("aside").getBoundingClientRect().width === 390`)
	b.click(`aside .close`)
	b.wait(`!document.querySelector("aside")`)
}
