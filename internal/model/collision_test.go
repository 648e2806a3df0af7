package model

import (
	"slices"
	"strings"
	"testing"
)

// Two DFs whose identity lists have the same 64-bit id (see trace.TestIdentitiesThatCollide), each used on
// all three nodes: they stay two DFs, each the same one on all nodes, and it is told once.
func TestCollidingIdentities(t *testing.T) {
	m := build(t, `
#node 0
#df 1 x [0 1 -4814455743165677260]
0 n0 s0 Global.onProgramStarted
1 n0 s0 DF.onCreate 1 80
9 n0 s0 Global.onProgramFinished
#node 1
#df 1 x [0 1 1245931602509595413]
#df 2 x [0 1 -4814455743165677260]
0 n1 s0 Global.onProgramStarted
2 n1 s0 DF.onCreate 1 160
3 n1 s0 DF.onStored 2 80
9 n1 s0 Global.onProgramFinished
#node 2
#df 1 x [0 1 -4814455743165677260]
#df 2 x [0 1 1245931602509595413]
0 n2 s0 Global.onProgramStarted
4 n2 s0 DF.onStored 1 80
5 n2 s0 DF.onStored 2 160
9 n2 s0 Global.onProgramFinished
`)
	var made []DF
	for df := DF(1); int(df) < len(m.DFName); df++ {
		if m.MadeFrom[df] < m.MadeFrom[df+1] {
			made = append(made, df)
		}
	}
	if len(m.DFName) != 3 || !slices.Equal(made, []DF{1, 2}) || m.SizeMade(int(m.MadeFrom[1])) != 80 ||
		m.SizeMade(int(m.MadeFrom[2])) != 160 {
		t.Errorf("%d DFs, made %v of sizes %v", len(m.DFName)-1, made, m.madeSize)
	}
	var copies []DF
	for _, c := range m.Copies {
		copies = append(copies, c.DF)
	}
	if !slices.Equal(copies, []DF{1, 1, 2}) {
		t.Errorf("copies of %v", copies)
	}
	want := "DFs x [0 1 -4814455743165677260] and x [0 1 1245931602509595413] have the same 64-bit id " +
		"a0f3888b00b1e0af; they are kept apart"
	if len(m.Collisions) != 1 || m.Collisions[0] != want {
		t.Errorf("%s", strings.Join(m.Collisions, "\n"))
	}
}
