package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// watch is a way to run the product.
type watch struct {
	name   string
	flags  []string
	sends  bool // to the collector
	looked bool // at the collector's page
}

var watches = []watch{
	{name: "to a file, once more"},
	{name: "to a file, written every 200 ms", flags: []string{"--trace-flush", "200ms"}},
	{name: "to a file and a collector", sends: true},
	{name: "to a file and a collector, somebody looks", sends: true, looked: true},
}

// pairedCPU compares CPU times: others run between runs of the plain way, and each is compared to the two
// beside it. plain has one more than others has. The results are in percent.
func pairedCPU(plain, others []float64) []float64 {
	more := make([]float64, len(others))
	for i, v := range others {
		off := (plain[i] + plain[i+1]) / 2
		more[i] = (v - off) / off * 100
	}
	return more
}

// benchWatched measures what it costs the matrix product's own process to be watched: CPU time, user and
// system.
func benchWatched(ctx context.Context, b *bench) error {
	bin, err := b.whyslow(ctx)
	if err != nil {
		return err
	}
	dir, err := b.temp()
	if err != nil {
		return err
	}
	far, err := b.serve(ctx, "serve", "--dir", filepath.Join(dir, "collected"))
	if err != nil {
		return err
	}
	return errors.Join(b.watched(ctx, bin, dir, far), far.end())
}

func (b *bench) watched(ctx context.Context, bin, dir string, far *server) error {
	size := blocks{b.watchedBlocks, 200}
	pairs := b.watchedPairs
	if b.quick {
		size, pairs = blocks{3, 20}, 2
	}
	addr := strings.TrimPrefix(far.url, "http://")
	n := 0
	run := func(w watch) (cpu, wall, collector float64, err error) {
		n++
		args := append([]string{"run", "-q", "-n", "1", "-w", "2", "-o", filepath.Join(dir, strconv.Itoa(n))},
			w.flags...)
		if w.sends {
			args = append(args, "--to", addr)
		}
		cmd := exec.CommandContext(ctx, bin, append(append(args, matrices), size.args()...)...)
		var said bytes.Buffer
		cmd.Stderr = &said
		looking, stop := context.WithCancel(ctx)
		looked := make(chan error, 1)
		if w.looked {
			go func() { looked <- look(looking, far) }()
		} else {
			looked <- nil
		}
		before, err := cpuOf(far.cmd.Process.Pid)
		if err != nil {
			stop()
			return 0, 0, 0, err
		}
		began := time.Now()
		err = cmd.Run()
		wall = float64(time.Since(began).Nanoseconds())
		stop()
		err = errors.Join(err, <-looked)
		after, cerr := cpuOf(far.cmd.Process.Pid)
		if err = errors.Join(err, cerr); err != nil {
			return 0, 0, 0, fmt.Errorf("whyslow %s: %w\n%s", strings.Join(args, " "), err,
				bytes.TrimSpace(said.Bytes()))
		}
		if w.sends && strings.Contains(said.String(), "warning: ") && strings.Contains(said.String(), "sent") {
			return 0, 0, 0, fmt.Errorf("%s", bytes.TrimSpace(said.Bytes()))
		}
		s := cmd.ProcessState
		return float64((s.UserTime() + s.SystemTime()).Nanoseconds()), wall, after - before, nil
	}
	if _, _, _, err := run(watches[0]); err != nil { // compiles the C++, fills the caches
		return err
	}
	more := make([][]float64, len(watches))
	walls := make([][]float64, len(watches))
	collectors := make([][]float64, len(watches))
	var plain, others, plainWall, othersWall []float64
	toFile := func() error {
		cpu, wall, _, err := run(watch{})
		plain, plainWall = append(plain, cpu), append(plainWall, wall)
		return err
	}
	if err := toFile(); err != nil {
		return err
	}
	for range pairs {
		fmt.Fprint(b.log, ".")
		for i, w := range watches {
			cpu, wall, collector, err := run(w)
			if err != nil {
				return err
			}
			others, othersWall = append(others, cpu), append(othersWall, wall)
			collectors[i] = append(collectors[i], collector/1e6)
			if err := toFile(); err != nil {
				return err
			}
		}
	}
	for i, v := range pairedCPU(plain, others) {
		more[i%len(watches)] = append(more[i%len(watches)], v)
	}
	for i, v := range pairedCPU(plainWall, othersWall) {
		walls[i%len(watches)] = append(walls[i%len(watches)], v)
	}
	r, err := trace.Open(filepath.Join(dir, "1"))
	if err != nil {
		return err
	}
	events := float64(r.Events())
	r.Close()
	seconds := median(plain) / 1e9

	computed, costs, err := b.watchedAlone(ctx, addr, events/seconds*2)
	if err != nil {
		return err
	}
	t := b.table("Being watched", fmt.Sprintf("The block matrix product, %s, one node of two workers, in a "+
		"separate process each time: %.2f s CPU time recording everything to a file, %.3g events, %.3g s wall "+
		"time (half of the CPU time on a quiet machine). Runs that are sent to a collector (`whyslow serve`) in "+
		"another process on the same "+
		"machine take turns with runs to a file alone, %d times each; a run is compared to the two beside it. "+
		"CPU time, user and system, of the product's "+
		"own process; medians with 95 %% intervals (order statistics). Computed: see the next table. Somebody "+
		"looks: the newest run's properties, factors, report and tiles are asked for as the page does.",
		size, seconds, events, median(plainWall)/1e9, pairs),
		"recording", "more CPU time", "95 % interval", "computed", "goal", "shown by the interval",
		"more wall time", "CPU ms of the collector")
	for i, w := range watches {
		low, high := interval(more[i])
		goal, shown, expected, collector := "", "", "", any("")
		switch {
		case w.sends:
			goal, shown = "1 %", verdict(low, high, 1)
			expected, collector = fmt.Sprintf("%+.3f %%", computed["sent"]), median(collectors[i])
		case len(w.flags) > 0:
			expected = fmt.Sprintf("%+.3f %%", computed["flushed"])
		}
		t.row(w.name, percent(median(more[i])), percents(low, high), expected, goal, shown,
			percent(median(walls[i])), collector)
	}
	t.note("The first row is the control: the noise of the machine")
	c := b.table("Being watched, in isolation",
		"A process does nothing but record to a file as many events per second as the product with both workers; "+
			"then the same with each addition. So even a small cost is visible. CPU time of that process per "+
			"second, from creating the trace until it is closed (and everything has reached the collector). The "+
			"addition is given as a share of the two processors' time that the product has; medians of pairs.",
		"recording", "CPU ms per second", "more, of the product's CPU time", "95 % interval", "goal")
	for _, k := range costs {
		low, high := interval(k.more)
		goal, moreText, bounds := "", "", ""
		if k.name != "to a file" {
			moreText, bounds = fmt.Sprintf("%+.3f %%", median(k.more)), fmt.Sprintf("%+.3f to %+.3f", low, high)
			if math.IsInf(low, 0) {
				bounds = "too few pairs"
			}
		}
		if k.name == "to a file and a collector" {
			goal = "1 %"
		}
		c.row(k.name, median(k.perSecond), moreText, bounds, goal)
	}
	return nil
}

// verdict says whether an interval lies below a goal, in percent.
func verdict(low, high, goal float64) string {
	switch {
	case math.IsInf(low, 0):
		return "nothing: too few pairs"
	case high <= goal:
		return "met"
	case low > goal:
		return "missed"
	}
	return "neither: the noise is wider"
}

// look asks a collector for what the page shows of its newest run, until ctx ends.
func look(ctx context.Context, far *server) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		run, err := far.first(ctx)
		if err != nil || run.State != "live" {
			continue // it has not come yet
		}
		asks := []string{"factors?windows=240&from=0&to=%.0f", "at?t=%.0f"}
		if i%4 == 0 {
			asks = append(asks, "report", "tile?from=0&to=%.0f&width=512&by=code")
		}
		for _, a := range asks {
			if strings.Contains(a, "%") {
				a = fmt.Sprintf(a, run.WallNS)
			}
			_ = far.get(ctx, "/api/runs/"+run.ID+"/"+a, nil) // of a run so young there may be nothing yet
		}
	}
}

// cpuOf is the CPU time of another process, in ns, as exact as the system tells: 10 ms.
func cpuOf(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return statCPU(string(text))
}

// statCPU reads the user and system time, in ns, out of a process's stat.
func statCPU(text string) (float64, error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // the name before may hold anything
	if len(fields) < 13 {
		return 0, errors.New("the stat of a process is not as expected")
	}
	user, err := strconv.ParseFloat(fields[11], 64)
	system, err2 := strconv.ParseFloat(fields[12], 64)
	return (user + system) * 1e7, errors.Join(err, err2) // in ticks of 10 ms
}

// alone is what a way to record takes of a process that does nothing else.
type alone struct {
	name      string
	flush     time.Duration
	sends     bool
	perSecond []float64 // CPU ms
	more      []float64 // than to a file, in percent of two processors
}

// watchedAlone measures what is to be expected, as a share of the product's CPU time, in percent.
func (b *bench) watchedAlone(ctx context.Context, addr string, perSecond float64) (map[string]float64,
	[]*alone, error) {
	costs := []*alone{{name: "to a file", flush: time.Second}, {name: "to a file, written every 200 ms",
		flush: 200 * time.Millisecond},
		{name: "to a file and a collector", flush: 200 * time.Millisecond, sends: true}}
	length := time.Duration(b.pick(2000, 200)) * time.Millisecond
	for range b.pick(9, 1) {
		fmt.Fprint(b.log, ".")
		for i, k := range costs {
			cpu, err := b.paced(ctx, k, addr, perSecond, length)
			if err != nil {
				return nil, nil, err
			}
			k.perSecond = append(k.perSecond, cpu)
			if i > 0 {
				k.more = append(k.more, (cpu-costs[0].perSecond[len(costs[0].perSecond)-1])/1e3/2*100)
			}
		}
	}
	return map[string]float64{"flushed": median(costs[1].more), "sent": median(costs[2].more)}, costs, nil
}

// paced records so many events a second, for so long, and returns the CPU ms that this process took per
// second.
func (b *bench) paced(ctx context.Context, k *alone, addr string, perSecond float64,
	length time.Duration) (float64, error) {
	dir, err := b.temp()
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	info := &trace.RunInfo{ID: trace.NewRunID(), Program: "paced.fa", Nodes: []trace.NodeInfo{{Workers: 1}},
		Processes: []trace.ProcessInfo{{}}}
	if err := trace.WriteRunInfo(dir, info); err != nil {
		return 0, err
	}
	runtime.GC()
	cpu := clock.ProcessCPU()
	w, err := trace.Create(dir, 0, trace.Options{FlushEvery: k.flush})
	if err != nil {
		return 0, err
	}
	o := &ours{dir: dir, w: w, ses: prof.New(), name: w.Name("x"), id: [3]int64{0, 1, 0}}
	o.s = o.ses.Stream(0, 0, w.Stream(0))
	o.ses.ProgramStarted.Emit(o.s, 0, 0)
	var sender *stream.Sender
	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if k.sends {
		sender = stream.NewSender(stream.Config{Target: stream.Target{Addr: addr}, Source: stream.Folder(dir)})
		go func() { ended <- sender.Run(ctx) }()
	} else {
		ended <- nil
	}
	began := time.Now()
	done := 0
	for d := time.Duration(0); d < length; d = time.Since(began) {
		want := int(d.Seconds() * perSecond / perCF)
		if err := o.cfs(done+1, want-done); err != nil {
			cancel()
			return 0, errors.Join(err, <-ended)
		}
		done = want
		time.Sleep(5 * time.Millisecond)
	}
	o.ses.ProgramFinished.Emit(o.s, clock.ProcessCPU())
	info.Ended = trace.EndedDone
	err = errors.Join(w.Close(), trace.WriteRunInfo(dir, info))
	if sender != nil {
		sender.EndSource()
	}
	err = errors.Join(err, <-ended)
	return float64(clock.ProcessCPU()-cpu) / 1e6 / length.Seconds(), err
}
