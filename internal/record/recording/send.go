package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/record/stream"
)

// Send says to which collectors a run is sent while it goes on.
type Send struct {
	Targets []stream.Target // one, or one for each group of processes
	Wait    time.Duration   // how long to wait at the end for what is left
	Version string          // of whyslow
}

// sharing are the processes that send to the same collector as a process.
func (o *Send) sharing(rank, ranks int) (list []int) {
	for i := range ranks {
		if o.target(i, ranks) == o.target(rank, ranks) {
			list = append(list, i)
		}
	}
	return list
}

// target is the number of the collector that a process sends to: ranks are divided in their order.
func (o *Send) target(rank, ranks int) int { return rank * len(o.Targets) / ranks }

// sending is a run on its way to a collector.
type sending struct {
	opt    *Send
	to     string
	sender *stream.Sender
	cancel context.CancelFunc
	kept   bool // there is a trace with everything in it
}

// delivery is what became of it.
type delivery struct {
	To, Folder            string // the collector, and where it keeps the run
	Sent, Unsent, Dropped uint64 // events
	Why                   string // why not everything is there; "": nothing is in the way
}

// Sending is a trace on its way to a collector.
type Sending struct {
	io console.IO
	s  *sending
}

// StartSending sends a trace that somebody writes, or has written, to the first of the targets.
func StartSending(io console.IO, o *Send, source stream.Source) *Sending {
	ctx, cancel := context.WithCancel(context.Background())
	target := o.Targets[0]
	s := &sending{opt: o, to: target.Addr, cancel: cancel, kept: true,
		sender: stream.NewSender(stream.Config{Target: target, Source: source, Version: o.Version,
			Notify: func(line string) { io.Say("warning: %s", line) }})}
	go s.sender.Run(ctx) //nolint:errcheck // Drain tells
	return &Sending{io, s}
}

// Finish waits for what is left, as Recording.FinishSending does, and says what became of it. all: everything
// is at the collector.
func (s *Sending) Finish(ctx context.Context, quiet bool) (all bool) {
	d := s.s.wait(ctx, s.io, s.s.opt.Wait)
	s.s.report(s.io, quiet, d)
	return d.Why == "" && d.Dropped == 0
}

// Over is closed when no more is sent: the collector has refused.
func (s *Sending) Over() <-chan struct{} { return s.s.sender.Done() }

// Stop sends no more, without a word.
func (s *Sending) Stop() { s.s.cancel() }

// startSending sends what this process records to the collector of its group.
func (r *Recording) startSending() {
	o, rank, ranks := r.opt.Send, r.crew.Rank(), r.crew.Size()
	var source stream.Source
	switch {
	case r.queue != nil:
		source = r.queue
	case r.crew.Many():
		r.source = stream.NewNodeFile(r.trace.Dir(), rank, r.copyInfo())
		source = r.source
	default:
		source = stream.Folder(r.folder)
	}
	mine := o.target(rank, ranks)
	tell := func(line string) { r.io.Say("warning: %s", line) }
	if rank > 0 && o.target(rank-1, ranks) == mine { // one of the group tells
		tell = nil
	}
	// Not the run's context: how an interrupted run ended is to be sent, too.
	ctx, cancel := context.WithCancel(context.Background())
	target := o.Targets[mine]
	r.send = &sending{
		opt: o, to: target.Addr, cancel: cancel, kept: r.queue == nil,
		sender: stream.NewSender(stream.Config{Target: target, Source: source, Version: o.Version, Notify: tell}),
	}
	go r.send.sender.Run(ctx) //nolint:errcheck // Drain tells
}

// FinishSending waits for what is left to be sent, not longer than the user wants or until Ctrl+C, and says
// what became of it. Many processes call Sent before they part, and have nothing left.
func (r *Recording) FinishSending(ctx context.Context, quiet bool) {
	if r.send != nil {
		r.send.report(r.io, quiet, r.send.wait(ctx, r.io, r.send.opt.Wait))
	}
}

// Sent is FinishSending of many processes: rank 0 tells, by collector. Gathered parts are removed.
func (r *Recording) Sent(ctx context.Context, quiet bool) error {
	var own delivery
	if r.send != nil {
		own = r.send.wait(ctx, r.io, r.send.opt.Wait)
	}
	if r.old != "" {
		if err := os.RemoveAll(r.old); err != nil {
			r.io.Say("warning: %v", console.FileError(err))
		}
	}
	if r.opt.Send == nil || r.trace == nil {
		return nil
	}
	all, err := procs.AllOf(r.crew.Group(), own)
	if err != nil || !r.crew.Speaks() {
		return err
	}
	sum := all[0]
	for _, d := range all[1:] {
		if d.To != sum.To {
			r.send.report(r.io, quiet, sum)
			sum = d
			continue
		}
		sum.Sent, sum.Unsent, sum.Dropped = sum.Sent+d.Sent, sum.Unsent+d.Unsent, sum.Dropped+d.Dropped
		sum.Why = cmp.Or(sum.Why, d.Why)
	}
	r.send.report(r.io, quiet, sum)
	r.send = nil
	return nil
}

// wait waits for what is left, until long is over or Ctrl+C: one that ended the run ends ctx no more.
func (s *sending) wait(ctx context.Context, io console.IO, long time.Duration) delivery {
	defer s.cancel()
	ctx, stop := console.Asked(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	line := console.StartProgress(io)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			st := s.sender.Stats()
			line.Set("sending to %s: %d events arrived, at least %d to go (Ctrl+C to end)", s.to,
				st.Sent.Events, st.Unsent.Events)
			select {
			case <-tick.C:
			case <-s.sender.Done():
				return
			}
		}
	}()
	err := s.sender.Drain(ctx)
	why := context.Cause(ctx)
	cancel()
	<-watched
	line.End()
	st := s.sender.Stats()
	d := delivery{
		To: s.to, Folder: st.Folder, Sent: st.Sent.Events,
		Unsent: st.Unsent.Events, Dropped: st.Dropped.Events,
	}
	if err != nil {
		reason := cmp.Or(st.Err, err).Error() // there is no connection
		switch {
		case st.Err == nil && errors.Is(why, context.DeadlineExceeded):
			reason = fmt.Sprintf("--to-wait=%v has passed", s.opt.Wait)
		case why != nil && !errors.Is(why, context.DeadlineExceeded):
			reason = "interrupted"
		}
		d.Why = strings.TrimPrefix(reason, "collector "+s.to+": ")
	}
	return d
}

// report says in one line what was sent, or what was not.
func (s *sending) report(io console.IO, quiet bool, d delivery) {
	rest := "they are lost"
	if s.kept {
		rest = "the trace is complete"
	}
	switch {
	case d.Why != "":
		io.Say("warning: %d events were sent to %s, at least %d were not: %s; %s", d.Sent, d.To,
			d.Unsent+d.Dropped, d.Why, rest)
	case d.Dropped > 0:
		io.Say("warning: %d events could not be sent to %s in time: %s", d.Dropped, d.To, rest)
	case !quiet:
		io.Say("%d events sent to %s, which keeps them as %s", d.Sent, d.To, d.Folder)
	}
}
