package pattern

import (
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// pattern is a way in which time is lost.
type pattern struct {
	id      string // words.Metrics has its name
	number  int    // in docs/pgas-patterns.md, 1 to 20; 0: none of these
	parent  string // the metric it is a part of, "" of readings
	reading string // the metric it is another definition of

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
	{id: "wait-at-barrier", number: 2, parent: "barrier",
		when: isBarrier, lost: untilLast},
	{id: "barrier-completion", number: 3, parent: "barrier",
		when: func(in *instance) bool { return isBarrier(in) && !in.nonBlocking },
		lost: afterFirst, atEnd: true},
	{id: "lock-contention", number: 1, parent: "lock",
		acquired: func(a *acquisition) (from, to int64) { return a.asked, a.released }},
	{id: "wait-at-alloc", number: 12, parent: "memory"},
	{id: "alloc-root-late", number: 12, parent: "wait-at-alloc",
		when: isAlloc,
		lost: func(in *instance, k int) (from, to int64, late int) { return in.entered[k], in.entered[0], 0 }},
	{id: "alloc-other-late", number: 12, parent: "wait-at-alloc",
		when: isAlloc,
		lost: func(in *instance, k int) (from, to int64, late int) {
			return max(in.entered[k], in.entered[0]), in.lastEnter(), in.last
		}},
	{id: "late-broadcast", number: 4, parent: "collective",
		when: func(in *instance) bool { return in.oneToAll() && in.waitsForData() && in.root >= 0 },
		lost: func(in *instance, k int) (from, to int64, late int) {
			return in.entered[k], in.entered[in.root], in.root
		}},
	{id: "early-reduce", number: 5, parent: "collective",
		when: func(in *instance) bool { return in.allToOne() && in.waitsForData() && in.root >= 0 },
		lost: func(in *instance, k int) (from, to int64, late int) {
			first, who, ok := in.firstSender()
			if k != in.root || !ok {
				return 0, 0, -1
			}
			return in.entered[k], first, who
		}},
	{id: "early-prefix", number: 10, parent: "collective",
		when: func(in *instance) bool { return in.prefixes() && in.waitsForData() },
		lost: func(in *instance, k int) (from, to int64, late int) {
			at, who := in.prefixEnter(k)
			return in.entered[k], at, who
		}},
	{id: "wait-at-nxn", number: 6, parent: "collective",
		when: func(in *instance) bool {
			return in.allToAll() && in.waitsForData() && (in.kind != model.CollectivePermute || in.waitsForAll())
		},
		lost: untilLast},
	{id: "nxn-completion", number: 7, parent: "collective",
		when: func(in *instance) bool { return in.allToAll() && in.sync.Out != model.SyncNo && !in.nonBlocking },
		lost: afterFirst, atEnd: true},
	{id: "sync-on-entry", number: 8, parent: "collective",
		when:    func(in *instance) bool { return in.waitsForAll() && in.hasRoot() },
		lost:    onEntry,
		allSync: true},
	{id: "sync-on-exit", number: 9, parent: "collective",
		when: waitsOnExit, lost: afterFirst, atEnd: true},
	{id: "wait-inside", number: 11, parent: "collective",
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
	{id: "wait-for-progress", number: 16, parent: "collective",
		when: func(in *instance) bool { return in.nonBlocking && !isBarrier(in) }, lost: untilProgress},
	{id: "wait-at-neighbours", number: 20, parent: "collective"}, // windows.go finds it
	{id: "late-sender", number: 13, parent: "message"},           // messages.go finds these three
	{id: "wrong-order", number: 14, parent: "late-sender"},
	{id: "late-receiver", number: 15, parent: "message"},
	{id: "late-post", number: 17, parent: "completion"}, // windows.go finds these three
	{id: "early-wait", number: 18, parent: "completion"},
	{id: "late-complete", number: 19, parent: "early-wait"},
	{id: "wait-at-start-end", parent: "runtime",
		when: func(in *instance) bool {
			return in.kind == model.CollectiveStart || in.kind == model.CollectiveFinish
		},
		lost: untilLast},

	{id: "barrier-completion-first", number: 3,
		reading: "barrier-completion",
		when:    func(in *instance) bool { return isBarrier(in) && !in.nonBlocking },
		lost: func(in *instance, k int) (from, to int64, late int) {
			return slices.Min(in.left), in.left[k], -1
		}},
	{id: "sync-on-exit-duration", number: 9,
		reading:     "sync-on-exit",
		when:        waitsOnExit,
		lost:        func(in *instance, k int) (from, to int64, late int) { return in.lastEnter(), in.left[k], -1 },
		beyondUsual: true},
	{id: "wait-inside-all", number: 11, reading: "wait-inside",
		when: func(in *instance) bool { return in.sync.In == model.SyncMy && (in.hasRoot() || in.allToAll()) },
		lost: forData},
	{id: "wait-inside-residual", number: 11,
		reading:     "wait-inside",
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

// branch is a metric that is no pattern.
type branch struct {
	id, parent string
	unit       Unit
}

var branches = []branch{
	{"time", "", NS},
	{"program", "time", NS},
	{"synchronisation", "time", NS},
	{"collective-sync", "synchronisation", NS},
	{"barrier", "collective-sync", NS},
	{"lock", "synchronisation", NS},
	{"memory", "synchronisation", NS},
	{"completion", "synchronisation", NS},
	{"await", "synchronisation", NS},
	{"communication", "time", NS},
	{"collective", "communication", NS},
	{"point-to-point", "communication", NS},
	{"bulk", "point-to-point", NS},
	{"access", "point-to-point", NS},
	{"remote-atomic", "point-to-point", NS},
	{"message", "point-to-point", NS},
	{"io", "time", NS},
	{"sleep", "time", NS},
	{"runtime", "time", NS},
	{"visits", "", Occ},
	{"bytes-sent", "", Bytes},
	{"bytes-received", "", Bytes},
	{"overload", "", NS},
	{"single-participant", "overload", NS},
	{"underload", "", NS},
	{"non-participation", "underload", NS},
}

// classes are the metrics, of branches, that time belongs to by the operation it was spent in.
var classOfKind = map[trace.CodeKind]string{
	trace.Barrier: "barrier", trace.Collective: "collective", trace.Lock: "lock", trace.Memory: "memory",
	trace.Bulk: "bulk", trace.Access: "access",
	trace.RemoteAtomic: "remote-atomic", trace.Completion: "completion", trace.Await: "await",
	trace.Runtime: "runtime", trace.Message: "message", trace.IO: "io",
}

// classOfCollective is the class of a region that is known to be a collective, whatever kind of region it is
// said to be; "" for "collective".
var classOfCollective = map[model.CollectiveKind]string{
	model.CollectiveBarrier: "barrier", model.CollectiveNotify: "barrier", model.CollectiveWait: "barrier",
	model.CollectiveAlloc: "memory", model.CollectiveFree: "memory",
	model.CollectiveStart: "runtime", model.CollectiveFinish: "runtime",
}

// forest is the metrics of a search.
type forest struct {
	metrics []Metric
	index   map[string]int
	pattern []int // by pattern: its metric
	program int   // the metric of that name
	// up are, by metric, itself and those above that grow with it: of a class all, of a pattern those that
	// are patterns.
	up    [][]int
	class []bool // by metric: it is a branch
}

func newForest() *forest {
	f := &forest{index: map[string]int{}}
	add := func(m Metric, parent string, all bool) {
		m.Parent = -1
		up := []int{len(f.metrics)}
		if parent != "" {
			m.Parent = f.index[parent]
			if all || !f.class[m.Parent] {
				up = append(up, f.up[m.Parent]...)
			}
		}
		f.index[m.ID] = len(f.metrics)
		f.metrics, f.up, f.class = append(f.metrics, m), append(f.up, up), append(f.class, all)
	}
	var place func(parent string, reading bool)
	place = func(parent string, reading bool) {
		for _, p := range patterns {
			if p.parent == parent && (p.reading != "") == reading {
				add(Metric{ID: p.id, Unit: NS, Pattern: p.number, Reading: p.reading}, parent, false)
				place(p.id, reading)
			}
		}
	}
	for _, b := range branches {
		add(Metric{ID: b.id, Unit: b.unit}, b.parent, true)
		place(b.id, false)
	}
	place("", true)
	for _, p := range patterns {
		f.pattern = append(f.pattern, f.index[p.id])
	}
	f.program = f.index["program"]
	return f
}
