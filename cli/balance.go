package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/analysis/balance"
	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/report"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

type balanceOptions struct {
	nodes, workers int
	links          linkOptions
	strategies     []string
	memory         string
	out            string
	patch          string
	run            bool
	rounds         int
	repeats        int
	json           bool
	lang           string

	machine simulate.Machine
	limit   int64 // memory in bytes

	elsewhere bool // the links are not those of the recorded run
	reading   memoryBudget
}

// most rounds of balance --run, and repeats of each
const maxRounds = 100

func balanceCommand(io console.IO) *cobra.Command {
	var o balanceOptions
	cmd := &cobra.Command{
		Use:   "balance [flags] TRACE",
		Short: "Look for a better distribution of a recorded run",
		Long: `Try strategies that distribute the CFs and DFs of a recorded program over nodes. Each distribution
is run in virtual time, as predict does; they are listed by predicted wall time.

-o writes the best one as a file that whyslow run --place uses in place of the program's locators.

--run runs the program with the best one and shows the predicted gain beside the measured one. With
--rounds it continues from the newly recorded run, and keeps the fastest.

Strategies: ` + strings.Join(balance.Names(), ", ") + `.
` + exitCodes(1, 2, 3, 4),
		Example: `  whyslow balance heat.000.trace
  whyslow balance -n 8 -w 1 --link-latency 50us heat.000.trace
  whyslow balance --machine cluster.json heat.000.trace
  whyslow balance --strategy blocks -o place.json heat.000.trace
  whyslow balance --run --rounds 3 heat.000.trace`,
		Args: oneArg("trace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(o.check(cmd.Flags().Changed), o.reading.check("balance", 1),
				checkChoice("balance", "lang", o.lang, "en", "ru")); err != nil {
				return err
			}
			if o.run {
				return runRounds(cmd.Context(), io, &o, wholeTrace(io, args[0]))
			}
			return runBalance(cmd.Context(), io, &o, wholeTrace(io, args[0]))
		},
		ValidArgsFunction: completeTrace,
	}
	f := cmd.Flags()
	f.IntVarP(&o.nodes, "nodes", "n", 0, "`number` of nodes (default: as recorded)")
	f.IntVarP(&o.workers, "workers", "w", 0, "`number` of workers of each node (default: as recorded)")
	o.links.addTo(f)
	f.StringArrayVar(&o.strategies, "strategy", nil, "try only the strategy of this `name` (repeatable)")
	f.StringVar(&o.memory, "memory", "", "propose nothing that keeps more than this many `bytes` of DFs on a"+
		" node, such as 4Gi")
	f.StringVarP(&o.out, "output", "o", "", "write the best distribution to this `file`, for run --place")
	f.StringVar(&o.patch, "patch", "", "write the best distribution as a change of the program's locators to"+
		" this `file`, for patch -p1 or git apply")
	f.BoolVar(&o.run, "run", false, "run the program with the best distribution, and compare")
	f.IntVar(&o.rounds, "rounds", 1, "with --run, look for a better distribution this `number` of times")
	f.IntVar(&o.repeats, "repeats", 1, "with --run, run each distribution this `number` of times; the fastest"+
		" counts")
	f.BoolVar(&o.json, "json", false, "print as JSON")
	f.StringVar(&o.lang, "lang", "en", "`language` of text: en or ru")
	completeWords(cmd, "strategy", balance.Names())
	return cmd
}

// check reads the flags.
func (o *balanceOptions) check(changed func(string) bool) error {
	for _, n := range []struct {
		name        string
		value, most int
	}{{"nodes", o.nodes, trace.MaxNode + 1}, {"workers", o.workers, 1 << 12}} {
		if changed(n.name) && (n.value < 1 || n.value > n.most) {
			return console.Misuse("balance: --%s=%d: give a number from 1 to %d", n.name, n.value, n.most)
		}
	}
	o.machine.Nodes, o.machine.Workers = o.nodes, o.workers
	if err := o.links.check("balance", changed, &o.machine); err != nil {
		return err
	}
	o.elsewhere = changed("link-latency") || changed("link-bandwidth")
	switch {
	case o.run && o.links.machineFile != "":
		return console.Misuse("balance: --run runs the program here, not on the machine of --machine: give one of" +
			" them")
	case o.rounds < 1 || o.rounds > maxRounds:
		return console.Misuse("balance: --rounds=%d: give a number from 1 to %d", o.rounds, maxRounds)
	case o.repeats < 1 || o.repeats > maxRounds:
		return console.Misuse("balance: --repeats=%d: give a number from 1 to %d", o.repeats, maxRounds)
	case (changed("rounds") || changed("repeats")) && !o.run:
		return console.Misuse("balance: --rounds and --repeats are for --run")
	}
	for _, s := range o.strategies {
		if err := checkChoice("balance", "strategy", s, balance.Names()...); err != nil {
			return err
		}
	}
	if o.memory != "" {
		n, err := words.ParseBytes(o.memory)
		if err != nil || n < 1 {
			return console.Misuse("balance: --memory=%s: give a number of bytes, such as 4Gi or 500M", o.memory)
		}
		o.limit = int64(n)
	}
	return nil
}

func runBalance(ctx context.Context, io console.IO, o *balanceOptions, path string) error {
	line := console.StartProgress(io)
	d, problems, err := distribute(ctx, line, o, path)
	line.End()
	if err != nil {
		return err
	}
	best := d.Result.Best()
	edits, sourceErr := rewrite(d, best)
	var shown error
	if o.json {
		shown = writeJSON(io.Out, d)
	} else {
		shown = report.Distributed(io.Out, d, o.lang, report.Options{Color: io.OutColor(),
			Width: width(os.Stdout, io.OutTerm)})
	}
	if shown != nil {
		return badInput(shown)
	}
	err = tellMissing(io, problems)
	if best == nil && (o.out != "" || o.patch != "") {
		return badInput(errors.New("every distribution keeps more on a node than --memory allows"))
	}
	if o.out != "" {
		if err := writePlacement(o.out, d, best); err != nil {
			return err
		}
		io.Say("%s", o.out)
	}
	switch {
	case o.patch == "":
	case sourceErr != nil:
		return badInput(sourceErr)
	case len(edits) == 0:
		io.Say("%s is not written: no locator needs to change, or none can", o.patch)
	default:
		folder, err := writePatch(o.patch, edits)
		if err != nil {
			return err
		}
		io.Say("%s: apply it with patch -d %s -p1 < %s", o.patch, folder, o.patch)
	}
	return err
}

// writePlacement writes what a strategy proposes.
func writePlacement(path string, d *report.Distribution, t *balance.Trial) error {
	f := d.Result.Program.File(t.Place, filepath.Base(d.Program))
	return badInput(files.Replace(path, f.Write))
}

// distribute tries strategies on a trace; problems says what is missing in it.
func distribute(ctx context.Context, line *console.Progress, o *balanceOptions, path string) (
	d *report.Distribution, problems []string, err error) {
	var read readShare
	ctx, watched := o.reading.watch(ctx, line.IO, path, read.part, nil)
	defer watched()
	m, problems, err := readWhole(ctx, path, line, &o.reading, &read)
	if err != nil {
		return nil, nil, err
	}
	s, err := simulate.New(ctx, m)
	if err != nil {
		return nil, nil, ofTrace(ctx, path, err)
	}
	if err := placeable(m); err != nil {
		return nil, nil, ofTrace(ctx, path, err)
	}
	d = &report.Distribution{Program: cmp.Or(m.Info.Program, filepath.Base(path))}
	was := s.Recorded()
	d.Recorded.Nodes, d.Recorded.Workers, d.Recorded.WallNS = was.Nodes, was.Workers, s.WallNS()
	d.Result, err = balance.Compute(ctx, s, balance.Options{Machine: s.Complete(o.machine), Only: o.strategies,
		Memory: o.limit, Progress: func(strategy string) { line.Set("trying %s", strategy) }})
	return d, problems, ofTrace(ctx, path, err)
}

// placeable tells why nothing can be placed: paths of CFs are counted, so none may be missing.
func placeable(m *model.Model) error {
	if m.Count[trace.KindCFCreated] == 0 {
		return errors.New("it does not have the event CFEvents.onCreated, which tells CFs apart")
	}
	return nil
}
