package graph

import (
	"context"
	"os"
	"testing"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/view/fragments"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/trace"
)

// BenchmarkGraph asks about the trace that WHYSLOW_LARGE_TRACE names.
func BenchmarkGraph(b *testing.B) {
	dir := os.Getenv("WHYSLOW_LARGE_TRACE")
	if dir == "" {
		b.Skip("WHYSLOW_LARGE_TRACE names no trace")
	}
	r, err := trace.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	m, err := model.Build(context.Background(), r, model.Options{})
	if err != nil {
		b.Fatal(err)
	}
	t, err := timeline.Build(context.Background(), m, timeline.Options{})
	if err != nil {
		b.Fatal(err)
	}
	x, err := fragments.Build(context.Background(), t)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if _, err := New(x).Nodes(0, m.Wall()); err != nil {
				b.Fatal(err)
			}
		}
	})
	g := New(x)
	for name, f := range map[string]func() error{
		"nodes":         func() error { _, err := g.Nodes(0, m.Wall()); return err },
		"nodes/tenth":   func() error { _, err := g.Nodes(m.Wall()/2, m.Wall()*6/10); return err },
		"codes":         func() error { _, err := g.Codes(0, m.Wall()); return err },
		"codes/tenth":   func() error { _, err := g.Codes(m.Wall()/2, m.Wall()*6/10); return err },
		"tasks":         func() error { _, err := g.Tasks(TaskQuery{To: m.Wall()}); return err },
		"tasks/first":   func() error { _, err := New(x).Tasks(TaskQuery{To: m.Wall()}); return err },
		"around":        func() error { _, err := g.Around(AroundQuery{CF: "0.100000", Depth: 4}); return err },
		"around/parent": func() error { _, err := g.Around(AroundQuery{CF: "0.1", Depth: 4}); return err },
	} {
		if err := f(); err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
