package fragments

import (
	"context"
	"encoding/json"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/view/eventlist"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

var update = flag.Bool("update", false, "write the goldens")

// lines writes each element of a list as a line of JSON.
func lines[T any](t *testing.T, list []T) string {
	var s strings.Builder
	for _, v := range list {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		s.Write(append(text, '\n'))
	}
	return s.String()
}

func TestGoldens(t *testing.T) {
	sloutest.Goldens(t, *update, func(t *testing.T, files map[string]string) map[string]string {
		ctx, dir := context.Background(), t.TempDir()
		if err := twin.Parse(strings.NewReader(files["trace"]), dir); err != nil {
			t.Fatal(err)
		}
		r, err := trace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		m, err := model.Build(ctx, r, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tl, err := timeline.Build(ctx, m, timeline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		x, err := Build(ctx, tl)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for name, to := range map[string][2]int64{"rows": {0, m.Wall()}, "from 15 to 60": {15, 60}} {
			rows, err := x.Rows(to[0], to[1])
			if err != nil {
				t.Fatal(err)
			}
			out[name] = lines(t, rows)
		}
		d, err := x.Detail(DetailQuery{Code: 1, To: m.Wall(), Bins: 4, Node: -1})
		if err != nil {
			t.Fatal(err)
		}
		out["mult"] = lines(t, d.Bins) + lines(t, d.ByNode) + lines(t, d.Longest)
		l := eventlist.Open(r, m)
		defer l.Close()
		u, err := UserEvents(ctx, l, 0, m.Wall())
		if err != nil {
			t.Fatal(err)
		}
		out["user"] = ""
		for _, e := range u {
			for i := range e.Fields {
				f := &e.Fields[i] // most bins are empty
				f.Bins = slices.DeleteFunc(f.Bins, func(b NumberBin) bool { return b.Count == 0 })
			}
			out["user"] += lines(t, e.PerNode) + lines(t, e.Fields)
		}
		return out
	})
}
