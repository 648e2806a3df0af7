package counters_test

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/trace"
)

// followed gives all blocks of a trace to a Live, those of each stream in order and the streams in turn.
func followed(t testing.TB, dir string, opt counters.LiveOptions) *counters.Live {
	t.Helper()
	f := follow.New(dir)
	byStream := map[[2]int][]tracefile.RawBlock{}
	_, err := f.Poll(context.Background(), func(r *tracefile.RawBlock) error {
		if !r.Defs {
			c := *r
			c.Bytes = append([]byte(nil), r.Bytes...)
			k := [2]int{r.Node, r.Stream}
			byStream[k] = append(byStream[k], c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	live := counters.NewLive(opt)
	live.Info(f.Info())
	for len(byStream) > 0 {
		for k, list := range byStream { // in no order
			var b trace.Batch
			if err := f.Read(&list[0], &b); err != nil {
				t.Fatal(err)
			}
			live.Add(f.Defs(b.Node), &b)
			if byStream[k] = list[1:]; len(list) == 1 {
				delete(byStream, k)
			}
		}
	}
	return live
}

// realRun checks the trace of a run that has ended as it should.
func realRun(t *testing.T, dir string) {
	o := load(t, dir)
	defer o.r.Close()
	s := o.set(t)
	if err := likeSeries(t, o, s, 100); err != nil {
		t.Error(err)
	}
	for _, v := range s.Balance() {
		t.Errorf("left over: %+v", v)
	}
	live := followed(t, dir, counters.LiveOptions{MaxBytes: 4 << 30})
	wall := o.m.Wall()
	for _, span := range [][2]int64{{0, wall}, {wall / 3, wall / 2}} {
		want, got := everything(t, s, span[0], span[1], wall/3, 50), everything(t, live, span[0], span[1],
			wall/3, 50)
		for i := range want {
			if d := cmp.Diff(want[i], got[i]); d != "" {
				t.Errorf("[%d, %d) (-model +live): %s", span[0], span[1], d)
			}
		}
	}
}

// TestHeat looks at a recorded run of the heat example on two nodes.
func TestHeat(t *testing.T) {
	text, err := os.ReadFile("testdata/heat.trace.txt")
	if err != nil {
		t.Fatal(err)
	}
	o := open(t, string(text))
	defer o.close()
	realRun(t, o.dir)
}

// TestTrace looks at the trace named by WHYSLOW_TRACE.
func TestTrace(t *testing.T) {
	dir := os.Getenv("WHYSLOW_TRACE")
	if dir == "" {
		t.Skip("WHYSLOW_TRACE names no trace")
	}
	realRun(t, dir)
}
