package compile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPrune(t *testing.T) {
	dir := t.TempDir()
	name := func(digit, suffix string) string { return strings.Repeat(digit, 64) + suffix }
	put := func(name string, size int, age time.Duration) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		for ; path != dir; path = filepath.Dir(path) {
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(name("1", ".o"), 100, 4*time.Hour) // left by an older version
	put(name("2", "")+"/lib.so", 100, 3*time.Hour)
	put(name("3", "")+"/lib.so", 100, 2*time.Hour)
	put(name("4", "")+"/a/b.h", 150, time.Minute)
	put(name("5", ".made"), 50, time.Minute)
	put("tmp-dead/out.o", 0, 25*time.Hour)
	put("tmp-live/out.o", 0, time.Hour)
	put("programs/mine", 1000, 100*24*time.Hour)
	prune(dir, 300)
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{name("3", ""), name("4", ""), name("5", ".made"), "programs", "tmp-live"}
	if !slices.Equal(left, want) {
		t.Errorf("left %s, want %s", left, want)
	}
}
