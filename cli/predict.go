package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/report"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

type predictOptions struct {
	nodes, workers []int
	links          linkOptions
	speed, cost    []string
	noLatency      bool
	noOverhead     bool
	out            string
	plot           string
	json           bool
	lang           string
	memory         memoryBudget

	machine simulate.Machine // without nodes and workers
	costs   map[string]float64
}

// linkOptions describe the links and cores of a machine that a run is predicted for, or name a file that
// describes all of it.
type linkOptions struct {
	cores       int
	latency     time.Duration
	bandwidth   string
	machineFile string
}

func (o *linkOptions) addTo(f *pflag.FlagSet) {
	f.IntVar(&o.cores, "cores", 0, "`number` of cores that all nodes share (default: as recorded for as many"+
		" workers as recorded, else one for each worker)")
	f.DurationVar(&o.latency, "link-latency", 0, "time that a link adds to a message, such as 50us"+
		" (default: as recorded)")
	f.StringVar(&o.bandwidth, "link-bandwidth", "", "`bytes` per second of each link, such as 1G, or none for"+
		" no limit (default: as recorded)")
	f.StringVar(&o.machineFile, "machine", "", "`file` that describes a machine whose nodes or links differ"+
		" (docs/predicting.md)")
}

// check reads the flags into a machine: whole, with its nodes and workers, if a file describes it.
func (o *linkOptions) check(verb string, changed func(string) bool, m *simulate.Machine) error {
	m.Latency, m.Bandwidth = -1, -1
	if changed("cores") {
		if o.cores < 1 {
			return console.Misuse("%s: --cores=%d: give a number from 1 on", verb, o.cores)
		}
		m.Cores = o.cores
	}
	if changed("link-latency") {
		if o.latency < 0 {
			return console.Misuse("%s: --link-latency=%v: cannot be negative", verb, o.latency)
		}
		m.Latency = float64(o.latency)
	}
	switch o.bandwidth {
	case "":
	case "none":
		m.Bandwidth = 0
	default:
		b, err := words.ParseBytes(o.bandwidth)
		if err != nil || b <= 0 {
			return console.Misuse("%s: --link-bandwidth=%s: give bytes per second, such as 1G, or none", verb,
				o.bandwidth)
		}
		m.Bandwidth = b
	}
	if o.machineFile != "" {
		return o.readMachine(verb, changed, m)
	}
	return nil
}

// lists are how many different numbers of nodes and of workers are asked for.
func (o *predictOptions) lists() (nodes, workers int) {
	return len(orAsRecorded(o.nodes, 1)), len(orAsRecorded(o.workers, 1))
}

// readMachine reads --machine.
func (o *linkOptions) readMachine(verb string, changed func(string) bool, m *simulate.Machine) error {
	for _, flag := range []string{"nodes", "workers", "cores", "link-latency", "link-bandwidth"} {
		if changed(flag) {
			return console.Misuse("%s: --%s: --machine says that", verb, flag)
		}
	}
	text, err := files.Read(o.machineFile, maxMachine)
	if err != nil {
		return badInput(err)
	}
	read, err := simulate.ParseMachine(text)
	if err != nil {
		return badInput(fmt.Errorf("%s: %w", o.machineFile, err))
	}
	read.Speed = m.Speed
	*m = read
	return nil
}

const (
	maxMachines = 1000     // of one prediction
	maxMachine  = 16 << 20 // bytes of a file that describes one
)

func predictCommand(io console.IO) *cobra.Command {
	var o predictOptions
	var changed func(string) bool
	cmd := &cobra.Command{
		Use:   "predict [flags] TRACE",
		Short: "Predict how long a recorded run would take on another machine",
		Long: `Replay a recorded program in virtual time: with other numbers of nodes and workers, over other links,
or with faster code fragments. The run-time system's own costs are taken from the trace.

Lists of --nodes and --workers give a table of all combinations. -o writes the predicted run of a
single machine as a trace, which report, view and diff read like any other.
` + exitCodes(1, 2, 4),
		Example: `  whyslow predict --nodes 1,2,4,8 heat.000.trace
  whyslow predict --link-latency 50us --no-overhead heat.000.trace
  whyslow predict --speed solve=2 -o faster.trace heat.000.trace`,
		Args: oneArg("trace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			changed = cmd.Flags().Changed
			if err := cmp.Or(o.check(changed), o.memory.check("predict", 1),
				checkChoice("predict", "lang", o.lang, "en", "ru")); err != nil {
				return err
			}
			return runPredict(cmd.Context(), io, &o, wholeTrace(io, args[0]))
		},
		ValidArgsFunction: completeTrace,
	}
	f := cmd.Flags()
	f.IntSliceVarP(&o.nodes, "nodes", "n", nil, "`numbers` of nodes, such as 1,2,4 (default: as recorded)")
	f.IntSliceVarP(&o.workers, "workers", "w", nil, "`numbers` of workers of each node (default: as recorded)")
	o.links.addTo(f)
	f.StringArrayVar(&o.speed, "speed", nil, "make a code fragment this many times as fast: `CODE=FACTOR`")
	f.StringArrayVar(&o.cost, "cost", nil, "set the time of one kind of run-time work: `WHAT=TIME`,"+
		" where WHAT is "+strings.Join(simulate.CostNames(), ", "))
	f.BoolVar(&o.noLatency, "no-latency", false, "messages take no time")
	f.BoolVar(&o.noOverhead, "no-overhead", false, "the run-time system takes no time, except for messages")
	f.StringVarP(&o.out, "output", "o", "", "write the predicted run to this `folder`")
	f.StringVar(&o.plot, "plot", "", "draw the times of --nodes or --workers with their bounds to this `file`,"+
		" as SVG")
	f.BoolVar(&o.json, "json", false, "print as JSON")
	f.StringVar(&o.lang, "lang", "en", "`language` of text: en or ru")
	o.memory.addTo(f)
	return cmd
}

// check reads the flags.
func (o *predictOptions) check(changed func(string) bool) error {
	for _, list := range []struct {
		name  string
		value []int
		most  int
	}{{"nodes", o.nodes, trace.MaxNode + 1}, {"workers", o.workers, 1 << 12}} {
		for _, n := range list.value {
			if n < 1 || n > list.most {
				return console.Misuse("predict: --%s=%d: give numbers from 1 to %d", list.name, n, list.most)
			}
		}
	}
	if max(1, len(o.nodes))*max(1, len(o.workers)) > maxMachines {
		return console.Misuse("predict: %d machines; the limit is %d",
			max(1, len(o.nodes))*max(1, len(o.workers)), maxMachines)
	}
	m := &o.machine
	m.Speed, o.costs = map[string]float64{}, map[string]float64{}
	if err := o.links.check("predict", changed, m); err != nil {
		return err
	}
	if o.links.machineFile != "" {
		o.nodes, o.workers = []int{m.Nodes}, []int{m.Workers}
	}
	for _, s := range o.speed {
		code, factor, _ := strings.Cut(s, "=")
		v, err := strconv.ParseFloat(factor, 64)
		if code == "" || err != nil || !(v > 0 && v < 1e9) {
			return console.Misuse("predict: --speed=%s: give CODE=FACTOR, such as solve=1.5", s)
		}
		m.Speed[code] = v
	}
	for _, s := range o.cost {
		what, text, _ := strings.Cut(s, "=")
		d, err := time.ParseDuration(text)
		if !slices.Contains(simulate.CostNames(), what) || err != nil || d < 0 {
			return console.Misuse("predict: --cost=%s: give WHAT=TIME, such as dispatch=500ns; what can be given: %s",
				s, strings.Join(simulate.CostNames(), ", "))
		}
		o.costs[what] = float64(d)
	}
	if o.out != "" && max(len(o.nodes), len(o.workers)) > 1 {
		return console.Misuse("predict: -o writes one run: give one number of nodes and one of workers")
	}
	if nodes, workers := o.lists(); o.plot != "" && (nodes < 2 && workers < 2 ||
		nodes >= 2 && workers > report.MostCurves) {
		return console.Misuse("predict: --plot draws a curve for each number of workers: give several numbers of"+
			" nodes and up to %d of workers, or several of workers", report.MostCurves)
	}
	return nil
}

func runPredict(ctx context.Context, io console.IO, o *predictOptions, path string) error {
	line := console.StartProgress(io)
	p, problems, err := predict(ctx, line, o, path)
	line.End()
	if err != nil {
		return err
	}
	var shown error
	if o.json {
		shown = writeJSON(io.Out, p)
	} else {
		shown = report.Predicted(io.Out, p, o.lang, report.Options{Color: io.OutColor(),
			Width: width(os.Stdout, io.OutTerm)})
	}
	if shown != nil {
		return badInput(shown)
	}
	if o.plot != "" {
		if err := files.ReplaceText(o.plot, []byte(report.Scaling(p, o.lang))); err != nil {
			return badInput(err)
		}
		io.Say("%s", o.plot)
	}
	err = tellMissing(io, problems)
	if o.out != "" {
		io.Say("%s", o.out)
	}
	return err
}

// predict simulates the run of a trace on all machines asked for; problems says what is missing in the
// trace.
func predict(ctx context.Context, line *console.Progress, o *predictOptions,
	path string) (p *report.Prediction,
	problems []string, err error) {
	var read readShare
	ctx, watched := o.memory.watch(ctx, line.IO, path, read.part, nil)
	defer watched()
	m, problems, err := readWhole(ctx, path, line, &o.memory, &read)
	if err != nil {
		return nil, nil, err
	}
	s, err := simulate.New(ctx, m)
	if err != nil {
		return nil, nil, ofTrace(ctx, path, err)
	}
	for code := range o.machine.Speed {
		if !s.Has(code) {
			return nil, nil, console.Misuse("predict: --speed=%s: the program has no such"+
				" code fragment; it has %s", code, strings.Join(s.Codes(), ", "))
		}
	}
	was := s.Recorded()
	p = &report.Prediction{Program: cmp.Or(m.Info.Program, filepath.Base(path)), Costs: was.Costs}
	p.Recorded.Nodes, p.Recorded.Workers, p.Recorded.WallNS = was.Nodes, was.Workers, s.WallNS()
	machine := o.machine
	machine.Costs = was.Costs.With(o.costs, o.noOverhead, o.noLatency)
	if o.noLatency {
		machine.Latency, machine.Bandwidth = 0, 0
	}
	machines := []simulate.Machine{was} // first the recorded one, to see how good the simulation is
	for _, n := range orAsRecorded(o.nodes, was.Nodes) {
		for _, w := range orAsRecorded(o.workers, was.Workers) {
			machine.Nodes, machine.Workers = n, w
			machines = append(machines, machine)
		}
	}
	results := make([]*simulate.Result, len(machines))
	var done atomic.Int64
	err = procs.Each(ctx, runtime.GOMAXPROCS(0), len(machines), func(_, i int) (err error) {
		if i > 0 && o.out != "" {
			results[i], err = s.Write(ctx, machines[i], o.out, &trace.RunInfo{CommandLine: os.Args,
				Exit: console.Stuck, Versions: map[string]string{"whyslow": readVersion().Version}})
		} else {
			results[i], err = s.Run(ctx, machines[i])
		}
		line.Set("%d of %d machines", done.Add(1), len(machines))
		return err
	})
	if err != nil {
		return nil, nil, ofTrace(ctx, cmp.Or(o.out, path), err)
	}
	p.Recorded.PredictedNS, p.Machines = results[0].WallNS, results[1:]
	return p, problems, nil
}

// orAsRecorded gives a list in ascending order, or what was recorded.
func orAsRecorded(list []int, recorded int) []int {
	if len(list) == 0 {
		return []int{recorded}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
