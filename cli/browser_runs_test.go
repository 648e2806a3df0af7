package cli

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pageRuns: a team's collector lists its runs, finds them, plots a figure over those of a program, and
// deletes one for who has the token.
func pageRuns(t *testing.T, p *pages) {
	dir := t.TempDir()
	s := p.serve(t, "serve", "--token", "sesame", "--keep", "30d", "--max-size", "10G", "--dir", dir)
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"examples/mxm/mxm.fa", "4", "10"}, {"examples/mxm/mxm.fa", "4", "20"},
		{"examples/mxm/mxm.fa", "6", "20"}, {heatProgram, "200", "8", "0.5", "4"}} {
		p.whyslow(t, append([]string{"run", "-q", "-n", "2", "-w", "1", "--no-trace", "--to", at.Host,
			"--to-token", "sesame"}, args...)...)
	}
	b := p.open(t, s.url+"?token=sesame&lang=en&theme=light&view=runs")
	const rows = `document.querySelectorAll("main [role=row]").length - 1`
	const bars = `document.querySelectorAll("main .bar .value").length`
	b.wait(rows + ` === 4`)
	b.wait(`document.querySelector("h2").innerText === "Wall time of mxm, last 3 runs" && ` + bars + ` === 3`)
	b.picture("runs")

	// What is found is what is plotted, and a link shows the same.
	b.click(".find")
	b.keys("mxm 20 done")
	b.wait(rows + ` === 2 && ` + bars + ` === 2 && location.search.includes("f.runs.find=mxm")`)
	b.do(chromedp.Reload())
	b.wait(rows + ` === 2 && ` + bars + ` === 2`)

	// Shares of a factor are those of the runs' own pages, and a bar leads to its run.
	b.do(chromedp.Navigate(s.url + "?lang=en&theme=light&view=runs&f.runs.find=mxm+20&f.runs.figure=U"))
	b.wait(`!document.querySelector("main").innerText.includes("are read") && ` + bars + ` === 2 && ` +
		`/: \d+\.\d %%, done$/.test(document.querySelector(".bar").getAttribute("aria-label"))`)
	want := query[string](b, `fetch("/api/runs").then(r => r.json()).then(all => all.filter(r => r.args.includes("20")).at(-1).id).then(
		id => fetch("/api/runs/" + id + "/report")).then(r => r.json()).then(r => (100 * r.factors.U.ns / (r.total_ns - r.extra_cores_ns)).toFixed(1) + " %")`)
	if got := query[string](b, `document.querySelector(".bar").getAttribute("aria-label")`); want == "" ||
		!strings.Contains(got, "mxm.002") || !strings.Contains(got, want) {
		t.Errorf("the bar says %s, the report %s", got, want)
	}
	b.picture("runs-factor")
	b.click(".bar")
	b.wait(`!location.search.includes("view=runs") && document.querySelector("main .facts")`)

	// Deleted once the user is sure: from the disk, the list and the plot.
	b.do(chromedp.Navigate(s.url + "?lang=en&view=runs&f.runs.find=6+20"))
	b.wait(rows + ` === 1 && !document.querySelector("button.remove")`)
	b.click(`main [role=row][aria-rowindex="2"] [role=cell]:nth-child(3)`)
	b.click("button.remove")
	b.click("[role=alertdialog] button:nth-of-type(2)")
	if _, err := os.Stat(filepath.Join(dir, "mxm.003.trace")); err != nil {
		t.Error("it was kept on second thoughts, but: ", err)
	}
	b.click("button.remove")
	b.click("button.yes")
	b.wait(rows + ` === 0`)
	b.do(chromedp.Navigate(s.url + "?lang=en&view=runs"))
	b.wait(rows + ` === 3`)
	if _, err := os.Stat(filepath.Join(dir, "mxm.003.trace")); !os.IsNotExist(err) {
		t.Error("the trace is still there: ", err)
	}
	b.do(chromedp.EmulateViewport(390, 844))
	for _, look := range []string{sticksOut, cutOff} {
		if got := query[string](b, look); got != "" {
			t.Errorf("too wide for a phone: %s", got)
		}
	}
	b.picture("runs-phone")
	b.quiet("runs")

	// Nobody deletes without the token, or where there is none.
	for _, c := range []struct {
		s      *server
		status int
	}{{s, http.StatusUnauthorized}, {p.serve(t, "view", p.heat), http.StatusForbidden}} {
		id := b.run()
		if c.s != s {
			id = p.open(t, c.s.url).run()
		}
		req, err := http.NewRequest(http.MethodDelete, c.s.url+"api/runs/"+id, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status {
			t.Errorf("status %d, want %d", answer.StatusCode, c.status)
		}
	}
}
