package model

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/trace"
)

// A model of a part has the whole run's bounds and clocks, everything that happened within the part, and
// reads no more blocks than it must.
func TestPart(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		const nodes, workers = 2, 2
		ended := rapid.Bool().Draw(rt, "ended")
		offsets := rapid.SliceOfN(rapid.Int64Range(-5000, 5000), 3*nodes, 3*nodes).Draw(rt, "offsets")
		n := rapid.IntRange(1, 600).Draw(rt, "CFs")
		step := int64(20)
		// what it makes read more
		spread := max(slices.Max(offsets[:3])-slices.Min(offsets[:3]),
			slices.Max(offsets[3:])-slices.Min(offsets[3:]))
		for node := range nodes {
			w, err := trace.Create(dir, node, trace.Options{BufferBytes: 1 << 10})
			if err != nil {
				t.Fatal(err)
			}
			for s := range workers {
				w.Stream(s).Emit(0, trace.KindProgramStarted, 0, 0)
			}
			for i, o := range offsets[3*node : 3*node+3] {
				w.Stream(workers).Emit(int64(n)*step*int64(i)/2, trace.KindClockSync, uint64(o), 1)
			}
			for i := range n {
				s := w.Stream(i % workers)
				at := int64(i) * step
				cf := uint64(trace.MakeCF(node, uint64(i)+1))
				w.DefineDF(trace.DF(i+1), w.Name("x"), []int64{0, int64(i)})
				s.Emit(at, trace.KindCFStarted, cf, 1, 1, uint64(i)+1)
				s.Emit(at+step/2, trace.KindCFFinished, cf, 1, ^uint64(0))
			}
			for s := range workers {
				if ended {
					w.Stream(s).Emit(int64(n)*step, trace.KindProgramFinished, 0)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		r, err := trace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		whole, err := Build(context.Background(), r, Options{})
		if err != nil {
			t.Fatal(err)
		}
		from := rapid.Int64Range(whole.Start-100, whole.End).Draw(rt, "from")
		to := from + rapid.Int64Range(0, 500).Draw(rt, "length")
		before := r.BytesRead()
		m, err := Build(context.Background(), r, Options{In: &trace.Span{From: from, To: to}})
		if err != nil {
			t.Fatal(err)
		}
		if read := r.BytesRead() - before; n > 500 && spread < 2000 && read > r.Size()*3/4 {
			rt.Errorf("read %d of %d bytes for a stretch of %d ns", read, r.Size(), to-from)
		}
		facts := func(m *Model) string {
			text := fmt.Sprint(m.Start, m.End, m.Killed)
			for id, w := range m.AllWorkers() {
				text += fmt.Sprint(" ", id, w.Started, w.Finished, w.Last, w.Lost)
			}
			return text
		}
		if a, b := facts(m), facts(whole); a != b {
			rt.Fatalf("the part's run is\n%s\nthe whole one's\n%s", a, b)
		}
		runs := func(m *Model) (list []string) {
			for e, start := range m.ExecStart {
				if start >= from && m.ExecEnd[e] <= to && m.ExecEnd[e] != None {
					list = append(list, fmt.Sprint(m.CFID(m.ExecCF[e]), start, m.ExecEnd[e], m.DFKey(m.Inputs(e)[0])))
				}
			}
			slices.Sort(list)
			return list
		}
		if a, b := runs(m), runs(whole); !slices.Equal(a, b) {
			rt.Fatalf("executions in the part: %v\nof the whole: %v", a, b)
		}
	})
}

// A DF has a key that any node's number leads to.
func TestDFKeys(t *testing.T) {
	m := build(t, `
#node 1
#df 3 x [0 1 5]
0 n1 s0 Global.onProgramStarted
1 n1 s0 DF.onStored 3 8
2 n1 s0 DF.onStored 9 8
#node 2
#df 7 x [0 1 5]
#df 8 y [0 2]
0 n2 s0 Global.onProgramStarted
1 n2 s0 DF.onStored 7 8
2 n2 s0 DF.onStored 9 8
`)
	for key, want := range map[string]string{
		"1:3": "1:3 x[5]", "2:7": "1:3 x[5]", "2:8": "2:8 y", "1:9": "1:9 #9", "2:9": "2:9 #9",
		"": "", "1:": "", ":3": "", "1": "", "1:4": "", "0:3": "", "3:3": "", "70000:3": "", "1:3:5": "",
		"-1:3": "", "1:99999999999": "", "+1:3": "",
	} {
		df := m.FindDF(key)
		got := ""
		if df != 0 {
			got = m.DFKey(df) + " " + m.DFString(df)
		}
		if got != want {
			t.Errorf("%q is %q, want %q", key, got, want)
		}
	}
	if m.DFKey(0) != "" || m.DFKey(1000) != "" {
		t.Error("a key of nothing")
	}
}
