package cli

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/run/crew"
)

// debugOptions say how a run is debugged.
type debugOptions struct {
	commands string // file with commands; "": they are typed
	dap      bool   // an editor debugs, over standard input and output
	page     bool   // the page debugs
	fresh    bool   // forget what was saved the last time
	gdb      string // CF to attach gdb to; "": none

	file    *os.File // commands
	browser debugPage
}

func debugCommand(io console.IO) *cobra.Command {
	o := &runOptions{debug: &debugOptions{}}
	cmd := newRunCommand(io, o)
	cmd.Use = "debug [flags] PROGRAM.fa [argument]..."
	cmd.Short = "Run a LuNA program under a debugger of CFs and DFs"
	cmd.Long = `Run a LuNA program and stop it: before it begins, at breakpoints, when it is stuck, and when a DF
is assigned a second time. While it is stopped, you can inspect every CF and DF, change values, hold
CFs, and let single CFs continue. Type commands, or read them from a file; help lists them. They are
read from standard input, so the program reads nothing there, unless --commands names a file. The
program's output goes to standard output, the debugger's to standard error.

With --page you debug on the page of the live run, as with 'whyslow run --live --debug'. With --dap
you debug in an editor that speaks the Debug Adapter Protocol on standard input and output. With
--page, the program keeps its standard input.

Breakpoints and holds are saved and set again the next time, unless the commands come from a file.
--fresh forgets them. --gdb stops at a CF and attaches gdb to it, at the beginning of its C++
function. For this, C++ code is compiled with debug information and, unless -O says otherwise,
without optimization.

Under mpirun, rank 0 takes the commands, shows the page or speaks with the editor, and all ranks obey.

Time during which the program was stopped is W.debug in the report. The flags of 'whyslow run' work
here too: --order or --fuzz-order debugs a recorded or random order.
` + exitCodes(1, 2, 3, 4)
	cmd.Example = `  whyslow debug prog.fa 100
  whyslow debug -w 2 --commands script.txt prog.fa 100
  whyslow debug --page prog.fa 100
  whyslow debug --order race.trace prog.fa 100
  whyslow debug --gdb 'step[3]' prog.fa 100
  whyslow debug --dap prog.fa 100
  mpirun -n 4 whyslow debug --commands script.txt prog.fa 100`
	f := cmd.Flags()
	f.StringVar(&o.debug.commands, "commands", "", "take the commands from this `file`; after the last one the"+
		" program goes on to its end")
	f.BoolVar(&o.debug.page, "page", false, "debug in the browser, on the page of the run; it stays until"+
		" Ctrl+C")
	f.BoolVar(&o.debug.dap, "dap", false, "speak the Debug Adapter Protocol on standard input and output")
	f.BoolVar(&o.debug.fresh, "fresh", false, "forget the breakpoints and holds of the last time")
	f.StringVar(&o.debug.gdb, "gdb", "", "go on up to this `CF` and attach gdb to it; commands for gdb may"+
		" follow: 'step[3] bt; info args'")
	return cmd
}

// checkDebug finds what does not go with a debugger.
func (o *runOptions) checkDebug(f *pflag.FlagSet, c *crew.Crew) error {
	if o.debugLive {
		if !o.live.on {
			return console.Misuse("run: --debug debugs from the page: give --live too, or use 'whyslow debug' for" +
				" the terminal")
		}
		o.debug = &debugOptions{page: true}
	}
	if o.debug == nil {
		return nil
	}
	if o.debug.page {
		o.live.on = true
	}
	if o.debug.page && (o.debug.dap || o.debug.commands != "") || o.debug.dap && o.debug.commands != "" {
		return console.Misuse("debug: --page, --dap and --commands: choose one")
	}
	if o.debug.gdb != "" {
		if o.debug.dap || o.debug.page {
			return console.Misuse("debug: --gdb needs the terminal: leave out --dap and --page")
		}
		if o.source.variables = true; !f.Changed("optimize") {
			o.source.optimize = "0"
		}
	}
	for _, flag := range []string{"repeat", "results", "hold", "no-trace"} {
		if f.Changed(flag) {
			return console.Misuse("debug: --%s makes no sense under the debugger", flag)
		}
	}
	if o.debug.commands == "" || !c.Speaks() {
		return nil
	}
	var err error
	o.debug.file, err = os.Open(o.debug.commands)
	return badInput(err)
}
