package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Several processes, each with the model of its nodes.
//
// Each finding belongs to one process: a CF to that of the node that created it, a DF to that of the node that made it last, a
// request to that of the node that asked. What others know of it is sent there; of DFs only of those that somebody has a
// question about (sharedfs.go). Then each process groups what it found, and rank 0 joins the groups. Wherever the order of things
// matters, for examples and for groups of the same size, each comes with a key that orders it as in one process.
//
// What CFs that are left wait for is a question about the whole program. They, and what is known of what they wait for, go to rank 0 (left.go,
// answers.go).

var errShare = errors.New("internal error: what another process sent about CFs and DFs cannot be read")

// sharing is a computation by several processes.
type sharing struct {
	*finder
	g procs.Group // alone, too
}

// ComputeShare is Compute by several processes at once, each with its model from model.BuildShare. All members of g call it with
// the same options. The process of rank 0 gets the result, which is that of Compute on the whole trace; the others get nil.
func ComputeShare(ctx context.Context, m *model.Model, opt Options, g procs.Group) (*Result, error) {
	if g == nil || g.Size() == 1 {
		return Compute(ctx, m, opt)
	}
	s := &sharing{newFinder(m, opt.settled()), g}
	var err error
	if s.inputs, err = s.anywhere(s.inputs); err != nil {
		return nil, err
	}
	for _, find := range []func() error{s.learn, s.findAbroad, s.findCFs, s.neverProduced, s.dfs, s.late, s.unanswered} {
		if err := errors.Join(ctx.Err(), find()); err != nil {
			return nil, err
		}
	}
	if g.Rank() != 0 {
		return nil, nil
	}
	slices.SortFunc(s.res.Missing, func(a, b Missing) int { return cmp.Compare(a.Event, b.Event) })
	return s.res, nil
}

// learn finds out the statements of all CFs that may have to do with a fault of an own node.
func (s *sharing) learn() error {
	cfs := slices.Concat(s.m.MadeBy, s.m.Parent)
	for i := range s.m.Requests {
		cfs = append(cfs, s.m.Requests[i].CF)
	}
	return s.m.LearnSites(s.g, cfs)
}

// findAbroad finds out which DFs that were requested got a value, where the files read here say nothing of them but that.
func (s *sharing) findAbroad() error {
	m := s.m
	unknown := map[dfName]model.DF{}
	for i := 1; i < len(m.Requests); i++ {
		if q := &m.Requests[i]; q.DF != 0 && !s.made(q.DF) && m.Shared(q.DF) && m.Own(int(q.From)) {
			unknown[nameOf(m, q.DF)] = q.DF
		}
	}
	asked := make([][]dfName, s.g.Size())
	for k := range asked {
		asked[k] = slices.Collect(maps.Keys(unknown))
	}
	all, err := exchange(s.g, asked)
	if err != nil {
		return err
	}
	wanted := map[dfName]bool{}
	for _, n := range all {
		wanted[n] = true
	}
	known := []dfName{}
	for i := 1; i < m.DFs() && len(wanted) > 0; i++ {
		if n := nameOf(m, model.DF(i)); wanted[n] && s.made(model.DF(i)) {
			known = append(known, n)
		}
	}
	for k := range asked {
		asked[k] = known
	}
	if all, err = exchange(s.g, asked); err != nil {
		return err
	}
	s.madeAbroad = map[model.DF]bool{}
	for _, n := range all {
		if df := unknown[n]; df != 0 {
			s.madeAbroad[df] = true
		}
	}
	return nil
}

// exchange gives each process a list and returns all that came.
func exchange[T any](g procs.Group, out [][]T) ([]T, error) {
	b := make([][]byte, len(out))
	for i, list := range out {
		var err error
		if b[i], err = json.Marshal(list); err != nil {
			return nil, err
		}
	}
	in, err := g.Exchange(b)
	if err != nil {
		return nil, err
	}
	var all []T
	for _, b := range in {
		var list []T
		if err := json.Unmarshal(b, &list); err != nil {
			return nil, errShare
		}
		all = append(all, list...)
	}
	return all, nil
}

// anywhere tells whether something holds for any process.
func (s *sharing) anywhere(holds bool) (bool, error) {
	n := int64(0)
	if holds {
		n = 1
	}
	sum, err := procs.Sum(s.g, []int64{n})
	return err == nil && sum[0] > 0, err
}

// lateRequest is what the process of the node asked tells that of the asking one.
type lateRequest struct {
	CF          uint64
	Name, Why   string
	From        int
	Received    int64
	DestroyedNS int64
	DF          string
	To          int
}

// late finds the requests that came too late: where they came, for where they came from.
func (s *sharing) late() error {
	m := s.m
	if !s.need("late_requests", trace.KindDFRequestReceived, trace.KindDFDestroy) {
		return nil
	}
	out := make([][]lateRequest, s.g.Size())
	s.eachLate(func(q *model.Message, why string, destroyed int64) {
		to := s.m.Owner(int(q.From))
		out[to] = append(out[to], lateRequest{uint64(m.CFID(q.CF)), m.DFNameOf(q.DF), why, int(q.From), q.Received, s.at(destroyed), m.DFString(q.DF), int(q.To)})
	})
	list, err := exchange(s.g, out)
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b lateRequest) int { return cmp.Compare(a.key(), b.key()) })
	cfs := make([]model.CF, len(list))
	for i := range list {
		if id := list[i].CF; id != 0 {
			cfs[i] = m.Learn(trace.CF(id), 0)
		}
	}
	if err := m.LearnSites(s.g, cfs); err != nil {
		return err
	}
	k := s.keyed()
	for i := range list {
		q := &list[i]
		k.named(sameGroup{Name: q.Name, Why: q.Why, Site: m.SiteOf[cfs[i]]}, q.key(), 0, [2]trace.CF{trace.CF(q.CF)}, func() Example {
			to := q.To
			return Example{DF: q.DF, Node: q.From, To: &to, AtNS: s.at(q.Received), DestroyedNS: q.DestroyedNS}
		})
	}
	s.res.LateRequests, err = k.finding()
	return err
}

func (q *lateRequest) key() string { return requestKey(q.Received, q.To, q.CF, q.DF) }

// requestKey orders requests as inOrder does.
func requestKey(t int64, to int, cf uint64, df string) string {
	return key(uint64(t)^1<<63, uint64(to), cf) + df
}

// answered tells that a request, by its id, was answered, and whether the answer came.
type answered struct {
	Request uint64
	Came    bool
}

// unanswered finds the requests without an answer, where they were made.
func (s *sharing) unanswered() (err error) {
	m := s.m
	if !s.need("unanswered", trace.KindDFRequested, trace.KindDFReceived) {
		return nil
	}
	// Who asked does not know of answers that left and never came; and, in damaged traces, of those that came to others.
	var left []answered
	for i := range m.DFMessages {
		g := &m.DFMessages[i]
		if g.Request == 0 {
			continue
		}
		q := &m.Requests[g.Request]
		switch {
		case g.Received == model.None && g.Sent != model.None && m.Own(int(g.From)):
			left = append(left, answered{m.RequestID(g.Request), false})
		case g.Received != model.None && m.Own(int(g.To)) && !(q.Sent != model.None && m.Own(int(q.From))):
			left = append(left, answered{m.RequestID(g.Request), true})
		}
	}
	out := make([][]answered, s.g.Size())
	for k := range out {
		out[k] = left
	}
	elsewhere, err := exchange(s.g, out)
	if err != nil {
		return err
	}
	k := s.keyed()
	s.eachUnanswered(elsewhere, func(q *model.Message, why string) {
		id := m.CFID(q.CF)
		k.named(sameGroup{Name: m.DFNameOf(q.DF), Why: why, Site: m.SiteOf[q.CF]}, requestKey(q.Sent, int(q.To), uint64(id), m.DFString(q.DF)), 0,
			[2]trace.CF{id}, func() Example { return s.requested(q, q.Sent) })
	})
	s.res.Unanswered, err = k.finding()
	return err
}
