package order

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/whyslow/whyslow/internal/run/engine"
)

// Fuzz is a gate that runs one thing at a time, chosen at random: an execution that requests its inputs, or
// one that has them. So it finds programs whose results depend on the order, and the same seed gives the same
// order again, on any machine and with any number of messages, because it chooses only when nothing moves.
// What code fragments do to each other while they run at the same time it does not find.
type Fuzz struct {
	random  *rand.Rand
	workers int
	kept    []keptExecution // sorted
}

// keptExecution is one that waits to be chosen.
type keptExecution struct {
	key uint64
	x   *engine.Execution
}

func (a keptExecution) compare(b keptExecution) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.x.Point, b.x.Point), cmp.Compare(a.x.Node, b.x.Node),
		cmp.Compare(a.x.CF, b.x.CF))
}

// NewFuzz makes the order of a seed, for nodes of so many workers.
func NewFuzz(seed uint64, workers int) *Fuzz {
	return &Fuzz{random: rand.New(rand.NewPCG(seed, 0)), workers: workers}
}

// Begin implements engine.Gate.
func (f *Fuzz) Begin(*engine.Control) {}

// Pass implements engine.Gate.
func (f *Fuzz) Pass(x *engine.Execution) (bool, []*engine.Execution) {
	k := keptExecution{x.Key(), x}
	i, _ := slices.BinarySearchFunc(f.kept, k, keptExecution.compare)
	f.kept = slices.Insert(f.kept, i, k)
	return false, nil
}

// Started implements engine.Gate.
func (f *Fuzz) Started(*engine.Execution) {}

// Made implements engine.Gate.
func (f *Fuzz) Made(*engine.Execution) {}

// Done implements engine.Gate.
func (f *Fuzz) Done(*engine.Execution) []*engine.Execution { return nil }

// Quiet implements engine.Gate.
func (f *Fuzz) Quiet() ([]*engine.Execution, bool) {
	if len(f.kept) == 0 {
		return nil, false
	}
	i := f.random.IntN(len(f.kept))
	x := f.kept[i].x
	f.kept = slices.Delete(f.kept, i, i+1)
	x.Worker = f.random.IntN(f.workers)
	return []*engine.Execution{x}, false
}
