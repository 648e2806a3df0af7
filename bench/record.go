package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// How recording is measured. A method records the mix in portions of 400 CFs, 4000 events, which fit
// everybody's buffers, and rests between them, so that whoever writes in the background catches up: the
// median portion is what an event costs the program. Then it records the same amount without rests: the CPU
// time of all threads, from opening to closing, is what an event costs in all. The files of this second part
// are weighed and read back. All methods take turns, a few rounds each.
const (
	cfsPerPortion = 400
	rest          = 500 * time.Microsecond
)

// sample is what one round of a method gave, NaN for what cannot be measured.
type sample struct {
	app   float64 // ns per event in the program's thread
	all   float64 // ns of CPU time per event, background threads included
	bytes float64 // per event on disk
	read  float64 // events per second of CPU time
}

// method is one way to record.
type method struct {
	name    string
	share   int // it gets this part of the portions: 1 all, 10 a tenth; for the slow ones
	measure func(ctx context.Context, dir string, portions int) (sample, error)
	samples []sample
	failed  error
}

// inProcess measures a recorder in this process.
func inProcess(open func(dir string) (recorder, error)) func(context.Context, string, int) (sample, error) {
	return func(ctx context.Context, dir string, portions int) (s sample, err error) {
		runtime.GC()
		rec, err := openIn(open, dir, "rests")
		if err != nil {
			return s, err
		}
		var ns []float64
		next := 1
		for range portions {
			begin := time.Now()
			err := rec.cfs(next, cfsPerPortion)
			ns = append(ns, float64(time.Since(begin).Nanoseconds())/(cfsPerPortion*perCF))
			if err != nil {
				return s, err
			}
			next += cfsPerPortion
			time.Sleep(rest)
		}
		if err := rec.close(); err != nil {
			return s, err
		}
		s.app = median(ns)

		events := float64(portions * cfsPerPortion * perCF)
		runtime.GC()
		watch := start()
		if rec, err = openIn(open, dir, weighed); err != nil {
			return s, err
		}
		for p := range portions {
			if err := rec.cfs(1+p*cfsPerPortion, cfsPerPortion); err != nil {
				return s, err
			}
		}
		if err := rec.close(); err != nil {
			return s, err
		}
		_, cpu := watch.stop()
		s.all = cpu / events
		size, err := diskBytes(filepath.Join(dir, weighed))
		if err != nil {
			return s, err
		}
		s.bytes = float64(size) / events
		runtime.GC()
		watch = start()
		n, err := rec.read()
		if err != nil {
			return s, err
		}
		if n < int(events) {
			return s, fmt.Errorf("%d events were read back, %.0f had been recorded", n, events)
		}
		_, cpu = watch.stop()
		s.read = float64(n) / cpu * 1e9
		return s, nil
	}
}

// weighed is the folder of the files that are weighed and read.
const weighed = "all"

func openIn(open func(string) (recorder, error), dir, sub string) (recorder, error) {
	dir = filepath.Join(dir, sub)
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, err
	}
	return open(dir)
}

// as makes a recorder of what opens one.
func as[R recorder](open func(dir string) (R, error)) func(dir string) (recorder, error) {
	return func(dir string) (recorder, error) {
		r, err := open(dir)
		return r, err
	}
}

func (b *bench) methods(ctx context.Context) (list []*method, end func(), err error) {
	list = []*method{
		{name: "whyslow", measure: inProcess(as(func(dir string) (*ours, error) { return openOurs(dir, false) }))},
		{name: "whyslow, one clock reading per burst",
			measure: inProcess(as(func(dir string) (*ours, error) { return openOurs(dir, true) }))},
		{name: "Go's runtime/trace: tasks, regions, logs", measure: inProcess(as(openGoTrace))},
		{name: "Chrome trace JSON, buffered", measure: inProcess(as(openChrome)), share: 4},
		{name: "text, buffered", measure: inProcess(
			as(func(dir string) (lines, error) { l, err := openText(dir, true); return lines{l}, err })), share: 2},
		{name: "text, file opened and closed per event",
			measure: inProcess(as(func(dir string) (lines,
				error) {
				l, err := openText(dir, false)
				return lines{l}, err
			})), share: 60},
	}
	lttng, stop := b.lttng(ctx)
	return append(list, lttng, b.otf2(ctx)), stop, nil
}

func benchRecord(ctx context.Context, b *bench) error {
	if err := b.recordKinds(); err != nil {
		return err
	}
	list, end, err := b.methods(ctx)
	if err != nil {
		return err
	}
	defer end()
	portions := b.pick(300, 5)
	var ourModel []float64
	for range b.pick(7, 2) {
		for _, m := range list {
			if m.failed != nil {
				continue
			}
			dir, err := b.temp()
			if err != nil {
				return err
			}
			s, err := m.measure(ctx, dir, max(1, portions/max(1, m.share)))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				m.failed = err
				continue
			}
			m.samples = append(m.samples, s)
			if m == list[0] {
				rate, err := readModel(ctx, filepath.Join(dir, weighed))
				if err != nil {
					return err
				}
				ourModel = append(ourModel, rate)
			}
		}
	}
	if list[0].failed != nil {
		return list[0].failed
	}
	column := func(m *method, f func(sample) float64) float64 {
		var v []float64
		for _, s := range m.samples {
			v = append(v, f(s))
		}
		return median(v)
	}
	app := func(s sample) float64 { return s.app }
	all := func(s sample) float64 { return s.all }
	t := b.table("Recording the same events",
		fmt.Sprintf("Ten facts about a task, each with its own time: created, input requested, ready, "+
			"started, finished, output created "+
			"and stored, input dropped and destroyed, task destroyed. In portions of %d events.", cfsPerPortion*perCF),
		"", "ns/event, ratio", "CPU/event, ratio", "ns/event in the program", "CPU ns/event in all",
		"bytes/event on disk", "M events read per CPU second")
	for _, m := range list {
		if m.failed != nil {
			t.missing(m.name, m.failed.Error())
			continue
		}
		rate := column(m, func(s sample) float64 { return s.read }) / 1e6
		t.row(m.name, ratio(column(m, app)/column(list[0], app)), ratio(column(m, all)/column(list[0], all)),
			column(m, app), column(m, all), column(m, func(s sample) float64 { return s.bytes }), rate)
		if m == list[0] {
			t.row("... read into the model, and SLOU", "", "", "", "", "", median(ourModel)/1e6)
		}
	}
	t.note("Some tools record less because they have no place for it: Go's tracer and OTF2 get one " +
		"number for each fact about a DF, OTF2 nothing about the inputs of a task. All others record every " +
		"field, and whyslow also the name and indices of each DF")
	t.note("Tasks of real programs vary more, so their traces are larger: see bytes per event on disk, below")
	t.note("\"In the program\" is the wall time of the median portion, \"in all\" the CPU time from opening " +
		"to closing, including threads and daemons that write. Reading: whyslow's Reader, " +
		"golang.org/x/exp/trace, encoding/json, a parser of these lines, babeltrace2 (counting), the OTF2 " +
		"library with callbacks that count")
	return nil
}

// readModel returns the rate at which a trace is read and its time divided, in events per second of CPU time.
func readModel(ctx context.Context, dir string) (float64, error) {
	runtime.GC()
	watch := start()
	r, err := trace.Open(dir)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	m, err := model.Build(ctx, r, model.Options{Parallel: 1})
	if err != nil {
		return 0, err
	}
	if _, err := slou.Compute(ctx, m, slou.Options{Parallel: 1}, procs.Alone()); err != nil {
		return 0, err
	}
	_, cpu := watch.stop()
	if len(m.Problems) > 0 {
		return math.NaN(), fmt.Errorf("%s: %s", dir, m.Problems[0])
	}
	return float64(m.Events) / cpu * 1e9, nil
}
