package pattern

import "github.com/whyslow/whyslow/internal/model"

func waitsOnExit(in *instance) bool {
	return in.sync.Out == model.SyncAll && (in.oneToAll() || in.allToOne() || in.prefixes())
}

var syncOnExit = pattern{
	id: "sync-on-exit", name: "Synchronisation on exit", number: 9, parent: "collective",
	doc: "Time in a broadcast, scatter, gather, reduce or reduction of prefixes with OUT_ALLSYNC after all " +
		"had entered it and the first " +
		"one had left.",
	when: waitsOnExit,
	lost: func(in *instance, k int) (from, to int64, late int) { return in.firstLeave(), in.left[k], -1 },
}

var syncOnExitDuration = pattern{
	id: "sync-on-exit-duration", name: "Synchronisation on exit beyond the usual duration", number: 9,
	reading: "sync-on-exit",
	doc: "Time in such an operation after all had entered it, beyond the least that any thread ever needed " +
		"from there at the same call path with " +
		"as many bytes.",
	when: waitsOnExit,
	lost: func(in *instance, k int) (from, to int64, late int) {
		return in.lastEnter(), in.left[k],
			-1
	},
	beyondUsual: true,
}
