// Package blame tells who is to blame for lost time: what producers were doing while workers starved for
// them, which DFs and links cost how much latency, which code fragments have CFs too small for their
// overhead, and which single waits were the longest. What it says about S, L and O adds up to the division of
// package slou.
package blame

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/words"
)

// Options of Compute; the zero value means the defaults.
type Options struct {
	// SLOU is the division of the same run with the same reading of inputs, at member 0.
	SLOU *slou.Result
	// Patterns is what was found of the run's regions, where the caller has it, as in slou.Options.
	Patterns *pattern.Result
	Rule     slou.Rule // as slou.Options.Rule
	// Within, unless nil, is the part of the run whose time counts; in each process. Chains may lead out of it.
	Within *slou.Interval
	// Depth is how many code fragments behind one another the tree of S has; 0 means 8.
	Depth int
	// Waits is how many single waits and how many single DFs are named; 0 means 20, less than 0 none.
	Waits int
	// Overhead is the share of a CF's time, useful time and overhead, that may be overhead before the CF
	// counts as too small; 0 means 0.1.
	Overhead float64
}

// Result is who is to blame. All times are nanoseconds, times of day since the start of the run; sizes are
// bytes. What needs events that were not recorded is nil, and Missing names these, as in slou.Result.
type Result struct {
	S       *Starved       `json:"S"`
	L       *Latency       `json:"L"`
	O       *Overheads     `json:"O"`
	Waits   []Wait         `json:"waits"` // the longest first; null where S, L or O is
	Missing []slou.Missing `json:"missing"`
}

// Place is a code fragment and where it stands.
type Place struct {
	Code string `json:"code"`
	File string `json:"file"` // "" where not known
	Line int    `json:"line"`
}

// Compute tells who is to blame in a run. All members of g call it with the same options, but for
// Options.SLOU, each with its model from model.BuildShare; procs.Alone has the whole model. Member 0 gets the
// result, the others nil. It fails when ctx ends, or when the parts do not add up, which is an error of this
// program; and at all members when it fails at one before member 0 puts the result together.
func Compute(ctx context.Context, m *model.Model, opt Options, g procs.Group) (*Result, error) {
	opt.Depth, opt.Waits, opt.Overhead = cmp.Or(opt.Depth, 8), cmp.Or(opt.Waits, 20), cmp.Or(opt.Overhead, 0.1)
	b := &blamer{m: m, g: g, opt: opt, many: int64(max(m.Workers(), 1)), within: opt.Within.Of(m)}
	b.scratch = m.Scratch()
	defer b.scratch.Close()
	if err := b.divide(ctx); err != nil {
		return nil, err
	}
	b.look = slou.NewLookup(m, opt.Rule)
	workers, err := b.visit(ctx)
	if err := procs.Agree(g, err); err != nil {
		return nil, err
	}
	all, err := b.sum(workers)
	if err != nil {
		return nil, err
	}
	costs, err := b.costs()
	if err != nil || all == nil {
		return nil, err
	}
	f := &b.opt.SLOU.Factors
	res := &Result{Missing: b.opt.SLOU.Missing}
	if b.has.S {
		if res.S, err = starved(all.Tree, f.S.NS); err != nil {
			return nil, err
		}
	}
	if b.has.L {
		if res.L, err = all.latency(f.L.NS, costs); err != nil {
			return nil, err
		}
	}
	if b.has.O && b.has.U {
		res.O = b.overheads(all.Codes, b.opt.SLOU.ExtraCoresNS)
	}
	if b.has.S && b.has.L && b.has.O {
		res.Waits = all.waits()
	}
	return res, ctx.Err()
}

// divide tells all processes which factors are known, and gets the pieces of the own nodes' workers.
func (b *blamer) divide(ctx context.Context) (err error) {
	if d := b.opt.SLOU; d != nil {
		f := &d.Factors
		b.has = factors{f.U != nil, f.S != nil, f.L != nil, f.O != nil}
	}
	if b.has, err = procs.FromMember(b.g, 0, b.has); err != nil {
		return err
	}
	if err = b.keepPieces(ctx, b.scratch); err != nil {
		return err
	}
	b.own[0], b.own[1] = b.m.OwnExecutions()
	n, err := procs.Sum(b.g, []int64{int64(b.own[1] - b.own[0])})
	if err == nil {
		b.executions = n[0]
	}
	return err
}

func placeOf(m *model.Model, code int) Place {
	c := &m.Codes[code]
	return Place{Code: c.Name, File: c.File, Line: c.Line}
}

// at gives a time since the start of the run.
func (b *blamer) at(t int64) int64 { return t - b.m.Start }

// check says that parts do not add up.
func check(what string, got, want int64) error {
	if got != want {
		return fmt.Errorf("internal error: what is said of %s adds up to %d ns, not %d", what, got, want)
	}
	return nil
}

// moment is a time of day in a run, written with enough digits to tell it from a time some of it later.
type moment struct{ ns, some int64 }

// In writes it in a language.
func (t moment) In(l words.Lang) string {
	unit, name := int64(1), 0
	for name < len(words.TimeUnits[l])-1 && t.ns >= 1000*unit {
		unit, name = unit*1000, name+1
	}
	digits := 0
	for step := unit; step > 1 && step > t.some/100; step /= 10 {
		digits++
	}
	s := fmt.Sprintf("%.*f %s", min(digits, 9), float64(t.ns)/float64(unit), words.TimeUnits[l][name])
	if l == words.Russian {
		s = strings.Replace(s, ".", ",", 1)
	}
	return s
}

// top keeps the n largest of what is added.
type top[T any] struct {
	n    int
	list []T
	cmp  func(a, b *T) int // less than 0: a comes first
}

func (t *top[T]) add(v T) {
	if t.n <= 0 || len(t.list) == t.n && t.cmp(&v, &t.list[t.n-1]) >= 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(t.list, v, func(a, b T) int { return t.cmp(&a, &b) })
	t.list = slices.Insert(t.list, i, v)
	t.list = t.list[:min(len(t.list), t.n)]
}
