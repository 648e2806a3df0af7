package local

import "github.com/whyslow/whyslow/internal/run/transport"

// Joint connects engines in one process that each hold one node: every node has a transport.Network of its
// own, as it has in a run of many processes. What is sent to a node before it connects waits for it; what is
// sent to one that has closed its network is dropped, also by the others.
type Joint struct{ net *Network }

// Pair makes the networks of that many nodes, to be had from Connect; opt holds for all links.
func Pair(nodes int, opt Options) *Joint { return &Joint{unconnected(nodes, opt)} }

// Connect returns what makes the network of one node, to be called once: its Send takes messages from that
// node to all, itself included; deliver gets those to it, one at a time.
func (j *Joint) Connect(node int) func(deliver func(*transport.Message)) transport.Network {
	return func(deliver func(*transport.Message)) transport.Network {
		b := j.net.boxes[node]
		j.net.connect(b, deliver)
		return &end{j.net, b}
	}
}

// end is a Joint seen from one node.
type end struct {
	net *Network
	box *box
}

// Send implements transport.Network.
func (e *end) Send(m *transport.Message) { e.net.Send(m) }

// Queue implements transport.Network; it knows all links.
func (e *end) Queue(from, to int) int { return e.net.Queue(from, to) }

// Serve implements transport.Network.
func (e *end) Serve(func() bool) bool { return false }

// Close implements transport.Network: this node receives no more. What it has sent still arrives.
func (e *end) Close() {
	e.box.close()
	e.box.gone()
}
