package lifecycle

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

// The CFs that are left. All processes of a group collect theirs for rank 0, which finds out what they wait
// for.
//
// Each CF belongs to the process of the node that created it. That process knows all that happened to the CF
// except waits on other nodes, which it is told. Rank 0 receives the CFs that are left and the names of what
// they wait for, not the CFs that ended.

// leftover is a CF that is left.
type leftover struct {
	CF     trace.CF
	Site   uint32
	State  State
	Since  int64
	Again  bool     // it had run before
	Node   int      // where it is
	Awaits []uint32 // of those that wait: the DFs, as indices into leftovers.DFs; 0: it is not known which

	root bool
	why  []why
	refs []string // by await: how the statement calls it; nil: not known
}

// awaited is a DF that CFs which are left wait for.
type awaited struct {
	DF   dfName
	Full string // x[3]
	Name uint32
	Made bool // it got a value

	program string      // luna.AwaitedDF.Key
	decl    luna.DeclID // of the name
}

// key tells DFs apart as well as is known who would make them.
func (a *awaited) key() string { return cmp.Or(a.program, a.Full) }

// dfName tells DFs apart everywhere.
type dfName struct {
	ID   uint64
	Home [2]uint64 // where no process read a definition of it, and there is no ID
}

func nameOf(m *model.Model, df model.DF) dfName {
	n := dfName{ID: m.DFID(df)}
	if n.ID == 0 {
		n.Home = m.DFHome(df)
	}
	return n
}

// leftovers are all CFs that are left, by id.
type leftovers struct {
	Created, Finished int64 // CFs
	CFs               []leftover
	DFs               []awaited        // the first is none
	Up                map[uint32]chain // by statement of structured CFs
	index             map[dfName]uint32
	of                []uint32 // by DF of the model: index into DFs
}

// chain are the statements that the first CF of a statement, by id, descends from, the nearest first.
type chain struct {
	CF    trace.CF
	Sites []uint32
}

func newLeftovers(m *model.Model) *leftovers {
	return &leftovers{DFs: make([]awaited, 1), Up: map[uint32]chain{}, index: map[dfName]uint32{},
		of: make([]uint32, m.DFs())}
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
	for _, df := range f.m.Awaits.Of(await) {
		if df != 0 && l.of[df] == 0 {
			l.of[df] = l.add(&awaited{DF: nameOf(f.m, df), Full: f.m.DFString(df), Name: f.m.DFName[df],
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
	l := newLeftovers(m)
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
		late, isLate := elsewhere[id]
		delete(elsewhere, id)
		if isLate = isLate && (late.Time > waited || late.Time == waited && late.rank > s.g.Rank()); isLate {
			waited = late.Time
		}
		st := standing{state: Waiting, since: waited, node: id.Node()}
		left := waited != model.None // of which nothing but a wait may have been recorded
		if m.Created[i] != model.None || m.Ready[i] != model.None || m.ExecOf[i] != 0 ||
			len(m.MovesOf(cf)) > 0 {
			if st, left = s.stand(cf, waited); !left {
				l.Created++
				l.Finished++
			}
		}
		if !left {
			continue
		}
		l.Created++
		x := leftover{CF: id, Site: m.SiteOf[cf], State: st.state, Since: st.since, Again: st.again,
			Node: st.node}
		if st.state == Waiting {
			if x.Awaits = late.DFs; !isLate {
				x.Awaits = l.awaits(s, await)
			}
		}
		if up, ok := l.Up[x.Site]; !m.Atomic(cf) && (!ok || id < up.CF) {
			l.Up[x.Site] = chain{id, s.above(cf)}
		}
		l.CFs = append(l.CFs, x)
	}
	for id, w := range elsewhere { // nobody knows anything else of them
		l.Created++
		l.CFs = append(l.CFs, leftover{CF: id, State: Waiting, Since: w.Time, Node: id.Node(), Awaits: w.DFs})
	}
	if err := s.gather(l); err != nil {
		return nil, err
	}
	slices.SortFunc(l.CFs, func(a, b leftover) int { return cmp.Compare(a.CF, b.CF) })
	return l, nil
}

// above gives the statements of the CFs that a CF descends from.
func (f *finder) above(cf model.CF) (sites []uint32) {
	for up, n := f.m.Parent[cf], 0; up != 0 && n < maxDepth; up, n = f.m.Parent[up], n+1 {
		sites = append(sites, f.m.SiteOf[up])
	}
	return sites
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
		if st, ok := s.stand(cf, w.Time); ok && st.state == Waiting {
			if lists[to] == nil {
				lists[to] = newLeftovers(m)
			}
			w.DFs = lists[to].awaits(s, int(k)-1)
		}
		out[to].Waits = append(out[to].Waits, w)
	}
	sent := make([][]byte, s.g.Size())
	for to := range out {
		if lists[to] != nil {
			out[to].DFs = lists[to].DFs
		}
		sent[to] = procs.Encode(&out[to])
	}
	in, err := s.g.Exchange(sent)
	if err != nil {
		return nil, err
	}
	all := map[trace.CF]lateWait{}
	for rank, b := range in {
		var theirs waitsElsewhere
		if err := procs.Decode(b, &theirs); err != nil {
			return nil, procs.Told(rank, err)
		}
		index := l.take(theirs.DFs)
		for _, w := range theirs.Waits {
			w.rank = rank
			if err := renumber(w.DFs, index); err != nil {
				return nil, err
			}
			if old, ok := all[w.CF]; !ok || w.Time >= old.Time {
				all[w.CF] = w
			}
		}
	}
	return all, nil
}

// take adds DFs of another process, and gives their indices here.
func (l *leftovers) take(list []awaited) []uint32 {
	index := make([]uint32, max(len(list), 1))
	for i := 1; i < len(list); i++ {
		index[i] = l.add(&list[i])
	}
	return index
}

func renumber(list, index []uint32) error {
	for i, n := range list {
		if int(n) >= len(index) {
			return errShare
		}
		list[i] = index[n]
	}
	return nil
}

// gather adds the leftovers of all processes to those of rank 0.
func (s *finder) gather(l *leftovers) error {
	if s.g.Size() == 1 {
		return nil
	}
	var mine []byte
	if s.g.Rank() != 0 {
		mine = procs.Encode(l)
	}
	in, err := procs.Gather(s.g, 0, mine)
	if err != nil || s.g.Rank() != 0 {
		return err
	}
	for rank := 1; rank < len(in); rank++ {
		var other leftovers
		if err := procs.Decode(in[rank], &other); err != nil {
			return procs.Told(rank, err)
		}
		in[rank] = nil
		index := l.take(other.DFs)
		for i := range other.CFs {
			x := &other.CFs[i]
			if err := renumber(x.Awaits, index); err != nil || int(x.Site) >= len(s.m.Sites) {
				return errShare
			}
		}
		l.Created, l.Finished, l.CFs = l.Created+other.Created, l.Finished+other.Finished,
			append(l.CFs, other.CFs...)
		for site, c := range other.Up {
			if up, ok := l.Up[site]; !ok || c.CF < up.CF {
				l.Up[site] = c
			}
		}
	}
	for i := range l.DFs {
		if int(l.DFs[i].Name) >= len(s.m.Names) {
			return errShare
		}
	}
	for _, c := range l.Up {
		for _, site := range c.Sites {
			if int(site) >= len(s.m.Sites) {
				return errShare
			}
		}
	}
	return nil
}
