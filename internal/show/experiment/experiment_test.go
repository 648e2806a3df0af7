package experiment

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// What all tests share is gone when they end.
var shared string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if shared, err = os.MkdirTemp("", "experiment-*"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(shared)
		return m.Run()
	}())
}

var build = sync.OnceValues(func() (string, error) { return whyslowWith("", "whyslow") })

// whyslowWith builds whyslow with tags into a file of the folder that all tests share. Nobody debugs it, and
// without what that needs it takes half as long to link.
func whyslowWith(tags, name string) (string, error) {
	whyslow := filepath.Join(shared, name)
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-tags", tags, "-o", whyslow,
		"../../../cmd/whyslow").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return whyslow, err
}

// quick are options for small experiments.
func quick(t *testing.T) Options {
	t.Helper()
	whyslow, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Whyslow: whyslow, Cores: 2, Quick: true, Repeats: 1, NoMPI: "there is none"}
}

// TestQuick runs all experiments: what does not depend on how fast anything is must hold, and all faces
// must be whole.
func TestQuick(t *testing.T) {
	opt := quick(t)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	steps := 0
	opt.Progress = func(done, all int, what string) {
		if done != steps || done >= all || what == "" {
			t.Errorf("progress: %d of %d, %q", done, all, what)
		}
		steps++
	}
	r, err := Execute(t.Context(), nil, opt)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	var names []string
	points := 0
	sure := map[string]bool{"L is zero on one node": false, "L is zero on one node and is not on four": false,
		"the program computes the same result on both":                false,
		"the factors add up to all processor time, to the nanosecond": false}
	for _, e := range r.Experiments {
		names = append(names, e.Name)
		points += len(e.Points)
		for _, p := range e.Points {
			if r := p.Median(); len(p.Runs) != 1 || r.WallNS <= 0 || r.UNS <= 0 || r.CFs < int64(10) ||
				r.Output == "" ||
				r.TotalNS != int64(p.Nodes*p.Workers)*r.WallNS+r.ExtraNS {
				t.Errorf("%s %s: %+v", e.Name, p.Label, p.Runs)
			}
			if sends := p.Median().MessageBytes > 0; sends != (p.Nodes > 1) {
				t.Errorf("%s %s: %d bytes sent on %d nodes", e.Name, p.Label, p.Median().MessageBytes, p.Nodes)
			}
		}
		for _, c := range e.Checks {
			if _, ok := sure[c.Claim]; ok {
				sure[c.Claim] = true
				if !c.Holds {
					t.Errorf("%s: %s: %s", e.Name, c.Claim, c.Saw)
				}
			}
		}
	}
	names = append(names, r.LeftOut.Names...)
	for _, c := range r.Costs {
		names = append(names, c.Name)
		points += c.runs()
	}
	if !reflect.DeepEqual(names, Names()) || points != steps {
		t.Errorf("%v with %d points, %d runs", names, points, steps)
	}
	for claim, seen := range sure {
		if !seen {
			t.Errorf("nobody checks that %s", claim)
		}
	}
	// The work of a series is the same at all points.
	for _, e := range r.Experiments[:3] {
		first, last := e.Points[0].Median(), e.Points[len(e.Points)-1].Median()
		if e.Name == "latency" && first.CFs != last.CFs {
			t.Errorf("%d CFs, then %d", first.CFs, last.CFs)
		}
		if e.Name == "overhead" && first.CFs != last.CFs+(1<<16-1<<8) {
			t.Errorf("%d CFs, then %d", first.CFs, last.CFs)
		}
	}
	faces(t, r)
}

// faces checks text, JSON, page and figures of a report.
func faces(t *testing.T, r *Report) {
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Report
	if err := json.Unmarshal(text, &again); err != nil || len(again.Experiments) != len(r.Experiments) ||
		!reflect.DeepEqual(again.Experiments[0].Points, r.Experiments[0].Points) {
		t.Errorf("JSON does not come back: %v", err)
	}

	var out strings.Builder
	if err := r.Text(&out); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "page.md")
	before := "# Page\n"
	var sections []string
	for _, e := range r.Experiments {
		sections = append(sections, e.Name)
	}
	for _, c := range r.Costs {
		sections = append(sections, c.Name)
	}
	for _, name := range sections {
		begin, end := marks(name)
		before += "before " + name + "\n\n" + begin + "old text of it\n" + end + "\nafter " + name + "\n"
	}
	if err := os.WriteFile(page, []byte(before), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time, what the first wrote is replaced
		if err := r.WritePage(page); err != nil {
			t.Fatal(err)
		}
	}
	after, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(after), "old text") {
		t.Error("an old section is still there")
	}
	for _, e := range r.Experiments {
		want := []string{"before " + e.Name + "\n", "\nafter " + e.Name + "\n", e.Checks[0].Claim,
			e.Points[0].Label}
		for _, w := range want {
			if strings.Count(string(after), w) < 1 {
				t.Errorf("the page has no %q:\n%s", w, after)
			}
		}
		if !strings.Contains(out.String(), e.Title) || !strings.Contains(out.String(), e.Checks[0].Saw) {
			t.Errorf("the text lacks %s:\n%s", e.Name, out.String())
		}
	}
	if n := strings.Count(string(after), "| T_wall |"); n != len(r.Experiments) {
		t.Errorf("%d tables", n)
	}
	files, err := os.ReadDir(filepath.Dir(page))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 4 { // the page and three figures
		t.Errorf("%v", files)
	}
	if !strings.Contains(out.String(), "cannot be run here: there is none") {
		t.Errorf("the text does not tell what was left out:\n%s", out.String())
	}
	for name := range r.figures() {
		if !strings.Contains(string(after), "("+name+")") {
			t.Errorf("the page does not show %s", name)
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(page), name))
		if err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

// TestOrder: what the experiments are about, at two or three points each and with margins that leave
// room for a busy machine; a machine that does something else at the wrong moment may spoil a run, but
// not every one.
func TestOrder(t *testing.T) {
	opt := quick(t)
	for name, holds := range map[string]func(first, last *Point) bool{
		// Of two workers a single chain leaves one idle.
		"starvation": func(one, more *Point) bool {
			return one.share(starvation) > 0.35 && more.share(starvation) < one.share(starvation)-0.15
		},
		"overhead": func(small, large *Point) bool { return small.share(overhead) > 2*large.share(overhead) },
		"latency": func(small, large *Point) bool {
			return large.median(latency) > 2*small.median(latency)
		},
		"pic": func(one, four *Point) bool {
			useful := func(r *Run) int64 { return r.UNS }
			return four.share(useful) < one.share(useful) && four.share(latency) > 0
		},
	} {
		var said []string
		for range 12 {
			plan, _, err := Plan([]string{name}, opt)
			if err != nil {
				t.Fatal(err)
			}
			e := plan[0]
			first, last := e.Points[0], e.Points[len(e.Points)-1]
			if name == "starvation" {
				last = e.Points[1] // as many chains as workers
			}
			for _, p := range []*Point{first, last} {
				r, err := p.run(t.Context(), opt.Whyslow, "../../../examples", t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				p.Runs = []Run{*r}
			}
			if holds(first, last) {
				said = nil
				break
			}
			said = append(said, fmt.Sprintf("%+v, then %+v", first.Runs[0], last.Runs[0]))
		}
		if said != nil {
			t.Errorf("%s:\n%s", name, strings.Join(said, "\n"))
		}
	}
}

// TestInterrupted: an interrupted experiment leaves nothing behind, no process either.
func TestInterrupted(t *testing.T) {
	opt := quick(t)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opt.Progress = func(done, _ int, _ string) {
		if done == 1 {
			cancel()
		}
	}
	if r, err := Execute(ctx, []string{"overhead"}, opt); !errors.Is(err, context.Canceled) || r != nil {
		t.Errorf("%v, %v", r, err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	// During a run: the run is told to end, and does.
	p := &Point{Nodes: 1, Workers: 1, Program: "granularity/granularity.fa", Args: words(100, 2_000_000_000)}
	ctx, cancel = context.WithCancel(t.Context())
	started := make(chan error, 1)
	folder := filepath.Join(temporary, "trace")
	go func() {
		_, err := p.run(ctx, opt.Whyslow, "../../../examples", temporary)
		started <- err
	}()
	for { // until it records, or ends by itself, which would be wrong
		if _, err := os.Stat(folder); err == nil {
			break
		}
		select {
		case err := <-started:
			t.Fatalf("ended: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	cancel()
	if err := <-started; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestErrors(t *testing.T) {
	opt := quick(t)
	if _, err := Execute(t.Context(), []string{"overhead", "speed"}, opt); err == nil ||
		!strings.Contains(err.Error(), `no experiment "speed"`) {
		t.Errorf("%v", err)
	}
	missing := opt
	missing.Whyslow = filepath.Join(t.TempDir(), "missing")
	if _, err := Execute(t.Context(), []string{"pic"}, missing); err == nil ||
		!strings.Contains(err.Error(), missing.Whyslow) {
		t.Errorf("%v", err)
	}
	if _, err := Execute(t.Context(), []string{"pic-mpi", "latency-shm"}, opt); err == nil ||
		err.Error() != "latency-shm, pic-mpi cannot be run here: there is none" {
		t.Errorf("%v", err)
	}
	p := &Point{Nodes: 1, Workers: 1, Program: "pic/pic.fa", Args: []string{"3", "1", "1", "1", "1.0", "1"}}
	if _, err := p.run(t.Context(), opt.Whyslow, "../../../examples", t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "the mesh must be even") {
		t.Errorf("%v", err)
	}
}
