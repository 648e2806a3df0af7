// Package transport carries messages between nodes. Its implementations are local (all nodes in this process)
// and, with the build tag mpi, mpi (a process each).
package transport

import "github.com/whyslow/whyslow/internal/run/cpp"

// headerBytes is what a message costs beyond its head and payload: kind, sender, receiver, number, two
// lengths.
const headerBytes = 24

// Message is one message. The meaning of Kind and Head is the engine's.
type Message struct {
	Kind     uint8
	From, To int
	Number   uint64 // sender node in the upper 16 bits, then the sender's counter
	Head     []byte
	// Payload values belong to the message: Send takes over one reference of each, the receiver gets one of
	// each. Between nodes memory is never shared: what arrives is a copy.
	Payload []cpp.Value
}

// Bytes is the size of the message on a wire, in bytes.
func (m *Message) Bytes() int64 {
	n := int64(headerBytes + len(m.Head))
	for _, v := range m.Payload {
		n += v.Size()
	}
	return n
}

// Release gives up the payload.
func (m *Message) Release() {
	for _, v := range m.Payload {
		v.Release()
	}
}

// Network connects the nodes of a run.
type Network interface {
	// Send hands a message over and returns at once. Messages of one link arrive in order.
	Send(m *Message)
	// Queue is the number of messages sent on the link and not yet handed to the receiver.
	Queue(from, to int) int
	// Serve delivers messages on the calling goroutine, which has nothing else to do, until it says so or
	// nothing arrives for a moment. It returns false at once if the network has a goroutine for that.
	Serve(until func() bool) bool
	// Close stops delivery; messages still under way, or sent later, are dropped and their payload released.
	Close()
}
