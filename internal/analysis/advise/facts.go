package advise

import (
	"cmp"
	"errors"
	"runtime/debug"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// What advice takes from a model, beside the results of the other analyses.
//
// Several processes, each with the model of its nodes, each find it for their own; the process of rank 0 puts
// it together. Most of it are the executions, what each waited for, and the ways of DFs: some hundred bytes
// for each execution of the run.

// Facts are what advice takes from a model. They are found for one Input, and serve for it in every language.
type Facts struct {
	m      *model.Model // names, code fragments, statements, workers, and what else every model of the run has
	replay *replay      // nil where nothing is to be worked out again
	nodes  map[int]siteTime
	moves  int64 // of CFs
	stolen int64 // of them
	moved  map[int]movedCF
	// the shortest time of a message on a link, which tells the latency of the links; -1 if there is none
	shortest int64
	atHome   map[useAt]bool
	least    int64 // bytes, see memory.go; 0 where it does not matter
	asked    []asked

	// Of a run of regions there is nothing but these.
	orders  map[placeOf]*order  // of collectives
	awaited map[awaitPair]int64 // ns
}

// siteTime is the statement whose CFs took most time on a node.
type siteTime struct {
	Site uint32
	NS   int64
}

// movedCF is the first CF of a code fragment, by id, that migrated.
type movedCF struct {
	CF   trace.CF
	Site uint32
}

// useAt is a DF and a node.
type useAt struct {
	DF   uint64
	Node int32
}

// gatherGC is debug.SetGCPercent while executions are gathered.
const gatherGC = 25

// found is what one process found.
type found struct {
	Part     *executions
	Nodes    map[int]siteTime
	Moves    int64
	Stolen   int64
	Moved    map[int]movedCF // by code fragment
	Shortest int64
	AtHome   []useAt
	Needed   []byteChange
}

// needed says what is worked out only where it matters.
type needed struct{ Replay, Memory, Regions bool }

func (f *Facts) stuck() bool { return f.m.Info.Ended == trace.EndedStuck }

var errBroken = errors.New("internal error: what another process told of its nodes makes no sense")

func factsOf(in Input) *Facts {
	f, err := Gather(in.Model, in, procs.Alone())
	if err != nil {
		panic(err) // nobody else can make it fail
	}
	return f
}

// Gather finds the facts of a run of which several processes have models from model.BuildShare. All members
// of g call it. The process of rank 0 gives the input of the advice, without facts and model, and gets its
// facts; the others get nil.
func Gather(m *model.Model, in Input, g procs.Group) (*Facts, error) {
	var need needed
	if slou.OnlyRegions(m) {
		need.Regions = in.SLOU != nil && slow(in.SLOU) && in.Pattern != nil
	} else if in.SLOU != nil {
		f := &in.SLOU.Factors
		need.Replay = slow(in.SLOU) && m.Info.Ended != trace.EndedStuck && f.U != nil && f.L != nil && f.O != nil
		need.Memory = in.Lifecycle != nil && in.Lifecycle.HeldToEnd != nil &&
			in.Lifecycle.HeldToEnd.Bytes >= muchMemory
	}
	b, err := procs.Broadcast(g, 0, procs.Encode(&need))
	if err == nil {
		err = procs.Decode(b, &need)
	}
	if err != nil {
		return nil, err
	}
	if slou.OnlyRegions(m) {
		if !need.Regions {
			return nil, nil
		}
		return gatherRegions(m, g)
	}
	return gatherFacts(m, g, need)
}

func gatherFacts(m *model.Model, g procs.Group, need needed) (*Facts, error) {
	var err error
	own := &found{Nodes: map[int]siteTime{}, Moved: map[int]movedCF{}, Shortest: shortest(m)}
	own.findNodes(m)
	own.findMoves(m)
	if need.Replay {
		if own.Part, err = newPart(m, g); err != nil {
			return nil, err
		}
		if err := own.findAtHome(m, g); err != nil {
			return nil, err
		}
	}
	if need.Memory {
		if err := own.findMemory(m, g); err != nil {
			return nil, err
		}
	}
	f := &Facts{m: m, nodes: map[int]siteTime{}, moved: map[int]movedCF{}, shortest: -1,
		atHome: map[useAt]bool{}}
	if f.stuck() && len(m.Nodes) > 1 {
		if f.asked, err = findAsked(m, g); err != nil {
			return nil, err
		}
	}
	all := []*found{own}
	if g.Size() > 1 {
		// The first process gets executions of all of them beside its own model. What is left over from passing
		// them on is to go soon.
		defer debug.SetGCPercent(debug.SetGCPercent(gatherGC))
		if all, err = gather(m, own, g); err != nil || g.Rank() != 0 {
			return nil, err
		}
	}
	f.join(all)
	return f, nil
}

// gather brings what all processes found to the first one.
func gather(m *model.Model, own *found, g procs.Group) ([]*found, error) {
	var mine []byte
	if g.Rank() != 0 {
		mine = procs.Encode(own)
	}
	in, err := procs.Gather(g, 0, mine)
	if err != nil || g.Rank() != 0 {
		return nil, err
	}
	all := []*found{own}
	for k, b := range in[1:] {
		in[k+1] = nil
		w := &found{}
		if err := procs.Decode(b, w); err != nil {
			return nil, procs.Told(k+1, err)
		}
		all = append(all, w)
	}
	executions, first := uint32(0), uint32(0)
	for _, w := range all {
		if (w.Part == nil) != (own.Part == nil) {
			return nil, errBroken
		}
		if w.Part != nil {
			executions += uint32(len(w.Part.Start))
		}
	}
	for _, w := range all {
		if w.Part == nil {
			break
		}
		if !w.Part.whole(m, first, executions, m.Workers()) {
			return nil, errBroken
		}
		first += uint32(len(w.Part.Start))
	}
	return all, nil
}

func (f *Facts) join(all []*found) {
	var parts []*executions
	var needs []byteChange
	for _, w := range all {
		parts = append(parts, w.Part)
		for n, s := range w.Nodes {
			f.nodes[n] = s
		}
		f.moves, f.stolen = f.moves+w.Moves, f.stolen+w.Stolen
		for code, v := range w.Moved {
			if old, ok := f.moved[code]; !ok || v.CF < old.CF {
				f.moved[code] = v
			}
		}
		if w.Shortest >= 0 && (f.shortest < 0 || w.Shortest < f.shortest) {
			f.shortest = w.Shortest
		}
		for _, u := range w.AtHome {
			f.atHome[u] = true
		}
		needs = append(needs, w.Needed...)
		*w = found{}
	}
	f.least = peakOf(needs)
	if parts[0] != nil {
		f.replay = newReplay(f.m, parts)
	}
}

// movedSite gives the statement of a CF of a code fragment that migrated, 1 + its number; 0 if there is none.
func (f *Facts) movedSite(code string) (site uint32) {
	first := trace.CF(0)
	for c, v := range f.moved {
		if f.m.Codes[c].Name == code && (site == 0 || v.CF < first) {
			first, site = v.CF, v.Site+1
		}
	}
	return site
}

func (w *found) findNodes(m *model.Model) {
	for n := range m.Nodes {
		if !m.Own(n) {
			continue
		}
		sums := make([]int64, len(m.Sites))
		for _, w := range m.Nodes[n].Workers {
			for e := w.First; e < w.End; e++ {
				if cf := m.ExecCF[e]; m.ExecEnd[e] != model.None && m.Atomic(cf) {
					sums[m.SiteOf[cf]] += m.ExecEnd[e] - m.ExecStart[e]
				}
			}
		}
		best := 0
		for i := range sums {
			if sums[i] > sums[best] {
				best = i
			}
		}
		w.Nodes[n] = siteTime{uint32(best), sums[best]}
	}
}

func (w *found) findMoves(m *model.Model) {
	for i := range m.Moves {
		g := &m.Moves[i]
		if !m.Counted(g) {
			continue
		}
		w.Moves++
		if g.Stolen {
			w.Stolen++
		}
		code, id := m.CodeOf(g.CF), m.CFID(g.CF)
		if old, ok := w.Moved[code]; !ok || id < old.CF {
			w.Moved[code] = movedCF{id, m.SiteOf[g.CF]}
		}
	}
}

func shortest(m *model.Model) int64 {
	least := int64(-1)
	for _, list := range [][]model.Message{m.Requests, m.DFMessages, m.Moves} {
		for i := range list {
			if g := &list[i]; g.Sent != model.None && g.Received >= g.Sent &&
				(least < 0 || g.Received-g.Sent < least) {
				least = g.Received - g.Sent
			}
		}
	}
	return least
}

// findAtHome finds out which DFs that went to other nodes are also taken by CFs on the node where they were
// made.
func (w *found) findAtHome(m *model.Model, g procs.Group) error {
	uses := make([]map[useAt]bool, g.Size())
	for i := range w.Part.Transfers {
		if t := &w.Part.Transfers[i]; t.Maker >= 0 {
			k := m.Owner(int(t.Maker))
			if uses[k] == nil {
				uses[k] = map[useAt]bool{}
			}
			uses[k][useAt{t.DF, t.Maker}] = true
		}
	}
	asked := uses[0]
	if g.Size() > 1 {
		var err error
		if asked, err = exchange(g, uses); err != nil {
			return err
		}
	}
	if len(asked) == 0 {
		return nil
	}
	keys := make([]uint64, m.DFs())
	for df := range keys {
		keys[df] = dfKey(m, model.DF(df))
	}
	for id, worker := range m.AllWorkers() {
		for e := worker.First; e < worker.End && m.Own(id.Node); e++ {
			if !m.Atomic(m.ExecCF[e]) {
				continue
			}
			for _, df := range m.Inputs(e) {
				if u := (useAt{keys[df], int32(id.Node)}); asked[u] {
					w.AtHome = append(w.AtHome, u)
					delete(asked, u)
				}
			}
		}
	}
	return nil
}

// exchange gives each process a set, and returns all that came.
func exchange[K comparable](g procs.Group, sets []map[K]bool) (map[K]bool, error) {
	out := make([][]byte, g.Size())
	for k := range sets {
		out[k] = procs.Encode(&sets[k])
	}
	in, err := g.Exchange(out)
	if err != nil {
		return nil, err
	}
	all := map[K]bool{}
	for rank, b := range in {
		var set map[K]bool
		if err := procs.Decode(b, &set); err != nil {
			return nil, procs.Told(rank, err)
		}
		for k := range set {
			all[k] = true
		}
	}
	return all, nil
}

// dfKey names a DF for all processes: by its id, or by where it is mentioned first, where there is no
// definition of it.
func dfKey(m *model.Model, df model.DF) uint64 {
	if id := m.DFID(df); id != 0 || df == 0 {
		return id
	}
	home := m.DFHome(df)
	return home[0]<<32 | home[1]
}

// asked is a DF that was asked for and did not come.
type asked struct {
	DF       string
	Name     uint32 // of the DF
	Site     uint32 // of the CF that asked
	CF       trace.CF
	From, To int32
	Stored   int32  // the node that stores it; -1 not known
	Maker    uint32 // 1 + the statement of the CF that made it; 0 not known

	Key    uint64 // of the DF, see dfKey
	Waited bool   // it was not requested: the CF waited for it on its own node
}

type wantedBy struct {
	DF uint64
	CF trace.CF
}

// maker is who made a DF the last time, as far as a process knows: of how many times, and the statement + 1.
type maker struct{ Times, Site uint32 }

// answer is what one process knows of what CFs asked for.
type answer struct {
	Stored map[uint64]int32
	Makers map[uint64]maker
	Asked  map[wantedBy]bool // with a request
	Ran    map[trace.CF]bool
	At     map[trace.CF]int32 // where CFs went to
	Sites  map[trace.CF]uint32
}

// findAsked gives the requests without an answer, and what CFs that never ran waited for on their own node,
// at rank 0.
func findAsked(m *model.Model, g procs.Group) ([]asked, error) {
	if err := m.LearnSites(g, m.MadeBy); err != nil {
		return nil, err
	}
	lists, err := procs.AllGather(g, procs.Encode(ownAsked(m)))
	if err != nil {
		return nil, err
	}
	var list []asked
	for rank, b := range lists {
		var theirs []asked
		if err := procs.Decode(b, &theirs); err != nil {
			return nil, procs.Told(rank, err)
		}
		list = append(list, theirs...)
	}
	answers, err := procs.Gather(g, 0, procs.Encode(answerTo(m, g, list)))
	if err != nil || g.Rank() != 0 {
		return nil, err
	}
	all := answer{map[uint64]int32{}, map[uint64]maker{}, map[wantedBy]bool{}, map[trace.CF]bool{},
		map[trace.CF]int32{}, map[trace.CF]uint32{}}
	for rank, b := range answers {
		var a answer
		if err := procs.Decode(b, &a); err != nil {
			return nil, procs.Told(rank, err)
		}
		for k, n := range a.Stored {
			if old, ok := all.Stored[k]; !ok || n > old {
				all.Stored[k] = n
			}
		}
		for k, v := range a.Makers {
			if int(v.Site) > len(m.Sites) {
				return nil, errBroken
			}
			if v.Times > all.Makers[k].Times {
				all.Makers[k] = v
			}
		}
		for k := range a.Asked {
			all.Asked[k] = true
		}
		for cf := range a.Ran {
			all.Ran[cf] = true
		}
		for cf, n := range a.At {
			all.At[cf] = n
		}
		for cf, site := range a.Sites {
			if int(site) >= len(m.Sites) {
				return nil, errBroken
			}
			all.Sites[cf] = site
		}
	}
	out := list[:0]
	for _, q := range list {
		if int(q.Name) >= len(m.Names) || int(q.Site) >= len(m.Sites) {
			return nil, errBroken
		}
		if k := (wantedBy{q.Key, q.CF}); q.Waited {
			if all.Ran[q.CF] || all.Asked[k] {
				continue
			}
			all.Asked[k] = true
			if n, ok := all.At[q.CF]; ok {
				q.From, q.To = n, n
			}
		}
		if site, ok := all.Sites[q.CF]; ok {
			q.Site = site
		}
		if n, ok := all.Stored[q.Key]; ok {
			q.Stored = n
		}
		q.Maker = all.Makers[q.Key].Site
		out = append(out, q)
	}
	slices.SortFunc(out, func(x, y asked) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.CF, y.CF), cmp.Compare(x.DF, y.DF),
			cmp.Compare(x.To, y.To))
	})
	return out, nil
}

// ownAsked lists what own nodes asked for.
func ownAsked(m *model.Model) (list []asked) {
	answered := make([]bool, len(m.Requests))
	for i := range m.DFMessages {
		if q := m.DFMessages[i].Request; int(q) < len(answered) && m.DFMessages[i].Received != model.None {
			answered[q] = true
		}
	}
	add := func(df model.DF, cf model.CF, from, to int32, waited bool) {
		list = append(list, asked{DF: m.DFString(df), Name: m.DFName[df], Site: m.SiteOf[cf], CF: m.CFID(cf),
			From: from, To: to, Stored: -1,
			Key: dfKey(m, df), Waited: waited})
	}
	for i := 1; i < len(m.Requests); i++ {
		if q := &m.Requests[i]; q.DF != 0 && q.Sent != model.None && !answered[i] && m.Own(int(q.From)) {
			add(q.DF, q.CF, q.From, q.To, false)
		}
	}
	for i, cf := range m.Awaits.CF {
		if m.ExecOf[cf] != 0 {
			continue
		}
		node := int32(m.CFID(cf).Node())
		for _, df := range m.Awaits.Of(i) {
			if df != 0 {
				add(df, cf, node, node, true)
			}
		}
	}
	return list
}

// answerTo tells what is known here of what CFs asked for.
func answerTo(m *model.Model, g procs.Group, list []asked) *answer {
	a := &answer{map[uint64]int32{}, map[uint64]maker{}, map[wantedBy]bool{}, map[trace.CF]bool{},
		map[trace.CF]int32{}, map[trace.CF]uint32{}}
	keys, waits := map[uint64]bool{}, map[wantedBy]bool{}
	for i := range list {
		q := &list[i]
		keys[q.Key] = true
		if q.Waited {
			waits[wantedBy{q.Key, q.CF}] = true
		}
		if cf := m.FindCF(q.CF); cf != 0 && m.Owner(q.CF.Node()) == g.Rank() {
			a.Sites[q.CF] = m.SiteOf[cf]
			if m.ExecOf[cf] != 0 {
				a.Ran[q.CF] = true
			}
			if moves := m.MovesOf(cf); len(moves) > 0 {
				a.At[q.CF] = moves[len(moves)-1].To
			}
		}
	}
	of := make([]uint64, m.DFs())
	for df := 1; df < m.DFs(); df++ {
		key := dfKey(m, model.DF(df))
		if !keys[key] {
			continue
		}
		of[df] = key
		if i, ok := m.Creation(model.DF(df), m.End); ok && m.MadeBy[i] != 0 {
			first, end := m.Creations(model.DF(df))
			a.Makers[key] = maker{uint32(end - first), m.SiteOf[m.MadeBy[i]] + 1}
		}
	}
	for i := range m.Copies {
		if c := &m.Copies[i]; c.What == model.CopyStored && of[c.DF] != 0 {
			a.Stored[of[c.DF]] = max(a.Stored[of[c.DF]], int32(c.Node))
		}
	}
	for i := 1; i < len(m.Requests); i++ {
		if q := &m.Requests[i]; of[q.DF] != 0 && q.Sent != model.None {
			if k := (wantedBy{of[q.DF], m.CFID(q.CF)}); waits[k] {
				a.Asked[k] = true
			}
		}
	}
	return a
}
