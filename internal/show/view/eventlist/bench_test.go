package eventlist

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/view/recent"
	"github.com/whyslow/whyslow/trace"
)

// openLarge opens the trace in WHYSLOW_LARGE_TRACE; benchmarks need a large one.
func openLarge(b *testing.B) *List {
	b.Helper()
	dir := os.Getenv("WHYSLOW_LARGE_TRACE")
	if dir == "" {
		b.Skip("WHYSLOW_LARGE_TRACE names no trace")
	}
	r, err := trace.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	m, err := model.Build(context.Background(), r, model.Options{})
	if err != nil {
		b.Fatal(err)
	}
	l := Open(r, m)
	l.patience = time.Hour
	b.Cleanup(func() { l.Close(); r.Close() })
	return l
}

func page(b *testing.B, l *List, q Query) *EventPage {
	b.Helper()
	p, err := l.Page(context.Background(), q)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkFirst is the first page: it reads the whole trace once.
func BenchmarkFirst(b *testing.B) {
	l := openLarge(b)
	for b.Loop() {
		again := Open(l.r, l.m)
		page(b, again, Query{})
		again.Close()
	}
	b.ReportMetric(float64(l.m.Events), "events")
}

// BenchmarkPage asks for unread pages all over the list.
func BenchmarkPage(b *testing.B) {
	l := openLarge(b)
	total := page(b, l, Query{}).Total
	at := 1
	for b.Loop() {
		at = (at*7919 + 104729) % total
		l.cache = recent.New[int, *decoded](cacheBlocks, nil)
		page(b, l, Query{Offset: at})
	}
}

// BenchmarkNext scrolls.
func BenchmarkNext(b *testing.B) {
	l := openLarge(b)
	total := page(b, l, Query{}).Total
	at := 0
	for b.Loop() {
		at = (at + 40) % total
		page(b, l, Query{Offset: at})
	}
}

// BenchmarkTime follows a cursor.
func BenchmarkTime(b *testing.B) {
	l := openLarge(b)
	page(b, l, Query{})
	t := int64(0)
	for b.Loop() {
		t = (t + 16e6) % l.m.Wall()
		page(b, l, Query{T: &t})
	}
}

var filters = []struct {
	name string
	q    Query
}{
	{"kind", Query{Kinds: []string{"DFEvents.onSent"}}},
	{"rare", Query{Kinds: []string{"GlobalEvents.onClockSync"}}},
	{"link", Query{Link: "0->1"}},
	{"code", Query{Code: 8}},
	{"cf", Query{CF: "0.100000"}},
	{"df", Query{DF: "0:1000"}},
	{"text", Query{Text: "update (1.100"}},
	{"text-ru", Query{Text: "отправлен узлу 2", Lang: "ru"}},
}

// BenchmarkFilter looks through the whole trace.
func BenchmarkFilter(b *testing.B) {
	l := openLarge(b)
	page(b, l, Query{})
	for _, f := range filters {
		b.Run(f.name, func(b *testing.B) {
			for b.Loop() {
				l.filters = recent.New[string](maxFilters, (*results).stop)
				b.ReportMetric(float64(page(b, l, f.q).Total), "found")
			}
		})
	}
}

// BenchmarkFiltered asks for pages all over a filtered list after a complete scan of the trace.
func BenchmarkFiltered(b *testing.B) {
	l := openLarge(b)
	for _, f := range filters {
		total := page(b, l, f.q).Total
		if total == 0 {
			continue
		}
		b.Run(f.name, func(b *testing.B) {
			at, q := 1, f.q
			for b.Loop() {
				at = (at*7919 + 104729) % total
				l.cache = recent.New[int, *decoded](cacheBlocks, nil)
				q.Offset = at
				page(b, l, q)
			}
		})
	}
}
