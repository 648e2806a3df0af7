package slou_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

func golden(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	parts, _ := sections(string(text))
	return parts["trace"]
}

func compute(t testing.TB, text string) *slou.Result {
	t.Helper()
	res, err := slou.Compute(context.Background(), sloutest.Build(t, text), slou.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// without leaves the events of some kinds out of a text.
func without(text string, kinds ...string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		keep := true
		for _, k := range kinds {
			keep = keep && !strings.Contains(line, k+" ")
		}
		if keep {
			out.WriteString(line)
		}
	}
	return out.String()
}

// TestMissingEvents: a factor that the recorded events do not allow to compute is null, the event is named,
// and its time is told as undivided.
func TestMissingEvents(t *testing.T) {
	for _, c := range []struct {
		off     []string
		event   string
		null    string
		factors []string
	}{
		{[]string{"CF.onFinished"}, "CFEvents.onFinished", "ULSO", []string{"U", "S", "L", "O"}},
		{[]string{"CF.onCreated"}, "CFEvents.onCreated", "ULSO", []string{"U", "S", "L", "O"}},
		{[]string{"DF.onCreate"}, "DFEvents.onCreate", "SLO", []string{"S", "L", "O"}},
		{[]string{"DF.onReceived", "DF.onSent"}, "DFEvents.onReceived", "LO", []string{"L", "O"}},
		{[]string{"DF.onSent"}, "DFEvents.onSent", "LO", []string{"L", "O"}},
		{[]string{"DF.onRequested"}, "DFEvents.onRequested", "LO", []string{"L", "O"}},
		{[]string{"DF.onRequestReceived"}, "DFEvents.onRequestReceived", "LO", []string{"L", "O"}},
		{[]string{"CF.onReady"}, "CFEvents.onReady", "", []string{}},
		{nil, "", "", nil},
	} {
		text := `#run {"ended":"done"}` + "\n" + without(golden(t, "late_request"), c.off...)
		res := compute(t, text)
		var undivided int64
		for letter, isNull := range map[string]bool{"U": res.Factors.U == nil, "S": res.Factors.S == nil,
			"L": res.Factors.L == nil, "O": res.Factors.O == nil, "W": res.Factors.W == nil} {
			if isNull != strings.Contains(c.null, letter) {
				t.Errorf("without %v: %s is null: %v", c.off, letter, isNull)
			}
		}
		if res.Factors.U != nil {
			undivided -= res.Factors.U.NS
		}
		for _, s := range []*slou.Share{res.Factors.S, res.Factors.L, res.Factors.O, res.Factors.W} {
			if s != nil {
				undivided -= s.NS
			}
		}
		if undivided += res.TotalNS; undivided != res.UndividedNS {
			t.Errorf("without %v: %d ns are undivided, the result says %d", c.off, undivided, res.UndividedNS)
		}
		found := c.event == "" && len(res.Missing) == 0
		for _, m := range res.Missing {
			if m.Event == c.event {
				found = true
				if diff := cmp.Diff(c.factors, m.Factors); diff != "" {
					t.Errorf("without %v: %s", c.off, diff)
				}
			}
		}
		if !found {
			t.Errorf("without %v: missing events are %+v", c.off, res.Missing)
		}
	}
}

func TestMigrationsNotReceived(t *testing.T) {
	res := compute(t, without(golden(t, "migrated"), "CF.onReceived"))
	if res.Factors.L != nil || len(res.Missing) != 1 || res.Missing[0].Event != "CFEvents.onReceived" {
		t.Errorf("L %v, missing %+v", res.Factors.L, res.Missing)
	}
}

// TestExtraCores: two nodes in one process used 130 ns of processor time; their workers were awake for 50 and
// 50-20 ns. The rest, 50, was used beyond them. A process of which a worker has no end counts as having used
// none.
func TestExtraCores(t *testing.T) {
	const text = `
#run {"ended":"done","processes":[{"cores":2}],"nodes":[{"node":0,"workers":1},{"node":1,"workers":1}]}
#node 0
0 Global.onProgramStarted process=0 cpu=1000
50 Global.onProgramFinished cpu=1130
#node 1
0 Global.onProgramStarted process=0 cpu=1005
10 Global.onIdle
30 Global.onBusy
50 Global.onProgramFinished cpu=1130
`
	res := compute(t, text)
	if res.ExtraCoresNS != 50 || res.TotalNS != 150 || res.Factors.O.Parts["extra"] != 50 ||
		res.Factors.O.NS != 50 {
		t.Errorf("extra %d, total %d, O %+v", res.ExtraCoresNS, res.TotalNS, res.Factors.O)
	}
	if got := res.Nodes[0].TotalNS + res.Nodes[1].TotalNS; got != 100 {
		t.Errorf("the nodes' totals are %d", got)
	}
	if res := compute(t, strings.Replace(text, "50 Global.onProgramFinished cpu=1130\n#node 1", "#node 1",
		1)); res.ExtraCoresNS != 0 || !res.Killed {
		t.Errorf("killed %v, extra %d", res.Killed, res.ExtraCoresNS)
	}
}

// TestResult checks what is told beside the factors on the golden of figure 1 and others.
func TestResult(t *testing.T) {
	res := compute(t, golden(t, "figure1"))
	if len(res.Nodes) != 3 || res.Nodes[0].CFs != 2 || res.WallNS != 120 || res.TotalNS != 360 ||
		res.Ended != "done" {
		t.Errorf("%+v", res)
	}
	byCode := map[string]slou.Fragment{}
	var before int64
	for _, f := range res.Fragments {
		byCode[f.Code] = f
		for _, ns := range f.Before {
			before += ns
		}
	}
	// CF3 is waited for 30 by CF4 and 10 by the tail of node 2; CF2's DF2 is on its way for 15; CF4 itself
	// costs 15 + 5 + 5.
	for code, want := range map[string]slou.Caused{"CF3": {slou.FactorS: 40, slou.FactorO: 10},
		"CF2": {slou.FactorL: 15, slou.FactorO: 5}, "CF4": {slou.FactorS: 120, slou.FactorO: 25}, "CF1": {}} {
		if got := byCode[code].Caused; got != want {
			t.Errorf("%s caused %+v, want %+v", code, got, want)
		}
	}
	if before != 230 { // all but the tails of nodes 1 and 2: 60 and 70
		t.Errorf("the code fragments' shares add up to %d", before)
	}
	if f := byCode["CF2"]; f.Count != 1 || f.UsefulNS != 45 || f.MeanNS != 45 || f.MaxNS != 45 {
		t.Errorf("CF2: %+v", f)
	}
	var causes int64
	for _, c := range res.Causes {
		causes += c.NS
		if c.Producer == "CF4" && c.Part == "nowhere" && c.Count != 2 {
			t.Errorf("the two tails count %d times", c.Count)
		}
	}
	if lost := res.TotalNS - res.Factors.U.NS; causes != lost {
		t.Errorf("the causes explain %d of %d ns", causes, lost)
	}

	if v := compute(t, golden(t, "clocks")).Messages.Violations; v != 1 {
		t.Errorf("%d clock violations, want 1", v)
	}
	if u := compute(t, golden(t, "preempted")).Factors.U; u.NS != 21 || u.MeasuredNS != 17 {
		t.Errorf("useful %d, measured %d", u.NS, u.MeasuredNS)
	}
	if l := compute(t, golden(t, "lost")).Loss; l.NS != 6 || l.Events != 9 {
		t.Errorf("loss %+v", l)
	}
	if s := compute(t, golden(t, "control")).Structured; len(s) != 2 || s[0].Code != "inner" ||
		s[0].NS != 3 ||
		s[1].NS != 2 {
		t.Errorf("structured %+v", s)
	}
	if res := compute(t, golden(t, "killed")); !res.Killed || res.Unfinished != 1 || res.Loss.NS != 30 {
		t.Errorf("killed %v, unfinished %d, loss %+v", res.Killed, res.Unfinished, res.Loss)
	}
}

// TestQueued: make was ready at 2 and started at 20, because busy was taken first. use then waited for make
// from 10 to 25; at most 15 of that would not have been lost had make been started at once.
func TestQueued(t *testing.T) {
	res := compute(t, `
#code 1 busy atomic
#code 2 make atomic
#code 3 use atomic
#site 1 code=1
#site 2 code=2
#site 3 code=3
#df 1 x [0 1]
0 Global.onProgramStarted
0 CF.onCreated 0.1 1
0 CF.onCreated 0.2 2
0 CF.onCreated 0.3 3
0 CF.onReady 0.1
0 CF.onStarted 0.1
2 CF.onReady 0.2
20 CF.onFinished 0.1
20 CF.onStarted 0.2
25 DF.onCreate 1 8 0.2
25 CF.onFinished 0.2
30 Global.onProgramFinished
#stream 1
0 Global.onProgramStarted
0 CF.onStarted 0.9
10 CF.onFinished 0.9
25 CF.onReady 0.3
25 CF.onStarted 0.3 inputs=[1]
30 CF.onFinished 0.3
30 Global.onProgramFinished
`)
	for _, c := range res.Causes {
		if c.Producer == "make" && c.Consumer == "use" {
			if c.Part == "here" && (c.NS != 10 || c.QueuedNS != 10) || c.Part == "nowhere" &&
				(c.NS != 5 || c.QueuedNS != 5) {
				t.Errorf("%+v", c)
			}
			continue
		}
		if c.QueuedNS != 0 {
			t.Errorf("%+v", c)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := slou.Compute(ctx, sloutest.Build(t, golden(t, "figure1")), slou.Options{},
		procs.Alone()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestHosts: ranks bound to cores of their own have the cores of all; unbound ones share the host's.
func TestHosts(t *testing.T) {
	for _, c := range []struct {
		processes string
		want      []model.Host
	}{
		{`{"host":"a","cores":2,"affinity":"0-1"},{"host":"a","cores":2,"affinity":"2,4"}`,
			[]model.Host{{Host: "a", Cores: 4, Workers: 4}}},
		{`{"host":"a","cores":2,"affinity":"0-1"},{"host":"a","cores":2,"affinity":"0-1"}`,
			[]model.Host{{Host: "a", Cores: 2, Workers: 4}}},
		{`{"host":"a","cores":8},{"host":"b","cores":2,"affinity":"what"}`,
			[]model.Host{{Host: "a", Cores: 8, Workers: 2}, {Host: "b", Cores: 2, Workers: 2}}},
	} {
		res := compute(t, `#run {"processes":[`+c.processes+`],`+
			`"nodes":[{"node":0,"process":0,"workers":2},{"node":1,"process":1,"workers":2}]}
#node 0
0 Global.onProgramStarted process=0
#node 1
0 Global.onProgramStarted process=1
`)
		if diff := cmp.Diff(c.want, res.Hosts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.processes, diff)
		}
	}
}
