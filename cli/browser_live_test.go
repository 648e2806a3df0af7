package cli

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// What a run tells now.
const (
	stateNow  = `fetch("/api/runs").then(r => r.json()).then(r => r[0]?.state ?? "")`
	eventsNow = `fetch("/api/runs").then(r => r.json()).then(r => r[0]?.events ?? 0)`
	factValue = `[...document.querySelectorAll("main .facts dt")].find(e => e.textContent === %q)?.nextElementSibling.innerText ?? ""`
)

// endless starts the heat example in such a way that it takes hours.
func (p *pages) endless(t *testing.T, args ...string) *os.Process {
	t.Helper()
	cmd, stderr := p.command(t, append(append([]string{"run", "-q", "-n", "4", "-w", "1", "--link-latency", "20ms"}, args...), p.example("heat"), "200", "8", "0.0000001", "4")...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be no more
		<-done
		if t.Failed() {
			t.Logf("whyslow run: %s", stderr)
		}
	})
	return cmd.Process
}

// grows waits until a number on the page becomes greater.
func (b *tab) grows(what, script string) {
	b.Helper()
	first := query[float64](b, script)
	b.until(what+" grows", func() bool { return query[float64](b, script) > first })
}

// pageLive follows a run, at every moment of its life, until it is killed.
func pageLive(t *testing.T, p *pages) {
	dir := t.TempDir()
	s := p.serve(t, "serve", "--dir", dir)
	b := p.open(t, s.url+"?lang=en&theme=light")
	b.settle()
	b.wait(`document.querySelector("main").innerText.includes("No runs yet")`)
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	run := p.endless(t, "--to", at.Host)

	// It appears by itself, and grows.
	b.run()
	b.wait(`(%s) === "live"`, fmt.Sprintf(factValue, "State"))
	b.grows("the time it lasted", fmt.Sprintf(`parseFloat(%s) * ((%[1]s).endsWith(" s") ? 1000 : 1)`, fmt.Sprintf(factValue, "Lasted")))
	b.grows("the number of events", fmt.Sprintf(`Number((%s).replace(/\D/g, ""))`, fmt.Sprintf(factValue, "Events")))
	b.picture("live-overview")
	b.wait(`[...document.querySelectorAll("main td")].some(e => e.textContent === "connected")`)
	b.click("nav a:nth-child(2)")
	b.wait(`document.querySelector(".lanes canvas")?.width > 100`)
	for range 2 {
		b.moves("the timeline of a run that goes on")
	}
	b.click(".player .live")
	b.wait(`location.search.includes("follow=1")`)
	b.keys("ww")
	b.wait(`location.search.includes("vis=")`)
	b.moves("the live edge")
	b.picture("live-timeline")

	// The language changes while it goes on, and every view works.
	b.click(`header .tools button:nth-child(2)`)
	b.wait(`document.documentElement.lang === "ru" && document.querySelector("nav").innerText.includes("Обзор")`)
	for _, v := range viewNames {
		b.liveView(v)
		b.picture("live-" + v)
		if got := query[string](b, oddWords); got != "" {
			t.Errorf("%s: shows %q", v, got)
		}
	}
	b.click(`header .tools button:nth-child(2)`)
	b.quiet("live")

	// Reloaded in the middle it has everything from the beginning.
	b.liveView("timeline")
	before := query[float64](b, eventsNow)
	b.do(chromedp.Reload())
	b.wait(`document.querySelector(".lanes canvas")?.width > 100`)
	if after := query[float64](b, eventsNow); after < before {
		t.Errorf("%.0f events after a reload, %.0f before it", after, before)
	}
	b.keys("f")
	b.wait(`!location.search.includes("vis=")`)
	b.moves("the timeline after a reload")
	if first := query[float64](b, `fetch("/api/runs/%s/factors?from=0&to=100000000&windows=1").then(r => r.json()).then(r => r.sum.slice(0, 5).reduce((a, b) => a + b))`, b.run()); first != 4*100e6 {
		t.Errorf("of the first 100 ms of four workers %.0f ns are known", first)
	}
	b.quiet("reloaded")

	// Killed: the page says so, and shows all that arrived, as a report does.
	b.liveView("overview")
	if err := run.Kill(); err != nil {
		t.Fatal(err)
	}
	b.wait(`(%s) === "killed"`, fmt.Sprintf(factValue, "State"))
	b.settle()
	b.picture("live-killed")
	traces, err := filepath.Glob(filepath.Join(dir, "*.trace"))
	if err != nil || len(traces) != 1 {
		t.Fatalf("%q %v", traces, err)
	}
	b.sameAsReport(p.report(t, traces[0]))
	b.quiet("killed")
}

// moves waits until the lanes are drawn otherwise though nobody touches them.
func (b *tab) moves(what string) {
	b.Helper()
	before := b.drawn()
	b.until(what+" moves", func() bool { return b.drawn() != before })
}

// liveView goes to a view of a run that goes on, where answers never end.
func (b *tab) liveView(name string) {
	b.Helper()
	b.click(fmt.Sprintf("nav a:nth-child(%d)", slices.Index(viewNames, name)+1))
	b.wait(`document.querySelector("main").innerText.length > 100 && !/Loading…|Загрузка…/.test(document.querySelector("main").innerText)`)
}

// pageCollector: the collector is killed and started again while a run sends to it. The page goes on, and so does the run.
func pageCollector(t *testing.T, p *pages) {
	dir := t.TempDir()
	s := p.serve(t, "serve", "--dir", dir)
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "own.trace")
	cmd, stderr := p.command(t, "run", "-q", "-n", "4", "-w", "1", "--link-latency", "40ms", "--to", at.Host, "-o", own, p.example("heat"), "200", "8", "0.5", "4")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	b := p.open(t, s.url+"?lang=en")
	b.run()
	b.wait(`(%s) === "live"`, fmt.Sprintf(factValue, "State"))
	b.until("something arrives", func() bool { return query[float64](b, eventsNow) > 1000 })
	b.quiet("before the collector is killed")

	b.forgiving(`Failed to load resource|net::ERR_`)
	s.kill(t)
	b.wait(`document.querySelector(".bar .lost")`)
	b.picture("collector-lost")
	p.serve(t, "serve", "--dir", dir, "--listen", at.Host)
	b.wait(`!document.querySelector(".bar .lost")`)
	if err := <-done; err != nil {
		t.Fatalf("the run: %v\n%s", err, stderr)
	}
	b.wait(`(%s) === "done"`, fmt.Sprintf(factValue, "State"))
	b.settle()
	b.forgiving(`^$`)
	want := p.report(t, own)
	b.sameAsReport(want)
	traces, err := filepath.Glob(filepath.Join(dir, "*.trace"))
	if err != nil || len(traces) != 1 {
		t.Fatalf("%q %v", traces, err)
	}
	if got := p.report(t, traces[0]); got.Run != want.Run || got.Factors["U"] != want.Factors["U"] {
		t.Errorf("collected %+v, want %+v", got.Run, want.Run)
	}
	b.quiet("after the run")
}
