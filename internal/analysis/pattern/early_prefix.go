package pattern

var earlyPrefix = pattern{
	id: "early-prefix", name: "Early prefix reduce", number: 10, parent: "collective",
	doc: "Time in a reduction of prefixes before the last of those entered it whose values the thread's " +
		"result depends on: the threads before " +
		"it, from the one with the first element on; all, where the array goes around several times.",
	when: func(in *instance) bool { return in.prefixes() && in.waitsForData() },
	lost: func(in *instance, k int) (from, to int64, late int) {
		at, who := in.prefixEnter(k)
		return in.entered[k], at, who
	},
}
