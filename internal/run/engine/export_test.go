package engine

import (
	"fmt"
	"time"

	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/prof"
)

// KnownDFs is how many DFs the describer of a run still knows, on all nodes.
func KnownDFs(d prof.Describer) int {
	n := 0
	for _, t := range d.(*describer).known {
		if t == nil {
			continue
		}
		for i := range t.shards {
			n += len(t.shards[i].known)
		}
	}
	return n
}

// MostKept is how many given up numbers the tables of a node may keep.
const MostKept = len(identities{}.shards) * retiredLength

// ArgumentRows are the rows of docs/rules.md on arguments.
func ArgumentRows() (rows []string) {
	for _, x := range arguments {
		rows = append(rows, fmt.Sprintf("| `%s` | `%s` | %v | %s |", x.name, x.field, x.typ, x.doc))
	}
	return rows
}

// BuiltInRows are the beginnings of the rows on standard events.
func BuiltInRows() (rows []string) {
	for k, b := range builtIn {
		rows = append(rows, fmt.Sprintf("| `%v` | `%s` |", k, config.Rule{Before: b.before, Point: b.point}))
	}
	return rows
}

// HurryRests lets processes that are passive say so at once, however often, and returns what puts that right.
func HurryRests() (undo func()) {
	old := rests
	rests.often, rests.oftenEach = 0, 0
	return func() { rests = old }
}

// Unhurried lets interrupted processes wait for what takes longer on a busy machine, and returns what puts
// that right.
func Unhurried() (undo func()) {
	workers, meeting, network := interruptGrace, meetGrace, closeGrace
	interruptGrace, meetGrace, closeGrace = time.Minute, time.Minute, time.Minute
	return func() { interruptGrace, meetGrace, closeGrace = workers, meeting, network }
}

// Attentive makes node 0 wait long for what the others say after an interrupt, until undo is called.
func Attentive() (undo func()) {
	left := leftGrace
	leftGrace = time.Minute
	return func() { leftGrace = left }
}

// KeepAll has CFs that were moved keep all their outputs, however small, until undo is called.
func KeepAll() (undo func()) {
	from := keepFrom
	keepFrom = 0
	return func() { keepFrom = from }
}
