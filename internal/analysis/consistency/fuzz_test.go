package consistency

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// Whatever a trace holds, the check ends and its findings have examples.
func FuzzCheck(f *testing.F) {
	f.Add(story)
	f.Add(strings.ReplaceAll(story, "0.1", "0.2"))
	f.Add("0 n7 s3 CF.onStarted 0.1 1 [5 0]\n-5 n7 s3 Global.onClockSync -9223372036854775808 1\n0 n8 s0 " +
		"DF.onSent 1 7 8 7.1 8.1\n")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if twin.Parse(strings.NewReader(text), dir) != nil {
			return
		}
		rep := check(t, dir)
		for _, g := range rep.Findings {
			if g.Count < 1 || len(g.Examples) < 1 || len(g.Examples) > MaxExamples ||
				g.Count < len(g.Examples) || g.Kind == "" {
				t.Errorf("%+v", g)
			}
		}
		// A damaged file is checked as far as it can be read.
		path := filepath.Join(dir, tracefile.FileName(0))
		data, err := os.ReadFile(path)
		if err != nil || len(data) < 200 {
			return
		}
		data[len(data)/2] ^= 0x40
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if r, err := trace.Open(dir); err == nil {
			defer r.Close()
			if _, err := Check(context.Background(), r); err != nil {
				t.Error(err)
			}
			r.Stats(1)
		}
	})
}
