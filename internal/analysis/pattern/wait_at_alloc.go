package pattern

import "github.com/whyslow/whyslow/internal/model"

func isAlloc(in *instance) bool {
	return in.kind == model.CollectiveAlloc || in.kind == model.CollectiveFree
}

var waitAtAlloc = pattern{
	id: "wait-at-alloc", name: "Wait at alloc", number: 12, parent: "memory",
	doc: "Time in a collective operation on shared memory or locks before the last thread entered it.",
}

var allocRootLate = pattern{
	id: "alloc-root-late", name: "First thread late", number: 12, parent: "wait-at-alloc",
	doc: "The part of it before the first thread of the group entered it, which does the work and tells the " +
		"others.",
	when: isAlloc,
	lost: func(in *instance, k int) (from, to int64, late int) { return in.entered[k], in.entered[0], 0 },
}

var allocOtherLate = pattern{
	id: "alloc-other-late", name: "Other thread late", number: 12, parent: "wait-at-alloc",
	doc: "The part of it after that: run-time systems keep all threads in a barrier there, so that any late " +
		"one holds up the rest.",
	when: isAlloc,
	lost: func(in *instance, k int) (from, to int64, late int) {
		return max(in.entered[k], in.entered[0]), in.lastEnter(), in.last
	},
}
