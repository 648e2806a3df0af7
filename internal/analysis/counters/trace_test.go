package counters_test

import (
	"os"
	"testing"
)

// realRun checks the trace of a run that has ended as it should.
func realRun(t *testing.T, dir string) {
	o := load(t, dir)
	defer o.r.Close()
	s := o.set(t)
	if err := likeSeries(t, o, s, 100); err != nil {
		t.Error(err)
	}
	for _, v := range s.Balance() {
		t.Errorf("left over: %+v", v)
	}
}

// TestHeat looks at a recorded run of the heat example on two nodes.
func TestHeat(t *testing.T) {
	text, err := os.ReadFile("testdata/heat.trace.txt")
	if err != nil {
		t.Fatal(err)
	}
	o := open(t, string(text))
	defer o.close()
	realRun(t, o.dir)
}

// TestTrace looks at the trace named by WHYSLOW_TRACE.
func TestTrace(t *testing.T) {
	dir := os.Getenv("WHYSLOW_TRACE")
	if dir == "" {
		t.Skip("WHYSLOW_TRACE names no trace")
	}
	realRun(t, dir)
}
