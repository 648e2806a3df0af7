package cli

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// pagePictures makes the pictures of docs/page.md: see make pictures.
func pagePictures(t *testing.T, p *pages) {
	if *pictures == "" {
		t.Skip("-pictures names no folder for them")
	}
	trace := filepath.Join(t.TempDir(), "cholesky.trace")
	p.whyslow(t, "run", "-q", "-n", "2", "-w", "1", "--link-latency", "100us", "-o", trace,
		"examples/cholesky/cholesky.fa", "14", "40")
	s := p.serve(t, "view", trace)
	b := p.open(t, s.url+"?lang=en&theme=light")
	b.settle()
	run := b.run()
	type wait struct {
		From, To int64
		Consumer string
	}
	longest := query[[]wait](b, `fetch("/api/runs/%s/waits?factors=S&limit=1").then(r => r.json()).then(w => w.rows.map(r => ({From: r.from, To: r.to, Consumer: r.consumer})))`, run)
	if len(longest) == 0 {
		t.Fatal("nothing was waited for")
	}
	w := longest[0]
	for _, v := range []struct {
		name, query string
		height      int64
	}{
		{"overview", "view=overview", 800},
		{"timeline", fmt.Sprintf("view=timeline&pick=cf:%s&t=%d&vis=%d-%d", w.Consumer, w.To,
			max(w.From-(w.To-w.From), 0), w.To+2*(w.To-w.From)), 800},
		{"links", "view=links", 800},
		{"memory", "view=memory", 800},
		{"tasks", "view=graphs&f.graphs.what=tasks&f.graphs.open=10,10/3", 800},
		{"moment", fmt.Sprintf("view=graphs&f.graphs.what=moment&t=%d", w.From+(w.To-w.From)/2), 800},
		{"whatif", "view=whatif&f.whatif.nodes=4", 1500},
	} {
		b.do(chromedp.EmulateViewport(1280, v.height))
		b.do(chromedp.Navigate(s.url + "?lang=en&theme=light&run=" + run + "&" + v.query))
		b.settle()
		if v.name == "tasks" { // its layout comes after the answer
			b.wait(`document.querySelectorAll("main .frame").length === 2`)
		}
		if v.name == "moment" {
			b.wait(`document.querySelectorAll("main .side:nth-child(2) .item").length > 0`)
		}
		b.picture("page-" + v.name)
	}
	b.quiet("pictures")
}
