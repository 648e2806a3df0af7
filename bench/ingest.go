package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/counters/steps"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/trace"
)

const (
	heldUp    = 500 * time.Millisecond // how long a block may be in flight
	questions = 20                     // asked meanwhile, as a page that shows the run does
)

// benchIngest measures how fast a run is taken in while it goes on: events of many streams, out of order, on
// one core.
func benchIngest(ctx context.Context, b *bench) (err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	dir, err := b.cholesky(ctx, b.pick(90, 10), 4, 1)
	if err != nil {
		return err
	}
	a, err := readArrivals(ctx, dir, heldUp)
	if err != nil {
		return err
	}
	if err := b.ingestParts(ctx, a); err != nil {
		return err
	}
	return b.ingestOrder(a)
}

// taking is the live path, or parts of it.
type taking struct {
	props *counters.Live
}

// run takes in all blocks, and asks meanwhile.
func (x taking) run(a *arrivals) error {
	var batch trace.Batch
	info := a.follower.Info()
	if x.props != nil {
		x.props.Info(info)
	}
	for i := range a.blocks {
		if err := a.follower.Read(&a.blocks[i], &batch); err != nil {
			return err
		}
		defs := a.follower.Defs(batch.Node)
		if x.props != nil {
			x.props.Add(defs, &batch)
		}
		if i*questions/len(a.blocks) != (i+1)*questions/len(a.blocks) {
			if err := x.ask(); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask asks what the plots show of a live run.
func (x taking) ask() error {
	if x.props != nil {
		wall := x.props.Wall()
		x.props.At(wall)
		if _, err := x.props.Series(counters.SeriesQuery{Names: "running,bytes", Nodes: "all", To: wall}); err !=
			nil {
			return err
		}
	}
	return nil
}

// ingestParts measures the parts of the live path, and the whole.
func (b *bench) ingestParts(ctx context.Context, a *arrivals) error {
	dir, err := b.temp()
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, "live.trace")
	if err := a.growing(dir); err != nil {
		return err
	}
	newProps := func() *counters.Live {
		return counters.NewLive(counters.LiveOptions{MaxBytes: live.DefaultMemory / 8})
	}
	jobs := []struct {
		name, goal string
		run        func() (any, error) // gives what takes the memory
	}{
		{"decoding alone", "", func() (any, error) { x := taking{}; return x, x.run(a) }},
		{"... and properties of nodes and links", "1",
			func() (any, error) { x := taking{props: newProps()}; return x, x.run(a) }},
		{"following the folder of a run, everything that is kept up to date", "1",
			func() (any, error) { return followed(ctx, dir, a.events) }},
	}
	rates, bytes := make([][]float64, len(jobs)), make([][]float64, len(jobs))
	for range b.pick(5, 2) {
		for i, j := range jobs {
			fmt.Fprint(b.log, ".")
			before := heapBytes()
			watch := start()
			kept, err := j.run()
			if err != nil {
				return fmt.Errorf("%s: %w", j.name, err)
			}
			_, cpu := watch.stop()
			rates[i] = append(rates[i], float64(a.events)/cpu*1e9)
			bytes[i] = append(bytes[i], max(heapBytes()-before, 0)/float64(a.events))
			runtime.KeepAlive(kept)
			if r, ok := kept.(*live.Run); ok {
				r.Close()
			}
		}
	}
	t := b.table("Reading a live run",
		fmt.Sprintf("%.2g million events of the Cholesky example, 4 nodes of one worker. Blocks arrive up to %v "+
			"after their last event, those of a stream in order: "+
			"%.0f %% of the events come after a later one, by %.0f ms (median). Events per second of CPU time on "+
			"one processor, including garbage collection; meanwhile properties of the whole run so far are queried "+
			"%d times. The folder is read file by file, so node after node: the worst possible order.",
			float64(a.events)/1e6, heldUp, a.early*100, a.lateNS/1e6, questions), "", "M events per CPU second",
		"goal",
		"ratio to decoding alone", "ns/event more than decoding", "bytes/event")
	alone := median(rates[0])
	for i, j := range jobs {
		rate := median(rates[i])
		var more any = ""
		if i > 0 {
			more = 1e9/rate - 1e9/alone
		}
		t.row(j.name, rate/1e6, j.goal, ratio(alone/rate), more, median(bytes[i]))
	}
	t.note("A ratio of 2x means twice as much CPU time as decoding alone")
	return nil
}

// followed shows a run that goes on and whose folder has everything so far, until all of it is taken in.
func followed(ctx context.Context, dir string, events int) (*live.Run, error) {
	r, err := live.Open(dir, live.Options{Alive: func() (alive, known bool) { return true, true }})
	if err != nil {
		return nil, err
	}
	for {
		status, changed := r.Status()
		if status.Events >= uint64(events) {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			r.Close()
			return nil, ctx.Err()
		}
	}
	asked := false
	ok := r.Ordered(func(p *counters.Live) { asked = taking{p}.ask() == nil })
	if !ok || !asked {
		r.Close()
		return nil, fmt.Errorf("%s: nothing can be asked", dir)
	}
	return r, nil
}

func heapBytes() float64 {
	runtime.GC()
	runtime.GC() // what pools still held goes with the second
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc)
}

// sorted is the plain way to keep a step function: its values in order of time. A change in the past moves
// everything after it, and changes it.
type sorted struct {
	times  []int64
	values []int64
}

func (s *sorted) add(t, delta int64) {
	i, _ := slices.BinarySearch(s.times, t+1)
	before := int64(0)
	if i > 0 {
		before = s.values[i-1]
	}
	s.times = slices.Insert(s.times, i, t)
	s.values = slices.Insert(s.values, i, before)
	for j := i; j < len(s.values); j++ {
		s.values[j] += delta
	}
}

func (s *sorted) at(t int64) int64 {
	i, _ := slices.BinarySearch(s.times, t+1)
	if i == 0 {
		return 0
	}
	return s.values[i-1]
}

// runningChanges are the first n changes of the number of CFs that run, as their blocks arrive.
func runningChanges(f *follow.Follower, blocks []tracefile.RawBlock, n int) ([]steps.Change, error) {
	var batch trace.Batch
	var list []steps.Change
	for i := range blocks {
		if err := f.Read(&blocks[i], &batch); err != nil {
			return nil, err
		}
		for k, kind := range batch.Kind {
			switch kind {
			case trace.KindCFStarted:
				list = append(list, steps.Change{T: batch.Time[k], D: 1})
			case trace.KindCFFinished:
				list = append(list, steps.Change{T: batch.Time[k], D: -1})
			default:
				continue
			}
			if len(list) == n {
				return list, nil
			}
		}
	}
	return list, nil
}

// ingestOrder compares what properties are kept in with a sorted list.
func (b *bench) ingestOrder(a *arrivals) error {
	t := b.table("Putting late events in their place",
		"The number of running CFs over the same run: each start and end changes all later values, in the order "+
			"in which the blocks arrive. Package steps, which stores properties, is compared with a sorted list "+
			"into which each change is inserted. CPU time per change, medians.",
		"", "changes", "the list, ratio to steps", "ns/change, steps", "ns/change, the list")
	var byNode []tracefile.RawBlock
	for _, r := range a.all {
		if !r.Defs {
			byNode = append(byNode, r)
		}
	}
	for _, order := range []struct {
		name   string
		blocks []tracefile.RawBlock
	}{{"blocks up to 500 ms late", a.blocks}, {"node after node", byNode}} {
		all, err := runningChanges(a.follower, order.blocks, -1)
		if err != nil {
			return err
		}
		for _, n := range []int{b.pick(20_000, 500), b.pick(80_000, 1000)} {
			list := all
			if order.name == "node after node" { // all nodes are to be in it
				list = thinned(all, n)
			}
			list = list[:min(n, len(list))]
			var quick, plain []float64
			for range b.pick(5, 2) {
				fmt.Fprint(b.log, ".")
				var s steps.Steps
				watch := start()
				for _, c := range list {
					s.Add(c.T, c.D)
				}
				s.End()
				_, cpu := watch.stop()
				quick = append(quick, cpu/float64(len(list)))
				var p sorted
				watch = start()
				for _, c := range list {
					p.add(c.T, c.D)
				}
				_, cpu = watch.stop()
				plain = append(plain, cpu/float64(len(list)))
				for _, c := range list[:min(len(list), 1000)] {
					if got, want := s.At(c.T), p.at(c.T); got != want {
						return fmt.Errorf("%d CFs run at %d ns, the list says %d", got, c.T, want)
					}
				}
			}
			t.row(order.name, len(list), ratio(median(plain)/median(quick)), median(quick), median(plain))
		}
	}
	return nil
}

// thinned takes n changes out of a list, evenly.
func thinned(list []steps.Change, n int) []steps.Change {
	if n >= len(list) {
		return list
	}
	out := make([]steps.Change, n)
	for i := range out {
		out[i] = list[i*len(list)/n]
	}
	return out
}
