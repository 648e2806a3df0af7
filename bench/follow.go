package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
)

// benchFollow measures how old the snapshots of a live run are while somebody looks at it, and the processor
// time that following the run takes.
func benchFollow(ctx context.Context, b *bench) error {
	length := time.Duration(b.pick(20, 2)) * time.Second
	t := b.table("Following a live run",
		fmt.Sprintf("A run of the Cholesky example, 4 nodes of one worker, continues "+
			"for %v: a block of events arrives every 100 ms, after all that came before. Meanwhile the factors of "+
			"the whole run, and the properties of its nodes, are asked for three times a second. Behind: the age "+
			"of the oldest event that an answer lacks. CPU: of the process that follows the run, "+
			"everything included; snapshots may take 20 %%. Memory: what is in use at the end, after a garbage "+
			"collection.", length),
		"", "CPU of one core", "behind, median", "goal", "behind, at most", "snapshots", "bytes per event", "goal")
	for _, tiles := range []int{b.pick(57, 10), b.pick(101, 12), b.pick(127, 14)} {
		if err := b.follow(ctx, t, tiles, length); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) follow(ctx context.Context, t *table, tiles int, length time.Duration) (err error) {
	from, err := b.cholesky(ctx, tiles, 4, 1)
	if err != nil {
		return err
	}
	a, err := readArrivals(ctx, from)
	if err != nil {
		return err
	}
	dir, err := b.temp()
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, "live.trace")
	const every = 100 * time.Millisecond
	first := max(len(a.blocks)-int(length/every), len(a.blocks)/2)
	if err := a.grow(dir, a.blocks[:first]); err != nil {
		return err
	}
	age := &ages{}
	before := inUse()
	for _, k := range a.blocks[:first] {
		if !k.Defs {
			age.events += k.Count
		}
	}
	r, err := followed(ctx, dir, age.events)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := age.look(ctx, r); err != nil { // waits for the first snapshot
		return err
	}
	age.list, age.seen = nil, 0
	watch := start()
	for i, k := range a.blocks[first:] {
		if err := a.grow(dir, a.blocks[first+i:first+i+1]); err != nil {
			return err
		}
		if !k.Defs {
			age.arrives(k.Count)
		}
		time.Sleep(every)
		if i%3 == 2 {
			if err := age.look(ctx, r); err != nil {
				return err
			}
		}
	}
	wall, cpu := watch.stop()
	goal := ""
	if age.events < 6e6 {
		goal = "2 s"
	}
	t.row(fmt.Sprintf("%.2g million events", float64(age.events)/1e6), fmt.Sprintf("%.0f %%", cpu/wall*100),
		fmt.Sprintf("%.2f s", median(age.list)), goal, fmt.Sprintf("%.2f s", slices.Max(age.list)), float64(age.seen),
		(inUse()-before)/float64(age.events), "200")
	runtime.KeepAlive(a)
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
			return r, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			r.Close()
			return nil, ctx.Err()
		}
	}
}

// ages knows when events arrived, and collects how old the snapshots are.
type ages struct {
	events int
	counts []int       // all events after each arrival
	at     []time.Time // when it came
	list   []float64   // seconds
	last   uint64      // events of the last snapshot
	seen   int         // different snapshots
}

func (g *ages) arrives(count int) {
	g.events += count
	g.counts, g.at = append(g.counts, g.events), append(g.at, time.Now())
}

// look asks what the page asks, and notes how old the answer is.
func (g *ages) look(ctx context.Context, r *live.Run) error {
	status, _ := r.Status()
	if _, err := r.Factors(ctx, timeline.FactorQuery{To: max(status.WallNS, 1), Windows: 240}); err != nil {
		return err
	}
	var series error
	if err := r.Properties(ctx, func(p counters.Set) {
		p.At(status.WallNS)
		_, series = p.Series(counters.SeriesQuery{Names: "running,bytes", Nodes: "all", To: max(status.WallNS, 1)})
	}); err != nil || series != nil {
		return cmp.Or(err, series)
	}
	s, err := r.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer s.Release()
	if s.Model.Events != g.last {
		g.last = s.Model.Events
		g.seen++
	}
	behind := 0.0
	for i, n := range g.counts {
		if uint64(n) > s.Model.Events {
			behind = time.Since(g.at[i]).Seconds()
			break
		}
	}
	g.list = append(g.list, behind)
	return nil
}
