package pattern

import (
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// branch is a metric that is no pattern.
type branch struct {
	id, name, parent string
	unit             Unit
	doc              string
}

var branches = []branch{
	{"time", "Time", "", NS, "All time of the threads, from their first event to their last."},
	{"program", "Program", "time", NS,
		"Time in functions of the program, outside of operations of the run-time system."},
	{"synchronisation", "Synchronisation", "time", NS,
		"Time in operations whose purpose is that threads wait for each other."},
	{"barrier", "Barrier", "synchronisation", NS, "Time in barriers; of those of two phases, in both."},
	{"lock", "Lock", "synchronisation", NS,
		"Time in operations that ask for locks, try them, and give them back."},
	{"memory", "Memory management", "synchronisation", NS,
		"Time in operations that allocate and free shared memory and locks."},
	{"completion", "Completion", "synchronisation", NS,
		"Time in which a thread waits for its own transfers to be over, or for them to keep their order."},
	{"await", "Awaiting a value", "synchronisation", NS,
		"Time in which a thread waits for a value in its memory to be changed by another one."},
	{"communication", "Communication", "time", NS, "Time in operations that move data between threads."},
	{"collective", "Collective", "communication", NS,
		"Time in operations that move data between all threads of a group."},
	{"point-to-point", "Point to point", "communication", NS, "Time in one-sided transfers."},
	{"bulk", "Bulk", "point-to-point", NS, "Time in transfers of blocks of bytes."},
	{"access", "Single values", "point-to-point", NS, "Time in transfers of single values."},
	{"remote-atomic", "Atomics", "point-to-point", NS,
		"Time in operations that change a value of another thread at once."},
	{"runtime", "Run-time system", "time", NS,
		"Time in the start and the end of the run-time system and its other operations."},
	{"visits", "Visits", "", Occ, "How often a region was entered."},
	{"bytes-sent", "Bytes sent", "", Bytes,
		"Bytes a thread put into others' memory, and that its collectives sent."},
	{"bytes-received", "Bytes received", "", Bytes,
		"Bytes a thread got from others' memory, and that its collectives received."},
	{"overload", "Overload", "", NS,
		"What a thread spent in a call path, without those below it, beyond the mean of the threads that were " +
			"there. Nobody can gain more than that by balance there."},
	{"single-participant", "Overload of a single thread", "overload", NS,
		"The part of it in call paths where only one thread ever was: its time less what each would have if all " +
			"shared it."},
	{"underload", "Underload", "", NS,
		"What a thread spent less in a call path than the mean of the threads that were there."},
	{"non-participation", "Underload of absent threads", "underload", NS,
		"The part of it of threads that never were where only one thread was."},
}

// classes are the metrics, of branches, that time belongs to by the operation it was spent in.
var classOfKind = map[trace.CodeKind]string{
	trace.Barrier: "barrier", trace.Collective: "collective", trace.Lock: "lock", trace.Memory: "memory",
	trace.Bulk: "bulk", trace.Access: "access",
	trace.RemoteAtomic: "remote-atomic", trace.Completion: "completion", trace.Await: "await",
	trace.Runtime: "runtime",
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
				add(Metric{ID: p.id, Name: p.name, Unit: NS, Doc: p.doc, Pattern: p.number, Reading: p.reading},
					parent, false)
				place(p.id, reading)
			}
		}
	}
	for _, b := range branches {
		add(Metric{ID: b.id, Name: b.name, Unit: b.unit, Doc: b.doc}, b.parent, true)
		place(b.id, false)
	}
	place("", true)
	return f
}
