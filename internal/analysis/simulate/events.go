package simulate

// what happens next in virtual time
type happening uint8

const (
	workerFree  happening = iota // it looks at its node's queue
	goesOn                       // a CF that a worker has executed, with its next execution
	executed                     // the CF on a worker
	cfCame                       // to the node of its next execution
	requestCame                  // of an input, to the node that has its value
	inputCame                    // a value for an input
	valueCame                    // to the node that keeps it
	thiefCame                    // a node asks another one, w, for a CF
	received                     // the first message in the box of a node
	appears                      // a value that no CF makes

	due happening = 1 << 7 // the link has delivered what is to come
)

type event struct {
	t    int64
	seq  uint64 // of events at one time, the one that was caused first comes first
	a    uint32 // CF, input or value
	w    uint32 // worker
	by   uint32 // of a message: 1 + the worker that sent it, 0: none did
	what happening
	to   uint16 // of a message: the node
}

func (e *event) before(o *event) bool { return e.t < o.t || e.t == o.t && e.seq < o.seq }

// push, put and pop are those of a heap in which each has four below it. What was popped leaves a hole at
// the top, since most events cause another one, that takes its place.
func (r *run) push(t int64, what happening, a, w uint32) {
	r.seq++
	r.put(event{t: t, seq: r.seq, a: a, w: w, what: what})
}

func (r *run) put(e event) {
	if r.hole {
		r.hole = false
		r.sink(e)
		return
	}
	h := append(r.heap, e)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = e
	r.heap = h
}

// pop gives the next event; false where there is none.
func (r *run) pop() (event, bool) {
	if r.hole {
		last := len(r.heap) - 1
		e := r.heap[last]
		if r.heap = r.heap[:last]; last > 0 {
			r.sink(e)
		}
	}
	if r.hole = len(r.heap) > 0; !r.hole {
		return event{}, false
	}
	return r.heap[0], true
}

// sink puts an event in at the top.
func (r *run) sink(e event) {
	h, i := r.heap, 0
	for {
		down := 4*i + 1
		if down >= len(h) {
			break
		}
		for j := down + 1; j < min(down+4, len(h)); j++ {
			if h[j].before(&h[down]) {
				down = j
			}
		}
		if !h[down].before(&e) {
			break
		}
		h[i] = h[down]
		i = down
	}
	h[i] = e
}

// fifo is a list, first in first out.
type fifo[T any] struct {
	items []T
	head  int
}

func (f *fifo[T]) empty() bool { return f.head == len(f.items) }
func (f *fifo[T]) first() *T   { return &f.items[f.head] }

// drop removes the first one.
func (f *fifo[T]) drop() {
	if f.head++; f.head == len(f.items) {
		f.items, f.head = f.items[:0], 0
	} else if f.head > 1024 && f.head > len(f.items)/2 {
		f.items, f.head = append(f.items[:0], f.items[f.head:]...), 0
	}
}
