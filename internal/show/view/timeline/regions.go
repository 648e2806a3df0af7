package timeline

import (
	"cmp"
	"slices"
	"sort"
	"strconv"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
)

// RegionQuery asks for what threads entered, and for what goes on between them.
type RegionQuery struct {
	From, To int64 // nanoseconds since the start of the run
	Lanes    []int // nil: all
	Width    int   // 1 to 20000: what is shorter than this share of the interval is merged with its neighbours
}

// Regions are the visits of some lanes in an interval, and the collectives and locks of all of them. Short
// ones are merged, so their number depends on the width of the picture, not on that of the interval.
type Regions struct {
	From   int64   `json:"from"`
	To     int64   `json:"to"`
	Depth  int     `json:"depth"`  // of the deepest visit of the run, from 1
	Places []Place `json:"places"` // where visits were called; Places[0] is unknown
	Visits Visits  `json:"visits"` // lane by lane, in order of their ends where they are merged
	// Collectives are the longest ones, in order of time; CollectivesMore are left out.
	Collectives     []Band `json:"collectives"`
	CollectivesMore int    `json:"collectives_more"`
	// Locks are those that were waited for longest in the interval, then those held longest.
	Locks     []LockTrack `json:"locks"`
	LocksMore int         `json:"locks_more"`
}

// Place is a statement that called a region.
type Place struct {
	Code     int    `json:"code"` // the region: number of a code fragment
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"` // the statement is in; "": not known
}

// Visits are stays in regions by column. Those with a count above 1 are several of one depth that follow each
// other, of which the longest is at Place.
type Visits struct {
	Lane  []int   `json:"lane"`
	Depth []int   `json:"depth"` // 0: in no other region
	Start []int64 `json:"start"`
	End   []int64 `json:"end"`
	Place []int   `json:"place"` // index into Places
	Count []int   `json:"count"`
}

// Band is a collective operation.
type Band struct {
	Kind    string       `json:"kind"` // as in SyncEvents.onCollective
	Sync    string       `json:"sync"` // modes, "all/my"; "" for none
	Root    int          `json:"root"` // lane, -1: none or not known
	Place   int          `json:"place"`
	Members []BandMember `json:"members"` // by lane
}

// BandMember is the part of one lane in a collective: ready from From to To.
type BandMember struct {
	Lane int   `json:"lane"`
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// LockTrack is who had a lock and who waited for it.
type LockTrack struct {
	Name  string `json:"name"`
	File  string `json:"file"`
	Line  int    `json:"line"`
	Holds Stays  `json:"holds"` // by time
	Waits Stays  `json:"waits"` // by lane, then time
}

// Stays are stretches of time by column, merged as Visits are; Lane is that of the longest.
type Stays struct {
	Lane  []int   `json:"lane"`
	Start []int64 `json:"start"`
	End   []int64 `json:"end"`
	Count []int   `json:"count"`
}

const (
	mostMembers = 4000 // of all collectives of an answer
	mostLocks   = 12
)

// depths are the depths of visits, by thread, and one more than the greatest.
type depths struct {
	of      [][]int32
	deepest int
	lane    []int // of threads; -1: none
}

func (t *Timeline) depthsOf() (d depths) {
	r := t.m.Regions
	if r == nil {
		return d
	}
	for i := range r.Threads {
		th := &r.Threads[i]
		of := make([]int32, len(th.Parent))
		for v, p := range th.Parent {
			if p >= 0 {
				of[v] = of[p] + 1
			}
			d.deepest = max(d.deepest, int(of[v])+1)
		}
		lane := -1
		if th.Node < len(t.first) && th.Stream < len(t.m.Nodes[th.Node].Workers) {
			lane = t.first[th.Node] + th.Stream
		}
		d.of, d.lane = append(d.of, of), append(d.lane, lane)
	}
	return d
}

// Regions gives the visits, collectives and locks of an interval. A run without regions has locks only.
func (t *Timeline) Regions(q RegionQuery) (*Regions, error) {
	if err := (stretch{q.From, q.To}).check(); err != nil {
		return nil, err
	}
	if q.Width < 1 || q.Width > maxWidth {
		return nil, query.Bad("width=%d: must be 1 to %d", q.Width, maxWidth)
	}
	lanes, err := t.chosen(q.Lanes)
	if err != nil {
		return nil, err
	}
	d := t.depths()
	out := &Regions{From: q.From, To: q.To, Depth: d.deepest, Places: []Place{{}}, Collectives: []Band{},
		Locks: []LockTrack{}, Visits: Visits{[]int{}, []int{}, []int64{}, []int64{}, []int{}, []int{}}}
	p := &regionPicture{t: t, d: d, q: stretch{q.From, q.To}, pixel: (q.To - q.From) / int64(q.Width), out: out,
		places: map[uint32]int{}}
	locks := p.mutexes()
	if t.m.Regions == nil {
		p.show(locks)
		return out, nil
	}
	wanted := make([]bool, len(t.lanes))
	for _, l := range lanes {
		wanted[l] = true
	}
	for i, lane := range d.lane {
		if lane >= 0 && wanted[lane] {
			p.visits(i, lane)
		}
	}
	p.collectives()
	p.show(append(p.locks(), locks...))
	return out, nil
}

// regionPicture makes one answer.
type regionPicture struct {
	t      *Timeline
	d      depths
	q      stretch
	pixel  int64
	out    *Regions
	places map[uint32]int // by site
}

func (p *regionPicture) place(site uint32) int {
	i, ok := p.places[site]
	if !ok {
		i = len(p.out.Places)
		s := &p.t.m.Sites[site]
		p.out.Places = append(p.out.Places, Place{s.Code, s.File, s.Line, s.Function})
		p.places[site] = i
	}
	return i
}

// open is a stretch that the next one may be merged with.
type open struct {
	from, to, longest int64
	what, count       int // of the longest
}

// take adds a stretch; flush gets what it cannot be merged with.
func (o *open) take(from, to int64, what int, pixel int64, flush func(*open)) {
	if o.count > 0 && (to-from >= pixel || o.to-o.from >= pixel || from-o.to >= pixel) {
		flush(o)
		o.count = 0
	}
	if o.count == 0 {
		*o = open{from, to, to - from, what, 1}
		return
	}
	o.to = max(o.to, to)
	o.count++
	if to-from > o.longest {
		o.longest, o.what = to-from, what
	}
}

func (p *regionPicture) visits(thread, lane int) {
	th, depth, v := &p.t.m.Regions.Threads[thread], p.d.of[thread], &p.out.Visits
	pending := make([]open, p.d.deepest)
	flush := func(depth int) func(*open) {
		return func(o *open) {
			v.Lane, v.Depth = append(v.Lane, lane), append(v.Depth, depth)
			v.Start, v.End = append(v.Start, o.from), append(v.End, o.to)
			v.Place, v.Count = append(v.Place, p.place(uint32(o.what))), append(v.Count, o.count)
		}
	}
	add := func(i int) {
		from, to := p.t.at(th.Enter[i]), p.t.at(th.Exit[i])
		if from < p.q.to && to >= p.q.from {
			pending[depth[i]].take(from, to, int(th.Site[i]), p.pixel, flush(int(depth[i])))
		}
	}
	first := sort.Search(len(th.Enter), func(i int) bool { return p.t.at(th.Enter[i]) >= p.q.from })
	if first > 0 { // what was entered before and is still open is around the last one
		for i := int32(first - 1); i >= 0; i = th.Parent[i] {
			add(int(i))
		}
	}
	for i := first; i < len(th.Enter) && p.t.at(th.Enter[i]) < p.q.to; i++ {
		add(i)
	}
	for depth := range pending {
		if o := &pending[depth]; o.count > 0 {
			flush(depth)(o)
		}
	}
}

func (p *regionPicture) collectives() {
	r := p.t.m.Regions
	type found struct {
		number int
		ns     int64
	}
	var list []found
	for i := range r.Instances {
		from, to := int64(maxTime), int64(-maxTime)
		for _, e := range r.MembersOf(i) {
			from, to = min(from, p.t.at(r.Arrived(e))), max(to, p.t.at(r.Left(e)))
		}
		if from < p.q.to && to >= p.q.from && r.Instances[i].Size > 1 {
			list = append(list, found{i, to - from})
		}
	}
	slices.SortFunc(list, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.ns, a.ns), cmp.Compare(a.number, b.number))
	})
	members := 0
	for i, f := range list {
		members += int(r.Instances[f.number].Size)
		if members > mostMembers && i > 0 {
			p.out.CollectivesMore, list = len(list)-i, list[:i]
			break
		}
	}
	slices.SortFunc(list, func(a, b found) int { return cmp.Compare(a.number, b.number) })
	for _, f := range list {
		in := &r.Instances[f.number]
		b := Band{Kind: in.Kind.String(), Sync: in.Sync.String(), Root: -1, Members: []BandMember{}}
		for k, e := range r.MembersOf(f.number) {
			th, lane := &r.Threads[e.Thread], p.d.lane[e.Thread]
			if k == 0 {
				if v := r.Record(e).Visit; v >= 0 {
					b.Place = p.place(th.Site[v])
				}
			}
			if lane < 0 {
				continue
			}
			if k == int(in.Root) {
				b.Root = lane
			}
			b.Members = append(b.Members, BandMember{lane, p.t.at(r.Arrived(e)), p.t.at(r.Left(e))})
		}
		slices.SortFunc(b.Members, func(x, y BandMember) int { return cmp.Compare(x.Lane, y.Lane) })
		p.out.Collectives = append(p.out.Collectives, b)
	}
}

func (p *regionPicture) locks() (list []lockTimes) {
	r := p.t.m.Regions
	for i := range r.Locks {
		l := &r.Locks[i]
		x := lockTimes{LockTrack: LockTrack{Name: l.Name, File: l.File, Line: l.Line, Holds: noStays(),
			Waits: noStays()}}
		waits := make([]open, len(p.t.lanes))
		var hold open
		byLane := make([]Stays, len(p.t.lanes))
		within := func(from, to int64) int64 { return min(to, p.q.to) - max(from, p.q.from) }
		for _, h := range l.Holds {
			from, to, owner := p.hold(h)
			if owner < 0 {
				continue
			}
			if ns := within(from, to); ns >= 0 {
				x.held += ns
				hold.take(from, to, owner, p.pixel, x.Holds.add)
			}
			if asked := p.asked(h); asked < from {
				if ns := within(asked, from); ns > 0 {
					x.waited += ns
					waits[owner].take(asked, from, owner, p.pixel, byLane[owner].add)
				}
			}
		}
		if hold.count > 0 {
			x.Holds.add(&hold)
		}
		for lane := range waits {
			if waits[lane].count > 0 {
				byLane[lane].add(&waits[lane])
			}
			x.Waits.append(byLane[lane])
		}
		if len(x.Holds.Lane)+len(x.Waits.Lane) > 0 {
			list = append(list, x)
		}
	}
	return list
}

// lockTimes is a lock, and how long it was waited for and held within the interval.
type lockTimes struct {
	LockTrack
	waited, held int64
}

// show puts the locks that cost most into the answer.
func (p *regionPicture) show(list []lockTimes) {
	slices.SortStableFunc(list, func(a, b lockTimes) int {
		return cmp.Or(cmp.Compare(b.waited, a.waited), cmp.Compare(b.held, a.held))
	})
	for i := range list {
		if i == mostLocks {
			p.out.LocksMore = len(list) - i
			break
		}
		p.out.Locks = append(p.out.Locks, list[i].LockTrack)
	}
}

// hold gives the time of a hold and the lane that had the lock; an end that was not recorded is that of the
// thread.
func (p *regionPicture) hold(h model.Hold) (from, to int64, lane int) {
	r := p.t.m.Regions
	thread := max(h.Acquired.Thread, h.Released.Thread)
	from, to = p.t.at(r.Threads[thread].Start), p.t.at(r.Threads[thread].End)
	if h.Acquired.Thread >= 0 {
		from = p.t.at(r.LockEvent(h.Acquired).Time)
	}
	if h.Released.Thread >= 0 {
		to = p.t.at(r.LockEvent(h.Released).Time)
	}
	return from, to, p.d.lane[thread]
}

// asked is when a thread asked for a lock that another one had then; where nobody had it, the time it got it.
func (p *regionPicture) asked(h model.Hold) int64 {
	r := p.t.m.Regions
	if h.Acquired.Thread < 0 {
		return maxTime
	}
	e := r.LockEvent(h.Acquired)
	if e.Visit < 0 || e.Link.Thread < 0 {
		return maxTime
	}
	if at := r.Threads[h.Acquired.Thread].Enter[e.Visit]; at < r.LockEvent(e.Link).Time {
		return p.t.at(at)
	}
	return maxTime
}

func noStays() Stays { return Stays{[]int{}, []int64{}, []int64{}, []int{}} }

func (s *Stays) add(o *open) {
	s.Lane, s.Start, s.End, s.Count = append(s.Lane, o.what), append(s.Start, o.from), append(s.End, o.to),
		append(s.Count, o.count)
}

func (s *Stays) append(o Stays) {
	s.Lane, s.Start, s.End, s.Count = append(s.Lane, o.Lane...), append(s.Start, o.Start...),
		append(s.End, o.End...), append(s.Count, o.Count...)
}

// siteAt is where the region was called that a lane was in at a time, 0 for none.
func (t *Timeline) siteAt(lane int, at int64) uint32 {
	i := slices.Index(t.depths().lane, lane)
	if i < 0 {
		return 0
	}
	th := &t.m.Regions.Threads[i]
	v := int32(sort.Search(len(th.Enter), func(v int) bool { return t.at(th.Enter[v]) > at })) - 1
	for v >= 0 && t.at(th.Exit[v]) <= at {
		v = th.Parent[v]
	}
	if v < 0 {
		return 0
	}
	return th.Site[v]
}

func (t *Timeline) placeAt(lane int, at int64) string {
	s := &t.m.Sites[t.siteAt(lane, at)]
	return s.File + ":" + strconv.Itoa(s.Line)
}

// regionAt names the region that a lane was in at a time, and where it was called; "" for none.
func (t *Timeline) regionAt(lane int, at int64) string {
	n := t.siteAt(lane, at)
	if n == 0 {
		return ""
	}
	s := &t.m.Sites[n]
	if s.File == "" {
		return t.m.Codes[s.Code].Name
	}
	return t.m.Codes[s.Code].Name + ", " + s.File + ":" + strconv.Itoa(s.Line)
}
