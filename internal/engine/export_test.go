package engine

import "github.com/whyslow/whyslow/prof"

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
