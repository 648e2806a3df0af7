// Package replicate makes a large trace out of a small one: a recorded run of k nodes, repeated on R x k
// nodes, all of them at the same time. It is for trying out and measuring what reads traces of many nodes; no
// program ran like that.
//
// # One run, not R
//
// Repeated as it is the run would fall into R that know nothing of each other. So a share of what travels is
// led from one copy of the run to another one. What makes that consistent is a shift for every CF and DF and
// each node of the original run: s(x, n) = d says that what the original calls x at node n is, at node n of
// copy r, the x of copy r-d. Whatever numbers are chosen for s, the result is one whole trace: what node n
// does to x is recorded in the file of node n alone, and always with the same x; and a message with x from
// node a of copy r goes to node b of copy r + s(x, b) - s(x, a), by which the receiver, subtracting its own
// shift, means the same x. Numbers of messages and requests follow their senders likewise.
//
// Here s(x, n) is 0 at the node where x was made and the same d at all others; d is 0 for all but the chosen
// share of CFs and DFs, for which it is drawn from 1 to R-1. So all that is moved elsewhere of those goes to
// another copy of the run: a CF that migrates there runs there, and what it creates is made there.
//
// Times are those of the original in all copies, so every message still arrives after it was sent.
package replicate

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"

	"github.com/whyslow/whyslow/trace"
)

//go:embed testdata/*.txt
var recordings embed.FS

// Recording returns the text twin of a small recorded run: "balance", "cholesky" or "heat".
func Recording(name string) ([]byte, error) { return recordings.ReadFile("testdata/" + name + ".txt") }

// Options of Write.
type Options struct {
	Copies   int     // of the run, 1 or more
	Crossing float64 // share of CFs and DFs that leave their copy when they travel, 0 to 1
	Seed     uint64  // which ones these are
	Parallel int     // files written at once; 0 means as many as there are cores
	// Progress, if not nil, is called after every file, by several goroutines at once.
	Progress func(done, total int)
}

// Stats says what was written.
type Stats struct {
	Nodes    int
	Events   int64
	Messages int64 // CFs, DFs and requests sent from node to node
	Crossing int64 // those of them from one copy to another
}

// Write writes the trace r, repeated, into the folder dir. Nodes of r must be 0 to k-1 for some k, and
// nothing of it may be damaged or missing. Copy c has the nodes c*k to c*k+k-1.
func Write(ctx context.Context, dir string, r *trace.Reader, opt Options) (Stats, error) {
	w := &writer{opt: opt, r: r, k: len(r.Nodes()), run: trace.NewRunID()}
	if err := w.check(); err != nil {
		return Stats{}, err
	}
	if err := w.findHomes(ctx); err != nil {
		return Stats{}, err
	}
	for node := range w.k {
		src, err := w.load(ctx, node)
		if err != nil {
			return Stats{}, err
		}
		if err := w.writeAll(ctx, dir, src); err != nil {
			return Stats{}, err
		}
	}
	if p := r.Problems(); len(p) > 0 {
		return Stats{}, fmt.Errorf("replicate: %s", p[0])
	}
	w.stats.Nodes = w.k * opt.Copies
	return w.stats, trace.WriteRunInfo(dir, w.info())
}

// writer is a trace being repeated.
type writer struct {
	opt   Options
	r     *trace.Reader
	k     int
	run   string            // id of the run that is made
	home  map[uint64]uint16 // by id of a DF: the node that made it
	stats Stats

	mu   sync.Mutex
	done int
}

func (w *writer) check() error {
	switch {
	case w.opt.Copies < 1:
		return fmt.Errorf("replicate: %d copies asked for; give 1 or more", w.opt.Copies)
	case !(w.opt.Crossing >= 0 && w.opt.Crossing <= 1):
		return fmt.Errorf("replicate: a share of %v is to cross; give 0 to 1", w.opt.Crossing)
	case w.opt.Copies*w.k > trace.MaxNode+1:
		return fmt.Errorf("replicate: %d copies of %d nodes are too many; at most %d nodes are possible",
			w.opt.Copies, w.k, trace.MaxNode+1)
	}
	for i, n := range w.r.Nodes() {
		if i != n {
			return fmt.Errorf("replicate: the file of node %d is missing", i)
		}
	}
	if p := w.r.Problems(); len(p) > 0 {
		return fmt.Errorf("replicate: %s", p[0])
	}
	return nil
}

// findHomes finds where each DF was made first.
func (w *writer) findHomes(ctx context.Context) error {
	w.home = map[uint64]uint16{}
	made := map[uint64]int64{}
	return w.r.Each(1, func(b *trace.Batch) error {
		defs := w.r.Defs(b.Node)
		for i, k := range b.Kind {
			if k != trace.KindDFCreate {
				continue
			}
			id := defs.ID(trace.DF(b.Args(i)[0]))
			if t, known := made[id]; id != 0 && (!known || b.Time[i] < t) {
				made[id], w.home[id] = b.Time[i], uint16(b.Node)
			}
		}
		return ctx.Err()
	})
}

// shift is s of an object that was made at home, as seen at a node.
func (w *writer) shift(id uint64, home, node int) int {
	if home == node || w.opt.Copies == 1 {
		return 0
	}
	h := mix(id ^ mix(w.opt.Seed))
	if float64(h>>11)/(1<<53) >= w.opt.Crossing {
		return 0
	}
	return 1 + int(mix(h)%uint64(w.opt.Copies-1))
}

func (w *writer) shiftCF(cf uint64, node int) int {
	return w.shift(cf, trace.CF(cf).Node(), node)
}

func (w *writer) shiftDF(id uint64, node int) int {
	home, ok := w.home[id]
	if !ok {
		return 0
	}
	return w.shift(^id, int(home), node)
}

// mix spreads the bits of a number over all bits.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// writeAll writes all copies of a node.
func (w *writer) writeAll(ctx context.Context, dir string, src *source) error {
	parallel := w.opt.Parallel
	if parallel <= 0 {
		parallel = runtime.GOMAXPROCS(0)
	}
	copies := make(chan int)
	errs := make([]error, parallel)
	var wg sync.WaitGroup
	for i := range parallel {
		wg.Go(func() {
			for c := range copies {
				if errs[i] == nil {
					errs[i] = errors.Join(ctx.Err(), w.writeOne(dir, src, c))
				}
				if w.opt.Progress != nil {
					w.mu.Lock()
					w.done++
					done := w.done
					w.mu.Unlock()
					w.opt.Progress(done, w.k*w.opt.Copies)
				}
			}
		})
	}
	for c := range w.opt.Copies {
		copies <- c
	}
	close(copies)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(errs...)
}

// info is run.json.
func (w *writer) info() *trace.RunInfo {
	info := trace.RunInfo{Ended: trace.EndedDone}
	if old := w.r.Run(); old != nil {
		info = *old
	}
	info.ID = w.run
	settings := map[string]string{"copies": strconv.Itoa(w.opt.Copies),
		"crossing": strconv.FormatFloat(w.opt.Crossing, 'g', -1, 64)}
	for k, v := range info.Settings {
		settings[k] = v
	}
	info.Settings = settings
	processes, nodes := info.Processes, info.Nodes
	info.Hosts, info.Processes, info.Nodes = nil, nil, nil
	for c := range w.opt.Copies {
		host := func(name string) string {
			if name == "" {
				return ""
			}
			return name + "-" + strconv.Itoa(c)
		}
		for _, p := range processes {
			p.Host = host(p.Host)
			info.Processes = append(info.Processes, p)
		}
		for _, n := range nodes {
			n.Node += c * w.k
			n.Process += c * len(processes)
			n.Host = host(n.Host)
			info.Nodes = append(info.Nodes, n)
		}
		if old := w.r.Run(); old != nil {
			for _, h := range old.Hosts {
				info.Hosts = append(info.Hosts, host(h))
			}
		}
	}
	return &info
}
