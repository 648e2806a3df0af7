package lifecycle

import (
	"cmp"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// What became of every CF. The last event of a CF says where it stood at the end; a `while` that asks for its
// condition again waits, too.

// State is where a CF stood at the end.
type State string

// The states. Created: no worker had looked at what it needs.
const (
	Created State = "created"
	Waiting State = "waiting"
	Ready   State = "ready"
	Running State = "running"
	Moving  State = "moving"
	// Executed: the CF has run, and a superfluous request keeps it. Only the engine knows of this.
	Executed State = "executed"
)

// CFs tells of the CFs of a run.
type CFs struct {
	Created  int64 `json:"created"`  // all, atomic and structured
	Finished int64 `json:"finished"` // all that were left to do nothing
	// Left counts the others by state.
	Left map[State]int64 `json:"left"`
	// Roots counts CFs that wait for something no other waiting CF would make.
	Roots int64 `json:"roots"`
	// Circle says that CFs wait and none is a root: each waits for another one of them.
	Circle bool   `json:"circle"`
	Groups []Left `json:"groups"` // roots first, then in the order of the source
	// More counts the waiting CFs that are in no group because they are not roots.
	More int64 `json:"more"`
	// MoreGroups is how many groups are not listed.
	MoreGroups int `json:"more_groups"`
	// Inside are those that did not come back from user code, and MoreInside counts those that are not listed.
	Inside     []Inside `json:"inside,omitempty"`
	MoreInside int      `json:"more_inside,omitempty"`
}

// Left are the CFs of one statement in one state at the end.
type Left struct {
	Place
	State    State       `json:"state"`
	Root     bool        `json:"root"`
	Again    bool        `json:"again"` // they had run before, as a while does
	Count    int64       `json:"count"`
	For      []Reason    `json:"for"`      // of those that wait: why it does not come; most DFs first
	MoreFor  int         `json:"more_for"` // reasons that are not listed
	Examples []CFExample `json:"examples"`
	site     uint32
	cfs      []trace.CF // of Examples
	why      *reasons   // of For
}

// CFExample is one CF.
type CFExample struct {
	CF      string   `json:"cf"`
	Node    int      `json:"node"`
	SinceNS int64    `json:"since_ns"` // when it came into its state
	Awaits  []string `json:"awaits"`   // some of the DFs it waits for
}

// findCFs tells what became of all CFs, at rank 0.
func (s *finder) findCFs() error {
	if !s.need("cfs", trace.KindCFCreated, trace.KindCFStarted) || !s.need("cfs", trace.KindCFFinished) {
		return nil
	}
	l, err := s.leftovers()
	if err != nil {
		return err
	}
	out := &CFs{Created: l.Created, Finished: l.Finished, Left: map[State]int64{}, Groups: []Left{}}
	for i := range l.CFs {
		out.Left[l.CFs[i].State]++
	}
	inside, moreInside, err := s.findInside()
	if err != nil {
		return err
	}
	out.Inside, out.MoreInside = inside, moreInside
	mine := s.g.Rank() == 0
	waiting, err := procs.Any(s.g, mine && out.Left[Waiting] > 0)
	if err != nil {
		return err
	}
	if waiting && s.off(trace.KindDFCreate) {
		s.missing("cfs.groups.for", trace.KindDFCreate)
	} else if waiting {
		if !mine {
			l = nil
		}
		if s.makers, err = s.newMakers(l); err == nil && mine {
			s.makers.findRoots()
		}
	}
	if err != nil || !mine {
		return err
	}
	for i := range l.CFs {
		if l.CFs[i].root {
			out.Roots++
		}
	}
	out.Circle = waiting && out.Roots == 0
	groups := s.group(out, l)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range groups {
		for i, id := range g.cfs {
			s.names[&g.Examples[i].CF] = id
		}
		for i := range g.For {
			r := &g.For[i]
			r.Examples = make([]string, len(r.by))
			for k, id := range r.by {
				s.names[&r.Examples[k]] = id
			}
		}
		out.Groups = append(out.Groups, *g)
	}
	s.res.CFs = out
	return nil
}

// states are those of the model, in its order; Waiting is that of a CF that was just created, too.
var states = [...]State{Waiting, Ready, Running, Moving, "", Created}

// stand notes where a CF stood at the end; false if it had nothing left to do. waited is when it waited the
// last time, None for never.
func (f *finder) stand(x *leftover, cf model.CF, waited int64) (left bool) {
	l := f.m.LifeAt(cf, math.MaxInt64, waited)
	x.State, x.Since, x.Node = states[l.State], l.Since, int(l.Node)
	switch {
	case x.State == Waiting && l.Looked:
		x.Since = waited // it may have migrated since
	case x.State == Waiting:
		x.State = Created
	}
	x.Again = f.m.ExecOf[cf] != 0 && (x.State != Running || f.m.ExecNumber[f.m.ExecOf[cf]-1] > 1)
	return l.State != model.CFFinished
}

// group puts together the CFs that are left by statement.
func (f *finder) group(out *CFs, l *leftovers) []*Left {
	type key struct {
		site        uint32
		state       State
		root, again bool
	}
	index := map[key]*Left{}
	var list []*Left
	for i := range l.CFs {
		s := &l.CFs[i]
		if s.State == Waiting && !s.root && !f.opt.All && !out.Circle {
			out.More++
			continue
		}
		k := key{s.Site, s.State, s.root, s.Again}
		g := index[k]
		if g == nil {
			g = &Left{Place: f.placeOf(int(s.Site)), State: s.State, Root: s.root, Again: s.Again,
				Examples: []CFExample{}, site: k.site, why: f.newReasons(l)}
			index[k] = g
			list = append(list, g)
		}
		g.Count++
		for j := range s.why {
			g.why.add(&s.why[j])
		}
		if len(g.Examples) < f.opt.Examples {
			g.Examples = append(g.Examples, f.cfExample(l, s))
			g.cfs = append(g.cfs, s.CF)
		}
	}
	slices.SortStableFunc(list, func(a, b *Left) int {
		if a.Root != b.Root {
			if a.Root {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.site, b.site), cmp.Compare(a.State, b.State))
	})
	if len(list) > f.opt.Groups && !f.opt.All {
		out.MoreGroups = len(list) - f.opt.Groups
		list = list[:f.opt.Groups]
	}
	for _, g := range list {
		g.For, g.MoreFor = g.why.list(f.opt.Groups)
	}
	return list
}

func (f *finder) cfExample(l *leftovers, s *leftover) CFExample {
	x := CFExample{Node: s.Node, SinceNS: f.at(s.Since), Awaits: []string{}}
	for _, w := range s.why[:min(len(s.why), f.opt.Examples)] {
		x.Awaits = append(x.Awaits, l.DFs[w.df].Full)
	}
	return x
}
