package grouptest

import (
	"bytes"
	"errors"
	"sync"
)

// ErrLeft is what Exchange returns where a member has left.
var ErrLeft = errors.New("a member has left the group")

// Local makes a group of n goroutines: member i uses the i-th. A member that stops early calls Leave, lest
// the others wait for it for ever.
func Local(n int) []*Member {
	h := &hub{size: n, out: make([][][]byte, n)}
	h.round.L = &h.mu
	members := make([]*Member, n)
	for i := range members {
		members[i] = &Member{hub: h, rank: i}
	}
	return members
}

// Member is a procs.Group of goroutines, seen from one of them.
type Member struct {
	hub  *hub
	rank int
}

// hub is where members meet: each lays down what it gives, and takes what it gets when all have.
type hub struct {
	mu      sync.Mutex
	round   sync.Cond
	size    int
	given   int
	taken   int
	out     [][][]byte
	left    bool
	serving bool // all have given, not all have taken
}

// Rank implements procs.Group.
func (m *Member) Rank() int { return m.rank }

// Size implements procs.Group.
func (m *Member) Size() int { return m.hub.size }

// Exchange implements procs.Group.
func (m *Member) Exchange(out [][]byte) ([][]byte, error) {
	h := m.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.serving && !h.left {
		h.round.Wait()
	}
	if h.left {
		return nil, ErrLeft
	}
	h.out[m.rank] = out
	if h.given++; h.given == h.size {
		h.serving = true
		h.round.Broadcast()
	}
	for !h.serving && !h.left {
		h.round.Wait()
	}
	if h.left {
		return nil, ErrLeft
	}
	in := make([][]byte, h.size)
	for i := range in {
		in[i] = bytes.Clone(h.out[i][m.rank])
	}
	if h.taken++; h.taken == h.size {
		h.given, h.taken, h.serving = 0, 0, false
		clear(h.out)
		h.round.Broadcast()
	}
	// What was given may be changed again only when all have taken their part.
	for h.serving && !h.left {
		h.round.Wait()
	}
	return in, nil
}

// Leave says that this member takes part no more: the calls of the others fail from now on.
func (m *Member) Leave() {
	m.hub.mu.Lock()
	m.hub.left = true
	m.hub.round.Broadcast()
	m.hub.mu.Unlock()
}
