package pattern

var barrierCompletion = pattern{
	id: "barrier-completion", name: "Barrier completion", number: 3, parent: "barrier",
	doc:  "Time in a barrier after all had entered it and the first one had left.",
	when: isBarrier,
	lost: func(in *instance, k int) (from, to int64, late int) { return in.firstLeave(), in.left[k], -1 },
}

var barrierCompletionFirst = pattern{
	id: "barrier-completion-first", name: "Barrier completion from the first exit", number: 3,
	reading: "barrier-completion",
	doc:     "Time in a barrier after the first one had left, whether or not all had entered it by the clocks.",
	when:    isBarrier,
	lost:    func(in *instance, k int) (from, to int64, late int) { return minOf(in.left), in.left[k], -1 },
}
