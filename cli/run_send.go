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

	"github.com/whyslow/whyslow/internal/stream"
)

// sendOptions say to which collector a run is sent while it goes on.
type sendOptions struct {
	to    string // "": to none
	token string
	ca    string
	tls   bool
	wait  time.Duration

	target stream.Target
}

func (o *sendOptions) addTo(f *pflag.FlagSet) {
	f.StringVar(&o.to, "to", "", "send the run to the collector at `HOST:PORT` (whyslow serve) while it goes on")
	f.StringVar(&o.token, "to-token", "", "`word` that the collector asks for (default: $"+tokenVariable+")")
	f.BoolVar(&o.tls, "to-tls", false, "send with TLS, as with --to https://HOST:PORT")
	f.StringVar(&o.ca, "to-ca", "", "`file` with the certificate to trust there, where the system does not know it; TLS")
	f.DurationVar(&o.wait, "to-wait", 10*time.Second, "at the end wait so `long` for what is left to be sent")
}

// on tells whether the run is sent.
func (o *sendOptions) on() bool { return o.to != "" }

// check finds what is wrong with the flags, and the collector's address.
func (o *sendOptions) check(f *pflag.FlagSet) error {
	if !f.Changed("to") {
		for _, flag := range []string{"to-token", "to-tls", "to-ca", "to-wait"} {
			if f.Changed(flag) {
				return badCommandLine("run: --%s makes no sense without --to", flag)
			}
		}
		return nil
	}
	var err error
	if o.target, err = stream.ParseTarget(o.to); err != nil {
		return badCommandLine("run: --to: %w", err)
	}
	if o.wait < 0 {
		return badCommandLine("run: --to-wait=%v: cannot be negative", o.wait)
	}
	o.target.Token = cmp.Or(o.token, os.Getenv(tokenVariable))
	if o.tls && o.target.TLS == nil {
		o.target.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if o.ca != "" {
		if err := o.target.TrustFile(o.ca); err != nil {
			return badInput(fmt.Errorf("--to-ca: %w", fileError(err)))
		}
	}
	return nil
}

// sending is a run on its way to a collector.
type sending struct {
	opt    *sendOptions
	sender *stream.Sender
	cancel context.CancelFunc
	kept   bool // there is a trace with everything in it
}

// startSending sends a source until finish. It never holds up whoever writes the source.
func startSending(io stdio, o *sendOptions, source stream.Source) *sending {
	_, kept := source.(stream.Folder)
	// Not the run's context: how an interrupted run ended is to be sent, too.
	ctx, cancel := context.WithCancel(context.Background())
	s := &sending{opt: o, cancel: cancel, kept: kept, sender: stream.NewSender(stream.Config{
		Target: o.target, Source: source, Version: readVersion().Version,
		Notify: func(line string) { io.say("warning: %s", line) },
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
func (s *sending) finish(io stdio, quiet bool) {
	if s == nil {
		return
	}
	defer s.cancel()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, s.opt.wait)
	defer cancel()
	line := startProgress(io)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			st := s.sender.Stats()
			line.set("sending to %s: %d events are there, at least %d are not (Ctrl+C to end)", s.opt.target.Addr, st.Sent.Events, st.Unsent.Events)
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
	s.report(io, quiet, err, why)
}

// report says in one line what was sent, or what was not.
func (s *sending) report(io stdio, quiet bool, err, why error) {
	st := s.sender.Stats()
	to := s.opt.target.Addr
	rest := "they are lost"
	if s.kept {
		rest = "the trace has everything"
	}
	switch {
	case err == nil && st.Dropped.Blocks > 0:
		io.say("warning: %d events could not be sent to %s in time: %s", st.Dropped.Events, to, rest)
	case err == nil:
		if !quiet {
			io.say("%d events sent to %s, which keeps them as %s", st.Sent.Events, to, st.Folder)
		}
	default:
		reason := cmp.Or(st.Err, err).Error() // there is no connection
		switch {
		case st.Err == nil && errors.Is(why, context.DeadlineExceeded):
			reason = fmt.Sprintf("--to-wait=%v is over", s.opt.wait)
		case why != nil && !errors.Is(why, context.DeadlineExceeded):
			reason = "interrupted"
		}
		io.say("warning: %d events were sent to %s, at least %d were not: %s; %s", st.Sent.Events, to, st.Unsent.Events+st.Dropped.Events,
			strings.TrimPrefix(reason, "collector "+to+": "), rest)
	}
}
