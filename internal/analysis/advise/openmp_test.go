package advise_test

import (
	"os"
	"strings"
	"testing"
)

// TestOpenMP: the recorded tasks of a program that takes Fibonacci numbers apart to the end are too small,
// although the parallel region lasts as long as all of them; what to do is said in OpenMP's words.
func TestOpenMP(t *testing.T) {
	text, err := os.ReadFile("testdata/openmp/fib.trace")
	if err != nil {
		t.Fatal(err)
	}
	a := analyse(t, string(text))
	small := a.find("too-small")
	if small == nil || !strings.Contains(small.Text, "make no tasks below some size") ||
		5*small.GainWallNS < a.res.WallNS {
		t.Errorf("%+v", a.list)
	}
	for _, x := range a.list {
		if strings.Contains(x.Text, "--priority") {
			t.Error(x.Text)
		}
	}
}
