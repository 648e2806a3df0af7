// Predictions holds "whyslow predict" against reality: it runs programs on machines of several shapes,
// predicts each run from each of the others, and writes a page with the errors.
//
//	go run ./internal/testkit/predictions [-runs 8] [-dir DIR] [-o docs/predictions.md] WHYSLOW [PROGRAM...]
//
// With -dir runs stay in that folder, and those that are there are not repeated. So a computer that is quiet
// for minutes at a time can run the programs one by one, without predicting anything (-o ""); then the page
// has all that the folder has.
//
// Every shape runs several times, in turns with the others. The half that other programs disturbed least
// counts. Its run of median wall time is the one to predict, and to predict from; half the distance between
// its longest and shortest run is the noise that no prediction can go below.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// program is one with its arguments, and the flags of its links.
type program struct {
	name, file string
	args       []string
	links      []string
}

var programs = []program{
	{"mxm", "mxm/mxm.fa", args("8 200"), nil},
	{"cholesky", "cholesky/cholesky.fa", args("16 160"), nil},
	{"heat", "heat/heat.fa", args("1000 8 0.2 2"), nil},
	{"heat, slow links", "heat/heat.fa", args("1000 8 0.2 2"), args("--link-latency=500us")},
	{"heat, tiny CFs", "heat/heat.fa", args("200 8 0.01 2"), nil},
	{"pic", "pic/pic.fa", args("64 400000 8 10 0.0001 4"), nil},
	{"chains", "chains/chains.fa", args("8 100 1000000000"), nil},
	{"crossed", "crossed/crossed.fa", args("400 1000000 2000000"), args("--link-bandwidth=1G")},
	{"balance", "balance/balance.fa", args("60 200000"), nil},
	{"granularity", "granularity/granularity.fa", args("20000 400000000"), nil},
}

func args(text string) []string { return strings.Fields(text) }

// shape is a number of nodes and of the workers of each.
type shape struct{ nodes, workers int }

func (s shape) String() string { return fmt.Sprintf("%d x %d", s.nodes, s.workers) }

func (s shape) flags() []string {
	return []string{"-n", fmt.Sprint(s.nodes), "-w", fmt.Sprint(s.workers)}
}

// recorded is a run before its trace has been read.
type recorded struct {
	Dir    string
	Others time.Duration // what other programs had of all cores
}

// runs are those of a program, by shape.
type runs map[string][]recorded

// run is one that was recorded.
type run struct {
	dir     string
	wall    float64            // ns
	useful  float64            // ns of all workers
	noise   float64            // part of wall
	others  float64            // other programs had that part of the cores, beyond those that no worker needs
	factors map[string]float64 // parts of all processor time, without cores beyond the workers
}

// guess is a prediction beside what it predicts.
type guess struct {
	program     string
	from, to    shape
	wall, real  float64 // ns
	useful      float64 // time in user code, beside that on the machine that the prediction starts from
	noise       float64
	others      float64 // likewise, of the run that is predicted
	disturbed   bool    // that one, or the one it is predicted from
	factor      string  // that is farthest off
	factorError float64
}

func (g *guess) error() float64 { return g.wall/g.real - 1 }

// mostChange is what user code may take more or less than where the prediction comes from. Beyond that caches
// and memory decide, of which no trace tells.
const mostChange = 0.05

// mostOthers is what other programs may have of the cores in a run that counts as undisturbed.
const mostOthers = 0.05

var (
	whyslow string
	repeats = flag.Int("runs", 8, "runs of each program on each machine")
	keep    = flag.String("dir", "", "where runs stay, and are not repeated; none: they are removed")
	page    = flag.String("o", "docs/predictions.md", "the page to write; none: nothing is predicted")
)

func main() {
	flag.Parse()
	if flag.NArg() < 1 {
		fmt.Fprintln(os.Stderr, "usage: predictions [-runs N] [-dir DIR] [-o FILE] WHYSLOW [PROGRAM...]")
		os.Exit(2)
	}
	whyslow = flag.Arg(0)
	if err := predictions(flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "predictions:", err)
		os.Exit(1)
	}
}

func predictions(only []string) error {
	in := *keep
	if in == "" {
		tmp, err := os.MkdirTemp("", "predictions")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		in = tmp
	}
	var all []guess
	for _, p := range programs {
		dir := filepath.Join(in, strings.NewReplacer(" ", "-", ",", "").Replace(p.name))
		have, err := p.read(dir)
		if wanted := len(only) == 0 || slices.Contains(only, p.name); err == nil && wanted {
			err = p.run(dir, have)
		}
		if err == nil && len(have) > 0 && *page != "" {
			var list []guess
			list, err = p.predictions(have)
			all = append(all, list...)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if *page == "" {
		return nil
	}
	var b bytes.Buffer
	write(&b, all)
	return os.WriteFile(*page, b.Bytes(), 0o644)
}

// shapes are those whose workers have a core each, here.
func shapes() (list []shape) {
	for nodes := 1; nodes <= runtime.NumCPU() && nodes <= 4; nodes *= 2 {
		for workers := 1; nodes*workers <= runtime.NumCPU() && workers <= 4; workers *= 2 {
			list = append(list, shape{nodes, workers})
		}
	}
	return list
}

// read gives the runs that a folder has.
func (p *program) read(dir string) (list runs, err error) {
	list = runs{}
	text, err := os.ReadFile(filepath.Join(dir, "runs.json"))
	if os.IsNotExist(err) {
		return list, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list, err
}

// run adds what is missing of the runs of a program on all shapes.
func (p *program) run(dir string, list runs) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for k := range *repeats {
		for _, s := range shapes() {
			if len(list[s.String()]) > k {
				continue
			}
			r, err := p.once(filepath.Join(dir, fmt.Sprintf("%d-%d-%d", k, s.nodes, s.workers)), s)
			if err != nil {
				return err
			}
			list[s.String()] = append(list[s.String()], r)
			text, err := json.Marshal(list)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "runs.json"), text, 0o644)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// once runs a program on one machine.
func (p *program) once(dir string, s shape) (recorded, error) {
	flags := append(append([]string{"run", "-q", "-o", dir}, s.flags()...), p.links...)
	if err := os.RemoveAll(dir); err != nil { // one that was interrupted
		return recorded{}, err
	}
	begin := busy()
	cmd := exec.Command(whyslow, append(append(flags, filepath.Join("examples", p.file)), p.args...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return recorded{}, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, text)
	}
	own := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return recorded{dir, max(0, busy()-begin-own)}, nil
}

// predictions predicts each of the runs of a program from each other.
func (p *program) predictions(in runs) (list []guess, err error) {
	chosen := map[shape]run{}
	for _, s := range shapes() {
		var l []run
		for _, one := range in[s.String()] {
			r, err := read(one.Dir)
			if err != nil {
				return nil, err
			}
			workers := float64(s.nodes * s.workers)
			r.others = max(0, float64(one.Others)/r.wall-float64(runtime.NumCPU())+workers) / workers
			l = append(l, r)
		}
		slices.SortFunc(l, func(a, b run) int { return cmp.Compare(a.others, b.others) })
		l = l[:(len(l)+1)/2]
		slices.SortFunc(l, func(a, b run) int { return cmp.Compare(a.wall, b.wall) })
		m := l[len(l)/2]
		m.noise = (l[len(l)-1].wall - l[0].wall) / 2 / m.wall
		chosen[s] = m
	}
	for _, from := range shapes() {
		for _, to := range shapes() {
			dir := chosen[from].dir + "-to-" + strings.ReplaceAll(to.String(), " ", "")
			if err := os.RemoveAll(dir); err != nil { // of an earlier time
				return nil, err
			}
			flags := append(append([]string{"predict", "--cores", fmt.Sprint(runtime.NumCPU()), "-o", dir},
				to.flags()...), p.links...)
			if _, err := output(append(flags, chosen[from].dir)...); err != nil {
				return nil, err
			}
			r, err := read(dir)
			if err != nil {
				return nil, err
			}
			real := chosen[to]
			g := guess{program: p.name, from: from, to: to, wall: r.wall, real: real.wall, noise: real.noise,
				others:    real.others,
				disturbed: max(real.others, chosen[from].others) > mostOthers,
				useful:    real.useful / chosen[from].useful}
			for f, share := range real.factors {
				if d := r.factors[f] - share; math.Abs(d) > math.Abs(g.factorError) {
					g.factor, g.factorError = f, d
				}
			}
			list = append(list, g)
			fmt.Printf("%-18s %s -> %s  %8.1f ms, predicted %8.1f: %+5.1f %%, noise %.1f %%; %s %+.1f points\n",
				p.name, from, to, g.real/1e6, g.wall/1e6, 100*g.error(), 100*g.noise, g.factor, 100*g.factorError)
		}
	}
	return list, nil
}

// read gives what a trace says.
func read(dir string) (run, error) {
	text, err := output("report", "--json=-", dir)
	if err != nil {
		return run{}, err
	}
	var report struct {
		WallNS  float64 `json:"wall_ns"`
		TotalNS float64 `json:"total_ns"`
		Factors map[string]struct {
			NS    float64            `json:"ns"`
			Parts map[string]float64 `json:"parts"`
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return run{}, err
	}
	r := run{dir: dir, wall: report.WallNS, useful: report.Factors["U"].NS, factors: map[string]float64{}}
	extra := report.Factors["O"].Parts["extra"]
	for name, f := range report.Factors {
		if name == "O" {
			f.NS -= extra // which is not simulated
		}
		r.factors[name] = f.NS / (report.TotalNS - extra)
	}
	return r, nil
}

func output(args ...string) ([]byte, error) {
	cmd := exec.Command(whyslow, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, errs.String())
	}
	return out, nil
}

// busy is how long the cores of this computer have been busy since it started; 0 where that is not known.
func busy() (sum time.Duration) {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	for i, f := range strings.Fields(line) {
		if i > 8 || i == 0 || i == 4 || i == 5 { // the name, idle, waiting for a disk, guests that others count
			continue
		}
		ticks, _ := strconv.ParseInt(f, 10, 64)
		sum += time.Duration(ticks) * 10 * time.Millisecond
	}
	return sum
}

// write writes the page.
func write(b *bytes.Buffer, all []guess) {
	same := func(g *guess) bool { return g.from == g.to }
	alone := func(g *guess) bool { return g.from == shape{1, 1} }
	fmt.Fprintf(b, `# Predictions and reality

`+"`make predictions`"+` runs programs on machines of several shapes, nodes x workers, predicts each
run from each of the others with `+"`whyslow predict --cores %d`"+`, and writes this page. Each program
ran %d times on each machine. Of the half of these runs that other programs of the computer disturbed least
("others": they had that part of the cores, beyond those that no worker needs), the run with the median wall
time counts. Noise is half the distance between the longest and the shortest of them.

User code takes longer or shorter if it is more than %.0f %%. The table leaves out predictions one of whose
runs lost more than %.0f %% to others.

| | predictions | median error | 90 %% within | within 10 %% or noise | factors, median | factors, 90 %% |
|---|--:|--:|--:|--:|--:|--:|
`, runtime.NumCPU(), *repeats, 100*mostChange, 100*mostOthers)
	type kind struct {
		name string
		want func(*guess) bool
	}
	changed := func(g *guess) bool { return math.Abs(g.useful-1) > mostChange }
	kinds := []kind{
		{"of the recorded machine itself", same},
		{"of other machines, from several workers",
			func(g *guess) bool { return !same(g) && !alone(g) && !changed(g) }},
		{"the same, where user code takes longer or shorter there",
			func(g *guess) bool { return !same(g) && !alone(g) && changed(g) }},
		{"of other machines, from one worker",
			func(g *guess) bool { return !same(g) && alone(g) && !changed(g) }},
		{"the same, where user code takes longer or shorter there",
			func(g *guess) bool { return !same(g) && alone(g) && changed(g) }},
	}
	for _, k := range kinds {
		var walls, factors []float64
		good := 0
		for i := range all {
			if g := &all[i]; !g.disturbed && k.want(g) {
				if math.Abs(g.error()) <= max(0.10, g.noise) {
					good++
				}
				walls, factors = append(walls, 100*math.Abs(g.error())), append(factors, 100*math.Abs(g.factorError))
			}
		}
		if len(walls) == 0 {
			continue
		}
		slices.Sort(walls)
		slices.Sort(factors)
		n := len(walls)
		fmt.Fprintf(b, "| %s | %d | %.1f %% | %.1f %% | %d %% | %.1f points | %.1f points |\n", k.name, n,
			walls[n/2], walls[n*9/10], 100*good/n, factors[n/2], factors[n*9/10])
	}
	b.WriteString(`
A prediction takes the time that user code needed on the recorded machine. Where several cores compute at once
they share caches and memory, and values travel from one core to another, so the same CFs take longer: "user
code" says how much longer than where the prediction comes from. A trace cannot tell that of another machine:
even CFs of heat that ran while the other worker was parked took as long as those beside which it ran. No
trace of one worker tells how long it takes to wake a thread or to send a message here, either. So these
predictions are extrapolations, and have lines of their own.

| program | from | to | measured | predicted | error | noise | others | user code | factor farthest off |
|---|---|---|--:|--:|--:|--:|--:|--:|--:|
`)
	for i := range all {
		g := &all[i]
		fmt.Fprintf(b, "| %s | %s | %s | %.1f ms | %.1f ms | %+.1f %% | %.1f %% | %.0f %% | %+.1f %% | %s |\n",
			g.program, g.from, g.to, g.real/1e6, g.wall/1e6, 100*g.error(), 100*g.noise, 100*g.others,
			100*(g.useful-1), fmt.Sprintf("%s %+.1f points", g.factor, 100*g.factorError))
	}
	b.WriteString("\nThe programs, in examples:\n\n")
	for _, p := range programs {
		fmt.Fprintf(b, "- %s: `whyslow run %s`\n", p.name,
			strings.Join(slices.Concat(p.links, []string{"examples/" + p.file}, p.args), " "))
	}
}
