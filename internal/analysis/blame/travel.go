package blame

import (
	"slices"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Waits whose chains of producers lead from process to process. All processes exchange the waits that left
// them and go on with those that came, until none is under way.

// traveller is a wait on its way to the process that knows more of a CF.
type traveller struct {
	Walk   pursuit
	CF     trace.CF
	Site   uint32
	Until  int64   // it had started by then
	Come   int     // how many processes have been asked for it
	Codes  []int32 // the places in the tree where the wait was counted, by code fragment
	Behind []int32 // and 1 + the one each is below; 0 none
	At     int32   // likewise: where it is
}

// leave sends the rest of the present wait to another process.
func (c *chaser) leave(to int, cf model.CF, until int64, come int) {
	t := traveller{Walk: c.pursuit, CF: c.m.CFID(cf), Site: c.m.SiteOf[cf], Until: until, Come: come}
	t.Walk.Hole = append([]model.Interval(nil), c.Hole...)
	place := func(n int32) int32 {
		for i, b := range c.been {
			if b == n {
				return int32(i) + 1
			}
		}
		return 0
	}
	for _, n := range c.been {
		t.Codes, t.Behind = append(t.Codes, c.tree.Nodes[n].Code),
			append(t.Behind, place(c.tree.Nodes[n].Parent))
	}
	t.At = place(c.pursuit.at)
	c.away[to] = append(c.away[to], t)
}

// come goes on with a wait from elsewhere.
func (c *chaser) come(t *traveller) {
	c.pursuit = t.Walk
	c.waits++
	places := []int32{0}
	for i, code := range t.Codes {
		n := c.tree.child(places[t.Behind[i]], code)
		c.tree.Nodes[n].mark = c.waits
		places = append(places, n)
	}
	c.pursuit.at, c.been = places[t.At], places[1:]
	if cf := c.m.FindCF(t.CF); cf != 0 {
		c.begin(cf, t.Until, t.Come+1)
	} else {
		c.follows(c.m.Learn(t.CF, t.Site), -1, t.Until)
	}
}

// departures are what one process sends another.
type departures struct {
	Under int // way, to all processes
	List  []traveller
}

// travel lets all waits go to where their chains lead; from knows of waits that have left.
func (b *blamer) travel(from []*chaser) (*chaser, error) {
	guest := newChaser(b, make([]uint32, len(b.pieces)))
	for _, c := range from {
		for k, list := range c.away {
			guest.away[k] = append(guest.away[k], list...)
		}
		c.away = nil
	}
	for {
		under := len(slices.Concat(guest.away...))
		out := make([]departures, b.g.Size())
		for k, list := range guest.away {
			out[k] = departures{under, list}
			guest.away[k] = nil
		}
		came, err := procs.Swap(b.g, out)
		if err != nil {
			return nil, err
		}
		under = 0
		for k := range came {
			under += came[k].Under
		}
		if under == 0 {
			return guest, nil
		}
		for k := range came {
			for i := range came[k].List {
				guest.come(&came[k].List[i])
			}
		}
	}
}
