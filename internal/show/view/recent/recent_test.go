package recent

import (
	"slices"
	"testing"
)

func TestList(t *testing.T) {
	var gone []string
	l := New[int](2, func(s string) { gone = append(gone, s) })
	l.Put(1, "one")
	l.Put(2, "two")
	l.Put(2, "another two")
	if v, ok := l.Get(1); v != "one" || !ok {
		t.Error(v, ok)
	}
	l.Put(3, "three")
	for key, want := range map[int]string{1: "one", 2: "", 3: "three"} {
		if v, ok := l.Get(key); v != want || ok != (want != "") {
			t.Errorf("%d: %q, %v", key, v, ok)
		}
	}
	if !slices.Equal(gone, []string{"two"}) {
		t.Error(gone)
	}
}
