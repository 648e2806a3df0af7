package trace_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/whyslow/whyslow/trace"
)

// TestManyStreams: a file may have as many streams as blocks; to read all takes time in proportion to them.
func TestManyStreams(t *testing.T) {
	read := func(streams int) time.Duration {
		var b strings.Builder
		b.WriteString("#node 0\n")
		for i := range streams {
			fmt.Fprintf(&b, "%d n0 s%d GlobalEvents.onIdle\n", 1000+i, i)
		}
		dir := t.TempDir()
		if err := trace.Parse(strings.NewReader(b.String()), dir); err != nil {
			t.Fatal(err)
		}
		r, err := trace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		begin, seen := time.Now(), 0
		if err := r.EachStream(1, func(c *trace.Cursor) error {
			seen++
			return nil
		}); err != nil || seen != streams {
			t.Fatal(seen, err)
		}
		return time.Since(begin)
	}
	var few, many time.Duration
	for range 3 { // another process may have had the processor meanwhile
		few, many = read(2000), read(16000)
		if many < 24*few { // 8 times as many streams
			return
		}
	}
	t.Errorf("%v for 2,000 streams, %v for 16,000", few, many)
}
