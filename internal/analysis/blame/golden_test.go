package blame_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/blame"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

var update = flag.Bool("update", false, "rewrite what is expected (then check it on paper)")

// TestGolden looks at hand-written traces. Each file opens with its story, worked out on paper.
func TestGolden(t *testing.T) {
	sloutest.Goldens(t, *update, func(t *testing.T, files map[string]string) map[string]string {
		return map[string]string{"blame": write(t,
			compute(t, sloutest.Build(t, files["trace"]), blame.Options{}))}
	})
}

func compute(t sloutest.TB, m *model.Model, opt blame.Options) *blame.Result {
	t.Helper()
	var err error
	opt.SLOU, err = slou.Compute(context.Background(), m, slou.Options{Rule: opt.Rule},
		procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	res, err := blame.Compute(context.Background(), m, opt, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func write(t sloutest.TB, res *blame.Result) string {
	t.Helper()
	var out bytes.Buffer
	if err := res.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// without leaves out the events of some kinds.
func without(text string, kinds ...string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		keep := true
		for _, k := range kinds {
			keep = keep && !strings.Contains(line, k+" ")
		}
		if keep {
			out.WriteString(line)
		}
	}
	return out.String()
}

// TestMissing: what the recorded events do not allow to tell is null, and the event is named.
func TestMissing(t *testing.T) {
	for _, c := range []struct{ off, null, event string }{
		{"DF.onCreate", "SLO", "DFEvents.onCreate"},
		{"DF.onSent", "LO", "DFEvents.onSent"},
		{"CF.onFinished", "SLO", "CFEvents.onFinished"},
		{"", "", ""},
	} {
		text := sloutest.Golden(t, "links")
		if c.off != "" {
			text = without(text, c.off)
		}
		res := compute(t, sloutest.Build(t, text), blame.Options{})
		for letter, null := range map[string]bool{"S": res.S == nil, "L": res.L == nil, "O": res.O == nil} {
			if null != strings.Contains(c.null, letter) {
				t.Errorf("without %q: %s is null: %v", c.off, letter, null)
			}
		}
		if (res.Waits == nil) != (c.null != "") {
			t.Errorf("without %q: %d waits", c.off, len(res.Waits))
		}
		if c.event != "" && (len(res.Missing) == 0 || res.Missing[0].Event != c.event) {
			t.Errorf("without %q: missing %+v", c.off, res.Missing)
		}
	}
}

// TestDepth: with a depth of one, what is behind the first code fragment is told as further.
func TestDepth(t *testing.T) {
	res := compute(t, sloutest.Build(t, sloutest.Golden(t, "chain")), blame.Options{Depth: 1})
	for _, c := range res.S.Chains {
		if len(c.Behind) > 0 {
			t.Errorf("behind %s is %+v", c.Code, c.Behind)
		}
		if c.Code == "make" && c.NS != 125 { // 75 of its own and 50 of feed
			t.Errorf("make has %d: %+v", c.NS, c.Doing)
		}
	}
}

func TestCancelled(t *testing.T) {
	m := sloutest.Build(t, sloutest.Golden(t, "figure1"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := blame.Compute(ctx, m, blame.Options{}, procs.Alone()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestNothing(t *testing.T) {
	if res := compute(t, sloutest.Build(t, "#node 0\n"), blame.Options{}); len(res.Waits) != 0 ||
		res.S == nil ||
		res.S.NS != 0 {
		t.Errorf("%+v", res)
	}
}
