package story

import (
	"os"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// BenchmarkStories searches the trace named by WHYSLOW_TRACE for what is named by WHYSLOW_QUERY and tells the
// stories of what is found: the first time, when indexes have to be made, and again.
func BenchmarkStories(b *testing.B) {
	path, q := os.Getenv("WHYSLOW_TRACE"), os.Getenv("WHYSLOW_QUERY")
	if path == "" || q == "" {
		b.Skip("WHYSLOW_TRACE and WHYSLOW_QUERY name no trace and nothing to search for")
	}
	m := sloutest.Load(b, path)
	fresh := func() (*timeline.Timeline, *Index) {
		tl := made(b, m)
		return tl, NewIndex(tl)
	}
	tell := func(tl *timeline.Timeline, found []Found) {
		for _, f := range found {
			var err error
			switch f.Kind {
			case "cf":
				_, err = CF(tl, f.Key, "en")
			case "df":
				_, err = DF(tl, f.Key, "en")
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	tl, x := fresh()
	found, err := x.Search(q, 50)
	if err != nil || len(found) == 0 {
		b.Fatal("nothing found", err)
	}
	search := func(b *testing.B, x *Index) {
		if _, err := x.Search(q, 50); err != nil {
			b.Fatal(err)
		}
	}
	// Making a timeline takes far longer than what is measured: a clock of the benchmark's own that is stopped
	// meanwhile would have it make thousands.
	first := func(name string, do func(tl *timeline.Timeline, x *Index)) {
		b.Run(name, func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				tl, x := fresh()
				begin := time.Now()
				do(tl, x)
				took += time.Since(begin)
			}
			b.ReportMetric(float64(took)/float64(b.N), "ns/op")
		})
	}
	first("search/first", func(_ *timeline.Timeline, x *Index) { search(b, x) })
	b.Run("search/again", func(b *testing.B) {
		for b.Loop() {
			search(b, x)
		}
	})
	first("story/first", func(tl *timeline.Timeline, _ *Index) { tell(tl, found[:1]) })
	tell(tl, found[:1])
	b.Run("story/again", func(b *testing.B) {
		for b.Loop() {
			tell(tl, found[:1])
		}
	})
}
