package engine

import (
	"fmt"

	"github.com/whyslow/whyslow/prof"
)

// KnownDFs is how many DFs the describer of a run still knows, on all nodes.
func KnownDFs(d prof.Describer) int {
	n := 0
	for _, t := range d.(*describer).known {
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
		rows = append(rows, fmt.Sprintf("| `%v` | `%s` |", k, (&Rule{Before: b.before, Point: b.point}).text()))
	}
	return rows
}

func (r *Rule) text() string {
	if r.Before {
		return "before " + r.Point
	}
	return "after " + r.Point
}
