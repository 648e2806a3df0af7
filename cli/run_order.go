package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/trace"
)

// orderOptions say in which order CFs go on, and how often a program is run to find out whether that matters.
type orderOptions struct {
	trace   string // whose order is taken; "": none
	fuzz    string // seed of a random order; "": none
	repeat  int    // how many runs are compared; 0: one run
	ignore  []string
	results string // file for what executions got and made, for the run that compares

	seed     uint64 // fuzz
	steering steering
}

func (o *orderOptions) addTo(f *pflag.FlagSet) {
	f.StringVar(&o.trace, "order", "", "start CFs in the order, on the nodes and on the workers that this"+
		" `trace` recorded")
	f.StringVar(&o.fuzz, "fuzz-order", "", "run one CF at a time, in a legal order chosen at random: a `seed`"+
		" stands for one order")
	f.IntVar(&o.repeat, "repeat", 0, "run the program up to this `number` of times, and stop at the first"+
		" result that differs; with --fuzz-order the seed grows by 1 each time")
	f.StringSliceVar(&o.ignore, "repeat-ignore", nil, "with --repeat, do not compare what these code fragments"+
		" make: `CODE,...`")
	f.StringVar(&o.results, "results", "", "`file` for what CFs got and made")
	if err := f.MarkHidden("results"); err != nil {
		panic(err) // the flag was added before
	}
}

// steered tells whether the engine does not choose the order by itself.
func (o *orderOptions) steered() bool { return o.trace != "" || o.fuzz != "" || o.results != "" }

// checkOrder finds what is wrong with the flags. An order brings its nodes and workers along.
func (o *runOptions) checkOrder(f *pflag.FlagSet, c *crew.Crew) error {
	r := &o.order
	if !r.steered() && !f.Changed("repeat") {
		if len(r.ignore) > 0 {
			return console.Misuse("run: --repeat-ignore makes no sense without --repeat")
		}
		return nil
	}
	name := "repeat"
	switch {
	case r.trace != "" && r.fuzz != "":
		return console.Misuse("run: --order and --fuzz-order: choose one")
	case r.trace != "":
		name = "order"
	case r.fuzz != "":
		name = "fuzz-order"
		var err error
		if r.seed, err = strconv.ParseUint(r.fuzz, 10, 63); err != nil {
			return console.Misuse("run: --fuzz-order=%s: the seed must be a number from 0", r.fuzz)
		}
	}
	if f.Changed("repeat") && (r.repeat < 2 || r.repeat > 1<<20) {
		return console.Misuse("run: --repeat=%d: compares 2 to %d runs", r.repeat, 1<<20)
	}
	if c.Many() {
		return console.Misuse("run: --%s needs all nodes in one process: leave out mpirun and use -n", name)
	}
	for _, flag := range []string{"balance", "hold"} {
		if r.steered() && f.Changed(flag) {
			return console.Misuse("run: --%s decides when CFs start: --%s makes no sense with it", name, flag)
		}
	}
	if r.repeat > 0 {
		for _, flag := range []string{"live", "to", "json", "html", "csv", "by", "full", "all", "windows", "window",
			"no-trace", "results"} {
			if f.Changed(flag) {
				return console.Misuse("run: --repeat compares runs and reports on none: --%s makes no sense with it",
					flag)
			}
		}
	}
	if r.trace == "" {
		return nil
	}
	t, err := trace.Open(r.trace)
	if err != nil {
		return badInput(err)
	}
	defer t.Close()
	nodes, workers := len(t.AllNodes()), 0
	for _, n := range t.Run().Nodes {
		workers = max(workers, n.Workers)
	}
	for _, x := range []struct {
		flag        string
		value       *int
		want, least int
	}{{"nodes", &o.nodes, nodes, 1}, {"workers", &o.workers, workers, 1}} {
		if f.Changed(x.flag) && *x.value != x.want {
			return console.Misuse("run: --order=%s: that run has %d %s, not %d", r.trace, x.want, x.flag, *x.value)
		}
		*x.value = max(x.want, x.least)
	}
	return nil
}

// childFlags are the given flags that another run takes, too.
func childFlags(f *pflag.FlagSet, has func(flag string) bool) (list []string) {
	f.Visit(func(x *pflag.Flag) {
		if !has(x.Name) {
			return
		}
		values := []string{x.Value.String()}
		if many, ok := x.Value.(pflag.SliceValue); ok {
			values = many.GetSlice()
			if x.Value.Type() == "stringSlice" {
				values = []string{strings.Join(values, ",")}
			}
		}
		for _, v := range values {
			list = append(list, "--"+x.Name+"="+v)
		}
	})
	return list
}
