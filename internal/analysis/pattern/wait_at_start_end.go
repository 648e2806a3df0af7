package pattern

import "github.com/whyslow/whyslow/internal/model"

var waitAtStartEnd = pattern{
	id: "wait-at-start-end", name: "Wait at start or end", parent: "runtime",
	doc: "Time in the start or the end of the run-time system before the last thread entered it.",
	when: func(in *instance) bool {
		return in.kind == model.CollectiveStart || in.kind == model.CollectiveFinish
	},
	lost: func(in *instance, k int) (from, to int64, late int) {
		return in.entered[k], in.lastEnter(),
			in.last
	},
}
