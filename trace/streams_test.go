package trace_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/growth"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// TestManyStreams: a file may have as many streams as blocks; to read all takes time in proportion to them.
func TestManyStreams(t *testing.T) {
	growth.Linear(t, 32_000, func(streams int) func() {
		var b strings.Builder
		b.WriteString("#node 0\n")
		for i := range streams {
			fmt.Fprintf(&b, "%d n0 s%d GlobalEvents.onIdle\n", 1000+i, i)
		}
		dir := t.TempDir()
		if err := twin.Parse(strings.NewReader(b.String()), dir); err != nil {
			t.Fatal(err)
		}
		return func() {
			r, err := trace.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			seen := 0
			if err := r.EachStream(1, func(c *trace.Cursor) error {
				seen++
				return nil
			}); err != nil || seen != streams {
				t.Fatal(seen, err)
			}
		}
	})
}

// TestManyStreamsWritten: to write that many takes time in proportion to them, too.
func TestManyStreamsWritten(t *testing.T) {
	growth.Linear(t, 96_000, func(streams int) func() {
		return func() {
			w, err := trace.Create(t.TempDir(), 0, trace.Options{BufferBytes: 1 << 10, Pool: streams})
			if err != nil {
				t.Fatal(err)
			}
			for i := range streams {
				w.Stream(i).Emit(int64(i), trace.KindIdle)
				w.Stream(i).Flush()
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
