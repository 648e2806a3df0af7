package live

import (
	"context"
	"math"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/show/view/eventlist"
	"github.com/whyslow/whyslow/internal/show/view/story"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
)

// BenchmarkSnapshot tells what a snapshot of the trace that WHYSLOW_LARGE_TRACE names takes, with each thing
// that is derived from it: bytes of memory and nanoseconds an event.
func BenchmarkSnapshot(b *testing.B) {
	dir := os.Getenv("WHYSLOW_LARGE_TRACE")
	if dir == "" {
		b.Skip("WHYSLOW_LARGE_TRACE names no trace")
	}
	for b.Loop() {
		r := following(dir)
		r.opt.Memory = math.MaxInt64
		before := heap()
		began := time.Now()
		s, err := r.build(nil, true, 0)
		if err != nil {
			b.Fatal(err)
		}
		events := float64(s.Model.Events)
		whole, wall := before, s.Model.Wall()
		note := func(what string, err error) {
			if err != nil {
				b.Fatal(what, ": ", err)
			}
			took := time.Since(began)
			now := heap()
			b.ReportMetric(float64(now-before)/events, what+"-B/event")
			b.ReportMetric(float64(took)/events, what+"-ns/event")
			before, began = now, time.Now()
		}
		note("model", nil)
		_, err = s.Timeline()
		note("timeline", err)
		_, err = s.Fragments()
		note("fragments", err)
		g, err := s.Graph()
		if err == nil {
			_, err = g.Codes(0, wall)
		}
		note("graph", err)
		note("properties", askProperties(s, wall))
		note("story", askStories(s))
		l, err := s.Events()
		if err == nil {
			_, err = l.Page(context.Background(), eventlist.Query{Offset: int(events / 2)})
		}
		note("events", err)
		_, err = s.ReportJSON("en")
		note("report", err)
		b.ReportMetric(float64(heap()-whole)/events, "all-B/event")
		runtime.KeepAlive(s)
	}
}

// askProperties asks once for everything about nodes and links.
func askProperties(s *Snapshot, wall int64) error {
	p, err := s.Properties()
	if err != nil {
		return err
	}
	p.At(wall / 2)
	p.Balance()
	for _, x := range counters.All() {
		if _, err := p.Series(counters.SeriesQuery{Names: x.Name, To: wall}); err != nil {
			return err
		}
	}
	if _, err := p.Matrix("messages", 0, wall); err != nil {
		return err
	}
	_, err = p.Memory(context.Background(), counters.MemoryQuery{To: wall})
	return err
}

// askStories searches for all DFs, tells of one CF, and looks for arrows: after that all indexes are there.
func askStories(s *Snapshot) error {
	x, err := s.Index()
	if err != nil {
		return err
	}
	if _, err := x.Search("1 1", 0); err != nil {
		return err
	}
	t, err := s.Timeline()
	if err != nil {
		return err
	}
	if _, err := t.Arrows(timeline.ArrowQuery{To: s.Model.Wall()}); err != nil {
		return err
	}
	for cf := range s.Model.CFs() {
		t.Model().RequestsOf(1)
		t.Model().MessagesOf(1)
		t.Model().CopiesOf(1)
		_, err = story.CF(t, t.CFKey(cf), "en")
		return err
	}
	return nil
}

// heap is what is reachable, in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
