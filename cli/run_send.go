package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/record/stream"
)

// sendOptions say to which collector a run is sent while it goes on.
type sendOptions struct {
	to    string // "": to none
	token string
	ca    string
	tls   bool
	wait  time.Duration

	targets []stream.Target // one, or one for each group of processes
}

func (o *sendOptions) addTo(f *pflag.FlagSet) {
	f.StringVar(&o.to, "to", "", "send the run to the collector at `HOST:PORT` (whyslow serve) while it goes on; under mpirun several, separated by commas, each for as many ranks")
	f.StringVar(&o.token, "to-token", "", "`word` that the collector asks for (default: $"+tokenVariable+")")
	f.BoolVar(&o.tls, "to-tls", false, "send with TLS, as with --to https://HOST:PORT")
	f.StringVar(&o.ca, "to-ca", "", "`file` with the certificate to trust there, where the system does not know it; TLS")
	f.DurationVar(&o.wait, "to-wait", 10*time.Second, "at the end wait so `long` for what is left to be sent")
}

// on tells whether the run is sent.
func (o *sendOptions) on() bool { return o.to != "" }

// check finds what is wrong with the flags, and the collector's address.
func (o *sendOptions) check(f *pflag.FlagSet, c *crew) error {
	if !f.Changed("to") {
		for _, flag := range []string{"to-token", "to-tls", "to-ca", "to-wait"} {
			if f.Changed(flag) {
				return badCommandLine("run: --%s makes no sense without --to", flag)
			}
		}
		return nil
	}
	if o.wait < 0 {
		return badCommandLine("run: --to-wait=%v: cannot be negative", o.wait)
	}
	for _, to := range strings.Split(o.to, ",") {
		target, err := stream.ParseTarget(to)
		if err != nil {
			return badCommandLine("run: --to: %w", err)
		}
		target.Token = cmp.Or(o.token, os.Getenv(tokenVariable))
		if o.tls && target.TLS == nil {
			target.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		if o.ca != "" {
			if err := target.TrustFile(o.ca); err != nil {
				return badInput(fmt.Errorf("--to-ca: %w", fileError(err)))
			}
		}
		o.targets = append(o.targets, target)
	}
	ranks := 1
	if c != nil {
		ranks = c.Size()
	}
	if n := len(o.targets); n > ranks {
		return badCommandLine("run: --to: %d collectors for %d processes: each needs one at least (mpirun -n)", n, ranks)
	}
	return nil
}

// sharing are the processes that send to the same collector as a process.
func (o *sendOptions) sharing(rank, ranks int) (list []int) {
	for i := range ranks {
		if o.group(i, ranks) == o.group(rank, ranks) {
			list = append(list, i)
		}
	}
	return list
}

// group is the number of the collector that a process sends to: processes are divided among them in the order of their ranks.
func (o *sendOptions) group(rank, ranks int) int { return rank * len(o.targets) / ranks }

// sending is a run on its way to a collector.
type sending struct {
	opt    *sendOptions
	to     string
	sender *stream.Sender
	cancel context.CancelFunc
	kept   bool // there is a trace with everything in it
}

// sent is what became of it.
type sent struct {
	To, Folder            string // the collector, and where it keeps the run
	Sent, Unsent, Dropped uint64 // events
	Why                   string // why not everything is there; "": nothing is in the way
}

// startSending sends a source until finish. It never holds up whoever writes the source. tell is told of trouble, in a line.
func startSending(o *sendOptions, target stream.Target, source stream.Source, tell func(line string)) *sending {
	_, queued := source.(*stream.Queue)
	// Not the run's context: how an interrupted run ended is to be sent, too.
	ctx, cancel := context.WithCancel(context.Background())
	s := &sending{opt: o, to: target.Addr, cancel: cancel, kept: !queued, sender: stream.NewSender(stream.Config{
		Target: target, Source: source, Version: readVersion().Version, Notify: tell,
	})}
	go s.sender.Run(ctx) //nolint:errcheck // Drain tells
	return s
}

// ended says that the source is complete.
func (s *sending) ended() {
	if s != nil {
		s.sender.EndSource()
	}
}

// finish waits for what is left, not longer than the user wants or until Ctrl+C, and says what became of it.
func (s *sending) finish(ctx context.Context, io stdio, quiet bool) {
	if s != nil {
		s.report(io, quiet, s.wait(ctx, io, s.opt.wait))
	}
}

// wait waits for what is left, not longer than long or until Ctrl+C. Where one has ended the run, ctx does not end any more.
func (s *sending) wait(ctx context.Context, io stdio, long time.Duration) sent {
	defer s.cancel()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	line := startProgress(io)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			st := s.sender.Stats()
			line.set("sending to %s: %d events are there, at least %d are not (Ctrl+C to end)", s.to, st.Sent.Events, st.Unsent.Events)
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
	line.end()
	st := s.sender.Stats()
	r := sent{To: s.to, Folder: st.Folder, Sent: st.Sent.Events, Unsent: st.Unsent.Events, Dropped: st.Dropped.Events}
	if err != nil {
		reason := cmp.Or(st.Err, err).Error() // there is no connection
		switch {
		case st.Err == nil && errors.Is(why, context.DeadlineExceeded):
			reason = fmt.Sprintf("--to-wait=%v is over", s.opt.wait)
		case why != nil && !errors.Is(why, context.DeadlineExceeded):
			reason = "interrupted"
		}
		r.Why = strings.TrimPrefix(reason, "collector "+s.to+": ")
	}
	return r
}

// report says in one line what was sent, or what was not.
func (s *sending) report(io stdio, quiet bool, r sent) {
	rest := "they are lost"
	if s.kept {
		rest = "the trace has everything"
	}
	switch {
	case r.Why != "":
		io.say("warning: %d events were sent to %s, at least %d were not: %s; %s", r.Sent, r.To, r.Unsent+r.Dropped, r.Why, rest)
	case r.Dropped > 0:
		io.say("warning: %d events could not be sent to %s in time: %s", r.Dropped, r.To, rest)
	case !quiet:
		io.say("%d events sent to %s, which keeps them as %s", r.Sent, r.To, r.Folder)
	}
}
