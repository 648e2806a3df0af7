package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// pageSaved saves a plot, a table, the events and an interval in every form there is.
func pageSaved(t *testing.T, p *pages) {
	s := p.serve(t, "view", p.heat)
	b := p.open(t, s.url+"?lang=en")
	b.run()
	for _, view := range []string{"overview", "timeline", "nodes", "links", "graphs", "memory"} {
		b.view(view)
		name, data := b.save(`main [role=group] button`, "PNG")
		if picture, err := png.Decode(bytes.NewReader(data)); err != nil || picture.Bounds().Dx() < 200 ||
			picture.Bounds().Dy() < 50 {
			t.Errorf("%s: %s: %v", view, name, err)
		}
		if !strings.HasSuffix(name, ".png") {
			t.Errorf("%s: a picture is called %s", view, name)
		}
		name, data = b.save(`main [role=group] button`, "SVG")
		checkXML(t, data)
		if !strings.HasSuffix(name, ".svg") || bytes.Count(data, []byte("<")) < 10 {
			t.Errorf("%s: %s: %.300s", view, name, data)
		}
		if view == "timeline" {
			continue // its numbers are those of other views
		}
		name, data = b.save(`main [role=group] button`, "CSV")
		if c := columns(t, data); len(c) < 2 || !strings.HasSuffix(name, ".csv") {
			t.Errorf("%s: %s has the columns %v", view, name, c)
		}
	}
	b.view("events")
	_, data := b.save(`main [role=group] button`, "CSV")
	whole := p.report(t, p.heat)
	for name, column := range columns(t, data) {
		if int64(len(column)) != whole.Run.Events {
			t.Errorf("%d rows of %s, want %d", len(column), name, whole.Run.Events)
			break
		}
	}

	// An interval is a trace of its own.
	from, to := whole.Wall/4, whole.Wall/2
	b.do(chromedp.Navigate(fmt.Sprintf("%s?run=%s&lang=en&sel=%d-%d", s.url, b.run(), from, to)))
	b.settle()
	name, data := b.save(`.player > button:last-of-type`)
	dir := t.TempDir()
	archive := filepath.Join(dir, "part.tar.gz")
	if err := os.WriteFile(archive, data, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-xzf", archive, "-C", dir).CombinedOutput(); err != nil ||
		!strings.HasSuffix(name, ".tar.gz") {
		t.Fatalf("%s: %v %s", name, err, out)
	}
	traces, err := filepath.Glob(filepath.Join(dir, "*.trace"))
	if err != nil || len(traces) != 1 {
		t.Fatalf("the archive holds %q %v", traces, err)
	}
	part := p.report(t, traces[0])
	if part.Program != whole.Program || part.Run.Events == 0 || part.Run.Events >= whole.Run.Events {
		t.Errorf("the part of %s has %d events of %d", part.Program, part.Run.Events, whole.Run.Events)
	}
	if lines := strings.Count(p.whyslow(t, "dump", traces[0]), "\n"); int64(lines) < part.Run.Events {
		t.Errorf("dump writes %d lines of %d events", lines, part.Run.Events)
	}
	b.quiet("saving")
}

// pageCompare compares two runs: what the tables hold is what diff says.
func pageCompare(t *testing.T, p *pages) {
	s := p.serve(t, "view", p.heat, p.heat2)
	b := p.open(t, s.url+"?view=compare&lang=en")
	b.run()
	b.settle()
	runs := query[map[string]string](b,
		`fetch("/api/runs").then(r => r.json()).then(l => Object.fromEntries(l.map(r => [r.path.split("/").pop(), r.id])))`)
	b.do(chromedp.Navigate(fmt.Sprintf("%s?view=compare&lang=en&run=%s&f.compare.a=%[2]s&f.compare.b=%s", s.url,
		runs["heat.trace"], runs["slower.trace"])))
	b.settle()
	var want struct {
		Whole, Factors, Parts []struct {
			Name string
			A, B *float64
		}
	}
	if err := json.Unmarshal([]byte(p.whyslow(t, "diff", "--json", p.heat, p.heat2)), &want); err != nil {
		t.Fatal(err)
	}
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return fmt.Sprintf("%.0f", *v)
	}
	tables := query[[]string](b,
		`[...document.querySelectorAll("main .table [role=table]")].map(e => e.ariaLabel)`)
	if len(tables) < 4 {
		t.Fatalf("tables %q", tables)
	}
	for i, rows := range [][]struct {
		Name string
		A, B *float64
	}{want.Whole, want.Factors, want.Parts} {
		c := b.table(tables[i])
		at := map[string]int{}
		for i, name := range c["Figure"] {
			at[name] = i
		}
		for _, r := range rows {
			if row, ok := at[r.Name]; !ok || c["A"][row] != number(r.A) || c["B"][row] != number(r.B) {
				t.Errorf("%s: %s is %v, want %s and %s", tables[i], r.Name, c, number(r.A), number(r.B))
				break
			}
		}
	}
	before := query[string](b, `document.querySelector("main .sides").innerText`)
	b.click(`main .toolbar button`) // the other way round
	b.wait(`location.search.includes("f.compare.a=%s")`, runs["slower.trace"])
	b.settle()
	if after := query[string](b, `document.querySelector("main .sides").innerText`); after == before {
		t.Errorf("A and B change places, and it still shows %q", after)
	}
	b.quiet("compare")
}

// pageToken: without the token nobody gets anything; the page asks for it, and an address can have it.
func pageToken(t *testing.T, p *pages) {
	s := p.serve(t, "view", "--token", "open; sesame", p.heat)
	for address, want := range map[string]int{"api/runs": 401, "api/runs?token=open": 401, "api/updates": 401,
		"?token=wrong": 401} {
		r, err := http.Get(s.url + address)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s: status %d, want %d", address, r.StatusCode, want)
		}
	}
	b := p.open(t, s.url+"?view=nodes&lang=en", `401`)
	b.wait(`document.querySelector("dialog[open] input[type=password]")`)
	b.picture("token")
	for _, token := range []string{"guess", "open; sesame"} {
		b.click(`dialog input`)
		b.keys(token)
		b.keys("\r")
		if token == "guess" {
			b.wait(`document.querySelector("dialog [role=alert]")?.innerText`)
			b.do(chromedp.SetValue(chromedp.CSS("dialog input"), "x"),
				chromedp.SendKeys(chromedp.CSS("dialog input"), "\b"))
		}
	}
	b.wait(`!document.querySelector("dialog")`)
	b.run()
	b.settle()
	b.do(chromedp.Reload()) // it is kept
	b.run()
	b.settle()
	b.forgiving(`^$`)
	if status := query[int](b, `fetch("/api/runs").then(r => r.text().then(() => r.status))`); status != 200 {
		t.Errorf("after a reload: status %d", status)
	}
	b.view("memory")
	b.view("nodes")
	b.wait(`document.querySelector("nav [aria-current]").textContent === "Nodes" && document.querySelector("main [role=row]")`)
	b.quiet("after the token was given")

	link := p.open(t, s.url+"?token=open%3B%20sesame&view=memory")
	link.run()
	link.settle()
	link.wait(`document.querySelector("main .held")`)
	if at := query[string](link, `location.href`); strings.Contains(at, "sesame") {
		t.Errorf("the token stays in the address: %s", at)
	}
	link.quiet("a link with the token")

	// Without --token the printed link has a random one.
	random := p.serve(t, "view", "--token", "", p.heat)
	at, _, ok := strings.Cut(random.url, "?token=")
	r, err := http.Get(at + "api/runs")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if !ok || r.StatusCode != http.StatusUnauthorized {
		t.Errorf("%s: status %d", random.url, r.StatusCode)
	}
	opened := p.open(t, random.url)
	opened.run()
	opened.settle()
	opened.quiet("the printed link")
}
