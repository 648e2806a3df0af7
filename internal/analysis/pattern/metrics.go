package pattern

import (
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// branch is a metric that is no pattern.
type branch struct {
	id, parent string
	unit       Unit
}

var branches = []branch{
	{"time", "", NS},
	{"program", "time", NS},
	{"synchronisation", "time", NS},
	{"barrier", "synchronisation", NS},
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
	return f
}
