package slou_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// tree is a division of time: nanoseconds by factor and part, "S.here", and other counts.
type tree map[string]int64

func (t tree) add(key string, v int64) {
	if t[key] += v; t[key] == 0 {
		delete(t, key)
	}
}

func treeOf(f slou.Factors) tree {
	t := tree{}
	if f.U != nil {
		t.add("U", f.U.NS)
		t.add("measured", f.U.MeasuredNS)
	}
	for i, s := range []*slou.Share{f.S, f.L, f.O, f.W} {
		if s == nil {
			continue
		}
		for part, ns := range s.Parts {
			t.add("SLOW"[i:i+1]+"."+part, ns)
		}
	}
	return t
}

// counted tells the parts of a worker's time nanosecond by nanosecond.
type counted struct {
	m       *model.Model
	null    map[string]bool
	trees   map[string]tree           // by split and key: "code step"
	windows map[string]map[int64]tree // by worker, node or run: tree of each window
}

func (c *counted) name(p slou.Piece) string {
	switch f := p.Factor.String(); {
	case c.null[f]:
		return "undivided"
	case p.Factor == slou.FactorW:
		return "W." + p.Waiting()
	}
	return pieceName(p)
}

func (c *counted) to(split, key, name string, v int64) {
	key = split + " " + key
	if c.trees[key] == nil {
		c.trees[key] = tree{}
	}
	c.trees[key].add(name, v)
}

// keys are the groups a CF belongs to, by split.
func (c *counted) keys(node, worker int, cf model.CF) map[string]string {
	keys := map[string]string{"node": fmt.Sprint(node), "worker": fmt.Sprintf("%d.%d", node, worker),
		"code": slou.KeyRest, "index:0": slou.KeyRest, "index:1": slou.KeyRest}
	if cf == 0 {
		return keys
	}
	keys["code"] = c.m.Codes[c.m.CodeOf(cf)].Name
	for i, v := range c.m.Label(cf) {
		keys[fmt.Sprintf("index:%d", i)] = fmt.Sprint(v)
	}
	return keys
}

func (c *counted) piece(node, worker int, p slou.Piece, length int64) {
	name := c.name(p)
	short := name // of nodes' and workers' tables
	if p.Factor == slou.FactorL || p.Factor == slou.FactorW {
		short = strings.SplitN(name, ".", 2)[0]
	}
	keys := c.keys(node, worker, p.Consumer)
	for t := p.From; t < p.To; t++ {
		for split, key := range keys {
			c.to(split, key, name, 1)
		}
		for _, of := range []string{fmt.Sprintf("%d.%d", node, worker), fmt.Sprint(node), "run"} {
			if c.windows[of] == nil {
				c.windows[of] = map[int64]tree{}
			}
			w := (t - c.m.Start) / length
			if c.windows[of][w] == nil {
				c.windows[of][w] = tree{}
			}
			if of == "run" {
				c.windows[of][w].add(name, 1)
			} else {
				c.windows[of][w].add(short, 1)
			}
		}
	}
}

// TestPartitions compares splits and windows of random runs, whole, killed, stuck, with waits or damaged,
// with what their pieces give nanosecond by nanosecond.
func TestPartitions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		run := sloutest.Random(rt)
		if rapid.Bool().Draw(rt, "waits") {
			run.AddWaits(rt)
		}
		switch rapid.IntRange(0, 3).Draw(rt, "end") {
		case 1:
			run.Kill(rt)
		case 2:
			run.Stick(rt)
		case 3:
			run.Harm(rt)
		}
		m := sloutest.Build(rt, run.Text())
		opt := slou.Options{Splits: []string{"index:1", "node", "code", "worker", "index:0"},
			Parallel: rapid.IntRange(1, 3).Draw(rt, "parallel"),
			Rule:     slou.Rule(rapid.IntRange(0, int(slou.RuleSource)).Draw(rt, "rule"))}
		if n := rapid.IntRange(1, 20).Draw(rt, "n"); rapid.Bool().Draw(rt, "length") {
			opt.WindowNS = int64(n)
		} else {
			opt.Windows = n
		}
		res, err := slou.Compute(context.Background(), m, opt, procs.Alone())
		if err != nil {
			rt.Fatalf("%v\n%s", err, run.EventText())
		}
		pieces, err := slou.Pieces(context.Background(), m, opt, procs.Alone())
		if err != nil {
			rt.Fatal(err)
		}
		c := &counted{m: m, null: map[string]bool{"U": res.Factors.U == nil, "S": res.Factors.S == nil,
			"L": res.Factors.L == nil, "O": res.Factors.O == nil},
			trees: map[string]tree{}, windows: map[string]map[int64]tree{}}
		for _, w := range pieces {
			for _, p := range w.Pieces {
				c.piece(w.Node, w.Worker, p, res.Windows.LengthNS)
			}
			for e := range m.ExecCF {
				id, ok := m.WorkerIDOf(e)
				if cf := m.ExecCF[e]; ok && m.Atomic(cf) &&
					id == (model.WorkerID{Node: w.Node, Worker: w.Worker}) {
					for split, key := range c.keys(w.Node, w.Worker, cf) {
						c.to(split, key, "CFs", 1)
					}
				}
			}
		}
		got := map[string]tree{}
		for _, s := range res.Splits {
			for _, g := range s.Groups {
				t := treeOf(g.Factors)
				delete(t, "measured")
				t.add("CFs", g.CFs)
				t.add("loss", g.LossNS)
				t.add("undivided", g.UndividedNS)
				if _, twice := got[s.By+" "+g.Key]; twice {
					rt.Errorf("by %s: %s is there twice", s.By, g.Key)
				}
				if g.Rest != (g.Key == slou.KeyRest) || g.Joined != 0 {
					rt.Errorf("by %s: %+v", s.By, g)
				}
				if len(t) > 0 {
					got[s.By+" "+g.Key] = t
				}
			}
		}
		if diff := gocmp.Diff(c.trees, got); diff != "" {
			rt.Fatalf("splits (-pieces +Compute):\n%s\n%s", diff, run.EventText())
		}
		if diff := gocmp.Diff(c.windows, tables(res.Windows)); diff != "" {
			rt.Fatalf("windows (-pieces +Compute):\n%s\n%s", diff, run.EventText())
		}
		limited(rt, m, opt, res)
	})
}

// tables gives windows in the form of counted.
func tables(w *slou.Windows) map[string]map[int64]tree {
	out := map[string]map[int64]tree{}
	table := func(name string, rows []slou.Row, ns [][]int64) {
		for i, r := range rows {
			key := r.Factor
			if r.Part != "" {
				key += "." + r.Part
			}
			for at, v := range ns[i] {
				if v == 0 {
					continue
				}
				if out[name] == nil {
					out[name] = map[int64]tree{}
				}
				if out[name][int64(at)] == nil {
					out[name][int64(at)] = tree{}
				}
				out[name][int64(at)].add(key, v)
			}
		}
	}
	table("run", w.Rows, w.NS)
	for _, n := range w.Nodes {
		table(fmt.Sprint(n.Node), w.WorkerRows, n.NS)
		for _, worker := range n.Workers {
			table(fmt.Sprintf("%d.%d", n.Node, worker.Worker), w.WorkerRows, worker.NS)
		}
	}
	return out
}

// limited checks that a split with a limit lists the largest groups as they are and joins all others.
func limited(t *rapid.T, m *model.Model, opt slou.Options, whole *slou.Result) {
	opt.MaxGroups, opt.Windows, opt.WindowNS = rapid.IntRange(1, 4).Draw(t, "max"), 0, 0
	res, err := slou.Compute(context.Background(), m, opt, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range res.Splits {
		all := map[string]slou.Group{}
		var sizes []int64
		for _, g := range whole.Splits[i].Groups {
			all[g.Key] = g
			if !g.Rest {
				sizes = append(sizes, g.TotalNS+g.LossNS)
			}
		}
		slices.SortFunc(sizes, func(a, b int64) int { return cmp.Compare(b, a) })
		var shown []int64
		for _, g := range s.Groups {
			if g.Key == slou.KeyOthers {
				if int(g.Joined) != len(sizes)-opt.MaxGroups {
					t.Errorf("by %s: %d groups are others, of %d", s.By, g.Joined, len(sizes))
				}
				continue
			}
			if diff := gocmp.Diff(all[g.Key], g); diff != "" {
				t.Errorf("by %s (-without limit +with):\n%s", s.By, diff)
			}
			if !g.Rest {
				shown = append(shown, g.TotalNS+g.LossNS)
			}
		}
		slices.SortFunc(shown, func(a, b int64) int { return cmp.Compare(b, a) })
		if want := sizes[:min(opt.MaxGroups, len(sizes))]; !slices.Equal(shown, want) {
			t.Errorf("by %s: %v are shown, the largest are %v", s.By, shown, want)
		}
	}
}
