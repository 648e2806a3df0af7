package fragments

import (
	"context"
	"os"
	"testing"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/view/eventlist"
	"github.com/whyslow/whyslow/internal/show/view/recent"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/trace"
)

// BenchmarkFragments asks about the trace in WHYSLOW_LARGE_TRACE.
func BenchmarkFragments(b *testing.B) {
	dir := os.Getenv("WHYSLOW_LARGE_TRACE")
	if dir == "" {
		b.Skip("WHYSLOW_LARGE_TRACE names no trace")
	}
	r, err := trace.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	ctx := context.Background()
	m, err := model.Build(ctx, r, model.Options{})
	if err != nil {
		b.Fatal(err)
	}
	tl, err := timeline.Build(ctx, m, timeline.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			if _, err := Build(ctx, tl); err != nil {
				b.Fatal(err)
			}
		}
	})
	x, err := Build(ctx, tl)
	if err != nil {
		b.Fatal(err)
	}
	rows, err := x.Rows(0, m.Wall())
	if err != nil {
		b.Fatal(err)
	}
	code, wall := rows[0].Code, m.Wall()
	l := eventlist.Open(r, m)
	defer l.Close()
	for name, f := range map[string]func() error{
		"rows/whole":     func() error { x.makeRows(always, 0, wall); return nil },
		"rows/half":      func() error { _, err := x.Rows(wall/4, wall*3/4); return err },
		"rows/hundredth": func() error { _, err := x.Rows(wall/2, wall*51/100); return err },
		"detail": func() error {
			_, err := x.Detail(DetailQuery{Code: code, To: wall, Node: -1})
			return err
		},
		"cfs/first-total": func() error {
			x.orders = recent.New[order, []uint32](maxOrders, nil)
			_, err := x.CFs(CFQuery{Code: code, To: wall, Sort: "-total"})
			return err
		},
		"cfs/first-label": func() error {
			x.orders = recent.New[order, []uint32](maxOrders, nil)
			_, err := x.CFs(CFQuery{Code: code, To: wall, Sort: "label"})
			return err
		},
		"cfs/page": func() error {
			_, err := x.CFs(CFQuery{Code: code, To: wall, Sort: "-total", Offset: 1000})
			return err
		},
		"user": func() error { _, err := UserEvents(ctx, l, 0, wall); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
