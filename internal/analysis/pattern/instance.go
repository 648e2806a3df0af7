package pattern

import (
	"slices"

	"github.com/whyslow/whyslow/internal/model"
)

// instance is a collective operation that all members took part in, as patterns see it. Members are numbered
// by their place in the group.
type instance struct {
	r       *model.Regions
	members []model.Member
	kind    model.CollectiveKind
	sync    model.Sync
	root    int // member, -1: none or not known

	// when each member was ready for the others: it entered the operation, or the first phase of a barrier of
	// two
	entered []int64
	// when it entered the operation that it left at left: later than entered only in a barrier of two phases,
	// and where the operation does not block
	begun []int64
	left  []int64
	last  int // the member that entered last
	// nonBlocking: it only began at entered, and begun and left are those of the calls that waited for it
	nonBlocking bool

	prefix []int64 // see prefixEnter
	before []int   // likewise: who that was
}

// load takes up another instance.
func (in *instance) load(r *model.Regions, number int) {
	i := &r.Instances[number]
	in.r, in.members = r, r.MembersOf(number)
	in.kind, in.sync, in.root = i.Kind, i.Sync, int(i.Root)
	in.entered, in.begun, in.left = in.entered[:0], in.begun[:0], in.left[:0]
	in.last, in.prefix, in.before = 0, in.prefix[:0], in.before[:0]
	in.nonBlocking = r.Record(in.members[0]).NonBlocking
	for k, e := range in.members {
		t, v := &r.Threads[e.Thread], r.Record(e).End()
		in.entered, in.begun, in.left = append(in.entered, r.Arrived(e)), append(in.begun, t.Enter[v]),
			append(in.left, t.Exit[v])
		if in.entered[k] > in.entered[in.last] {
			in.last = k
		}
	}
}

// lastEnter is when the last member entered.
func (in *instance) lastEnter() int64 { return in.entered[in.last] }

// firstLeave is when the first member left or, where clocks make that earlier than it can be, the last one
// entered.
func (in *instance) firstLeave() int64 { return max(slices.Min(in.left), in.lastEnter()) }

// firstSender is the first member to enter but the root; false where there is none.
func (in *instance) firstSender() (at int64, member int, ok bool) {
	for k, t := range in.entered {
		if k != in.root && (!ok || t < at) {
			at, member, ok = t, k, true
		}
	}
	return at, member, ok
}

// partner is the member that a member of a permutation gets its data from, -1 where that is not known.
func (in *instance) partner(k int) int {
	c := in.r.Record(in.members[k])
	d := c.Root - c.Start
	if c.Root < 0 || d < 0 || c.Stride < 1 || d%c.Stride != 0 || d/c.Stride >= c.Size {
		return -1
	}
	return int(d / c.Stride)
}

// prefixEnter is when the last of the members entered on whose data a member's result depends in a reduction
// of prefixes: those up to it, from the root on; all, where the root is not known.
func (in *instance) prefixEnter(k int) (at int64, member int) {
	if in.root < 0 {
		return in.lastEnter(), in.last
	}
	n := len(in.members)
	if len(in.prefix) == 0 {
		at, who := model.None, 0
		for p := range n {
			k := (in.root + p) % n
			if in.entered[k] > at {
				at, who = in.entered[k], k
			}
			in.prefix, in.before = append(in.prefix, at), append(in.before, who)
		}
	}
	p := (k - in.root + n) % n
	return in.prefix[p], in.before[p]
}

// Shapes of collectives: who gives data to whom.

// oneToAll: the root gives data to all.
func (in *instance) oneToAll() bool {
	return in.kind == model.CollectiveBroadcast || in.kind == model.CollectiveScatter
}

// allToOne: all give data to the root.
func (in *instance) allToOne() bool {
	return in.kind == model.CollectiveGather || in.kind == model.CollectiveReduce
}

// allToAll: all give data to all, or might.
func (in *instance) allToAll() bool {
	switch in.kind {
	case model.CollectiveGatherAll, model.CollectiveExchange, model.CollectivePermute,
		model.CollectiveAllReduce, model.CollectiveCollect:
		return true
	}
	return false
}

// prefixes: each gives data to those after it.
func (in *instance) prefixes() bool { return in.kind == model.CollectivePrefixReduce }

// hasRoot: all data come from one member, go to one, or begin with one.
func (in *instance) hasRoot() bool { return in.oneToAll() || in.allToOne() || in.prefixes() }

// waitsForData tells that members may need to wait for each other before they move data. With IN_NOSYNC the
// program has seen to that.
func (in *instance) waitsForData() bool { return in.sync.In != model.SyncNo }

// waitsForAll: nobody may move data before all have entered.
func (in *instance) waitsForAll() bool { return in.sync.In == model.SyncAll }
