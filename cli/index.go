package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/show/index"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/words"
)

func indexCommand(std console.IO) *cobra.Command {
	var asJSON bool
	var o pageOptions
	cmd := &cobra.Command{
		Use:   "index [flags] TRACE",
		Short: "Prepare a large trace so that view opens it at once",
		Long: `Read a trace and save what 'whyslow view' shows first: the report with its warnings, and the timeline
of every worker by factor and code. The file is saved beside the trace, or in the user's cache if that
folder cannot be written. view also saves it after reading a trace of a million events or more. If the
trace changes, it is read again.
` + exitCodes(1, 2, 4),
		Example: `  whyslow index prog.001.trace
  whyslow index --memory 2Gi prog.001.trace && whyslow view prog.001.trace`,
		Args: oneArg("trace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.memory.check("index", 1); err != nil {
				return err
			}
			return indexTrace(cmd.Context(), std, &o, wholeTrace(std, args[0]), asJSON)
		},
		ValidArgsFunction: completeTrace,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	o.memory.addTo(cmd.Flags())
	return cmd
}

// indexed is what index prints as JSON.
type indexed struct {
	Path       string `json:"path"`
	Bytes      int64  `json:"bytes"`
	Events     uint64 `json:"events"`
	TraceBytes int64  `json:"trace_bytes"`
	NS         int64  `json:"ns"` // that it took
}

func indexTrace(ctx context.Context, std console.IO, o *pageOptions, dir string, asJSON bool) error {
	if st, err := os.Stat(dir); err != nil {
		return badInput(err)
	} else if !st.IsDir() || !isTrace(dir) {
		return badInput(fmt.Errorf("%s: not a trace; give the folder that whyslow run has written", dir))
	}
	began := time.Now()
	line := console.StartProgress(std)
	runs := live.NewSet()
	runs.Limit(o.memory.Budget)
	read := func(done, total int64) {
		left := ""
		if spent := time.Since(began); done > 0 && spent > time.Second {
			ns := float64(spent) * float64(total-done) / float64(done)
			left = fmt.Sprintf(", about %.0f s left", ns/1e9)
		}
		line.Set("reading %s: %d %%%s", dir, 100*done/max(total, 1), left)
	}
	r, err := runs.Add(dir, live.Options{Memory: o.ofRun(), Spill: true, Progress: read})
	if err != nil {
		line.End()
		return badInput(err)
	}
	before, _ := r.Status()
	if st, err := os.Stat(filepath.Join(dir, index.Name)); err == nil {
		before.Bytes -= st.Size() // an index that is there already is no part of the trace
	}
	if before.State == live.StateLive {
		line.End()
		return badInput(fmt.Errorf("%s: the run is still going; index it when it is over", dir))
	}
	var out indexed
	done := make(chan error, 1)
	go func() {
		var err error
		out.Path, out.Bytes, err = api.Index(ctx, r)
		done <- err
	}()
	select {
	case <-ctx.Done(): // what is computed ends with the process; nothing has been written
		line.End()
		return console.Exit(console.Interrupted, errors.New("interrupted"))
	case err = <-done:
		line.End()
	}
	switch {
	case ctx.Err() != nil:
		return console.Exit(console.Interrupted, errors.New("interrupted"))
	case err != nil:
		return badInput(fmt.Errorf("%s: %w", dir, err))
	}
	out.Events, out.TraceBytes, out.NS = before.Events, before.Bytes, time.Since(began).Nanoseconds()
	if asJSON {
		return badInput(writeJSON(std.Out, out))
	}
	_, err = fmt.Fprintf(std.Out, "%s: %s, %s of the trace\n", out.Path, words.Bytes(out.Bytes),
		words.English.Percent(out.Bytes, out.TraceBytes))
	return badInput(err)
}
