package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/transport"
	"github.com/whyslow/whyslow/internal/run/transport/local"
	"github.com/whyslow/whyslow/internal/testkit/grouptest"
	"github.com/whyslow/whyslow/internal/testkit/transporttest"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// parts are the configurations of the processes of a run, which are goroutines here.
func parts(cfg engine.Config, s shape) []engine.Config {
	net := transporttest.Pair(cfg.Nodes, local.Options{Latency: cfg.LinkLatency, Bandwidth: cfg.LinkBandwidth})
	members := grouptest.Local(cfg.Nodes)
	list := make([]engine.Config, cfg.Nodes)
	for i := range list {
		c := cfg
		c.Part = &engine.Part{Node: i, Group: members[i], Connect: net.Connect(i)}
		if s.delays != nil {
			c.Part.Connect = delayed(c.Part.Connect, cfg.Nodes, s.delays.Uint64())
		}
		if cfg.Session != nil && i > 0 {
			c.Session = prof.New()
		}
		if len(cfg.Writers) > 0 {
			c.Writers = []*trace.Writer{cfg.Writers[i]}
		}
		if s.part != nil {
			s.part(&c)
		}
		list[i] = c
	}
	return list
}

// runApart runs a program with every node in an engine of its own. It returns what node 0 says, and the
// errors of the others.
func runApart(ctx context.Context, t testing.TB, cfg engine.Config,
	s shape) (res *engine.Result, others []error, err error) {
	t.Helper()
	all, errs := runParts(ctx, parts(cfg, s))
	for i, err := range errs[1:] {
		var want error
		switch {
		case errors.Is(errs[0], engine.ErrInterrupted):
			want = engine.ErrInterrupted
		case errs[0] != nil:
			want = engine.ErrElsewhere
		}
		var bad *engine.ArgError
		if !errors.Is(err, want) && !errors.As(err, &bad) {
			t.Errorf("node 0 ended with %v, node %d with %v", errs[0], i+1, err)
		}
	}
	return all[0], errs[1:], errs[0]
}

// runParts runs all and returns what each says.
func runParts(ctx context.Context, cfgs []engine.Config) ([]*engine.Result, []error) {
	res, errs := make([]*engine.Result, len(cfgs)), make([]error, len(cfgs))
	var wg sync.WaitGroup
	for i, c := range cfgs {
		wg.Go(func() {
			res[i], errs[i] = engine.Run(ctx, c)
			if errors.Is(errs[i], engine.ErrInterrupted) {
				c.Part.Group.(*grouptest.Member).Leave()
			}
		})
	}
	wg.Wait()
	return res, errs
}

// slow is a network whose messages stay a random time with the sender, in order on each link.
type slow struct {
	transport.Network
	mu     sync.Mutex
	closed bool
	links  []chan *transport.Message
	wg     sync.WaitGroup
}

func delayed(connect func(func(*transport.Message)) transport.Network, nodes int,
	seed uint64) func(func(*transport.Message)) transport.Network {
	return func(deliver func(*transport.Message)) transport.Network {
		s := &slow{Network: connect(deliver)}
		for i := range nodes {
			link := make(chan *transport.Message, 1<<16)
			s.links = append(s.links, link)
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			s.wg.Go(func() {
				for m := range link {
					if random.IntN(3) > 0 {
						time.Sleep(time.Duration(random.IntN(500)) * time.Microsecond)
					}
					s.Network.Send(m)
				}
			})
		}
		return s
	}
}

func (s *slow) Send(m *transport.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		for _, v := range m.Payload {
			v.Release()
		}
		return
	}
	s.links[m.To] <- m
}

func (s *slow) Close() {
	s.mu.Lock()
	s.closed = true
	for _, l := range s.links {
		close(l)
	}
	s.mu.Unlock()
	s.wg.Wait()
	s.Network.Close()
}
