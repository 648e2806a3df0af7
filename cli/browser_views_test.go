package cli

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

var viewNames = []string{"overview", "timeline", "nodes", "links", "graphs", "events", "fragments",
	"memory", "compare", "whatif", "sql"}

// What sticks out of the page to the right, and words that no user should see.
const (
	sticksOut = `[document.documentElement, document.querySelector("main"), ...document.querySelectorAll(".app > *, .view > *")].filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline").map(e => e.tagName + "." + e.className + " " + e.scrollWidth + " > " + e.clientWidth).join()`
	oddWords  = `(document.body.innerText.match(/.*(undefined|NaN|\[object|Infinity|\bnull\b).*/) ?? [""])[0]`
)

// view goes to a view by its tab.
func (b *tab) view(name string) {
	b.Helper()
	b.click(fmt.Sprintf("nav a:nth-child(%d)", slices.Index(viewNames, name)+1))
	b.settle()
}

// pageViews opens every view in both languages and both themes.
func pageViews(t *testing.T, p *pages) {
	s := p.serve(t, "view", p.heat, p.heat2)
	b := p.open(t, s.url+"?theme=light&lang=en")
	b.settle()
	seen := map[string]string{} // text of a view -> which
	var backs []string
	for _, theme := range []string{"light", "dark"} {
		if theme == "dark" {
			b.click(`header .tools button:nth-child(3)`)
		}
		backs = append(backs, query[string](b, `getComputedStyle(document.body).backgroundColor`))
		for _, lang := range []string{"en", "ru"} {
			if got := query[string](b, `document.documentElement.lang`); got != lang {
				b.click(`header .tools button:nth-child(2)`)
			}
			b.wait(`document.documentElement.lang === %q`, lang)
			for _, v := range viewNames {
				where := v + "-" + lang + "-" + theme
				b.view(v)
				if v == "graphs" {
					b.wait(`document.querySelector("main svg, main canvas")`)
				}
				b.picture(where)
				if got := query[string](b, sticksOut); got != "" {
					t.Errorf("%s: too wide: %s", where, got)
				}
				if got := query[string](b, oddWords); got != "" {
					t.Errorf("%s: shows %q", where, got)
				}
				text := query[string](b, `document.querySelector("main").innerText`)
				if len(text) < 100 || strings.Contains(text, "Loading…") || strings.Contains(text, "Загрузка…") {
					t.Errorf("%s: shows only %q", where, text)
				}
				if other, same := seen[text]; same && strings.TrimSuffix(other, "light") != strings.TrimSuffix(where,
					"dark") {
					t.Errorf("%s shows what %s shows", where, other)
				}
				seen[text] = where
				if lang == "ru" != strings.ContainsAny(text, "абвгдеиклмнопрстуя") {
					t.Errorf("%s: the language is another one: %.300q", where, text)
				}
				if blank := query[string](b, blankCanvases); blank != "" {
					t.Errorf("%s: nothing is drawn on %s", where, blank)
				}
				b.quiet(where)
			}
		}
	}
	if backs[0] == backs[1] {
		t.Errorf("light and dark are both %s", backs[0])
	}
}

// Canvases in sight on which there is one colour only.
const blankCanvases = `[...document.querySelectorAll("main canvas")].filter(c => {
	if (!c.width || !c.height || c.previousElementSibling?.tagName === "CANVAS") return false;
	const d = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
	return d.every(x => x === d[0]);
}).map(c => c.parentElement.className).join()`

// pageAddress: what is shown is in the address: it survives a reload, goes to others by a link, and back and
// forward work.
func pageAddress(t *testing.T, p *pages) {
	s := p.serve(t, "view", p.heat, p.heat2)
	b := p.open(t, s.url)
	b.settle()
	b.view("nodes")
	b.view("events")
	// At once: between keys a busy machine may take long enough for half a word to be a place to come back to.
	query[bool](b, `(e => { e.value = "step"; return e.dispatchEvent(new Event("input", { bubbles: true })) })(document.querySelector("main input[type=search]"))`)
	b.wait(`location.search.includes("f.events.text=step")`)
	b.settle()
	b.click(`main .list .rows > .line:nth-child(12) [role=cell]:nth-child(3)`)
	b.wait(`/[?&]t=\d/.test(location.search)`)
	b.click(`header .tools button:nth-child(2)`)
	b.click(`header .tools button:nth-child(3)`) // automatic, light
	b.click(`header .tools button:nth-child(3)`) // dark
	b.settle()
	const shown = `[location.search, document.documentElement.lang, getComputedStyle(document.body).backgroundColor, document.querySelector("nav [aria-current]").textContent, document.querySelector("main input").value, document.querySelector("main .list .picked, main .list .cursor").textContent].join("|")`
	b.wait(`location.search.includes("theme=dark")`)
	// not its place only
	const row = `(e => e && e.textContent.trim() !== "…")(document.querySelector("main .list .picked, main .list .cursor"))`
	b.wait(row)
	before := query[string](b, shown)
	if !strings.Contains(before, "lang=ru") || !strings.Contains(before, "|ru|") || !strings.Contains(before,
		"События|step|") {
		t.Errorf("the address and the page: %s", before)
	}
	b.do(chromedp.Reload())
	b.settle()
	b.wait(row)
	if after := query[string](b, shown); after != before {
		t.Errorf("after a reload\n%s\nbefore it\n%s", after, before)
	}
	link := query[string](b, `location.href`)

	// Back to where one came from, and forward again.
	b.do(chromedp.NavigateBack())
	b.wait(`!location.search.includes("f.events.text")`)
	b.wait(`document.querySelector("main input").value === ""`)
	b.do(chromedp.NavigateBack())
	b.wait(`document.querySelector("nav [aria-current]").textContent.match(/Nodes|Узлы/)`)
	b.do(chromedp.NavigateForward(), chromedp.NavigateForward())
	b.settle()
	b.wait(`document.querySelector("main input").value === "step"`)
	b.quiet("back and forward")

	// Somebody else opens the link, and somebody another run.
	other := p.open(t, link)
	other.settle()
	other.wait(row)
	if after := query[string](other, shown); after != before {
		t.Errorf("elsewhere\n%s\nhere\n%s", after, before)
	}
	runs := query[[]string](other, `[...document.querySelectorAll("header .run option")].map(o => o.value)`)
	if len(runs) != 2 {
		t.Fatalf("runs %q", runs)
	}
	for _, run := range runs {
		other.do(chromedp.SetValue(chromedp.CSS("header .run"), run))
		query[bool](other,
			`document.querySelector("header .run").dispatchEvent(new Event("change", {bubbles: true}))`)
		other.wait(`new URLSearchParams(location.search).get("run") === %q`, run)
		other.settle()
	}
	other.view("overview")
	other.quiet("another run")
	if _, err := url.Parse(link); err != nil {
		t.Error(err)
	}
}
