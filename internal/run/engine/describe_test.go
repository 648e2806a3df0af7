package engine_test

import (
	"testing"

	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// TestDescribe compares what the session says about the program with the program.
func TestDescribe(t *testing.T) {
	p := compile(t, known)
	ses := prof.New()
	if _, err := engine.Run(t.Context(), engine.Config{Program: p, Library: open(t, p), Nodes: 2, Workers: 1,
		Session: ses}); err != nil {
		t.Fatal(err)
	}
	d := ses.Describe()
	for i, st := range p.Stmts {
		want := prof.Site{Code: p.Codes[st.Code].Name, Kind: trace.CodeKind(p.Codes[st.Code].Kind),
			Label: st.LabelName, File: st.Pos.File, Line: st.Pos.Line, Col: st.Pos.Col, Text: st.Text}
		if got := d.Site(i%2, trace.Site(i+1)); got != want {
			t.Errorf("statement %d: %+v, wanted %+v", i+1, got, want)
		}
	}
	if s := d.Site(0, 0); s != (prof.Site{}) {
		t.Error(s)
	}
	if s := d.Site(0, trace.Site(len(p.Stmts)+1)); s != (prof.Site{}) {
		t.Error(s)
	}
	if name, list := d.DF(0, 1); name != "" || list != nil {
		t.Error("a DF is known that nobody wanted to know: ", name, list)
	}
}

// TestDescribeForgets checks that what the describer keeps does not grow with the number of DFs that there
// have been.
func TestDescribeForgets(t *testing.T) {
	p := compile(t, `
		sub main()
		{
			df x, y, kept, n;
			put(x[0], 0) @ { req_count x[0] = 1; };
			while k < 40000, k = 0 .. out n {
				mix(x[k + 1], x[k], 1) @ { req_count x[k + 1] = 1; };
				put(y[k], k) @ { locator_cyclic: 1; req_count y[k] = 1; };
				mix(y[-k - 1], y[k], 1) @ { drop y; };
			}
			for i = 1 .. 10 put(kept[i], i);
			add(x[40000], n, kept[0]);
		} @ { locator_cyclic y[i] => i; }`)
	for _, s := range []shape{one, {nodes: 2, workers: 2}} {
		ses := prof.New()
		l := &ledger{}
		if err := ses.CFStarted.Connect("names", 0,
			func(st *prof.Stream, _ int64, _ trace.CF, _ uint64, inputs []trace.DF) {
				for _, df := range inputs {
					if name, list := ses.Describe().DF(st.Node(), df); name == "" || len(list) < 2 {
						l.mu.Lock()
						l.fault("%d is not known", df)
						l.mu.Unlock()
					}
				}
			}); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Run(t.Context(), engine.Config{Program: p, Library: open(t, p), Nodes: s.nodes,
			Workers: s.workers, Session: ses, DescribeDFs: true}); err != nil {
			t.Fatal(err)
		}
		n := engine.KnownDFs(ses.Describe())
		if most := s.nodes * (engine.MostKept + 32*512 + 100); n > most || n < 11 || len(l.faults) > 0 {
			t.Errorf("%v: %d DFs are known, at most %d should; %v", s, n, most, l.faults)
		}
		t.Logf("%v: %d DFs known of 120000", s, n)
	}
}
