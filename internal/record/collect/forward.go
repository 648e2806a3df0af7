package collect

import (
	"context"
	"errors"
	"time"

	"github.com/whyslow/whyslow/internal/record/stream"
)

// forwardIdle is how long a run that is silent but has not ended stays connected to the other collector.
const forwardIdle = 30 * time.Second

// arrived is called when a sender of a run has come.
func (c *Collector) arrived(r *run) {
	r.mu.Lock()
	first := !r.seen
	r.seen = true
	r.mu.Unlock()
	if first && c.cfg.OnRun != nil {
		c.cfg.OnRun(r.dir)
	}
	if c.cfg.Forward.Addr != "" {
		r.startForwarding()
	}
}

// startForwarding makes sure that somebody forwards the run.
func (r *run) startForwarding() {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forwarder || c.closed {
		return
	}
	r.forwarder = true
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		for again := true; again; {
			leave, ok := r.turn(c.ctx)
			if !ok {
				return
			}
			again = r.forward(c.ctx)
			leave()
		}
	}()
}

// forwardOld is how many runs that nobody sends any more are forwarded at once.
const forwardOld = 32

// turn waits until the run may be forwarded: at once if somebody sends it, otherwise, as after a restart with
// many runs, when there are not too many others. leave gives the turn to the next.
func (r *run) turn(ctx context.Context) (leave func(), ok bool) {
	for !r.busy() {
		select {
		case r.c.old <- struct{}{}:
			return func() { <-r.c.old }, true
		case <-r.changed:
		case <-ctx.Done():
			return nil, false
		}
	}
	return func() {}, ctx.Err() == nil
}

// forward sends a run until all is sent or nothing comes any more. again: there is more to do.
func (r *run) forward(ctx context.Context) (again bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := stream.NewSender(stream.Config{Target: r.c.cfg.Forward, Source: stream.Folder(r.dir),
		Version: r.c.cfg.Version, Notify: r.c.notify})
	result := make(chan error, 1)
	go func() { result <- s.Run(ctx) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var quiet time.Time // since when nothing comes
	var idle bool
	for {
		r.mu.Lock()
		over, live := r.info.Ended != "" && !r.live(), r.live()
		r.mu.Unlock()
		if over {
			s.EndSource()
		}
		st := s.Stats()
		switch {
		case live || over || !st.Connected || st.Unsent.Blocks > 0 || st.Lag > 2*time.Second:
			quiet = time.Time{}
		case quiet.IsZero():
			quiet = time.Now()
		case time.Since(quiet) > forwardIdle:
			idle = true
			cancel()
		}
		select {
		case err := <-result:
			return r.forwardedBy(err, idle)
		case <-r.changed:
		case <-tick.C:
		}
	}
}

// forwardedBy notes how forwarding ended and reports whether it is to begin again.
func (r *run) forwardedBy(err error, idle bool) bool {
	var refusal *stream.Refusal
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil && r.info.Ended != "" && !r.live():
		r.forwarded = r.c.cfg.Forward.Addr
		// At worst it is sent again, and found to be there.
		if r.wakeUp("forwarding") == nil {
			_ = r.save()
			r.rest()
		}
	case err == nil, idle && r.live():
		return true
	case idle:
	case errors.As(err, &refusal):
	default: // the collector is closed
	}
	r.forwarder = false
	return false
}
