package graph

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

var update = flag.Bool("update", false, "write the goldens")

// lines writes each element of lists as a line of JSON.
func lines[A, B any](t *testing.T, a []A, b []B) string {
	var s strings.Builder
	write := func(v any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		s.Write(append(text, '\n'))
	}
	for _, v := range a {
		write(v)
	}
	for _, v := range b {
		write(v)
	}
	return s.String()
}

func TestGoldens(t *testing.T) {
	sloutest.Goldens(t, *update, func(t *testing.T, files map[string]string) map[string]string {
		g := build(t, sloutest.Build(t, files["trace"]))
		out := map[string]string{}
		at := func(t int64) *int64 { return &t }
		codes := func(c *CodeGraph, err error) string {
			if err != nil {
				t.Fatal(err)
			}
			return lines(t, c.Nodes, c.Edges)
		}
		for name, to := range map[string][2]int64{"nodes": {0, 100}, "nodes from 30 to 50": {30, 50}} {
			n, err := g.Nodes(to[0], to[1])
			if err != nil {
				t.Fatal(err)
			}
			out[name] = lines(t, n.Nodes, n.Links)
		}
		out["codes"], out["codes from 30 to 60"] = codes(g.Codes(0, 100)), codes(g.Codes(30, 60))
		out["around b at 9"] = codes(g.Around(AroundQuery{CF: "0.3", T: at(9)}))
		out["around x at 40"] = codes(g.Around(AroundQuery{DF: "1:1", T: at(40)}))
		out["around x at 55"] = codes(g.Around(AroundQuery{DF: "0:1", T: at(55), Depth: 4, Limit: 2}))
		out["around x at the end"] = codes(g.Around(AroundQuery{DF: "0:1", Depth: 4}))
		return out
	})
}
