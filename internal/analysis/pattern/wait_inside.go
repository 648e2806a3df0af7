package pattern

import "github.com/whyslow/whyslow/internal/model"

var waitInside = pattern{
	id: "wait-inside", name: "Wait inside collective", number: 11, parent: "collective",
	doc: "Time in an operation without IN_ALLSYNC in which a thread waits for those whose data it needs, " +
		"beyond late broadcast, early reduce and early " +
		"prefix reduce: the root of a gather or reduce after the first of the others entered it and before the " +
		"last one; a thread of a permutation before the one entered it that it gets " +
		"its data from.",
	when: func(in *instance) bool {
		return in.waitsForData() && !in.waitsForAll() && (in.allToOne() || in.kind == model.CollectivePermute)
	},
	lost: func(in *instance, k int) (from, to int64, late int) {
		if in.kind == model.CollectivePermute {
			if p := in.partner(k); p >= 0 {
				return in.entered[k], in.entered[p], p
			}
			return 0, 0, -1
		}
		first, _, ok := in.firstSender()
		if k != in.root || !ok {
			return 0, 0, -1
		}
		return max(in.entered[k], first), in.lastEnter(), in.last
	},
}

var waitInsideAll = pattern{
	id: "wait-inside-all", name: "All waits for data", number: 11, reading: "wait-inside",
	doc: "Time in an operation with IN_MYSYNC before the last of those entered it whose data the thread " +
		"needs, whichever other pattern claims it.",
	when: func(in *instance) bool {
		return in.sync.In == model.SyncMy && (in.oneToAll() || in.allToOne() || in.allToAll() ||
			in.prefixes())
	},
	lost: func(in *instance, k int) (from, to int64, late int) {
		from, to = in.entered[k], in.lastEnter()
		switch {
		case in.kind == model.CollectivePermute:
			if p := in.partner(k); p >= 0 {
				return from, in.entered[p], p
			}
			return 0, 0, -1
		case in.prefixes():
			to, _ = in.prefixEnter(k)
		case in.oneToAll() && in.root >= 0:
			to = in.entered[in.root]
		case in.oneToAll(), in.allToOne() && k != in.root:
			return 0, 0, -1
		}
		return from, to, -1
	},
}

var waitInsideResidual = pattern{
	id: "wait-inside-residual", name: "Unexplained time inside collectives", number: 11,
	reading: "wait-inside",
	doc: "Time in an operation that no pattern explains, beyond the least that any thread ever needed at the " +
		"same call path with as many bytes: waits " +
		"at barriers within the operation, and what else delays it.",
	when: func(in *instance) bool {
		return in.oneToAll() || in.allToOne() || in.allToAll() || in.prefixes()
	},
	beyondUsual: true,
	rest:        true,
}
