package lifecycle

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// The CFs that are left. Each CF belongs to the process of the node that created it, which knows the CF
// but for its waits on other nodes; their processes send it those. Rank 0 receives the CFs that are left and
// the names of what they wait for.

// leftover is a CF that is left.
type leftover struct {
	CF     trace.CF
	Site   uint32
	State  State
	Since  int64
	Again  bool     // it had run before
	Node   int      // where it is
	Awaits []uint32 // of those that wait: the DFs, as indices into leftovers.DFs; 0: it is not known which

	root   bool
	why    []why
	refs   []string          // by await: how the statement calls it; nil: not known
	places []*luna.AwaitedDF // by await: where it is and is looked for; nil: only the trace is known
}

// awaited is a DF that CFs which are left wait for.
type awaited struct {
	DF   uint64 // model.DFGlobal
	Full string // x[3]
	Name uint32
	Made bool // it got a value

	program string      // luna.AwaitedDF.Key
	decl    luna.DeclID // of the name
}

// key tells DFs apart as well as is known who would make them.
func (a *awaited) key() string { return cmp.Or(a.program, a.Full) }

// leftovers are all CFs that are left, by id.
type leftovers struct {
	Created, Finished int64 // CFs
	CFs               []leftover
	DFs               []awaited // the first is none
	index             map[uint64]uint32
	of                []uint32 // by DF of the model: index into DFs; nil: none has one
}

func newLeftovers() *leftovers {
	return &leftovers{DFs: make([]awaited, 1), index: map[uint64]uint32{}}
}

// add gives the index of a DF that has a name everywhere.
func (l *leftovers) add(a *awaited) uint32 {
	i, ok := l.index[a.DF]
	if !ok {
		i = uint32(len(l.DFs))
		l.DFs = append(l.DFs, *a)
		l.index[a.DF] = i
	}
	l.DFs[i].Made = l.DFs[i].Made || a.Made
	return i
}

// awaits gives the DFs of an await.
func (l *leftovers) awaits(f *finder, await int) (list []uint32) {
	if l.of == nil {
		l.of = make([]uint32, f.m.DFs())
	}
	for _, df := range f.m.Awaits.Of(await) {
		if df != 0 && l.of[df] == 0 {
			l.of[df] = l.add(&awaited{DF: f.m.DFGlobal(df), Full: f.m.DFString(df), Name: f.m.DFName[df],
				Made: f.made(df)})
		}
		list = append(list, l.of[df])
	}
	return list
}

// lateWait is the last wait of a CF at another process.
type lateWait struct {
	CF   trace.CF
	Time int64
	DFs  []uint32 // into waitsElsewhere.DFs; where the wait may be the last that happened to it
	rank int
}

type waitsElsewhere struct {
	Waits []lateWait
	DFs   []awaited
}

// leftovers finds the CFs that are left: rank 0 gets those of all processes, the others get their own.
func (s *finder) leftovers() (*leftovers, error) {
	m := s.m
	last := make([]uint32, len(m.Created)) // by CF: 1 + its last await
	for i, cf := range m.Awaits.CF {
		if k := last[cf]; k == 0 || m.Awaits.Time[k-1] <= m.Awaits.Time[i] {
			last[cf] = uint32(i) + 1
		}
	}
	l := newLeftovers()
	elsewhere, err := s.waitsElsewhere(last, l)
	if err != nil {
		return nil, err
	}
	for i := range m.Created {
		cf := model.CF(i)
		id := m.CFID(cf)
		if id == 0 || m.Owner(id.Node()) != s.g.Rank() {
			continue
		}
		await, waited := int(last[cf])-1, model.None
		if await >= 0 {
			waited = m.Awaits.Time[await]
		}
		if len(elsewhere) == 0 && m.Ended(cf, waited) { // as nearly all
			l.Created++
			l.Finished++
			continue
		}
		late, isLate := elsewhere[id]
		delete(elsewhere, id)
		if isLate = isLate && (late.Time > waited || late.Time == waited && late.rank > s.g.Rank()); isLate {
			waited = late.Time
		}
		x := leftover{CF: id, Site: m.SiteOf[cf], State: Waiting, Since: waited, Node: id.Node()}
		left := waited != model.None // of which nothing but a wait may have been recorded
		if m.Created[i] != model.None || m.Ready[i] != model.None || m.ExecOf[i] != 0 ||
			len(m.MovesOf(cf)) > 0 {
			if left = !m.Ended(cf, waited) && s.stand(&x, cf, waited); !left {
				l.Created++
				l.Finished++
			}
		}
		if !left {
			continue
		}
		l.Created++
		if x.State == Waiting {
			if x.Awaits = late.DFs; !isLate {
				x.Awaits = l.awaits(s, await)
			}
		}
		l.CFs = append(l.CFs, x)
	}
	for id, w := range elsewhere { // nobody knows anything else of them
		l.Created++
		l.CFs = append(l.CFs, leftover{CF: id, State: Waiting, Since: w.Time, Node: id.Node(), Awaits: w.DFs})
	}
	err = procs.Collect(s.g, func() leftovers { return *l }, func(_ int, other *leftovers) error {
		index := l.take(other.DFs)
		for i := range other.CFs {
			renumber(other.CFs[i].Awaits, index)
		}
		l.Created, l.Finished = l.Created+other.Created, l.Finished+other.Finished
		l.CFs = append(l.CFs, other.CFs...)
		return nil
	})
	slices.SortFunc(l.CFs, func(a, b leftover) int { return cmp.Compare(a.CF, b.CF) })
	return l, err
}

// waitsElsewhere tells each CF's process of the waits recorded here, and returns what others tell, by CF.
func (s *finder) waitsElsewhere(last []uint32, l *leftovers) (map[trace.CF]lateWait, error) {
	if s.g.Size() == 1 {
		return nil, nil
	}
	m := s.m
	out, lists := make([]waitsElsewhere, s.g.Size()), make([]*leftovers, s.g.Size())
	for i, k := range last {
		cf := model.CF(i)
		to := m.Owner(m.CFID(cf).Node())
		if k == 0 || cf == 0 || to == s.g.Rank() {
			continue
		}
		w := lateWait{CF: m.CFID(cf), Time: m.Awaits.Time[k-1]}
		if x := (leftover{}); s.stand(&x, cf, w.Time) && x.State == Waiting {
			if lists[to] == nil {
				lists[to] = newLeftovers()
			}
			w.DFs = lists[to].awaits(s, int(k)-1)
			out[to].DFs = lists[to].DFs
		}
		out[to].Waits = append(out[to].Waits, w)
	}
	in, err := procs.Swap(s.g, out)
	all := map[trace.CF]lateWait{}
	for rank := range in {
		index := l.take(in[rank].DFs)
		for _, w := range in[rank].Waits {
			w.rank = rank
			renumber(w.DFs, index)
			if old, ok := all[w.CF]; !ok || w.Time >= old.Time {
				all[w.CF] = w
			}
		}
	}
	return all, err
}

// take adds DFs of another process, and gives their indices here.
func (l *leftovers) take(list []awaited) []uint32 {
	index := make([]uint32, max(len(list), 1))
	for i := 1; i < len(list); i++ {
		index[i] = l.add(&list[i])
	}
	return index
}

func renumber(list, index []uint32) {
	for i, n := range list {
		list[i] = index[n]
	}
}
