package model

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// TestLists compares the lists with the items sorted into one list a key.
func TestLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.IntRange(1, 6).Draw(t, "keys")
		items := rapid.SliceOf(rapid.SliceOf(rapid.Uint32Range(0, uint32(keys-1)))).Draw(t, "items")
		want := make([][]uint32, keys)
		for i, list := range items {
			for _, k := range list {
				want[k] = append(want[k], uint32(i))
			}
		}
		var lists Lists
		of := func(key uint32) []uint32 {
			return lists.Of(&Model{}, key, keys, func(add func(uint32, int)) {
				for i, list := range items {
					for _, k := range list {
						add(k, i)
					}
				}
			})
		}
		for k := 1; k < keys; k++ {
			if got := of(uint32(k)); !slices.Equal(want[k], got) {
				t.Fatalf("key %d: %v, want %v", k, got, want[k])
			}
		}
		if len(of(0))+len(of(uint32(keys)))+len(of(1<<31)) > 0 {
			t.Fatal("there are items without a key")
		}
	})
}

// Lists of messages, requests and CFs do not depend on which node's were met first.
func TestOrderOfLists(t *testing.T) {
	dir := t.TempDir()
	text := `#run {"ended":"done","nodes":[{"node":0,"workers":1},{"node":1,"workers":1},{"node":2,"workers":1}]}
#node 0
#df 1 x [0 1]
#node 1
#df 1 x [0 1]
#node 2
#df 1 x [0 1]
1 n0 s0 CF.onCreated 0.1
`
	for node := range 3 {
		text += fmt.Sprintf("2 n%d s0 CF.onCreated cf=%[1]d.5 parent=0.1\n", node)
		text += fmt.Sprintf("3 n%d s0 DF.onRequested df=1 node=%d request=%[1]d.1\n", node, (node+1)%3)
		text += fmt.Sprintf("4 n%d s0 DF.onSent df=1 to=%d bytes=8 message=%[1]d.1\n", node, (node+1)%3)
	}
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	for _, first := range []int{0, 1, 2} {
		r, err := trace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		b := newBuilder(r.Run(), r.Nodes())
		for _, ids := range []*ids{b.cfs, b.messages, b.requests} {
			ids.number(uint64(trace.MakeCF(first, 1)))
		}
		if err := b.read(context.Background(), r, Options{Parallel: 1}, nil); err != nil {
			t.Fatal(err)
		}
		m := b.finish()
		var got []int
		for _, i := range m.ChildrenOf(m.FindCF(trace.MakeCF(0, 1))) {
			got = append(got, m.CFID(CF(i)).Node())
		}
		for _, i := range m.RequestsOf(1) {
			got = append(got, int(m.Requests[i].From))
		}
		for _, i := range m.MessagesOf(1) {
			got = append(got, int(m.DFMessages[i].From))
		}
		if !slices.Equal(got, []int{0, 1, 2, 0, 1, 2, 0, 1, 2}) {
			t.Errorf("with node %d first: %v", first, got)
		}
	}
}
