package pattern

var lateBroadcast = pattern{
	id: "late-broadcast", name: "Late broadcast", number: 4, parent: "collective",
	doc:  "Time in a broadcast or scatter before the root entered it.",
	when: func(in *instance) bool { return in.oneToAll() && in.waitsForData() && in.root >= 0 },
	lost: func(in *instance, k int) (from, to int64, late int) {
		return in.entered[k], in.entered[in.root], in.root
	},
}
