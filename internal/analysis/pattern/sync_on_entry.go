package pattern

var syncOnEntry = pattern{
	id: "sync-on-entry", name: "Synchronisation on entry", number: 8, parent: "collective",
	doc: "Time in a broadcast, scatter, gather, reduce or reduction of prefixes with IN_ALLSYNC before the " +
		"last thread entered it, without what a thread " +
		"would have waited for its data anyway (late broadcast, early reduce, early prefix reduce): what " +
		"IN_MYSYNC would save.",
	when: func(in *instance) bool {
		return in.waitsForAll() && (in.oneToAll() || in.allToOne() || in.prefixes())
	},
	lost: func(in *instance, k int) (from, to int64, late int) {
		from = in.entered[k]
		switch {
		case in.prefixes():
			from, _ = in.prefixEnter(k)
		case in.oneToAll() && in.root >= 0:
			from = max(from, in.entered[in.root])
		case in.allToOne() && k == in.root:
			if first, _, ok := in.firstSender(); ok {
				from = max(from, first)
			}
		}
		return from, in.lastEnter(), in.last
	},
}
