package collect

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// run is a run that is or was collected.
type run struct {
	c     *Collector
	id    string
	dir   string
	from  string       // host that began it
	bytes atomic.Int64 // of its files
	users int          // connections; guarded by Collector.mu

	mu        sync.Mutex
	made      bool          // there is a folder
	is        fs.FileInfo   // it
	lost      bool          // it was removed, or another one is in its place
	resting   bool          // senders, files and most of info are in collect.json only
	free      func()        // gives back the memory of what came from there
	saved     bool          // collect.json tells what is known, unless dirty
	meta      int64         // bytes of run.json and collect.json
	cost      time.Duration // of the last save
	savedAt   time.Time
	files     map[int]*file // of its nodes, as far as they were asked for
	senders   []*sender
	info      *trace.RunInfo // as in run.json; not changed later
	broken    map[int]string // nodes that cannot be written, and why
	err       string         // why not everything can be kept
	seen      bool           // OnRun was told
	forwarded string         // the collector that has all of it
	forwarder bool           // there is one
	changed   chan struct{}  // for it: capacity 1
	dirty     *saving        // what saveSoon promised, and save has not done since then
}

// saving is a save that is to come.
type saving struct {
	done chan struct{} // closed when it is done
	err  error
}

func (c *Collector) newRun(id, dir, from string) *run {
	return &run{c: c, id: id, dir: dir, from: from, files: map[int]*file{}, info: &trace.RunInfo{ID: id},
		broken: map[int]string{}, changed: make(chan struct{}, 1)}
}

// grow counts more bytes of the run's files, or less.
func (r *run) grow(n int64) {
	r.bytes.Add(n)
	r.c.bytes.add(r.from, n)
}

// make makes the folder, once there is something to keep in it. It fails if the folder is there no longer.
func (r *run) make() error {
	r.mu.Lock()
	if r.made {
		defer r.mu.Unlock()
		return r.there()
	}
	err := os.Mkdir(r.dir, 0o777)
	if err == nil {
		r.is, err = os.Stat(r.dir)
	}
	if err == nil {
		r.made = true
		err = r.save()
	} else {
		err = diskRefusal(err)
	}
	r.mu.Unlock()
	if err == nil {
		r.c.arrived(r)
	}
	return err
}

// there fails if the folder was removed or replaced: nothing is written to what is not the collector's. All
// senders hear of it, and the run begins anew when they return; r.mu is held. Its error is a Refusal.
func (r *run) there() error {
	if !r.lost {
		st, err := os.Stat(r.dir)
		switch {
		case err == nil && os.SameFile(st, r.is):
			return nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return diskRefusal(err)
		}
	}
	refusal := &stream.Refusal{Code: stream.RefusedDisk,
		Text: fmt.Sprintf("the folder %s was removed or replaced there; all is kept anew", r.name())}
	if !r.lost {
		r.lost = true
		r.err = refusal.Text
		for _, s := range r.senders {
			if s.conn != nil {
				s.conn.cut(refusal)
			}
		}
		go r.c.notify(fmt.Sprintf("%s was removed or replaced; its senders send all again", r.dir))
	}
	return refusal
}

// usable is there for a run that may have no folder yet.
func (r *run) usable() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.made {
		return nil
	}
	return r.there()
}

// exists tells whether there is a folder.
func (r *run) exists() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.made && !r.lost
}

// restAfter is for how many times Limits.Idle nobody has sent a run that rests.
const restAfter = 4

// rest gives back the memory of a run that nobody sends; r.mu is held. What it held is in collect.json.
func (r *run) rest() {
	if r.resting || !r.saved || r.dirty != nil || r.live() {
		return
	}
	r.release()
	r.resting = true
	r.info = &trace.RunInfo{ID: r.id, Program: r.info.Program, Ended: r.info.Ended}
}

// release forgets the senders and the nodes; r.mu is held.
func (r *run) release() {
	for _, s := range r.senders {
		s.forget()
	}
	for _, f := range r.files {
		if f.free != nil {
			f.free()
		}
	}
	if r.free != nil {
		r.free()
	}
	r.senders, r.free = nil, nil
	r.files, r.broken = map[int]*file{}, map[int]string{}
}

// known are the senders, read from collect.json if the run rests; r.mu is held.
func (r *run) known() []*sender {
	if !r.resting {
		return r.senders
	}
	st, err := readState(r.dir)
	if err != nil {
		return nil // its folder was removed
	}
	return st.Senders
}

// wakeUp ends the rest of a run; r.mu is held. The memory counts for a host. Its error is a Refusal.
func (r *run) wakeUp(host string) error {
	if !r.resting {
		return nil
	}
	free, ok := r.c.memory.take(host, 2*metaSize(r.dir))
	if !ok {
		return noMemory()
	}
	st, err := readState(r.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		st = &state{}
	case err != nil:
		free()
		return diskRefusal(err)
	}
	r.free, r.resting, r.senders = free, false, st.Senders
	at := func(node int) *file {
		if node < 0 || node > trace.MaxNode {
			return new(file)
		}
		if r.files[node] == nil {
			r.files[node] = new(file)
		}
		return r.files[node]
	}
	for _, s := range r.senders {
		for _, node := range s.Nodes {
			at(node).first, at(node).by = s.Name, s
		}
	}
	for node, name := range st.First {
		at(node).first = name
	}
	for _, node := range st.Finished {
		at(node).finished.Store(true)
	}
	return nil
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

// join makes a connection the one of its sender. free gives back the memory of the hello.
func (r *run) join(k *conn, h *stream.Hello, free func()) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.wakeUp(k.host()); err != nil {
		return err
	}
	// A hello may arrive when its sender has given that connection up and come back, and has even ended: it must
	// not undo what was said since.
	for _, s := range r.senders {
		if s.Name != h.Sender {
			continue
		}
		if s.last > k.number {
			return &stream.Refusal{Code: stream.RefusedTaken, Text: "its sender has reconnected"}
		}
		s.last = k.number
	}
	// A sender of this name that is connected is another one, or gone: opening its nodes ends its connection.
	i := slices.IndexFunc(r.senders, func(s *sender) bool { return s.Name == h.Sender && s.conn == nil })
	if i < 0 {
		if len(r.senders) >= r.c.cfg.Limits.Nodes {
			return limit(true, "%d senders send nodes of this run, which is the limit", len(r.senders))
		}
		i = len(r.senders)
		r.senders = append(r.senders, &sender{Name: h.Sender, last: k.number})
	}
	s := r.senders[i]
	s.forget()
	s.conn, s.Info, s.Version, s.Ended, s.free = k, h.Info, h.Version, false, free
	k.sender = s
	r.forwarded = ""
	r.saveSoon()
	return nil
}

// leave ends what join began.
func (r *run) leave(k *conn) {
	for _, f := range k.files {
		f.release(k)
	}
	r.mu.Lock()
	if s := k.sender; s != nil && s.conn == k {
		s.conn = nil
		maps.DeleteFunc(s.Lost, func(node int, _ stream.Lost) bool {
			_, own := slices.BinarySearch(s.Nodes, node)
			return !own
		})
		if len(s.Nodes) == 0 && (!s.Ended || len(r.senders) > 1) || !r.made {
			s.forget()
			r.senders = slices.DeleteFunc(r.senders, func(o *sender) bool { return o == s })
		}
	}
	if r.live() {
		r.saveSoon()
	} else {
		r.saveNow()
	}
	r.mu.Unlock()
	r.wake()
}

// tell changes what the sender of a connection has said. That all was sent is on the disk when it returns.
func (r *run) tell(k *conn, change func(s *sender)) error {
	r.mu.Lock()
	if k.sender.conn != k {
		r.mu.Unlock()
		return stream.ErrCut
	}
	before := k.sender.Ended
	change(k.sender)
	soon := r.saveSoon()
	ended := k.sender.Ended && r.made
	last := !before && !slices.ContainsFunc(r.senders, func(s *sender) bool { return !s.Ended })
	if ended && (last || time.Since(r.savedAt) > r.pause()) { // the last one waits for nobody
		r.saveNow()
	}
	r.mu.Unlock()
	if !ended {
		return nil
	}
	<-soon.done
	return soon.err
}

// pause is how long nothing is saved after a save, so that saving what many senders say takes a small part
// of the time however many they are.
func (r *run) pause() time.Duration { return min(max(50*time.Millisecond, 10*r.cost), 2*time.Second) }

// saveSoon has save called soon, once for all who ask meanwhile; r.mu is held.
func (r *run) saveSoon() *saving {
	if r.dirty != nil {
		return r.dirty
	}
	soon := &saving{done: make(chan struct{})}
	r.dirty = soon
	time.AfterFunc(r.pause(), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.dirty == soon { // else somebody has saved it, the last who left at the latest
			r.saveNow()
		}
	})
	return soon
}

// saveNow is save, whose error is noted; r.mu is held.
func (r *run) saveNow() {
	if err := r.save(); err != nil {
		r.err = err.Error()
	}
}

// save writes run.json and collect.json; r.mu is held. Its error is a Refusal.
func (r *run) save() (err error) {
	if soon := r.dirty; soon != nil {
		r.dirty = nil
		defer func() {
			soon.err = err
			close(soon.done)
		}()
	}
	if !r.made || r.resting {
		return nil
	}
	if err := r.there(); err != nil {
		return err
	}
	start := time.Now()
	defer func() { r.savedAt, r.cost = time.Now(), time.Since(start) }()
	info := merge(r.id, r.senders, r.broken)
	st := &state{ID: r.id, From: r.from, Senders: r.senders, Forwarded: r.forwarded, First: map[int]string{}}
	for node, f := range r.files {
		if f.finished.Load() {
			st.Finished = append(st.Finished, node)
		}
		if f.by == nil || f.by.Name != f.first {
			st.First[node] = f.first
		}
	}
	slices.Sort(st.Finished)
	err = writeState(r.dir, st)
	if err == nil {
		if err = trace.WriteRunInfo(r.dir, info); err == nil {
			r.info = info
		}
	}
	r.saved = err == nil
	n := metaSize(r.dir)
	r.grow(n - r.meta)
	r.meta = n
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

// nodeBytes is about how many bytes of memory a node takes that was opened.
const nodeBytes = 512

// file returns a node's file for a connection.
func (r *run) file(k *conn, node int) (*file, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.files[node]
	if f == nil {
		if len(r.files) >= r.c.cfg.Limits.Nodes {
			return nil, limit(true, "%d nodes of this run are kept, which is the collector's limit: raise it",
				len(r.files))
		}
		free, ok := r.c.memory.take(k.host(), nodeBytes)
		if !ok {
			return nil, noMemory()
		}
		f = &file{first: k.sender.Name, free: free}
		r.files[node] = f
	}
	return f, nil
}

// open gives a node to a connection and returns what there is of it.
func (r *run) open(k *conn, node int) (tracefile.Have, error) {
	f := k.files[node]
	if f == nil {
		var err error
		if f, err = r.file(k, node); err != nil {
			return tracefile.Have{}, err
		}
		k.files[node] = f
	}
	have, err := f.open(k, node)
	var refusal *stream.Refusal
	if errors.As(err, &refusal) {
		return have, err
	}
	if err != nil {
		return have, r.fail(k, node, err)
	}
	return have, nil
}

// keeps makes a node that of a connection's sender: something of it is kept that this one sent. r.mu is held.
func (r *run) keeps(k *conn, node int) {
	f, now := k.files[node], k.sender
	if f.by == now {
		return
	}
	if s := f.by; s != nil {
		if at, ok := slices.BinarySearch(s.Nodes, node); ok {
			s.Nodes = slices.Delete(s.Nodes, at, at+1)
		}
		if s.conn == nil && len(s.Nodes) == 0 {
			// It was followed by this one: what it said is not needed.
			s.forget()
			r.senders = slices.DeleteFunc(r.senders, func(o *sender) bool { return o == s })
		}
	}
	f.by = now
	at, _ := slices.BinarySearch(now.Nodes, node)
	now.Nodes = slices.Insert(now.Nodes, at, node)
	r.saveSoon()
}

// end notes that a sender has sent all there is. What it opened is its own, unless it is that of one who has
// ended, or another one has opened it since; r.mu is held.
func (r *run) end(k *conn) {
	k.sender.Ended = true
	for node, f := range k.files {
		if f.owner.Load() == k && (f.by == nil || !f.by.Ended) {
			r.keeps(k, node)
		}
	}
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

// fail marks a node of which something from a connection cannot be written, and words why. If another one has
// opened the node since, what becomes of that counts.
func (r *run) fail(k *conn, node int, err error) *stream.Refusal {
	refusal := diskRefusal(err)
	r.c.notify(fmt.Sprintf("%s: node %d: %v; its sender tries again", r.dir, node, err))
	r.mu.Lock()
	defer r.mu.Unlock()
	if owner := k.files[node].owner.Load(); owner != nil && owner != k {
		return refusal
	}
	r.err = refusal.Text
	r.broken[node] = refusal.Text
	r.saveSoon()
	return refusal
}

// written takes back what fail and full noted: something of a node was kept that a connection sent. If
// another one has opened the node since, what that one says counts: it may have ended.
func (r *run) written(k *conn, node int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := k.files[node]; f.by != nil && f.owner.Load() != k {
		return
	}
	r.keeps(k, node)
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
