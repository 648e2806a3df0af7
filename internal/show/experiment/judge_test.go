package experiment

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// series makes an experiment of points with the given overheads, of a total of 100 ms each; every point
// has three runs, apart ns from each other.
func series(apart int64, overheads ...int64) *Experiment {
	e := &Experiment{Name: "overhead", Title: "made up", Parameter: "CFs"}
	for i, o := range overheads {
		e.add(i, string(rune('a'+i)), Point{Nodes: 1, Workers: 1, Program: "x.fa"})
		for _, d := range []int64{apart, 0, -apart} {
			const total, preempt = 100e6, 1e6
			r := Run{WallNS: total + d, TotalNS: total, ONS: o + preempt + d, TakenNS: preempt}
			r.UNS = total - r.ONS
			e.Points[i].Runs = append(e.Points[i].Runs, r)
		}
	}
	return e
}

// TestOrderWithinNoise: an order is broken by more than noise in every round. What the rounds do not agree
// on, or what was measured while others took the cores, is too busy to say.
func TestOrderWithinNoise(t *testing.T) {
	one := series(0, 50e6, 5e6, 9e6)
	one.Points[2].Runs[0].ONS -= 4e6
	taken := series(0, 50e6, 5e6, 9e6)
	for i := range taken.Points[0].Runs {
		taken.Points[0].Runs[i].TakenNS, taken.Points[0].Runs[i].ONS = 40e6, 90e6
	}
	for _, c := range []struct {
		name  string
		e     *Experiment
		holds bool
		busy  bool
	}{
		{"falls", series(0, 50e6, 20e6, 5e6), true, false},
		{"stays", series(0, 5e6, 5e6, 5e6), true, false},
		{"grows by less than a hundredth of the total", series(0, 50e6, 5e6, 5.9e6), true, false},
		{"grows by more", series(0, 50e6, 5e6, 6.1e6), false, false},
		{"rounds are far apart, points of a round are not", series(4e6, 50e6, 5e6, 5.9e6), true, false},
		{"grows in every round", series(4e6, 50e6, 5e6, 12e6), false, false},
		{"grows in all rounds but one", one, false, true},
		{"others took the cores", taken, false, true},
	} {
		if got := c.e.falls("", c.e.Points, overhead, 1); got.Holds != c.holds || got.Busy != c.busy {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	up := series(0, 5e6, 20e6, 50e6)
	if c := up.falls("", up.Points, overhead, -1); !c.Holds {
		t.Error("what grows does not grow")
	}
	if c := up.falls("", up.Points, overhead, 1); c.Holds || c.Busy {
		t.Error("what grows falls")
	}
}

// TestBusy: where the machine was too busy, that is said, and nothing failed.
func TestBusy(t *testing.T) {
	e := series(0, 50e6, 20e6, 9e6, 15e6)
	e.Points[3].Runs[1].ONS -= 8e6
	e.Points[3].Runs[1].UNS += 8e6
	e.Checks = []Check{e.falls("O falls", e.Points, overhead, 1), e.sums()}
	r := &Report{Experiments: []*Experiment{e}}
	var text strings.Builder
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	if page := r.markdown(e); !r.Holds() || !strings.Contains(text.String(), "too busy to say  O falls: ") ||
		strings.Contains(text.String(), "NO") || strings.Contains(page, "**not**") ||
		!strings.Contains(page, "The machine was too busy to say that O falls.") {
		t.Errorf("%v\n%s\n%s", r.Holds(), text.String(), page)
	}
}

// TestVerdict: what is not as expected is said so, everywhere.
func TestVerdict(t *testing.T) {
	good, bad := series(0, 50e6, 20e6, 5e6), series(0, 5e6, 20e6, 50e6)
	for _, e := range []*Experiment{good, bad} {
		e.Checks = judgeOverhead(e)
		r := &Report{Experiments: []*Experiment{e}}
		var text strings.Builder
		if err := r.Text(&text); err != nil {
			t.Fatal(err)
		}
		page := r.markdown(e)
		if e == good != r.Holds() || e == good != strings.Contains(page, "This is as expected.") ||
			e == bad != strings.Contains(page, "**not**") || e == bad != strings.Contains(text.String(), "NO") {
			t.Errorf("%v\n%s\n%s", r.Holds(), text.String(), page)
		}
	}
	lost := series(0, 50e6, 20e6, 5e6)
	lost.Points[1].Runs[2].UNS--
	if c := lost.sums(); c.Holds || !strings.Contains(c.Saw, "99999999 ns of 100000000 ns at b") {
		t.Errorf("%+v", c)
	}
	if got := good.Points[0].Median().WallNS; got != 100e6 {
		t.Errorf("the run in the middle takes %d", got)
	}
}

// TestWholeOrNothing: where something cannot be written, nothing is.
func TestWholeOrNothing(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	if err := os.WriteFile(good, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := replace(map[string]string{good: "new", filepath.Join(dir, "none", "bad"): "new"}); err == nil {
		t.Error("no error")
	}
	text, err := os.ReadFile(good)
	files, listErr := os.ReadDir(dir)
	if err != nil || listErr != nil || string(text) != "old" || len(files) != 1 {
		t.Errorf("%q, %v, %v, %v", text, files, err, listErr)
	}

	e := series(0, 50e6, 20e6, 5e6)
	e.Checks = judgeOverhead(e)
	r := &Report{Experiments: []*Experiment{e}}
	page := filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("# Nothing marked\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := r.WritePage(page); err == nil || !strings.Contains(err.Error(), page) ||
		!strings.Contains(err.Error(), "experiment overhead") {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(page); err != nil || string(text) != "# Nothing marked\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestPlan: the parameters are those of the paper, scaled to the machine.
func TestPlan(t *testing.T) {
	plan, out, err := Plan(nil, Options{Cores: 32})
	if err != nil || out != nil {
		t.Fatal(out, err)
	}
	starvation, overhead, latency, pic := plan[0], plan[1], plan[2], plan[3]
	if n := len(starvation.Points); n != 16 || starvation.Points[0].Workers != 8 ||
		starvation.Points[15].Value != 16 {
		t.Errorf("%+v", starvation)
	}
	for i, p := range overhead.Points[1:] {
		if p.Value*2 != overhead.Points[i].Value || p.Workers != 1 || p.Nodes != 1 {
			t.Errorf("%+v", p)
		}
	}
	if first, last := latency.Points[0], latency.Points[len(latency.Points)-1]; first.Label != "8 B" ||
		last.Label != "16 MiB" || first.Nodes != 2 {
		t.Errorf("%+v, %+v", first, last)
	}
	if got, want := pic.Points[1].command(),
		"whyslow run -n 4 -w 1 --link-latency=20us --link-bandwidth=1250M --rule=source"+
			" examples/pic/pic.fa 100 1000000 25 10 0.0001 4"; got != want {
		t.Errorf("%s", got)
	}

	crossed, shared, tcp, dust := plan[4], plan[5], plan[6], plan[7]
	for i, p := range crossed.Points { // of two points, the same number of CFs and the same work
		one := crossed.Points[i&^1]
		if p.Nodes != 1+i%2 || p.Value != one.Value || !p.Ranks {
			t.Errorf("%+v, %+v", p, one)
		}
	}
	for i, p := range latency.Points {
		if s := shared.Points[i]; !slices.Equal(s.Args, p.Args) ||
			!slices.Equal(s.Args, tcp.Points[i].Args) || !s.Ranks {
			t.Errorf("%+v, %+v", s, p)
		}
	}
	for got, want := range map[string]string{
		shared.Points[0].command(): "mpirun -n 2 --mca pml ob1 --mca btl self,vader whyslow run -w " +
			"1 --rule=source examples/crossed/crossed.fa 100 8 1000000",
		tcp.Points[0].command(): "mpirun -n 2 --mca pml ob1 --mca btl self,tcp whyslow run -w 1 --rule=source " +
			"examples/crossed/crossed.fa 100 8 1000000",
		dust.Points[1].command(): "mpirun -n 4 whyslow run -w 1 --rule=source examples/pic/pic.fa 100 1000000 " +
			"25 10 0.0001 4",
	} {
		if got != want {
			t.Errorf("%s", got)
		}
	}
}

// FuzzPage: whatever a page holds, what is outside the marks stays, and a second renewal changes
// nothing more.
func FuzzPage(f *testing.F) {
	begin, end := marks("overhead")
	f.Add("head\n", "old\n", "tail\n")
	f.Add(begin, end, begin+end)
	f.Add("", "", "")
	e := series(0, 50e6, 20e6, 5e6)
	e.Checks = judgeOverhead(e)
	r := &Report{Experiments: []*Experiment{e}}
	f.Fuzz(func(t *testing.T, head, old, tail string) {
		if page, err := r.page(head); err == nil && !strings.Contains(head, begin) {
			t.Errorf("no marks, no error: %q", page)
		}
		if strings.Contains(head, begin) || strings.Contains(old, end) ||
			strings.Contains(head+begin+old+end, begin+end) {
			return
		}
		page, err := r.page(head + begin + old + end + tail)
		if err != nil || !strings.HasPrefix(page, head+begin) || !strings.HasSuffix(page, end+tail) {
			t.Fatalf("%v\n%s", err, page)
		}
		if again, err := r.page(page); err != nil || again != page {
			t.Errorf("%v\n%s", err, again)
		}
	})
}
