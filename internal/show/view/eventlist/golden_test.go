package eventlist

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

var update = flag.Bool("update", false, "write the goldens")

// open returns the list of a trace in a folder. It is closed at the end of the test.
func open(t interface {
	sloutest.TB
	Cleanup(func())
}, dir string) *List {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Build(context.Background(), r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := Open(r, m)
	t.Cleanup(func() {
		l.Close()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
	return l
}

func openText(t *testing.T, text string) *List {
	t.Helper()
	dir := t.TempDir()
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	return open(t, dir)
}

func TestGoldens(t *testing.T) {
	sloutest.Goldens(t, *update, func(t *testing.T, files map[string]string) map[string]string {
		l := openText(t, files["trace"])
		out := map[string]string{}
		for _, lang := range []string{"en", "ru"} {
			p, err := l.Page(context.Background(), Query{Limit: 1000, Lang: lang})
			if err != nil {
				t.Fatal(err)
			}
			if p.Total != len(p.Rows) || p.Scanned != 1 {
				t.Errorf("%d rows of %d, scanned %v", len(p.Rows), p.Total, p.Scanned)
			}
			var s strings.Builder
			for _, r := range p.Rows {
				fmt.Fprintf(&s, "%d n%d s%d %s: %s", r.T, r.Node, r.Stream, r.Kind, r.Text)
				if r.CF != "" {
					fmt.Fprintf(&s, " cf=%s=%s", r.CF, r.CFTitle)
				}
				if r.Neighbours != "" {
					fmt.Fprintf(&s, " neighbours=(%s)", r.Neighbours)
				}
				if r.DF != "" {
					fmt.Fprintf(&s, " df=%s=%s", r.DF, r.DFTitle)
				}
				s.WriteString("\n")
			}
			out[lang] = s.String()
		}
		var s strings.Builder
		if err := l.CSV(context.Background(), &s, Query{Kinds: []string{"My", "CFEvents.onReady"}}); err != nil {
			t.Fatal(err)
		}
		out["csv"] = s.String()
		return out
	})
}

func TestEveryKindHasWords(t *testing.T) {
	for _, k := range trace.Kinds() {
		if _, ok := kindTexts[k.Kind]; !ok {
			t.Errorf("%s has no words", k.String())
		}
	}
	if len(kindTexts) != len(trace.Kinds()) {
		t.Errorf("%d sentences for %d kinds", len(kindTexts), len(trace.Kinds()))
	}
}
