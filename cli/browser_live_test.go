package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
	cmd, stderr := p.command(t,
		append(append([]string{"run", "-q", "-n", "4", "-w", "1", "--link-latency", "20ms"}, args...),
			heatProgram, "200", "8", "0.0000001", "4")...)
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
	// A run of which nothing has arrived yet is asked for again a second later, which the browser remarks.
	b.forgiving(`\b503\b`)
	run := p.endless(t, "--to", at.Host)

	// It appears by itself, and grows.
	b.run()
	b.wait(`(%s) === "live"`, fmt.Sprintf(factValue, "State"))
	b.grows("the time it lasted", fmt.Sprintf(`parseFloat(%s) * ((%[1]s).endsWith(" s") ? 1000 : 1)`,
		fmt.Sprintf(factValue, "Lasted")))
	b.grows("the number of events", fmt.Sprintf(`Number((%s).replace(/\D/g, ""))`,
		fmt.Sprintf(factValue, "Events")))
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
	if first := query[float64](b,
		`fetch("/api/runs/%s/factors?from=0&to=100000000&windows=1").then(r => r.json()).then(r => r.sum.slice(0, 5).reduce((a, b) => a + b))`, b.run()); first != 4*100e6 {
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
	b.wait(`document.querySelector("main").innerText.length > 30 && !/Loading…|Загрузка…/.test(document.querySelector("main").innerText)`)
}

// pageCollector: the collector is killed and started again while a run sends to it. The page goes on, and so
// does the run.
func pageCollector(t *testing.T, p *pages) {
	dir := t.TempDir()
	s := p.serve(t, "serve", "--dir", dir)
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "own.trace")
	cmd, stderr := p.command(t, "run", "-q", "-n", "4", "-w", "1", "--link-latency", "40ms", "--to", at.Host,
		"-o", own, heatProgram, "200", "8", "0.5", "4")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	b := p.open(t, s.url+"?lang=en", `\b503\b`) // as above
	b.run()
	b.wait(`(%s) === "live"`, fmt.Sprintf(factValue, "State"))
	b.until("something arrives", func() bool { return query[float64](b, eventsNow) > 1000 })
	b.quiet("before the collector is killed")

	b.forgiving(`Failed to load resource|net::ERR_|\b503\b`)
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

// lateShmem is a program whose PE 1 comes 20 ms late to every barrier.
const lateShmem = `#include <shmem.h>
#include <unistd.h>
int main(void) {
    shmem_init();
    for (int i = 0; i < 100; i++) {
        if (shmem_my_pe() == 1) usleep(20000);
        shmem_barrier_all();
    }
    shmem_finalize();
    return 0;
}
`

// TestShmemLive watches a program of oshrun, as the page does: waiting is shown as such while it goes on,
// nothing as starvation that is not, and in the end the factors are those of the report.
func TestShmemLive(t *testing.T) {
	if !hasShmem() {
		t.Skip("no OpenSHMEM here")
	}
	home, dir := lunaHome(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "late.c"), []byte(lateShmem), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code, err := shell(dir, home, "oshcc -g -o late late.c"); err != nil || code != 0 {
		t.Fatalf("%v\n%s", err, stderr)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(home, "bin", "whyslow"), "shmem", "-q", "--live",
		"--no-browser", "--insecure", "--", "oshrun", "-np", "2", "./late")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_hwloc_base_binding_policy=none")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that oshrun ends its processes
	cmd.WaitDelay = 10 * time.Second
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was interrupted
	}()
	stderr, url := bufio.NewReader(pipe), ""
	for url == "" {
		line, err := stderr.ReadString('\n')
		if err != nil {
			t.Fatal("no address:", err)
		}
		if rest, ok := strings.CutPrefix(line, "whyslow: live at "); ok {
			url = strings.TrimSpace(rest)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }() // nobody is told more
	get := func(path string, into any) {
		t.Helper()
		resp, err := http.Get(url + "api/runs" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
			t.Fatalf("%s: %s, %v", path, resp.Status, err)
		}
	}
	var runs []struct {
		ID, State string
		WallNS    int64 `json:"wall_ns"`
	}
	type factors struct {
		Rows         []string
		Sum          []int64
		ExtraCoresNS int64 `json:"extra_cores_ns"`
	}
	var seen []map[string]int64
	ask := func() map[string]int64 {
		var f factors
		get(fmt.Sprintf("/%s/factors?from=0&to=%d&windows=1", runs[0].ID, runs[0].WallNS), &f)
		sums := map[string]int64{}
		for i, row := range f.Rows {
			sums[row] = f.Sum[i]
		}
		sums["O"] += f.ExtraCoresNS
		return sums
	}
	for get("", &runs); len(runs) == 1 && runs[0].State == "live"; get("", &runs) {
		if runs[0].WallNS > 0 {
			seen = append(seen, ask())
		}
		time.Sleep(100 * time.Millisecond)
	}
	if len(runs) != 1 || runs[0].State != "done" {
		t.Fatalf("%+v", runs)
	}
	final := ask()
	var doc struct{ Factors map[string]struct{ NS int64 } }
	get("/"+runs[0].ID+"/report", &doc)
	for row, f := range doc.Factors {
		if final[row] != f.NS {
			t.Errorf("%s: %d ns on the page, %d in the report", row, final[row], f.NS)
		}
	}
	waits := 0
	for _, w := range seen {
		for row, ns := range final {
			if row != "undivided" && w[row] > ns {
				t.Errorf("%s: %d ns while it went on, %d in the end", row, w[row], ns)
			}
		}
		if w["W"] > 0 && w["U"] > 0 {
			waits++
		}
	}
	if waits < 2 {
		t.Errorf("work and waiting were seen %d times of %d: the last is %v, the end %v", waits, len(seen),
			seen[max(0, len(seen)-1):], final)
	}
}
