package pattern

import "github.com/whyslow/whyslow/internal/model"

func isBarrier(in *instance) bool { return in.kind == model.CollectiveBarrier }

var waitAtBarrier = pattern{
	id: "wait-at-barrier", name: "Wait at barrier", number: 2, parent: "barrier",
	doc: "Time in a barrier before the last thread entered it. Of a barrier of two phases, time in the second " +
		"one before the last thread " +
		"entered the first: what a thread does between the phases is not lost.",
	when: isBarrier,
	lost: func(in *instance, k int) (from, to int64, late int) {
		return in.begun[k], in.lastEnter(),
			in.last
	},
}
