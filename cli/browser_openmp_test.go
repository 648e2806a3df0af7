package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
)

// pageOpenMP: a run of OpenMP is shown in OpenMP's words, in both languages and in every view: no CFs, DFs
// and workers, and in Russian no worker threads. Regions and tasks are in the timeline.
func pageOpenMP(t *testing.T, p *pages) {
	trace := filepath.Join(t.TempDir(), "openmp.trace")
	p.whyslow(t, "omp", "-q", "-o", trace, "--", ompProgram(t, clang(), "wide-depend"))
	s := p.serve(t, "view", trace)
	for lang, words := range map[string]string{"en": `\b(CFs?|DFs?|[Ww]orkers?|code fragments?)\b`,
		"ru": `[Рр]абоч[а-я]+ поток`} {
		b := p.open(t, s.url+"?theme=light&lang="+lang)
		for _, view := range []string{"overview", "timeline", "nodes", "fragments", "memory", "graphs"} {
			b.view(view)
			b.settle()
			if got := query[string](b, `(document.querySelector("main").innerText.match(/.*`+words+`.*/g) ?? []).join("\n")`); got != "" {
				t.Errorf("%s, %s: not OpenMP's words: %s", lang, view, got)
			}
		}
		b.view("fragments")
		b.settle()
		b.wait(`document.querySelector("main").innerText.includes("task wide-depend.c:16")`)
		b.quiet("the page of an OpenMP program")
	}

	// Arrows from thread to thread: a task waits for the variable that another one has written.
	b := p.open(t, s.url+"?view=timeline&lang=en")
	b.settle()
	b.pressDraws("Dependences")
	b.picture("dependences")
	if !query[bool](b, `fetch("/api/runs/%s/arrows?inside=1").then(r => r.json()).then(r => r.arrows.some(a =>
		a.kind === "wait" && a.from_lane >= 0 && a.from_lane !== a.to_lane && !/barrier|region/.test(a.what)))`, b.run()) {
		t.Error("no task waits for the variable in another thread")
	}
	b.quiet("dependences")

	trace = filepath.Join(t.TempDir(), "critical.trace")
	p.whyslow(t, "omp", "-q", "-o", trace, "--", ompProgram(t, clang(), "critical"))
	b = p.open(t, p.serve(t, "view", trace).url+"?view=timeline&lang=en")
	b.settle()
	b.wait(`document.querySelector(".locks .name")?.textContent.startsWith("critical (")`)
	b.until("the lock is held by one while another waits", func() bool {
		box := query[[]float64](b, `(r => [r.x, r.y, r.width, r.height])(document.querySelector(".locks canvas").getBoundingClientRect())`)
		for at := 0.2; at < 0.9; at += 0.1 {
			x, y := box[0]+84+(box[2]-84)*at, box[1]+box[3]*.7
			b.mouse(input.DispatchMouseEventTypeMouseMoved, x-3, y, 0)
			b.mouse(input.DispatchMouseEventTypeMouseMoved, x, y, 0)
			got := query[string](b, `new Promise(f => setTimeout(() => f(document.querySelector(".locks .tip")?.innerText ?? ""), 60))`)
			if strings.Contains(got, "critical (critical.c:16)") && strings.Contains(got, "held") && strings.Contains(got, "waiting: 0.") {
				return true
			}
		}
		return false
	})
	b.picture("mutex")
	b.quiet("locks of an OpenMP program")
}
