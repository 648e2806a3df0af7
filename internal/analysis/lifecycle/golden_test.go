package lifecycle_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

var update = flag.Bool("update", false, "rewrite what is expected (then check it on paper)")

// TestGolden looks at traces written as text. Each file opens with its story.
func TestGolden(t *testing.T) {
	sloutest.Goldens(t, *update, func(t *testing.T, files map[string]string) map[string]string {
		m := sloutest.Build(t, files["trace"])
		got := write(t, compute(t, m, lifecycle.Options{}))
		if all := write(t, compute(t, m, lifecycle.Options{All: true})); all != got {
			got += "all:\n" + all
		}
		return map[string]string{"found": got}
	})
}

func compute(t sloutest.TB, m *model.Model, opt lifecycle.Options) *lifecycle.Result {
	t.Helper()
	res, err := lifecycle.Compute(context.Background(), m, opt, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func write(t sloutest.TB, res *lifecycle.Result) string {
	t.Helper()
	var out bytes.Buffer
	if err := res.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// without leaves out the events of a kind and says in the trace that they were off.
func without(text, kind string) string {
	var out strings.Builder
	short := strings.Replace(kind, "Events", "", 1)
	for line := range strings.Lines(text) {
		if !strings.Contains(line, short+" ") && !strings.Contains(line, kind+" ") {
			out.WriteString(line)
		}
	}
	return strings.Replace(out.String(), `#run {`, `#run {"off":["`+kind+`"],`, 1)
}

// TestMissing: what the recorded events do not allow to tell is null, the event is named, and the rest is as
// it was.
func TestMissing(t *testing.T) {
	for _, c := range []struct{ golden, off, null string }{
		{"dfs", "CFEvents.onCreated", "cfs"},
		{"dfs", "CFEvents.onStarted", "cfs never_used"},
		{"dfs", "CFEvents.onFinished", "cfs"},
		{"dfs", "DFEvents.onCreate", "held_to_end never_produced never_used produced_twice"},
		{"dfs", "DFEvents.onDestroy", "held_to_end late_requests"},
		{"requests", "CFEvents.onWaiting", "never_produced"},
		{"dfs", "DFEvents.onDuplicate", "produced_twice"},
		{"requests", "DFEvents.onRequestReceived", "late_requests"},
		{"requests", "DFEvents.onRequested", "unanswered"},
		{"requests", "DFEvents.onReceived", "unanswered"},
	} {
		all := compute(t, sloutest.Build(t, sloutest.Golden(t, c.golden)), lifecycle.Options{})
		if len(all.Missing) > 0 {
			t.Errorf("%s: missing %+v", c.golden, all.Missing)
		}
		res := compute(t, sloutest.Build(t, without(sloutest.Golden(t, c.golden), c.off)),
			lifecycle.Options{})
		var null []string
		for _, f := range []struct {
			name string
			null bool
		}{{"cfs", res.CFs == nil}, {"held_to_end", res.HeldToEnd == nil},
			{"late_requests", res.LateRequests == nil}, {"never_produced", res.NeverProduced == nil},
			{"never_used", res.NeverUsed == nil}, {"produced_twice", res.ProducedTwice == nil},
			{"unanswered", res.Unanswered == nil}} {
			if f.null {
				null = append(null, f.name)
			}
		}
		if got := strings.Join(null, " "); got != c.null {
			t.Errorf("%s without %s: null are %q, want %q", c.golden, c.off, got, c.null)
		}
		if len(res.Missing) != 1 || res.Missing[0].Event != c.off ||
			strings.Join(res.Missing[0].Findings, " ") != c.null {
			t.Errorf("%s without %s: missing %+v", c.golden, c.off, res.Missing)
		}
	}
}

func TestCancelled(t *testing.T) {
	m := sloutest.Build(t, sloutest.Golden(t, "dfs"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := lifecycle.Compute(ctx, m, lifecycle.Options{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestCaps: groups and examples are capped, with the totals.
func TestCaps(t *testing.T) {
	m := sloutest.Build(t, sloutest.Golden(t, "dfs"))
	res := compute(t, m, lifecycle.Options{Groups: 1, Examples: 1})
	if f := res.HeldToEnd; f.Count != 3 || f.Bytes != 158 || len(f.Groups) != 1 || f.More != 1 ||
		f.Groups[0].Count != 2 || len(f.Groups[0].Examples) != 1 {
		t.Errorf("%+v", f)
	}
}
