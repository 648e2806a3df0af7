package cli

import (
	"path/filepath"
	"testing"
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
}
