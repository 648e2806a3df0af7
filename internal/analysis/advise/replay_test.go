package advise

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestReplay: with nothing changed a replay is the run, whatever the trace holds; and what only becomes
// shorter makes the run no longer.
func TestReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := sloutest.Build(t, random(t).Text())
		r := replayOf(t, m)
		if got := r.wall(change{}); got != m.Wall() {
			t.Fatalf("the replay of a run of %d ns takes %d", m.Wall(), got)
		}
		for i := range r.Transfers {
			w := &r.Transfers[i]
			if w.Post < 0 || w.Ask < 0 || w.Answer < 0 {
				t.Fatalf("%s to node %d: %+v", m.Names[w.Name], w.User, *w)
			}
		}
		for name, c := range map[string]change{
			"without links": {links: nowhere}, "stored where used": {links: direct},
			"created in place": r.createdInPlace(),
			"half as long":     {length: func(_ uint32, ns int64) int64 { return ns / 2 }},
			"at once":          {rest: func(_ uint32, ns int64) int64 { return min(ns, 0) }},
		} {
			if got := r.wall(c); got > m.Wall() && name != "stored where used" {
				t.Fatalf("%s, a run of %d ns takes %d", name, m.Wall(), got)
			}
		}
	})
}

func replayOf(t sloutest.TB, m *model.Model) *replay {
	p, err := newPart(m, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	return newReplay(m, []*executions{p})
}

// random is a random run, often harmed.
func random(t *rapid.T) *sloutest.Run {
	r := sloutest.Random(t)
	if rapid.Bool().Draw(t, "waits") {
		r.AddWaits(t)
	}
	switch rapid.IntRange(0, 3).Draw(t, "harm") {
	case 1:
		r.Kill(t)
	case 2:
		r.Stick(t)
	case 3:
		r.Harm(t)
	}
	return r
}

// A CF that waits for two transfers is held up by the later one; by how much less it takes without one of
// them is known.
func TestReplayByHand(t *testing.T) {
	// x is made on node 1 at 10, goes to node 2 (post, 5) and is asked for from there by use on node 0: asked at
	// 4, there at 8, x at node 2 at 15, sent at 17, received at 27. use starts at 28.
	m := sloutest.Build(t, `
#node 0
#code 1 use atomic
#site 1 code=1
#df 1 x [0 1]
0 Global.onProgramStarted
2 CF.onCreated cf=0.1 site=1
4 DF.onRequested df=1 cf=0.1 node=2 request=0.1
27 s1 DF.onReceived df=1 from=2 message=2.1 request=0.1
27 s1 CF.onReady 0.1
28 CF.onStarted 0.1 inputs=[1]
40 CF.onFinished 0.1
40 Global.onProgramFinished
#node 1
#code 1 make atomic
#site 1 code=1
#df 1 x [0 1]
0 Global.onProgramStarted
0 CF.onCreated cf=1.1 site=1
0 CF.onReady 1.1
0 CF.onStarted 1.1
10 CF.onFinished 1.1
10 DF.onCreate 1 cf=1.1
10 DF.onSent df=1 to=2 message=1.1
40 Global.onProgramFinished
#node 2
#df 1 x [0 1]
0 Global.onProgramStarted
8 s1 DF.onRequestReceived df=1 from=0 request=0.1
15 s1 DF.onReceived df=1 from=1 message=1.1
17 s1 DF.onSent df=1 to=0 message=2.1 request=0.1
40 Global.onProgramFinished
`)
	r := replayOf(t, m)
	if len(r.Transfers) != 1 {
		t.Fatalf("%d transfers", len(r.Transfers))
	}
	w := r.Transfers[0]
	if w.Maker != 1 || w.Store != 2 || w.User != 0 || w.Post != 5 || w.Ask != 4 || w.Answer != 10 {
		t.Errorf("%+v", w)
	}
	for _, c := range []struct {
		what  string
		links func(*transfer) (int64, int64, int64)
		want  int64
	}{
		{"as it was", func(w *transfer) (int64, int64, int64) { return w.Post, w.Ask, w.Answer }, 40},
		{"posted at once: the request comes at 8, x at 10", func(w *transfer) (int64, int64, int64) {
			return 0, w.Ask, w.Answer
		}, 35},
		{"asked for 20 later: x leaves 13 later", func(w *transfer) (int64, int64, int64) {
			return w.Post, w.Ask + 20, w.Answer
		}, 53},
		{"answered at once", func(w *transfer) (int64, int64, int64) { return w.Post, w.Ask, 0 }, 30},
		{"straight to its user", direct, 40 - 5 - 10 + 10},
	} {
		if got := r.wall(change{links: c.links}); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
	if got := r.wall(change{length: func(e uint32, ns int64) int64 {
		if m.CFString(m.ExecCF[e]) == "make (1.1)" {
			return ns / 2
		}
		return ns
	}}); got != 35 {
		t.Errorf("make in half the time: %d, want 35", got)
	}
}
