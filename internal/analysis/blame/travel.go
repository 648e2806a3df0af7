package blame

import (
	"errors"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// Waits whose chains of producers lead from process to process. All processes exchange the waits that left
// them and go on with those that came, until none is under way. That takes as many exchanges as the chain
// with the most changes of process has.

// traveller is a wait on its way to the process that knows more of a CF.
type traveller struct {
	Walk   walk
	CF     trace.CF
	Site   uint32
	Until  int64   // it had started by then
	Come   int     // how many processes have been asked for it
	Codes  []int32 // the places in the tree where the wait was counted, by code fragment
	Behind []int32 // and 1 + the one each is below; 0 none
	At     int32   // likewise: where it is
}

var errBroken = errors.New("internal error: what another process told about who is to blame makes no sense")

// leave sends the rest of the present wait to another process.
func (c *chaser) leave(to int, cf model.CF, until int64, come int) {
	t := traveller{Walk: c.walk, CF: c.m.CFID(cf), Site: c.m.SiteOf[cf], Until: until, Come: come}
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
	t.At = place(c.walk.at)
	c.away[to] = append(c.away[to], t)
}

// come goes on with a wait from elsewhere.
func (c *chaser) come(t *traveller) error {
	c.walk = t.Walk
	c.waits++
	places := []int32{0}
	for i, code := range t.Codes {
		if i >= len(t.Behind) || t.Behind[i] < 0 || int(t.Behind[i]) >= len(places) ||
			int(code) >= len(c.m.Codes) || int(t.Site) >= len(c.m.Sites) {
			return errBroken
		}
		n := c.tree.child(places[t.Behind[i]], code)
		c.tree.Nodes[n].mark = c.waits
		places = append(places, n)
	}
	cf := c.m.FindCF(t.CF)
	if t.At < 0 || int(t.At) >= len(places) || t.Come > c.g.Size() {
		return errBroken
	}
	c.walk.at, c.been = places[t.At], places[1:]
	if cf == 0 {
		c.follows(c.m.Learn(t.CF, t.Site), -1, t.Until)
		return nil
	}
	c.begin(cf, t.Until, t.Come+1)
	return nil
}

// departures are what one process sends another.
type departures struct {
	Under  int    // way, to all processes
	Failed string // what went wrong with those that came
	List   []traveller
}

// travel lets all waits go to where their chains lead. The chasers are those that know of waits that have
// left.
func (b *blamer) travel(from []*chaser) (*chaser, error) {
	guest := newChaser(b)
	if b.g.Size() == 1 {
		return guest, nil
	}
	for _, c := range from {
		for k, list := range c.away {
			guest.away[k] = append(guest.away[k], list...)
		}
		c.away = nil
	}
	failed := ""
	for {
		under := 0
		for _, list := range guest.away {
			under += len(list)
		}
		out := make([]departures, b.g.Size())
		for k, list := range guest.away {
			out[k] = departures{under, failed, list}
			guest.away[k] = nil
		}
		came, err := procs.Swap(b.g, out)
		if err != nil {
			return nil, err
		}
		under = 0
		for k := range came {
			if came[k].Failed != "" {
				return nil, errors.New(came[k].Failed)
			}
			under += came[k].Under
		}
		if under == 0 {
			return guest, nil
		}
		for k := range came {
			for i := range came[k].List {
				if err := guest.come(&came[k].List[i]); err != nil {
					failed = err.Error()
				}
			}
		}
	}
}
