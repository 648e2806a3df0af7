// Package blame tells who is to blame for lost time: what the producers that workers starved for were doing
// meanwhile, which DFs and links cost how much latency, which code fragments have CFs that are too small for
// their overhead, and which single waits were the longest.
//
// It starts from the division of time of package slou and changes nothing about it: what it says about S, L
// and O adds up to these.
package blame

import (
	"context"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
)

// Options of Compute; the zero value means the defaults.
type Options struct {
	// SLOU is the division of the same run with the same reading of inputs, and Pieces its pieces, where the
	// caller has them. nil: computed here.
	SLOU   *slou.Result
	Pieces []slou.WorkerPieces
	// Patterns is what was found of the run's regions, where the caller has it, as in slou.Options.
	Patterns *pattern.Result
	// DataInputsOnly leaves control inputs out, as slou.Options says.
	DataInputsOnly bool
	// Depth is how many code fragments behind one another the tree of S has; 0 means 8.
	Depth int
	// Waits is how many single waits and how many single DFs are named; 0 means 20, less than 0 none.
	Waits int
	// Overhead is the share of a CF's time, useful time and overhead, that may be overhead before the CF
	// counts as too small; 0 means 0.1.
	Overhead float64
	// Parallel is the number of goroutines; 0 means as many as there are cores.
	Parallel int
}

// Result is who is to blame. All times are nanoseconds, times of day since the start of the run; sizes are
// bytes. What the recorded events do not allow to tell is nil; Missing says which events are missing, as in
// slou.Result.
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

// maxPieces bounds the memory of what Compute has to keep of the division of time: 3.6 GB.
const maxPieces = 64 << 20

// Compute tells who is to blame in a run, which the members of g share: each has its model from
// model.BuildShare and calls Compute with the same options, except for Options.SLOU, which only member 0 has,
// and Options.Pieces, which are those of its own nodes. procs.Alone has the whole model from model.Build.
// Member 0 gets the result, the others nil.
//
// It fails when ctx ends, or when the parts do not add up, which is an error of this program. It fails at all
// members when it fails at one, except for what goes wrong last, where member 0 puts the result together.
func Compute(ctx context.Context, m *model.Model, opt Options, g procs.Group) (*Result, error) {
	if opt.Depth <= 0 {
		opt.Depth = 8
	}
	if opt.Waits == 0 {
		opt.Waits = 20
	}
	if opt.Overhead <= 0 {
		opt.Overhead = 0.1
	}
	b := &blamer{m: m, g: g, opt: opt}
	if err := b.divide(ctx); err != nil {
		return nil, err
	}
	b.look = slou.NewLookup(m, opt.DataInputsOnly)
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

// divide gets the division of time where the caller does not have it, and tells all processes what of it is
// known.
func (b *blamer) divide(ctx context.Context) (err error) {
	s := slou.Options{DataInputsOnly: b.opt.DataInputsOnly, Patterns: b.opt.Patterns,
		Parallel: b.opt.Parallel}
	var known struct {
		Divided bool
		Has     factors
	}
	tell := func() (err error) {
		if d := b.opt.SLOU; d != nil {
			known.Divided = true
			known.Has = factors{d.Factors.U != nil, d.Factors.S != nil, d.Factors.L != nil,
				d.Factors.O != nil}
		}
		known, err = procs.FromMember(b.g, 0, known)
		return err
	}
	if err := tell(); err != nil {
		return err
	}
	if !known.Divided {
		b.opt.SLOU, err = slou.Compute(ctx, b.m, s, b.g)
		if err := procs.Agree(b.g, err); err != nil {
			return err
		}
		if err := tell(); err != nil {
			return err
		}
	}
	b.has = known.Has
	if b.opt.Pieces == nil {
		s.MaxPieces = maxPieces
		if b.opt.Pieces, err = slou.Pieces(ctx, b.m, s, b.g); err != nil {
			return err
		}
	}
	b.own[0], b.own[1] = b.m.OwnExecutions()
	n, err := procs.Sum(b.g, []int64{int64(b.own[1] - b.own[0])})
	if err == nil {
		b.executions = n[0]
	}
	return err
}

func (b *blamer) place(code int) Place { return placeOf(b.m, code) }

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

// moment is a time of day in a run, with enough digits to tell it from a time some of it later.
func moment(ns, some int64) string {
	unit, name := int64(1), "ns"
	for _, u := range []string{"µs", "ms", "s"} {
		if ns < 1000*unit {
			break
		}
		unit, name = unit*1000, u
	}
	digits := 0
	for step := unit; step > 1 && step > some/100; step /= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f %s", min(digits, 9), float64(ns)/float64(unit), name)
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
