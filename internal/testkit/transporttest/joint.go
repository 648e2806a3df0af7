package transporttest

import (
	"github.com/whyslow/whyslow/internal/run/transport"
	"github.com/whyslow/whyslow/internal/run/transport/local"
)

// Joint connects engines in one process that each hold one node: every node has a transport.Network of its
// own, as it has in a run of many processes. What is sent to a node before it connects waits for it; what is
// sent to one that has closed its network is dropped, also by the others.
type Joint struct {
	net  *local.Network
	ends []*end
}

// Pair makes the networks of that many nodes, to be had from Connect; opt holds for all links.
func Pair(nodes int, opt local.Options) *Joint {
	j := &Joint{}
	for i := range nodes {
		j.ends = append(j.ends, &end{node: i, connected: make(chan struct{})})
	}
	j.net = local.New(nodes, opt, func(m *transport.Message) {
		e := j.ends[m.To]
		<-e.connected
		e.deliver(m)
	})
	return j
}

// Connect returns what makes the network of one node, to be called once: its Send takes messages from that
// node to all, itself included; deliver gets those to it, one at a time.
func (j *Joint) Connect(node int) func(deliver func(*transport.Message)) transport.Network {
	return func(deliver func(*transport.Message)) transport.Network {
		e := j.ends[node]
		e.Network, e.deliver = j.net, deliver
		close(e.connected)
		return e
	}
}

// end is a Joint seen from one node.
type end struct {
	*local.Network
	node      int
	deliver   func(*transport.Message)
	connected chan struct{}
}

// Close implements transport.Network: this node receives no more. What it has sent still arrives.
func (e *end) Close() { e.CloseNode(e.node) }
