package pattern

import "github.com/whyslow/whyslow/internal/model"

var waitAtNxN = pattern{
	id: "wait-at-nxn", name: "Wait at N x N", number: 6, parent: "collective",
	doc: "Time in an operation in which all get data from all before the last thread entered it. A " +
		"permutation is one only with IN_ALLSYNC.",
	when: func(in *instance) bool {
		return in.allToAll() && in.waitsForData() && (in.kind != model.CollectivePermute || in.waitsForAll())
	},
	lost: func(in *instance, k int) (from, to int64, late int) {
		return in.entered[k], in.lastEnter(),
			in.last
	},
}
