package story

import (
	"os"
	"testing"

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
	b.Run("search/first", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			_, x := fresh()
			b.StartTimer()
			search(b, x)
		}
	})
	b.Run("search/again", func(b *testing.B) {
		for b.Loop() {
			search(b, x)
		}
	})
	b.Run("story/first", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			tl, _ := fresh()
			b.StartTimer()
			tell(tl, found[:1])
		}
	})
	tell(tl, found[:1])
	b.Run("story/again", func(b *testing.B) {
		for b.Loop() {
			tell(tl, found[:1])
		}
	})
}
