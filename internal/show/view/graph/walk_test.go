package graph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestRoomIsShared: a CF with very many inputs leaves room for what else is beside it, and for what is behind
// them.
func TestRoomIsShared(t *testing.T) {
	const inputs = 400
	var s strings.Builder
	s.WriteString("#run {\"nodes\":[{\"node\":0,\"workers\":1}]}\n#code 1 main sub\n#code 2 f atomic\n#site " +
		"1 code=1\n#site 2 code=2\n#df 1 y [0 1]\n")
	var all []string
	for i := range inputs {
		fmt.Fprintf(&s, "#df %d x [0 2 %d]\n", i+2, i)
		all = append(all, fmt.Sprint(i+2))
	}
	s.WriteString("0 Global.onProgramStarted\n0 CF.onCreated 0.1 1\n1 CF.onCreated cf=0.2 site=2 parent=0.1 " +
		"execution=1\n")
	for i := range inputs {
		fmt.Fprintf(&s, "2 CF.onCreated 0.%d 2\n3 DF.onCreate df=%d size=8 cf=0.%d\n", i+10, i+2, i+10)
	}
	fmt.Fprintf(&s, "4 CF.onStarted cf=0.2 execution=1 inputs=[%s]\n5 DF.onCreate df=1 size=8 cf=0.2\n",
		strings.Join(all, " "))
	s.WriteString("6 CF.onCreated cf=0.3 site=2 parent=0.2 execution=1\n7 CF.onFinished cf=0.2 execution=1\n9 " +
		"Global.onProgramFinished\n")
	g := build(t, sloutest.Build(t, s.String()))
	got, err := g.Around(AroundQuery{CF: "0.2", Depth: 2, Limit: 40})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, n := range got.Nodes {
		switch {
		case n.Kind == kindCF && n.Key != "0.1" && n.Key != "0.2" && n.Key != "0.3":
			count["makers"]++
		case n.Kind == kindDF && n.Title != "y":
			count["inputs"]++
		default:
			count[n.ID]++
		}
	}
	for _, id := range []string{"cf0.1", "cf0.2", "cf0.3", "df0:1"} {
		if count[id] != 1 {
			t.Errorf("%s is not shown", id)
		}
	}
	// 39 places beside the CF itself: 20 at distance 1, of which 3 are no inputs, 17 with a maker each at
	// distance 2; 2 more of each.
	if count["makers"] < 17 || count["inputs"] < 17 || len(got.Nodes) != 40 {
		t.Errorf("%d nodes: %v", len(got.Nodes), count)
	}
	// Left out are the inputs that are not shown, and of those that are the makers that are not.
	if want := inputs - count["makers"]; got.More != want {
		t.Errorf("%d more, want %d", got.More, want)
	}
}
