package pattern

var lockContention = pattern{
	id: "lock-contention", name: "Lock contention", number: 1, parent: "lock",
	doc:      "Time from when a thread asked for a lock to when the one that had it began to release it.",
	acquired: func(a *acquisition) (from, to int64) { return a.asked, a.released },
}
