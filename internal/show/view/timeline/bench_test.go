package timeline

import (
	"context"
	"os"
	"runtime"
	"testing"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

func benchModel(b *testing.B) *model.Model {
	path := os.Getenv("WHYSLOW_TRACE")
	if path == "" {
		b.Skip("WHYSLOW_TRACE names no trace")
	}
	return sloutest.Load(b, path)
}

func heap() float64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc)
}

// BenchmarkBuild builds the timeline of the trace in WHYSLOW_TRACE: the time, and the bytes kept per event.
func BenchmarkBuild(b *testing.B) {
	m := benchModel(b)
	before := heap()
	var t *Timeline
	var err error
	for b.Loop() {
		if t, err = Build(context.Background(), m, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	pieces := 0
	for i := range t.lanes {
		pieces += len(t.lanes[i].end)
	}
	b.ReportMetric(float64(pieces), "pieces")
	b.ReportMetric((heap()-before)/float64(m.Events), "bytes/event")
	b.ReportMetric(float64(m.Events)/1e6, "Mevents")
	runtime.KeepAlive(t)
}

// BenchmarkQueries asks a page's questions, about the whole run and about a hundredth of it.
func BenchmarkQueries(b *testing.B) {
	m := benchModel(b)
	t, err := Build(context.Background(), m, Options{})
	if err != nil {
		b.Fatal(err)
	}
	wall := m.Wall()
	parts := map[string]stretch{"whole": {0, wall}, "hundredth": {wall / 2, wall/2 + wall/100}}
	for _, part := range []string{"whole", "hundredth"} {
		r := parts[part]
		for name, ask := range map[string]func() error{
			"tile by code": func() error {
				_, err := t.Tile(TileQuery{From: r.from, To: r.to, Width: 2000, By: "code"})
				return err
			},
			"tile by factor": func() error {
				_, err := t.Tile(TileQuery{From: r.from, To: r.to, Width: 2000, By: "factor"})
				return err
			},
			"factors": func() error {
				_, err := t.Factors(FactorQuery{From: r.from, To: r.to, Windows: 1000})
				return err
			},
			"boxes": func() error {
				_, err := t.Boxes(BoxQuery{From: r.from, To: r.to, Limit: 100000})
				return err
			},
			"arrows": func() error {
				_, err := t.Arrows(ArrowQuery{From: r.from, To: r.to})
				return err
			},
			"arrows of a lane": func() error {
				_, err := t.Arrows(ArrowQuery{From: r.from, To: r.to, Lanes: []int{0}})
				return err
			},
			"path": func() error {
				_, err := t.Path(context.Background(), PathQuery{From: r.from, To: r.to})
				return err
			},
		} {
			b.Run(name+" of "+part, func(b *testing.B) {
				for b.Loop() {
					if err := ask(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
