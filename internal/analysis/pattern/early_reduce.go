package pattern

var earlyReduce = pattern{
	id: "early-reduce", name: "Early reduce", number: 5, parent: "collective",
	doc:  "Time of the root in a gather or reduce before the first of the others entered it.",
	when: func(in *instance) bool { return in.allToOne() && in.waitsForData() && in.root >= 0 },
	lost: func(in *instance, k int) (from, to int64, late int) {
		first, who, ok := in.firstSender()
		if k != in.root || !ok {
			return 0, 0, -1
		}
		return in.entered[k], first, who
	},
}
