package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/pgas/symbols"
	"github.com/whyslow/whyslow/internal/record/recording"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// sendTraceOptions say which trace goes where.
type sendTraceOptions struct {
	send   sendOptions
	follow bool
	eof    bool // until standard input ends
	node   int  // -1: all that are in the folder
	quiet  bool
}

func sendCommand(std console.IO) *cobra.Command {
	var o sendTraceOptions
	cmd := &cobra.Command{
		Use:   "send [flags] TRACE",
		Short: "Send a trace to a collector, even while a program is writing it",
		Long: `Send a trace to a collector (whyslow serve), which stores it and shows it on its page. Data that is
already there is not sent again.

--follow keeps sending while a program writes the trace, until the run ends or you press Ctrl+C.

Programs that record themselves start this command if WHYSLOW_TO=HOST:PORT is set: those with
whyslow.h, whyslow.hpp, or Go's package prof.

Exit codes:
  0    everything is at the collector
  1    it is not
  2    usage, or TRACE is not a trace
  130  interrupted`,
		Example: `  whyslow send --to head:7568 prog.001.trace
  WHYSLOW_TOKEN=sesame whyslow send --to head:7568 --follow squares.trace`,
		Args: oneArg("trace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.send.takeFromEnvironment(); o.send.to == "" {
				return console.Misuse("send: give the collector: --to HOST:PORT")
			}
			if err := o.send.check("send", cmd.Flags(), 1); err != nil {
				return err
			}
			return sendTrace(cmd.Context(), std, &o, wholeTrace(std, args[0]))
		},
		ValidArgsFunction: completeTrace,
	}
	f := cmd.Flags()
	o.send.addTo(f)
	f.Lookup("to").Usage = "send to the collector at `HOST:PORT` (default: $WHYSLOW_TO)"
	f.BoolVarP(&o.follow, "follow", "f", false, "go on until the run has ended")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print only errors")
	f.IntVar(&o.node, "node", -1, "send the file of this `node` only; others send theirs")
	f.BoolVar(&o.eof, "until-eof", false, "go on until standard input ends")
	if err := f.MarkHidden("until-eof"); err != nil {
		panic(err)
	}
	return cmd
}

// followEvery is how often it is looked whether the run has ended.
const followEvery = 100 * time.Millisecond

func sendTrace(ctx context.Context, std console.IO, o *sendTraceOptions, dir string) error {
	if st, err := os.Stat(dir); err != nil {
		return badInput(err)
	} else if !st.IsDir() || !isTrace(dir) {
		return badInput(fmt.Errorf("%s: not a trace; give the folder that a program has written", dir))
	}
	source, tell, err := o.source(ctx, std, dir)
	if err != nil {
		return badInput(err)
	}
	sending := recording.StartSending(std, o.send.sends(), source)
	defer sending.Stop()
	o.wait(ctx, dir, sending)
	tell()
	interrupted := ctx.Err() != nil
	all := sending.Finish(afterRun(ctx), o.quiet)
	switch {
	case interrupted:
		return console.Exit(console.Interrupted, errors.New("interrupted"))
	case !all:
		return console.Exit(console.Failed, nil)
	}
	return nil
}

// source is what is sent. tell passes on what run.json says by then.
func (o *sendTraceOptions) source(ctx context.Context, std console.IO, dir string) (s stream.Source,
	tell func(), err error) {
	if o.node < 0 {
		return stream.Folder(dir), func() { o.nameAddresses(std, dir) }, nil
	}
	info := o.info(dir)
	for until := time.Now().Add(3 * time.Second); info == nil && time.Now().Before(until) && ctx.Err() == nil; {
		time.Sleep(followEvery) // node 0 has yet to begin, or writes elsewhere
		info = o.info(dir)
	}
	if info == nil {
		id := os.Getenv("WHYSLOW_RUN_ID")
		if !stream.ValidRun(id) {
			return nil, nil, fmt.Errorf("%s has no %s, so it is unclear which run this node belongs to: give all"+
				" processes the same WHYSLOW_RUN_ID", dir, tracefile.RunFile)
		}
		info = &trace.RunInfo{ID: id, Program: strings.TrimSuffix(filepath.Base(dir), ".trace")}
	}
	file := stream.NewNodeFile(dir, o.node, info)
	return file, func() {
		last := *info
		if now := o.info(dir); now != nil && now.ID == info.ID {
			last = *now
		}
		// Node 0 tells how the run ended, later than this node perhaps.
		if o.node > 0 && last.Ended == "" && complete(filepath.Join(dir, tracefile.FileName(o.node))) {
			last.Ended = trace.EndedDone
		}
		if r, err := trace.Open(dir); err == nil {
			defer r.Close()
			if table := symbols.OfTrace(r, o.node); table != nil {
				last = *stream.WithSymbols(&last, table)
			}
		}
		file.SetInfo(&last)
	}, nil
}

// nameAddresses finds out what addresses of the program are, which it wrote into its trace, unless that is
// known: whoever gets the trace may not have the program.
func (o *sendTraceOptions) nameAddresses(std console.IO, dir string) {
	if _, err := os.Stat(filepath.Join(dir, symbols.File)); err == nil {
		return
	}
	r, err := trace.Open(dir)
	if err != nil {
		return // nothing to send, either
	}
	defer r.Close()
	if table := symbols.OfTrace(r, -1); len(table) > 0 {
		if err := table.Save(dir); err != nil {
			std.Say("warning: names of the program's functions are not sent: %v", console.FileError(err))
		}
	}
}

// complete reports whether a node's file has been written to its end.
func complete(path string) (whole bool) {
	f, unreadable := tracefile.Open(path)
	if unreadable != nil {
		return false
	}
	err := f.While(func() error {
		_, whole = f.ReadIndex()
		return nil
	})
	return err == nil && whole
}

// info is what run.json says, nil if it is not there or is about another run.
func (o *sendTraceOptions) info(dir string) *trace.RunInfo {
	info, err := trace.ReadRunInfo(dir)
	id := os.Getenv("WHYSLOW_RUN_ID")
	if err != nil || o.eof && stream.ValidRun(id) && info.ID != id {
		return nil
	}
	return info
}

// wait waits until nothing more comes.
func (o *sendTraceOptions) wait(ctx context.Context, dir string, sending *recording.Sending) {
	over := make(chan struct{})
	switch {
	case o.eof:
		go func() {
			defer close(over)
			_, _ = io.Copy(io.Discard, os.Stdin) // however it ends
		}()
	case o.follow:
		go func() {
			defer close(over)
			for ctx.Err() == nil {
				if info, err := trace.ReadRunInfo(dir); err == nil && info.Ended != "" {
					return
				}
				time.Sleep(followEvery)
			}
		}()
	default:
		close(over)
	}
	select {
	case <-over:
	case <-ctx.Done():
	case <-sending.Over():
	}
}
