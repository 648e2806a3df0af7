package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/show/live"
)

func viewCommand(io console.IO) *cobra.Command {
	var o pageOptions
	cmd := &cobra.Command{
		Use:   "view [flags] TRACE...",
		Short: "Show recorded runs in the browser",
		Long: `Show recorded runs on a page in the browser: why they are slow, timelines, nodes and links, graphs,
events, memory, and two of them compared. A trace that is still being written is followed.

The page is served at --listen until Ctrl+C. Its address is printed on standard output.
` + exitCodes(1, 2),
		Example: `  whyslow view prog.001.trace
  whyslow view before.trace after.trace
  whyslow view --listen 127.0.0.1:8080 --no-browser prog.001.trace`,
		Args: someArgs("trace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check("view", cmd.Flags()); err != nil {
				return err
			}
			return viewTraces(cmd.Context(), io, &o, args)
		},
		ValidArgsFunction: completeTrace,
	}
	o.addTo(cmd.Flags(), fmt.Sprintf("127.0.0.1:%d", api.DefaultPort))
	o.addBrowser(cmd.Flags())
	o.memory.addTo(cmd.Flags())
	return cmd
}

func viewTraces(ctx context.Context, io console.IO, o *pageOptions, traces []string) error {
	runs := live.NewSet()
	runs.Limit(o.memory.Budget)
	defer runs.Close()
	for i, dir := range traces {
		dir = wholeTrace(io, dir)
		if st, err := os.Stat(dir); err != nil {
			return badInput(err)
		} else if !st.IsDir() || !isTrace(dir) {
			return badInput(fmt.Errorf("%s: not a trace; give the folder that whyslow run has written", dir))
		}
		r, err := runs.Add(dir, live.Options{Memory: o.ofRun(), Spill: true})
		if err != nil {
			return badInput(err)
		}
		if i == 0 { // it will be looked at, when the browser is ready
			r.Prepare()
		}
	}
	p, err := o.serve(io, api.Config{Runs: runs})
	if err != nil {
		return err
	}
	fmt.Fprintln(io.Out, p.url)
	io.Say("the page stays until Ctrl+C")
	p.browse(o)
	return p.until(ctx)
}
