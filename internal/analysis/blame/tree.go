package blame

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
)

// Activity is what a producer that was waited for was doing.
type Activity uint8

// The activities. Those from parts on are of parts of O that words.Part.Doing tells of: being in that part.
const (
	Running Activity = iota // its CF was executed
	// its CF was started, and waited for a lock, an exclusive resource, a collective or a debugger
	Waiting
	Queued  // its CF was ready, and the worker that was to start it executed another one
	Link    // its input, a request or its CF was on a link
	Ended   // it had ended, and so had all that was waited for: the end of the run
	Lost    // what its worker did was not recorded
	Unknown // what its CF was doing, or who produced the DF, was not recorded
	Further // the chain is longer than was followed
	parts
	activities = parts + Activity(slou.PartCount)
)

var activityNames = [parts]string{"running", "waiting", "queued", "link", "ended", "lost", "unknown",
	"further"}

// String gives the name used in reports.
func (a Activity) String() string {
	if a < parts {
		return activityNames[a]
	}
	return slou.Part(a - parts).Info().ActivityName()
}

// activityOf has the activities of the parts; Running for those that are none of their own.
var activityOf = func() (of [slou.PartCount]Activity) {
	for p := range slou.PartCount {
		if p.Info().Doing != (words.Phrase{}) {
			of[p] = parts + Activity(p)
		}
	}
	return of
}()

// Starved divides S anew: among what those did that were waited for.
type Starved struct {
	NS int64 `json:"ns"` // S
	// Chains are the code fragments that workers waited for directly, most first. Their NS add up to NS.
	Chains []Blamed `json:"chains"`
	// Roots are what all of S comes down to, most first, wherever it is in the chains. Their NS add up to NS.
	Roots []Root `json:"roots"`
}

// Blamed is a code fragment whose CFs workers, or CFs of the code fragment before it, waited for.
type Blamed struct {
	Place
	NS     int64    `json:"ns"`     // Doing and Behind, all of it
	Count  int64    `json:"count"`  // waits that lead here
	Doing  []Doing  `json:"doing"`  // what its CFs did themselves, most first
	Behind []Blamed `json:"behind"` // whom its CFs waited for themselves, most first
}

// Doing is the time of one activity.
type Doing struct {
	Activity string `json:"activity"`
	// With is the code fragment that was executed instead (queued), the link ("0->1"), or what was waited for
	// (waiting); "" for the other activities.
	With string `json:"with"`
	NS   int64  `json:"ns"`
}

// Root is an activity of a code fragment that S comes down to.
type Root struct {
	Place
	Doing
}

// tree collects the S of one worker. Node 0 is S itself.
type tree struct {
	m     *model.Model
	Nodes []treeNode
	Names []string // of what was waited for
}

type treeNode struct {
	Code        int32 // -1 where the producer is not known
	Parent      int32
	Child, Next int32 // 0 none
	Depth       int32
	Count       int64
	mark        int32 // number of the wait that was counted last
	Doing       []doing
}

type doing struct {
	What Activity
	With int64 // code fragment, index into Names, or a link
	NS   int64
}

func newTree(m *model.Model) *tree { return &tree{m: m, Nodes: []treeNode{{Code: -2}}} }

// enter goes on from a node to a code fragment: back to where it already is on the path to the node, else to
// a child. It gives false where the tree would become deeper than depth.
func (t *tree) enter(at, code, depth int32) (int32, bool) {
	for n := at; n != 0; n = t.Nodes[n].Parent {
		if t.Nodes[n].Code == code {
			return n, true
		}
	}
	if n := t.find(at, code); n != 0 || t.Nodes[at].Depth >= depth {
		return cmp.Or(n, at), n != 0
	}
	return t.child(at, code), true
}

// find gives the child of a node with a code fragment, 0 for none.
func (t *tree) find(at, code int32) int32 {
	n := t.Nodes[at].Child
	for n != 0 && t.Nodes[n].Code != code {
		n = t.Nodes[n].Next
	}
	return n
}

// child is find, and makes one where there is none.
func (t *tree) child(at, code int32) int32 {
	if n := t.find(at, code); n != 0 {
		return n
	}
	n := int32(len(t.Nodes))
	t.Nodes = append(t.Nodes, treeNode{Code: code, Parent: at, Depth: t.Nodes[at].Depth + 1,
		Next: t.Nodes[at].Child})
	t.Nodes[at].Child = n
	return n
}

func (t *tree) take(at int32, what Activity, with, ns int64) {
	if ns <= 0 {
		return
	}
	n := &t.Nodes[at]
	for i := range n.Doing {
		if d := &n.Doing[i]; d.What == what && d.With == with {
			d.NS += ns
			return
		}
	}
	n.Doing = append(n.Doing, doing{what, with, ns})
}

func (t *tree) name(s string) int64 {
	i := slices.Index(t.Names, s)
	if i < 0 {
		i = len(t.Names)
		t.Names = append(t.Names, s)
	}
	return int64(i)
}

// join adds another tree.
func (t *tree) join(o *tree) { t.joinAt(0, o, 0) }

func (t *tree) joinAt(at int32, o *tree, from int32) {
	n := &o.Nodes[from]
	t.Nodes[at].Count += n.Count
	for _, d := range n.Doing {
		if d.What == Waiting {
			d.With = t.name(o.Names[d.With])
		}
		t.take(at, d.What, d.With, d.NS)
	}
	for c := n.Child; c != 0; c = o.Nodes[c].Next {
		child, _ := t.enter(at, o.Nodes[c].Code, math.MaxInt32)
		t.joinAt(child, o, c)
	}
}

func (t *tree) with(d doing) string {
	switch d.What {
	case Queued:
		return t.m.Codes[d.With].Name
	case Link:
		return strconv.FormatInt(d.With>>32, 10) + "->" + strconv.FormatInt(d.With&(1<<32-1), 10)
	case Waiting:
		return t.Names[d.With]
	}
	return ""
}

// list gives the children of a node with all that is behind them.
func (t *tree) list(at int32) []Blamed {
	out := []Blamed{}
	for c := t.Nodes[at].Child; c != 0; c = t.Nodes[c].Next {
		n := &t.Nodes[c]
		b := Blamed{Count: n.Count, Doing: []Doing{}, Behind: t.list(c)}
		if n.Code >= 0 {
			b.Place = placeOf(t.m, int(n.Code))
		}
		for _, d := range n.Doing {
			b.NS += d.NS
			b.Doing = append(b.Doing, Doing{d.What.String(), t.with(d), d.NS})
		}
		for i := range b.Behind {
			b.NS += b.Behind[i].NS
		}
		if b.NS == 0 {
			continue // all of it lay in what is no S
		}
		slices.SortFunc(b.Doing, compareDoing)
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b Blamed) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), comparePlace(a.Place, b.Place))
	})
	return out
}

// starved tells what S comes down to.
func starved(t *tree, want int64) (*Starved, error) {
	out := &Starved{NS: want, Chains: t.list(0), Roots: t.roots()}
	var chains, roots int64
	for i := range out.Chains {
		chains += out.Chains[i].NS
	}
	for i := range out.Roots {
		roots += out.Roots[i].NS
	}
	if err := check("S", chains, want); err != nil {
		return nil, err
	}
	return out, check("S", roots, want)
}

func compareDoing(a, b Doing) int {
	return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Activity, b.Activity), cmp.Compare(a.With, b.With))
}

func comparePlace(a, b Place) int {
	return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

// roots adds up the activities of all nodes.
func (t *tree) roots() []Root {
	type key struct {
		code int32
		what Activity
		with int64
	}
	sums := map[key]int64{}
	for i := range t.Nodes {
		for _, d := range t.Nodes[i].Doing {
			sums[key{t.Nodes[i].Code, d.What, d.With}] += d.NS
		}
	}
	out := []Root{}
	for k, ns := range sums {
		r := Root{Doing: Doing{k.what.String(), t.with(doing{k.what, k.with, ns}), ns}}
		if k.code >= 0 {
			r.Place = placeOf(t.m, int(k.code))
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Root) int {
		return cmp.Or(compareDoing(a.Doing, b.Doing), comparePlace(a.Place, b.Place))
	})
	return out
}
