package critical

import (
	"context"

	"github.com/whyslow/whyslow/internal/model"
)

// How much longer all CFs of a code fragment could take at once.
//
// If each of them takes d longer, an execution starts late by what the latest of its holds is late beyond its
// play; a chain with k of them that passes p of play on the way and ends with r of room moves the end if k d
// > p + r. The greatest d that no chain forbids is found from above: a pass with a d that is too great meets
// chains that forbid it, and the least of the d they allow, (p + r) / k rounded down, is tried next. Each try
// allows what the one before did not, so the first that moves nothing is the answer (Dinkelbach's method for
// least ratios). Two or three tries are usual.

// together is a search for one code fragment after the other.
type together struct {
	*graph
	late  []int64  // by execution: how late it ends
	count []uint32 // how many of the code fragment's executions made it so late
}

// triesOf bounds the work: this many edges are looked at in all. It is enough for any number of code
// fragments of small runs and some dozens of runs with ten million events.
const triesOf = 100_000_000

// all gives the greatest d for a code fragment, starting from one that is not too small; false if budget ran
// out.
func (t *together) all(ctx context.Context, code int, d, end int64, budget *int) (int64, bool) {
	if t.late == nil {
		t.late, t.count = make([]int64, len(t.useful)), make([]uint32, len(t.useful))
	}
	for d > 0 {
		if *budget <= 0 || ctx.Err() != nil {
			return 0, false
		}
		allowed := t.try(code, d, end, budget)
		if allowed >= d {
			break
		}
		d = allowed
	}
	return d, true
}

// try finds out what d the chains allow that d moves the end along; d if there are none.
func (t *together) try(code int, d, end int64, budget *int) int64 {
	allowed := d
	for _, e := range t.order {
		late, count := int64(0), uint32(0)
		s, i, k := t.of(e)
		*budget -= int(k-i) + 1
		for ; i < k; i++ {
			from := s.From[i] &^ workerBit
			if l := t.late[from] - s.Play[i]; l > late {
				late, count = l, t.count[from]
			}
		}
		if int(t.code[e]) == code && t.end[e] != model.None {
			late += d
			count++
		}
		t.late[e], t.count[e] = late, count
		if room := t.room(e, end); late > room {
			// late = count d - play passed
			allowed = min(allowed, (int64(count)*d-late+room)/int64(count))
		}
	}
	return allowed
}
