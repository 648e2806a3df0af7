package prof

import (
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/trace"
)

// What an event costs the program, beside the least that recording can cost: a reading
// of the clock and an append of 24 bytes. All are measured in turn, in portions that
// fit the buffers, with pauses in which the writer catches up; the least of many
// portions counts, which other programs on the machine disturb little.

const portion = 4000

type cost struct {
	name string
	run  func(n int)
	best time.Duration
}

var buffer = make([]uint64, 16<<10)

func bare(n int) {
	at := 0
	for i := range n {
		if at+3 > len(buffer) {
			at = 0
		}
		rec := buffer[at : at+3]
		at += 3
		rec[0] = uint64(clock.Now())
		rec[1] = uint64(i)
		rec[2] = 7
	}
}

func BenchmarkEvent(b *testing.B) {
	w, err := trace.Create(b.TempDir(), 0, trace.Options{Pool: 16})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	ses, off := New(), New()
	s := ses.Stream(0, 0, w.Stream(0))
	quiet := off.Stream(0, 1, w.Stream(1))
	off.EnableAll(false)
	list := make([]trace.DF, 64)
	lists := func(elements int) func(int) {
		return func(n int) {
			for i := range n {
				ses.CFStarted.EmitAt(s, int64(i), trace.CF(i), 1, list[:elements])
			}
		}
	}
	costs := []*cost{
		{name: "bare", run: bare},
		{name: "EmitAt", run: func(n int) {
			for i := range n {
				ses.CFFinished.EmitAt(s, int64(i), trace.CF(i), 1, -1)
			}
		}},
		{name: "Emit", run: func(n int) {
			for i := range n {
				ses.CFFinished.Emit(s, trace.CF(i), 1, -1)
			}
		}},
		{name: "clock+EmitAt2", run: func(n int) {
			for i := range n {
				ses.DFStored.EmitAt(s, clock.Now(), trace.DF(i), 8)
			}
		}},
		{name: "off", run: func(n int) {
			for i := range n {
				off.CFFinished.Emit(quiet, trace.CF(i), 1, -1)
			}
		}},
		{name: "list0", run: lists(0)},
		{name: "list16", run: lists(16)},
		{name: "list64", run: lists(64)},
	}
	for _, c := range costs {
		c.best = time.Hour
	}
	for range max(100, b.N) {
		for _, c := range costs {
			n := portion
			if c.name == "list16" || c.name == "list64" {
				n /= 8
			}
			begin := time.Now()
			c.run(n)
			c.best = min(c.best, time.Since(begin)*portion/time.Duration(n))
			s.Trace().Flush()
			time.Sleep(300 * time.Microsecond)
		}
	}
	ns := map[string]float64{}
	for _, c := range costs {
		ns[c.name] = float64(c.best.Nanoseconds()) / portion
	}
	b.ReportMetric(0, "ns/op")
	for _, c := range costs[:5] {
		b.ReportMetric(ns[c.name], "ns/"+c.name)
	}
	b.ReportMetric(ns["EmitAt"]/ns["bare"], "EmitAt/bare")
	b.ReportMetric(ns["Emit"]/ns["bare"], "Emit/bare")
	b.ReportMetric((ns["list16"]-ns["list0"])/16, "ns/element16")
	b.ReportMetric((ns["list64"]-ns["list0"])/64, "ns/element64")
}
