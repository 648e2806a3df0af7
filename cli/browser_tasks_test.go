package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// labelled is a program whose CFs have labels of two indices: more than one group can show.
const labelled = `C++ sub put(int i, int j, name x) ${{ x = i + j; $}}
C++ sub take(value a, value b) ${{ (void)a; (void)b; $}}
sub main(int n)
{
    df x;
    for i = 0 .. n - 1
        for j = 0 .. n - 1 {
            cf make[i][j]: put(i, j, x[i][j]) @ { locator_cyclic: i; };
            cf use[i][j]: take(x[i][j], x[j][i]) @ { locator_cyclic: j; };
        }
}
`

// pageTasks: the task graph opens by code fragment, index and index down to single CFs, by mouse and by
// keyboard; it closes again, has a table, and never more boxes than there is room for. Groups of lanes close
// and open, too.
func pageTasks(t *testing.T, p *pages) {
	dir := t.TempDir()
	program, trace := filepath.Join(dir, "labelled.fa"), filepath.Join(dir, "labelled.trace")
	if err := os.WriteFile(program, []byte(labelled), 0o666); err != nil {
		t.Fatal(err)
	}
	p.whyslow(t, "run", "-q", "-n", "2", "-w", "1", "-o", trace, program, "30")
	s := p.serve(t, "view", trace)
	b := p.open(t, s.url+"?lang=en&theme=light&view=graphs&f.graphs.what=tasks")
	b.settle()
	const (
		titles = `[...document.querySelectorAll("main .group .name")].map(e => e.textContent).join()`
		frames = `[...document.querySelectorAll("main .frame .name")].map(e => e.firstChild.textContent.slice(2).trim()).join()`
		open   = `new URLSearchParams(location.search).get("f.graphs.open")`
	)
	b.wait(titles + ` === "main,for i,for j,put,take"`)
	b.wait(`[...document.querySelectorAll("main .edge title")].some(e => e.textContent.startsWith("put → take: 1 800 DFs"))`)
	b.wait(`[...document.querySelectorAll("main .edge title")].some(e => e.textContent === "for j created 900 CFs of put")`)
	box := func(title string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("main .group, main .frame")].find(e => e.textContent.includes(%q))`, title)
	}
	enter := func(title string) {
		t.Helper()
		b.wait(`%s`, box(title))
		query[bool](b, `(%s.focus(), true)`, box(title))
		b.keys("\r")
	}

	// By keyboard: the frame that the box becomes has the focus, so that Enter closes it again.
	enter("put")
	b.wait(frames + ` === "put" && document.activeElement.matches("main .frame")`)
	b.wait(titles + ` === "main,for i,for j,take,make[0..9],make[10..19],make[20..29]"`)
	b.keys("\r")
	b.wait(titles + ` === "main,for i,for j,put,take" && document.activeElement.matches("main .group")`)
	enter("put")
	enter("make[10..19]")
	enter("make[13]")
	b.wait(`document.querySelectorAll("main .frame").length === 3 && document.querySelectorAll("main .group").length === 18`)
	enter("make[13][20..29]")
	b.wait(titles + `.includes("make[13][20],make[13][21]")`)
	b.settle()
	b.picture("tasks")
	if got := query[string](b, sticksOut); got != "" {
		t.Errorf("too wide: %s", got)
	}

	// A single CF has a story, and what is around it.
	enter("make[13][24]")
	b.wait(`document.querySelector("aside h2").textContent.includes("make[13][24]")`)
	b.wait(`document.querySelector("main .group.picked .name").textContent === "make[13][24]"`)

	// The same as a table, and saved.
	b.click("main details.values summary")
	b.wait(`[...document.querySelectorAll("main details.values tr")].some(r => r.innerText.replace(/\s+/g, " ").startsWith("make[10..19] open 300"))`)
	b.wait(`[...document.querySelectorAll("main details.values tr")].some(r => r.innerText.replace(/\s+/g, " ").startsWith("for j take child 900"))`)
	if name, data := b.save("main .save button", "CSV"); name != "graph-tasks.csv" || !bytes.Contains(data, []byte("\nput,,open,900,")) {
		t.Errorf("saved %s: %.200q", name, data)
	}
	b.quiet("the task graph")

	// The mouse closes a frame with all in it. Everything opens as long as there is room.
	b.click("main .picture .toolbar button", "Close all")
	b.wait(titles + ` === "main,for i,for j,put,take" && ` + open + ` === null`)
	for range 4 {
		if query[bool](b, `!!document.querySelector("main .picture .toolbar [role=status]")`) {
			break
		}
		b.click("main .picture .toolbar button", "Open all")
		b.settle()
	}
	b.wait(`document.querySelector("main .picture .toolbar [role=status]").textContent.startsWith("There is room for 400 boxes")`)
	if n := query[int](b, `document.querySelectorAll("main .group").length`); n > 400 || n < 100 {
		t.Errorf("%d boxes", n)
	}
	b.picture("tasks-full")

	// Of an interval: only what happened in it.
	run := b.run()
	b.do(chromedp.Navigate(s.url + "?lang=ru&view=graphs&f.graphs.what=tasks&sel=0-10&run=" + run))
	b.settle()
	b.wait(`document.querySelector("main [data-scope=interval]")`)
	b.wait(`document.querySelector("main [data-state=empty]").textContent.includes("ФВ неизвестны")`)
	b.quiet("an interval")

	// Lanes of a node.
	s2 := p.serve(t, "view", p.ownTrace(t))
	l := p.open(t, s2.url+"?lang=en&view=timeline")
	l.settle()
	l.changes("a closed group", func() { l.click(`.lanes .fold[aria-label="Node 0: 2 lanes"]`) })
	l.wait(`new URLSearchParams(location.search).get("f.timeline.closed") === "0"`)
	l.wait(`document.querySelector(".lanes .fold").ariaExpanded === "false"`)
	l.picture("lanes-closed")
	// A CF that is picked opens the group of its lane.
	l.do(chromedp.SendKeys(chromedp.CSS("header .search input"), "0.1"))
	l.wait(`document.querySelector("#found [aria-selected=true]")`)
	l.keys("\r")
	l.wait(`new URLSearchParams(location.search).get("f.timeline.closed") === null`)
	l.quiet("groups of lanes")
}
