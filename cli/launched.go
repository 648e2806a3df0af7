package cli

import (
	"cmp"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
)

// launchedOptions say how a program is recorded that a launcher starts as many processes: by shmem and mpi.
type launchedOptions struct {
	collectedOptions
	process    string // what one is called: "PE", "rank"
	instrument string
	clockSync  string
	localDir   string
}

// Words that flags take, and docs/c-sdk.md explains as values of WHYSLOW_INSTRUMENT and WHYSLOW_CLOCK_SYNC.
var (
	instrumentLevels = []string{"auto", "sync", "calls", "local", "functions"}
	whenSyncs        = []string{"auto", "off", "always"}
)

func (o *launchedOptions) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.instrument, "instrument", "auto", "`what` to record: sync (barriers, collectives,"+
		" locks, memory), calls (and transfers), local (and those to the "+o.process+" itself), functions (and"+
		" functions of the program compiled with -finstrument-functions), auto (calls, and such functions)")
	f.StringVar(&o.clockSync, "clock-sync", "auto", "compare the clocks of hosts at the start and the end:"+
		" `when` is auto ("+o.process+"s are on several), off or always")
	f.StringVar(&o.localDir, "local-dir", "", "each "+o.process+" writes its events below this `folder` of its"+
		" host, and moves them to the trace when it ends")
	o.collectedOptions.addTo(cmd)
	for _, name := range []string{"inputs", "rule", "all"} { // are about CFs
		f.Lookup(name).Hidden = true
	}
	f.Lookup("by").Usage = "split the factors by `what`: node (" + o.process + "), worker, or code (function" +
		" or operation)"
	f.Lookup("csv").Usage = "write factors over time, and all metrics by call path and " + o.process + ", as a" +
		" table to `FILE`; - is standard output"
	for flag, values := range map[string][]string{"instrument": instrumentLevels, "clock-sync": whenSyncs} {
		completeWords(cmd, flag, values)
	}
	if err := cmd.MarkFlagDirname("local-dir"); err != nil {
		panic(err)
	}
}

// check finds what is wrong with the flags, and turns them into settings. such is an example of a command.
func (o *launchedOptions) check(f *pflag.FlagSet, args []string, such string) error {
	if len(args) == 0 {
		return console.Misuse("%s: no program given; give the command that starts it, such as %s", o.verb, such)
	}
	var local error
	if o.localDir != "" {
		if o.localDir, local = filepath.Abs(o.localDir); local == nil && (o.live.on || f.Changed("to")) {
			local = console.Misuse("%s: --local-dir keeps the events on the hosts until the run ends: leave it"+
				" out, or --live and --to", o.verb)
		}
	}
	return cmp.Or(local, checkChoice(o.verb, "instrument", o.instrument, instrumentLevels...),
		checkChoice(o.verb, "clock-sync", o.clockSync, whenSyncs...),
		o.collectedOptions.check(f, [3]string{"instrument", "WHYSLOW_INSTRUMENT", o.instrument},
			[3]string{"clock-sync", "WHYSLOW_CLOCK_SYNC", o.clockSync},
			[3]string{"local-dir", "WHYSLOW_LOCAL_DIR", o.localDir}))
}
