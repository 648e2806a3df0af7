package transporttest_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/run/transport"
	"github.com/whyslow/whyslow/internal/run/transport/local"
	"github.com/whyslow/whyslow/internal/testkit/grouptest"
	"github.com/whyslow/whyslow/internal/testkit/transporttest"
)

func TestJoint(t *testing.T) {
	for _, c := range []struct {
		nodes int
		opt   local.Options
	}{{1, local.Options{}}, {2, local.Options{}}, {4, local.Options{}},
		{2, local.Options{Latency: 50 * time.Microsecond, Bandwidth: 4e9}}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			transporttest.Run(t, func(do func(n *transporttest.Node) error) error { return all(c.nodes, c.opt, do) })
		})
	}
}

// all calls do for every node at once.
func all(nodes int, opt local.Options, do func(n *transporttest.Node) error) error {
	m := &meeting{nodes: nodes, opt: opt}
	errs := make([]error, nodes)
	var wg sync.WaitGroup
	for i, g := range grouptest.Local(nodes) {
		wg.Go(func() {
			errs[i] = do(&transporttest.Node{Group: g,
				Connect: func(deliver func(*transport.Message)) transport.Network {
					return m.next(i).Connect(i)(deliver)
				}})
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// meeting gives the i-th call of each node the same i-th network.
type meeting struct {
	mu     sync.Mutex
	nodes  int
	opt    local.Options
	joints []*transporttest.Joint
	calls  map[int]int
}

func (m *meeting) next(node int) *transporttest.Joint {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls == nil {
		m.calls = map[int]int{}
	}
	i := m.calls[node]
	m.calls[node]++
	if i == len(m.joints) {
		m.joints = append(m.joints, transporttest.Pair(m.nodes, m.opt))
	}
	return m.joints[i]
}
