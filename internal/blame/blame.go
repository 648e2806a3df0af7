// Package blame tells who is to blame for lost time: what the producers that workers starved for were doing meanwhile, which
// DFs and links cost how much latency, which code fragments have CFs too small for what each costs, and which single waits
// were the longest.
//
// It starts from the division of time of internal/slou and adds nothing to it and takes nothing away: what it says of S, of L
// and of O adds up to these.
package blame

import (
	"context"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/slou"
)

// Options of Compute; the zero value means the defaults.
type Options struct {
	// SLOU is the division of the same run with the same reading of inputs, and Pieces its pieces, where the caller has them.
	// nil: computed here.
	SLOU   *slou.Result
	Pieces []slou.WorkerPieces
	// DataInputsOnly leaves control inputs out, as slou.Options says.
	DataInputsOnly bool
	// Depth is how many code fragments behind one another the tree of S has; 0 means 8.
	Depth int
	// Waits is how many single waits and how many single DFs are named; 0 means 20, less than 0 none.
	Waits int
	// Overhead is the share of a CF's time, useful time and overhead, that may be overhead before the CF counts as too small;
	// 0 means 0.1.
	Overhead float64
	// Parallel is the number of goroutines; 0 means as many as there are cores.
	Parallel int
}

// Result is who is to blame. All times are nanoseconds, times of day since the start of the run; sizes are bytes. What the
// recorded events do not allow to tell is nil; Missing says which events are missing, as in slou.Result.
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

// Compute tells who is to blame. It fails when ctx ends, or when the parts do not add up, which is an error of this
// program.
func Compute(ctx context.Context, m *model.Model, opt Options) (*Result, error) {
	if opt.Depth <= 0 {
		opt.Depth = 8
	}
	if opt.Waits == 0 {
		opt.Waits = 20
	}
	if opt.Overhead <= 0 {
		opt.Overhead = 0.1
	}
	var err error
	s := slou.Options{DataInputsOnly: opt.DataInputsOnly, Parallel: opt.Parallel}
	if opt.SLOU == nil {
		if opt.SLOU, err = slou.Compute(ctx, m, s); err != nil {
			return nil, err
		}
	}
	if opt.Pieces == nil {
		s.MaxPieces = maxPieces
		if opt.Pieces, err = slou.Pieces(ctx, m, s); err != nil {
			return nil, err
		}
	}
	f := &opt.SLOU.Factors
	res := &Result{Missing: opt.SLOU.Missing}
	b := &blamer{m: m, opt: opt, look: slou.NewLookup(m, opt.DataInputsOnly)}
	if err := b.visit(ctx, f); err != nil {
		return nil, err
	}
	if f.S != nil {
		if res.S, err = b.starved(f.S.NS); err != nil {
			return nil, err
		}
	}
	if f.L != nil {
		if res.L, err = b.latency(ctx, f.L.NS); err != nil {
			return nil, err
		}
	}
	if f.O != nil && f.U != nil {
		res.O = b.overheads(opt.SLOU.ExtraCoresNS)
	}
	if f.S != nil && f.L != nil && f.O != nil {
		res.Waits = b.stories()
	}
	return res, ctx.Err()
}

func (b *blamer) place(code int) Place {
	c := &b.m.Codes[code]
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
	for _, u := range []string{"us", "ms", "s"} {
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
