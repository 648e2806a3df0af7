package compare

import (
	"context"
	"encoding/json"
	"flag"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/critical"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

var update = flag.Bool("update", false, "write goldens anew")

// analysed is a run with everything that is compared.
func analysed(t sloutest.TB, name string, m *model.Model) Run {
	r := Run{Name: name}
	var err error
	if r.SLOU, err = slou.Compute(context.Background(), m, slou.Options{Splits: []string{"code"}},
		procs.Alone()); err != nil {
		t.Fatal(err)
	}
	if r.Critical, err = critical.Compute(context.Background(), m, critical.Options{},
		procs.Alone()); err != nil {
		t.Fatal(err)
	}
	if r.Series, err = counters.Compute(context.Background(), m, counters.Options{Windows: 1}, nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// The goldens hold two traces and what is told of their difference.
func TestGolden(t *testing.T) {
	sloutest.Goldens(t, *update, func(t *testing.T, files map[string]string) map[string]string {
		var runs []Run
		for _, n := range []string{"a", "b"} {
			runs = append(runs, analysed(t, n+".trace", sloutest.Build(t, files[n])))
		}
		text, err := json.MarshalIndent(Compute(runs[0], runs[1]), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"json": string(text) + "\n"}
	})
}

// Whatever the runs are like, the differences of factors and of code fragments add up to that of the
// processor time, and compared with itself a run has no differences.
func TestSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		make := func(name string) Run {
			r := sloutest.Random(t)
			if rapid.Bool().Draw(t, "killed") {
				r.Kill(t)
			}
			if rapid.Bool().Draw(t, "waits") {
				r.AddWaits(t)
			}
			return analysed(t, name, sloutest.Build(t, r.Text()))
		}
		a, b := make("a"), make("b")
		res := Compute(a, b)
		d := b.SLOU.TotalNS - a.SLOU.TotalNS
		var factors, parts, fragments int64
		known := true
		for i := range res.Factors {
			x, ok := res.Factors[i].Change()
			factors += x
			known = known && ok
		}
		for i := range res.Parts {
			x, _ := res.Parts[i].Change()
			parts += x
		}
		for i := range res.Fragments {
			x, _ := res.Fragments[i].Time.Change()
			fragments += x
		}
		if known && factors != d {
			t.Fatalf("factors differ by %d, processor times by %d", factors, d)
		}
		if fragments != d {
			t.Fatalf("code fragments differ by %d, processor times by %d", fragments, d)
		}
		if known {
			var lost int64
			for i := range res.Factors {
				if n := res.Factors[i].Name; n == "S" || n == "L" || n == "O" || n == "W" {
					x, _ := res.Factors[i].Change()
					lost += x
				}
			}
			if parts != lost {
				t.Fatalf("parts differ by %d, their factors by %d", parts, lost)
			}
		}
		same := Compute(a, a)
		for _, rows := range [][]Row{same.Whole, same.Factors, same.Parts, same.Path} {
			for i := range rows {
				if x, _ := rows[i].Change(); x != 0 || rows[i].Share != 0 {
					t.Fatalf("a run differs from itself: %+v", rows[i])
				}
			}
		}
	})
}

func TestConditions(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	res := &Result{A: Side{Name: "old"}, B: Side{Name: "new"},
		Whole: []Row{row("wall", "ns", n(1e9), n(11e8)), row("total", "ns", n(2e9), n(22e8)),
			row("memory", "bytes", nil, n(1<<20)), row("cfs", "count", n(0), n(7))},
		Factors:   []Row{row("S", "ns", n(5e8), n(11e8)), row("L", "ns", n(1), nil)},
		Parts:     []Row{row("O.dispatch", "ns", n(0), n(22e6))},
		Fragments: []Fragment{{Code: "solve", Time: row("time", "ns", n(1e9), n(9e8))}},
	}
	for text, want := range map[string]string{
		"wall>+5%":        "true: wall went from 1.00 s to 1.10 s, by +10.0 %",
		"wall > +10.5%":   "false: wall went from 1.00 s to 1.10 s, by +10.0 %",
		"S>=50%":          "true: S is 50.0 % of the processor time",
		"S<50%":           "false: S is 50.0 % of the processor time",
		"O.dispatch<=1%":  "true: O.dispatch is 1.0 % of the processor time",
		"wall<1.2s":       "true: wall is 1.10 s",
		"memory>1Mi":      "false: memory is 1.0 MB",
		"memory>=1048576": "true: memory is 1.0 MB",
		"code:solve<-9%":  "true: code:solve went from 1.00 s to 900 ms, by -10.0 %",
		"cfs>6":           "true: cfs is 7",
		"cfs>+1%":         "error: cfs>+1%: cfs was 0: it cannot have grown by a percentage",
		"memory>+1%":      "error: memory>+1%: memory is not known of old",
		"memory>1%": "error: memory>1%: memory is not part of the processor time; use +N% for growth, " +
			"or a value",
		"L>1%": "error: L>1%: L is not known of new",
		"speed>1": "error: speed>1: there is no figure speed; there are wall, total, U, S, L, O, W, " +
			"their parts such as O.dispatch, code:NAME, path, cfs, memory, messages, bytes, t1, tinf, of PGAS " +
			"programs pgas.METRIC",
		"wall":               `bad: "wall" is not a condition such as wall>+5%, S>20% or memory>64Mi`,
		"wall>x%":            `bad: wall>x%: "x%" is not a percentage`,
		"wall>NaN%":          `bad: wall>NaN%: "NaN%" is not a percentage`,
		"wall>soon":          `bad: wall>soon: "soon" is not a percentage, time, size or number`,
		"wall>5 wall<4":      `bad: "wall>5 wall<4" is not a condition such as wall>+5%, S>20% or memory>64Mi`,
		"wall>Inf":           `bad: wall>Inf: "Inf" is not a percentage, time, size or number`,
		"memory>0.5GB":       "false: memory is 1.0 MB",
		"code:solve>=900ms ": "true: code:solve is 900 ms",
	} {
		got := ""
		c, err := ParseCondition(text)
		if err != nil {
			got = "bad: " + err.Error()
		} else if holds, found, err := c.Holds(res); err != nil {
			got = "error: " + err.Error()
		} else if holds {
			got = "true: " + found
		} else {
			got = "false: " + found
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func FuzzParseCondition(f *testing.F) {
	for _, s := range []string{"wall>+5%", "S >= 20%", "memory<64Mi", "code:a=b>1", "x><3", "wall>1e400",
		"wall>1h2m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCondition(text)
		if err != nil {
			return
		}
		if c.Name == "" || c.Value-c.Value != 0 {
			t.Errorf("%q is read as %+v", text, c)
		}
		_, _, _ = c.Holds(&Result{Whole: []Row{row(c.Name, "ns", new(int64), new(int64)),
			row("total", "ns", new(int64), new(int64))}})
	})
}
