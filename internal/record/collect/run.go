package collect

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/trace"
)

// run is a run that is or was collected.
type run struct {
	c     *Collector
	id    string
	dir   string
	bytes atomic.Int64 // of its files

	mu        sync.Mutex
	files     map[int]*file // of its nodes, as far as they were asked for
	senders   []*sender
	info      *trace.RunInfo // as in run.json; not changed later
	broken    map[int]string // nodes that cannot be written, and why
	err       string         // why not everything can be kept
	seen      bool           // OnRun was told
	forwarded string         // the collector that has all of it
	forwarder bool           // there is one
	changed   chan struct{}  // for it: capacity 1
	dirty     bool           // saveSoon was called, and save not since then
}

func (c *Collector) newRun(id, dir string) *run {
	return &run{c: c, id: id, dir: dir, files: map[int]*file{}, info: &trace.RunInfo{ID: id},
		broken: map[int]string{}, changed: make(chan struct{}, 1)}
}

// name is the name of its folder.
func (r *run) name() string { return filepath.Base(r.dir) }

// busy reports whether somebody is connected.
func (r *run) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live()
}

// live is busy for those who hold r.mu.
func (r *run) live() bool {
	return slices.ContainsFunc(r.senders, func(s *sender) bool { return s.conn != nil })
}

// join makes a connection the one of its sender.
func (r *run) join(k *conn, h *stream.Hello) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	// One that is connected already is another of the same name, or a connection of which
	// this sender knows that it is gone: opening its nodes ends that.
	i := slices.IndexFunc(r.senders, func(s *sender) bool { return s.Name == h.Sender && s.conn == nil })
	if i < 0 {
		if len(r.senders) >= r.c.cfg.Limits.Nodes {
			return &stream.Refusal{Code: stream.RefusedLimit, Text: fmt.Sprintf("%d senders send nodes of"+
				" this run, no more are allowed", len(r.senders)), Final: true}
		}
		i = len(r.senders)
		r.senders = append(r.senders, &sender{Name: h.Sender})
	}
	s := r.senders[i]
	s.conn, s.Info, s.Version, s.Ended = k, h.Info, h.Version, false
	k.sender = s
	r.forwarded = ""
	return r.save()
}

// leave ends what join began.
func (r *run) leave(k *conn) {
	for _, f := range k.files {
		f.release(k)
	}
	r.mu.Lock()
	if s := k.sender; s != nil && s.conn == k {
		s.conn = nil
		if len(s.Nodes) == 0 && (!s.Ended || len(r.senders) > 1) {
			r.senders = slices.DeleteFunc(r.senders, func(o *sender) bool { return o == s })
		}
	}
	if err := r.save(); err != nil {
		r.err = err.Error()
	}
	r.mu.Unlock()
	r.wake()
}

// tell changes what the sender of a connection has said.
func (r *run) tell(k *conn, change func(s *sender)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k.sender.conn != k {
		return stream.ErrCut
	}
	change(k.sender)
	if k.sender.Ended {
		return r.save()
	}
	r.saveSoon()
	return nil
}

// saveSoon makes sure that save is called before long; r.mu is held. With thousands of
// nodes, writing everything for each would take most of the time.
func (r *run) saveSoon() {
	if r.dirty {
		return
	}
	r.dirty = true
	time.AfterFunc(50*time.Millisecond, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.dirty { // somebody else has saved it, the last who left at the latest
			return
		}
		if err := r.save(); err != nil {
			r.err = err.Error()
		}
	})
}

// save writes run.json and collect.json, as far as they change; r.mu is held. What is in
// the way is a Refusal.
func (r *run) save() error {
	r.dirty = false
	info := merge(r.id, r.senders, r.broken)
	st := &state{ID: r.id, Senders: r.senders, Forwarded: r.forwarded}
	for node, f := range r.files {
		if f.finished.Load() {
			st.Finished = append(st.Finished, node)
		}
	}
	slices.Sort(st.Finished)
	err := writeState(r.dir, st)
	if err == nil {
		if err = trace.WriteRunInfo(r.dir, info); err == nil {
			r.info = info
		}
	}
	r.wake()
	if err != nil {
		return diskRefusal(err)
	}
	return nil
}

// wake tells the forwarder that something has changed.
func (r *run) wake() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// file returns a node's file.
func (r *run) file(node int) (*file, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.files[node]
	if f == nil {
		if len(r.files) >= r.c.cfg.Limits.Nodes {
			return nil, &stream.Refusal{Code: stream.RefusedLimit,
				Text: fmt.Sprintf("%d nodes of this run are kept, no more are allowed: raise the"+
					" collector's limit", len(r.files)), Final: true}
		}
		f = new(file)
		r.files[node] = f
	}
	return f, nil
}

// open gives a node to a connection and returns what there is of it.
func (r *run) open(k *conn, node int) (trace.Have, error) {
	f, err := r.file(node)
	if err != nil {
		return trace.Have{}, err
	}
	have, old, err := f.open(k, r.dir, node)
	if err != nil {
		return have, r.fail(node, err)
	}
	k.files[node] = f
	if old != nil && old != k {
		old.cut(&stream.Refusal{Code: stream.RefusedTaken, Text: fmt.Sprintf("node %d is sent by another"+
			" sender now, %s", node, k.name()), Final: true})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if k.sender.conn != k {
		return have, stream.ErrCut
	}
	if k.sender.has(node) {
		return have, nil
	}
	for _, s := range slices.Clone(r.senders) {
		s.Nodes = slices.DeleteFunc(s.Nodes, func(n int) bool { return n == node })
		if s != k.sender && s.conn == nil && len(s.Nodes) == 0 {
			// It was followed by this one: what it said is not needed.
			r.senders = slices.DeleteFunc(r.senders, func(o *sender) bool { return o == s })
		}
	}
	k.sender.Nodes = append(k.sender.Nodes, node)
	slices.Sort(k.sender.Nodes)
	r.saveSoon()
	return have, nil
}

// lag notes how far behind the sender of a connection says it is.
func (r *run) lag(k *conn, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k.sender.conn == k {
		k.sender.lag = lag{d, time.Now()}
	}
}

// full marks a run of which no more is kept.
func (r *run) full(why *stream.Refusal) {
	r.mu.Lock()
	r.err = why.Text
	r.mu.Unlock()
	r.c.notify(fmt.Sprintf("%s: %s", r.dir, why.Text))
}

// fail marks a node that cannot be written, and words why.
func (r *run) fail(node int, err error) *stream.Refusal {
	refusal := diskRefusal(err)
	r.c.notify(fmt.Sprintf("%s: node %d: %v; its sender tries again", r.dir, node, err))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = refusal.Text
	r.broken[node] = refusal.Text
	r.saveSoon()
	return refusal
}

// mended takes back what fail and full noted: a node was written again.
func (r *run) mended(node int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = ""
	if _, ok := r.broken[node]; !ok {
		return
	}
	delete(r.broken, node)
	for _, why := range r.broken {
		r.err = why
	}
	r.saveSoon()
}
