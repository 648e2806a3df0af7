package model

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
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
			return lists.Of(key, keys, func(add func(uint32, int)) {
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
