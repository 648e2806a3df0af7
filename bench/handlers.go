package main

import (
	"sync"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// overheadEvents measures what an event costs with the modules of a mode, without any program around it: one
// or two workers that do nothing but emit. The designs take turns.
func (b *bench) overheadEvents() error {
	recs := []recording{nothing, functions, lockedFunctions, memory, lockedMemory, both, lockedBoth}
	t := b.table("An event with its modules",
		"Nanoseconds of a worker per event, including reading the clock. Workers only emit the four events of "+
			"user functions and DFs in turn, each on its own stream. Events that a mode does not listen to are off "+
			"and not counted.",
		"mode", "ns/event, one worker", "ns/event, two workers", "two workers, ratio to one")
	n := b.pick(50_000, 1_000)
	ns := map[recording]*[2][]float64{}
	open := map[recording]*profiled{}
	for _, rec := range recs {
		dir, err := b.temp()
		if err != nil {
			return err
		}
		r, err := newProfiled(&setup{recording: rec, dir: dir, program: "none", nodes: 1, workers: 2,
			sites: []string{"", "first", "second"}})
		if err != nil {
			return err
		}
		defer func() { _ = r.close() }() // what it wrote is not looked at
		if rec == nothing {
			r.ses = prof.New()
			r.ses.EnableAll(false)
		}
		open[rec], ns[rec] = r, &[2][]float64{}
	}
	for range b.pick(25, 2) {
		for _, rec := range recs {
			for more := range 2 {
				ns[rec][more] = append(ns[rec][more], emitMany(open[rec].ses, more+1, n))
			}
		}
	}
	idle := median(ns[nothing][0])
	for _, rec := range recs {
		per := 4.0
		if len(modes[rec].events) > 0 {
			per = float64(len(modes[rec].events))
		}
		one, two := median(ns[rec][0]), median(ns[rec][1])
		if rec != nothing {
			one, two = one-idle, two-idle
		}
		t.row(modes[rec].name, one/per, two/per, ratio(two/one))
	}
	t.note("The time of the loop with all events off (first row) is subtracted from the others")
	return nil
}

// emitMany returns how many ns a worker took for the four events, when that many workers do it at once.
func emitMany(ses *prof.Session, workers, n int) float64 {
	var all sync.WaitGroup
	watch := start()
	for w := range workers {
		s := ses.Stream(0, w, nil)
		all.Go(func() {
			for i := range n {
				site := trace.Site(1 + i&1)
				ses.ForeignStarted.Emit(s, site)
				ses.ForeignEnded.Emit(s, site)
				ses.DFCreate.Emit(s, trace.DF(i), 320_000, 1)
				ses.DFDestroy.Emit(s, trace.DF(i), 320_000, trace.Expired)
			}
		})
	}
	all.Wait()
	wall, _ := watch.stop()
	return wall / float64(n)
}
