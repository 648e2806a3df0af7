package pattern

import (
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// pattern is a way in which time is lost.
type pattern struct {
	id, name string
	number   int    // in docs/pgas.md, 1 to 12; 0: none of these
	parent   string // the metric it is a part of, "" of readings
	reading  string // the metric it is another definition of
	doc      string

	// Of patterns in collectives: when tells which instances it looks at, and lost which stretch of a member's
	// time in one is lost, and for which member it waited (-1: for nobody in particular). The stretch may be
	// empty (to <= from), and is clipped to the operation.
	when func(in *instance) bool
	lost func(in *instance, member int) (from, to int64, late int)
	// Of patterns in acquisitions of locks: the stretch that is lost, of the time before the thread had the
	// lock.
	acquired func(a *acquisition) (from, to int64)
	// beyondUsual, of readings: only what is more than the least there ever was at the same call path with as
	// many bytes. With rest, the stretch is all that no pattern explains.
	beyondUsual, rest bool
	atEnd             bool // what is lost is lost at the end of the operation
	allSync           bool // what is lost is lost only because of IN_ALLSYNC
}

// patterns are all there are; parts of others follow them, and readings come last.
var patterns = []*pattern{
	{id: "wait-at-barrier", name: "Wait at barrier", number: 2, parent: "barrier",
		doc: "Time in a barrier before the last thread entered it. Of a barrier of two phases, time in the " +
			"second one before the last thread entered the first: what a thread does between the phases is not lost.",
		when: isBarrier, lost: untilLast},
	{id: "barrier-completion", name: "Barrier completion", number: 3, parent: "barrier",
		doc:  "Time in a barrier after all had entered it and the first one had left.",
		when: isBarrier, lost: afterFirst, atEnd: true},
	{id: "lock-contention", name: "Lock contention", number: 1, parent: "lock",
		doc:      "Time from when a thread asked for a lock to when the one that had it began to release it.",
		acquired: func(a *acquisition) (from, to int64) { return a.asked, a.released }},
	{id: "wait-at-alloc", name: "Wait at alloc", number: 12, parent: "memory",
		doc: "Time in a collective operation on shared memory or locks before the last thread entered it."},
	{id: "alloc-root-late", name: "First thread late", number: 12, parent: "wait-at-alloc",
		doc: "The part of it before the first thread of the group entered it, which does the work and tells the " +
			"others.",
		when: isAlloc,
		lost: func(in *instance, k int) (from, to int64, late int) { return in.entered[k], in.entered[0], 0 }},
	{id: "alloc-other-late", name: "Other thread late", number: 12, parent: "wait-at-alloc",
		doc: "The part of it after that: run-time systems keep all threads in a barrier there, so that any late " +
			"one holds up the rest.",
		when: isAlloc,
		lost: func(in *instance, k int) (from, to int64, late int) {
			return max(in.entered[k], in.entered[0]), in.lastEnter(), in.last
		}},
	{id: "late-broadcast", name: "Late broadcast", number: 4, parent: "collective",
		doc:  "Time in a broadcast or scatter before the root entered it.",
		when: func(in *instance) bool { return in.oneToAll() && in.waitsForData() && in.root >= 0 },
		lost: func(in *instance, k int) (from, to int64, late int) {
			return in.entered[k], in.entered[in.root], in.root
		}},
	{id: "early-reduce", name: "Early reduce", number: 5, parent: "collective",
		doc:  "Time of the root in a gather or reduce before the first of the others entered it.",
		when: func(in *instance) bool { return in.allToOne() && in.waitsForData() && in.root >= 0 },
		lost: func(in *instance, k int) (from, to int64, late int) {
			first, who, ok := in.firstSender()
			if k != in.root || !ok {
				return 0, 0, -1
			}
			return in.entered[k], first, who
		}},
	{id: "early-prefix", name: "Early prefix reduce", number: 10, parent: "collective",
		doc: "Time in a reduction of prefixes before the last of those entered it whose values the thread's " +
			"result depends on: the threads before it, from the one with the first element on; all, where the array " +
			"goes around several times.",
		when: func(in *instance) bool { return in.prefixes() && in.waitsForData() },
		lost: func(in *instance, k int) (from, to int64, late int) {
			at, who := in.prefixEnter(k)
			return in.entered[k], at, who
		}},
	{id: "wait-at-nxn", name: "Wait at N x N", number: 6, parent: "collective",
		doc: "Time in an operation in which all get data from all before the last thread entered it. A " +
			"permutation is one only with IN_ALLSYNC.",
		when: func(in *instance) bool {
			return in.allToAll() && in.waitsForData() && (in.kind != model.CollectivePermute || in.waitsForAll())
		},
		lost: untilLast},
	{id: "nxn-completion", name: "N x N completion", number: 7, parent: "collective",
		doc: "Time in an operation in which all get data from all after all had entered it and the first one had " +
			"left.",
		when: func(in *instance) bool { return in.allToAll() && in.sync.Out != model.SyncNo },
		lost: afterFirst, atEnd: true},
	{id: "sync-on-entry", name: "Synchronisation on entry", number: 8, parent: "collective",
		doc: "Time in a broadcast, scatter, gather, reduce or reduction of prefixes with IN_ALLSYNC before the " +
			"last thread entered it, without what a thread would have waited for its data anyway (late broadcast, " +
			"early reduce, early prefix reduce): what IN_MYSYNC would save.",
		when:    func(in *instance) bool { return in.waitsForAll() && in.hasRoot() },
		lost:    onEntry,
		allSync: true},
	{id: "sync-on-exit", name: "Synchronisation on exit", number: 9, parent: "collective",
		doc: "Time in a broadcast, scatter, gather, reduce or reduction of prefixes with OUT_ALLSYNC after all " +
			"had entered it and the first one had left.",
		when: waitsOnExit, lost: afterFirst, atEnd: true},
	{id: "wait-inside", name: "Wait inside collective", number: 11, parent: "collective",
		doc: "Time in an operation without IN_ALLSYNC in which a thread waits for those whose data it needs, " +
			"beyond late broadcast, early reduce and early prefix reduce: the root of a gather or reduce after the " +
			"first of the others entered it and before the last one; a thread of a permutation before the one " +
			"entered it that it gets its data from.",
		when: func(in *instance) bool {
			return in.waitsForData() && !in.waitsForAll() && (in.allToOne() || in.kind == model.CollectivePermute)
		},
		lost: func(in *instance, k int) (from, to int64, late int) {
			if in.kind == model.CollectivePermute {
				return untilPartner(in, k)
			}
			first, _, ok := in.firstSender()
			if k != in.root || !ok {
				return 0, 0, -1
			}
			return max(in.entered[k], first), in.lastEnter(), in.last
		}},
	{id: "wait-at-start-end", name: "Wait at start or end", parent: "runtime",
		doc: "Time in the start or the end of the run-time system before the last thread entered it.",
		when: func(in *instance) bool {
			return in.kind == model.CollectiveStart || in.kind == model.CollectiveFinish
		},
		lost: untilLast},

	{id: "barrier-completion-first", name: "Barrier completion from the first exit", number: 3,
		reading: "barrier-completion",
		doc:     "Time in a barrier after the first one had left, whether or not all had entered it by the clocks.",
		when:    isBarrier,
		lost: func(in *instance, k int) (from, to int64, late int) {
			return slices.Min(in.left), in.left[k], -1
		}},
	{id: "sync-on-exit-duration", name: "Synchronisation on exit beyond the usual duration", number: 9,
		reading: "sync-on-exit",
		doc: "Time in such an operation after all had entered it, beyond the least that any thread ever needed " +
			"from there at the same call path with as many bytes.",
		when:        waitsOnExit,
		lost:        func(in *instance, k int) (from, to int64, late int) { return in.lastEnter(), in.left[k], -1 },
		beyondUsual: true},
	{id: "wait-inside-all", name: "All waits for data", number: 11, reading: "wait-inside",
		doc: "Time in an operation with IN_MYSYNC before the last of those entered it whose data the thread " +
			"needs, whichever other pattern claims it.",
		when: func(in *instance) bool { return in.sync.In == model.SyncMy && (in.hasRoot() || in.allToAll()) },
		lost: forData},
	{id: "wait-inside-residual", name: "Unexplained time inside collectives", number: 11,
		reading: "wait-inside",
		doc: "Time in an operation that no pattern explains, beyond the least that any thread ever needed at the " +
			"same call path with as many bytes: waits at barriers within the operation, and what else delays it.",
		when:        func(in *instance) bool { return in.hasRoot() || in.allToAll() },
		beyondUsual: true, rest: true},
}

func isBarrier(in *instance) bool { return in.kind == model.CollectiveBarrier }

func isAlloc(in *instance) bool {
	return in.kind == model.CollectiveAlloc || in.kind == model.CollectiveFree
}

func waitsOnExit(in *instance) bool { return in.sync.Out == model.SyncAll && in.hasRoot() }

// untilLast: a member waits until the last one enters.
func untilLast(in *instance, k int) (from, to int64, late int) {
	return in.entered[k], in.lastEnter(), in.last
}

// afterFirst: a member stays after the first one has left.
func afterFirst(in *instance, k int) (from, to int64, late int) {
	return in.firstLeave(), in.left[k], -1
}

// untilPartner: a member of a permutation waits for the one that it gets its data from.
func untilPartner(in *instance, k int) (from, to int64, late int) {
	p := in.partner(k)
	if p < 0 {
		return 0, 0, -1
	}
	return in.entered[k], in.entered[p], p
}

// onEntry: a member waits for the last one though it does not need its data.
func onEntry(in *instance, k int) (from, to int64, late int) {
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
}

// forData: a member waits for all whose data it needs.
func forData(in *instance, k int) (from, to int64, late int) {
	to = in.lastEnter()
	switch {
	case in.kind == model.CollectivePermute:
		return untilPartner(in, k)
	case in.prefixes():
		to, _ = in.prefixEnter(k)
	case in.oneToAll() && in.root >= 0:
		to = in.entered[in.root]
	case in.oneToAll(), in.allToOne() && k != in.root:
		return 0, 0, -1
	}
	return in.entered[k], to, -1
}
