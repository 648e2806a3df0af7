package consistency

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// story is consistent and has every kind of event that rules compare. Node 1's clock is 100 ns behind.
const story = `
#run {"program":"story.fa","ended":"done","processes":[{"pid":7},{"pid":8}],"nodes":[{"node":0,"process":0,"workers":1},{"node":1,"process":1,"workers":1}]}
#node 0
#code 1 again while at=story.fa:3:1
#code 2 step atomic at=story.fa:9:1
#site 1 code=1 at=story.fa:4:2 "while"
#site 2 code=2 label=s at=story.fa:5:3 "step(x, i)"
#df 5 x [0 1 3]
1000 Global.onProgramStarted process=0 cpu=0
1001 CF.onCreated cf=0.1 site=1
1002 CF.onReady 0.1
1003 CF.onStarted 0.1 1
1004 DF.onCreate 5 80 0.1
1004 DF.onStored 5 80
1005 CF.onFinished 0.1 1
1006 CF.onReady 0.1 late=1
1007 CF.onStarted 0.1 2 [5]
1008 CF.onCreated cf=0.2 site=2 parent=0.1 execution=2
1009 CF.onMigrated 0.2 1 64
1010 CF.onFinished 0.1 2
1011 CF.onDestroyed 0.1
1012 Global.onRelations 1 0
1030 DF.onRequestReceived 5 1 1.1
1031 DF.onSent 5 1 80 0.1 1.1
1090 Global.onRelations -1 0
1091 Global.onReadyQueue 0
1092 DF.onDropped 5 80
1092 DF.onDestroy 5 80 end
1093 Global.onIdle
1099 Global.onProgramFinished
#node 1
#code 1 step atomic at=story.fa:9:1
#site 1 code=1 at=story.fa:5:3 "step(x, i)"
#string "lock"
#df 1 x [0 1 3]
899 n1 s1 Global.onClockSync 100 5
999 n1 s1 Global.onClockSync 100 5
900 n1 s0 Global.onProgramStarted process=1
920 n1 s0 CF.onReceived 0.2 0 64
921 n1 s0 CF.onWaiting 0.2 [1]
922 n1 s0 DF.onRequested 1 0.2 0 1.1
940 n1 s0 DF.onReceived 1 0 80 0.1 1.1 0.2
941 n1 s0 DF.onStored 1 80
942 n1 s0 CF.onReady 0.2
943 n1 s0 CF.onStarted 0.2 1 [1]
944 n1 s0 Global.onForeignStarted 1
945 n1 s0 Sync.onWaitStarted lock
946 n1 s0 Sync.onWaitEnded lock
947 n1 s0 Global.onForeignEnded 1
948 n1 s0 CF.onFinished 0.2 1
949 n1 s0 CF.onDestroyed 0.2
950 n1 s0 DF.onDropped 1 80
951 n1 s0 Global.onIdle
952 n1 s0 Global.onBusy
990 n1 s0 Global.onProgramFinished
`

func check(t testing.TB, dir string) *Report {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rep, err := Check(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func write(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestConsistent(t *testing.T) {
	rep := check(t, write(t, story))
	want := &Report{Ended: "done", Events: 42, Consistent: true, Whole: true, Problems: []string{},
		Findings: []Finding{}, Unchecked: []Unchecked{},
		Clocks: []Clock{{Node: 0}, {Node: 1, Compared: 2, Used: 2, OffsetNS: 100, LastNS: 100, ErrorNS: 5}},
		Order:  &Order{Messages: 3, Raw: model.Disorder{Count: 2, LargestNS: 91, SumNS: 180}}}
	if diff := cmp.Diff(want, rep); diff != "" {
		t.Error(diff)
	}
}

// Each line of the story is changed or taken out, and the findings tell it.
func TestEveryRule(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range []struct{ old, new, want string }{
		{"1003 CF.onStarted 0.1 1\n", "",
			"end-without-start 1: n0 s0 1005 CFEvents.onFinished without CFEvents.onStarted of CF 0.1, execution 1\n" +
				"execution-number 1: n0 s0 1002 CF 0.1: 1 executions, the highest number is 2"},
		{"1010 CF.onFinished 0.1 2\n", "",
			"start-without-end 1: n0 s0 1007 CFEvents.onStarted of CF 0.1, execution 2"},
		{"946 n1 s0 Sync.onWaitEnded lock\n", "",
			"start-without-end 1: n1 s0 945 SyncEvents.onWaitStarted for lock"},
		{"947 n1 s0 Global.onForeignEnded 1\n", "",
			`start-without-end 1: n1 s0 944 GlobalEvents.onForeignStarted of "step(x, i)"`},
		{"1093 Global.onIdle", "1093 Global.onBusy",
			"end-without-start 1: n0 s0 1093 GlobalEvents.onBusy without GlobalEvents.onIdle"},
		{"945 n1", "943 n1", "time-back 1: n1 s0 943 SyncEvents.onWaitStarted 1 ns before the event before it, " +
			"GlobalEvents.onForeignStarted"},
		{"1099 Global.onProgramFinished", "1099 Global.onProgramFinished\n1100 Global.onReadyQueue 0",
			"outside-program 1: n0 s0 1100 GlobalEvents.onReadyQueue after onProgramFinished"},
		{"1000 Global.onProgramStarted process=0 cpu=0",
			"999 Global.onReadyQueue 0\n1000 Global.onProgramStarted process=0 cpu=0",
			"outside-program 1: n0 s0 999 GlobalEvents.onReadyQueue before onProgramStarted"},
		{"1001 CF.onCreated cf=0.1 site=1", "1001 CF.onCreated cf=0.1 site=9",
			"undefined 1: n0 s0 1001 CFEvents.onCreated names statement #9"},
		{"921 n1 s0 CF.onWaiting 0.2 [1]", "921 n1 s0 CF.onWaiting 0.2 [1 3]",
			"undefined 1: n1 s0 921 CFEvents.onWaiting names DF #3"},
		{"#string \"lock\"",
			"#string \"lock\"\n#df 8 y [0 1 -4814455743165677260]\n#df 9 y [0 1 1245931602509595413]",
			"id-collision 1: n1 s0 -9223372036854775808 [0 1 -4814455743165677260] and [0 1 1245931602509595413] " +
				"have the id a0f3888b00b1e0af"},
		{"1002 CF.onReady 0.1", "1002 CF.onCreated cf=0.1 site=1",
			"created-twice 1: n0 s0 1001 CF 0.1, 2 times"},
		{"1008 CF.onCreated cf=0.2 site=2 parent=0.1 execution=2\n", "",
			"not-created 1: n0 s0 1009 CFEvents.onMigrated of CF 0.2"},
		{"1002 CF.onReady 0.1", "1002 CF.onReady 0.1 late=2",
			"before-creation 1: n0 s0 1000 CFEvents.onReady of CF 0.1 1 ns before onCreated"},
		{"1012 Global.onRelations 1 0", "1012 CF.onDestroyed 0.1\n1012 Global.onRelations 1 0",
			"destroyed-twice 1: n0 s0 1012 CF 0.1, 2 times"},
		{"1012 Global.onRelations 1 0", "1012 CF.onWaiting 0.1\n1012 Global.onRelations 1 0",
			"after-destruction 1: n0 s0 1012 CFEvents.onWaiting of CF 0.1 1 ns after onDestroyed"},
		{"1011 CF.onDestroyed 0.1\n", "", "never-destroyed 1: n0 s0 1001 CF 0.1"},
		{"1010 CF.onFinished 0.1 2", "1010 CF.onMigrated 0.1 7\n1010 CF.onFinished 0.1 2",
			"lost-on-the-way 1: n0 s0 1010 CF 0.1 leaves for node 7"},
		{"920 n1 s0 CF.onReceived 0.2 0", "920 n1 s0 CF.onReceived 0.2 3",
			"lost-on-the-way 1: n0 s0 1009 CF 0.2 leaves for node 1; node 1 receives it from node 3"},
		{"921 n1 s0 CF.onWaiting 0.2 [1]", "921 n1 s0 CF.onReceived 0.2 0",
			"lost-on-the-way 1: n1 s0 921 CF 0.2 arrives from node 0"},
		{"1031 DF.onSent 5 1 80 0.1 1.1", "1031 DF.onSent 5 1 80 0.1 1.1\n1032 DF.onSent 5 1 80 0.1 0.0",
			"number-twice 1: n0 s0 1032 message 0.1: sent 2 times, received 1 times"},
		// Messages in a circle, which no clocks explain.
		{"921 n1 s0 CF.onWaiting 0.2 [1]\n922 n1 s0 DF.onRequested 1 0.2 0 1.1\n940 n1 s0 DF.onReceived 1 0 80 " +
			"0.1 1.1 0.2\n",
			"921 n1 s0 CF.onWaiting 0.2 [1]\n921 n1 s0 DF.onReceived 1 0 80 0.1 1.1 0.2\n922 n1 s0 DF.onRequested " +
				"1 0.2 0 1.1\n",
			"received-before-sent 1: n1 s0 921 message 0.1 from node 0: 10 ns"},
		{"1009 CF.onMigrated 0.2 1 64\n1010 CF.onFinished 0.1 2\n1011 CF.onDestroyed 0.1\n1012 " +
			"Global.onRelations " +
			"1 0\n1030 DF.onRequestReceived 5 1 1.1\n",
			"1008 DF.onRequestReceived 5 1 1.1\n1009 CF.onMigrated 0.2 1 64\n1010 CF.onFinished 0.1 2\n1011 " +
				"CF.onDestroyed 0.1\n1012 Global.onRelations 1 0\n",
			"received-before-sent 1: n0 s0 1008 request 1.1 from node 1: 14 ns"},
		{"1031 DF.onSent 5 1 80 0.1 1.1\n",
			"1031 DF.onSent 5 1 80 0.1 1.1\n1032 DF.onReceived 5 1 80 1.7 0.0\n",
			"received-not-sent 1: n0 s0 1032 message 1.7 from node 1"},
		{"1031 DF.onSent 5 1 80 0.1 1.1\n", "1031 DF.onSent 5 1 80 0.1 1.1\n1032 DF.onSent 5 1 80 0.2 0.0\n",
			"sent-not-received 1: n0 s0 1032 message 0.2 to node 1"},
		{"940 n1 s0 DF.onReceived 1 0 80 0.1", "940 n1 s0 DF.onReceived 1 0 81 0.1",
			"other-message 1: n1 s0 940 message 0.1: sent by node 0 to node 1, 80 bytes; received by node 1 from " +
				"node 0, 81 bytes"},
		{"1031 DF.onSent 5 1 80 0.1 1.1", "1031 DF.onSent 5 1 80 0.1 0.0\n",
			"other-message 1: n1 s0 940 message 0.1: sent by node 0 to node 1, 80 bytes; received by node 1 from " +
				"node 0, 80 bytes\n" +
				"unanswered 1: n1 s0 922 request 1.1 to node 0"},
		{"1031 DF.onSent 5 1 80 0.1 1.1\n", "1031 DF.onSent 5 1 80 0.1 1.1\n1032 DF.onSent 5 1 80 0.2 1.1\n",
			"sent-not-received 1: n0 s0 1032 message 0.2 to node 1\nanswered-twice 1: n0 s0 1032 request 1.1, " +
				"2 times"},
		{"1012 Global.onRelations 1 0", "1012 DF.onCreate 5 80 0.1\n1012 Global.onRelations 1 0",
			"df-created-twice 1: n0 s0 1012 x[3]"},
		{"1012 Global.onRelations 1 0",
			"1012 DF.onCreate 5 80 0.1\n1012 DF.onDuplicate 5 0.1 0.2\n1012 Global.onRelations 1 0", ""},
		{"1004 DF.onCreate 5 80 0.1\n1004 DF.onStored 5 80",
			"1004 DF.onStored 5 80\n1005 DF.onCreate 5 80 0.1",
			"df-before-creation 1: n0 s0 1004 DFEvents.onStored with x[3] 1 ns before onCreate"},
		{"941 n1 s0 DF.onStored 1 80\n942 n1 s0 CF.onReady 0.2\n943 n1 s0 CF.onStarted 0.2 1 [1]\n",
			"942 n1 s0 CF.onReady 0.2\n943 n1 s0 CF.onStarted 0.2 1 [1]\n944 n1 s0 DF.onStored 1 80\n",
			"input-not-here 1: n1 s0 943 CF 0.2 starts with x[3]"},
		{"1092 DF.onDropped 5 80\n", "",
			"never-dropped 1: n0 s0 1004 x[3]: stored 1 times, dropped 0 times"},
		{"1092 DF.onDropped 5 80\n", "1092 DF.onDropped 5 80\n1092 DF.onDropped 5 80\n",
			"not-stored 1: n0 s0 1092 x[3]: stored 1 times, dropped 2 times"},
		{"1091 Global.onReadyQueue 0", "1091 Global.onReadyQueue 2", "left 1: n0 s0 1091 2 ready CFs"},
		{"1091 Global.onReadyQueue 0", "1091 Global.onSendQueue 1 2",
			"left 1: n0 s0 1091 2 messages to node 1"},
		{"1090 Global.onRelations -1 0", "1090 Global.onRelations -1 1",
			"left 1: n0 s0 0 0 neighbour relations within nodes, 1 between nodes"},
	} {
		if strings.Count(story, c.old) != 1 {
			t.Errorf("%q is not once in the story", c.old)
			continue
		}
		rep := check(t, write(t, strings.Replace(story, c.old, c.new, 1)))
		var got []string
		for _, f := range rep.Findings {
			covered[f.Kind] = true
			e := f.Examples[0]
			got = append(got, fmt.Sprintf("%s %d: n%d s%d %d %s", f.Kind, f.Count, e.Node, e.Stream, e.Time,
				e.Text))
		}
		if s := strings.Join(got, "\n"); s != strings.TrimSpace(c.want) || rep.Consistent != (c.want == "") {
			t.Errorf("%q instead of %q:\n%s\nwant\n%s", c.new, c.old, s, c.want)
		}
	}
	for _, r := range rules {
		if !covered[r.kind] {
			t.Errorf("no case of %s", r.kind)
		}
	}
}

// Receipts a little before the sending are within the error of the clocks.
func TestClockError(t *testing.T) {
	text := strings.Replace(story, "1031 DF.onSent 5 1 80 0.1 1.1", "1045 DF.onSent 5 1 80 0.1 1.1", 1)
	if rep := check(t, write(t, text)); !rep.Consistent {
		t.Errorf("%+v", rep.Findings)
	}
	// Without comparisons two of three messages are received before they were sent; clocks are put forward.
	text = strings.ReplaceAll(text, "Global.onClockSync 100 5", "Global.onReadyQueue 0")
	rep := check(t, write(t, text))
	wrong := model.Disorder{Count: 2, LargestNS: 105, SumNS: 194}
	if rep.Order == nil || rep.Order.Messages != 3 || rep.Order.Raw != wrong ||
		rep.Order.Interpolated != wrong || rep.Order.Repaired.Count != 0 {
		t.Errorf("%+v", rep.Order)
	}
	if len(rep.Clocks) != 2 || rep.Clocks[1].Compared != 0 || rep.Clocks[1].Repair.Count == 0 {
		t.Errorf("%+v", rep.Clocks)
	}
	if !rep.Consistent {
		t.Errorf("%+v", rep.Findings)
	}
	// What no clocks explain is left, and told.
	text = strings.Replace(text, "922 n1 s0 DF.onRequested 1 0.2 0 1.1\n", "", 1)
	text = strings.Replace(text, "940 n1 s0 DF.onReceived 1 0 80 0.1 1.1 0.2\n",
		"940 n1 s0 DF.onReceived 1 0 80 0.1 1.1 0.2\n941 n1 s0 DF.onRequested 1 0.2 0 1.1\n", 1)
	rep = check(t, write(t, text))
	if rep.Order.Repaired.Count != 1 || !slices.ContainsFunc(rep.Findings,
		func(f Finding) bool { return f.Kind == "received-before-sent" }) {
		t.Errorf("%+v, %+v", rep.Order, rep.Findings)
	}
}

// What the loss explains is no finding.
func TestRunsThatDidNotEnd(t *testing.T) {
	cut := func(text, from string) string { return text[:strings.Index(text, from)] }
	killed := cut(story, "945 n1 s0")
	killed = strings.Replace(killed, `"ended":"done",`, "", 1)
	rep := check(t, write(t, killed))
	if !rep.Consistent || rep.Whole || len(rep.Problems) == 0 || rep.LossNS == 0 {
		t.Errorf("killed: %+v", rep)
	}
	failed := strings.Replace(cut(story, "945 n1 s0"), `"ended":"done"`, `"ended":"failed"`, 1)
	rep = check(t, write(t, failed))
	if !rep.Consistent || !rep.Whole || !slices.Contains(rep.Unchecked,
		Unchecked{"never-dropped", "events are missing"}) {
		t.Errorf("failed: %+v", rep)
	}
	stuck := strings.Replace(story, `"ended":"done"`, `"ended":"stuck"`, 1)
	stuck = strings.Replace(stuck, "1011 CF.onDestroyed 0.1\n", "", 1)
	rep = check(t, write(t, stuck))
	if !rep.Consistent || !rep.Whole || !slices.Contains(rep.Unchecked,
		Unchecked{"never-destroyed", "the run ended stuck"}) {
		t.Errorf("stuck: %+v", rep)
	}
	// Events were dropped: what ends afterwards may have started before.
	dropped := strings.Replace(story, "1003 CF.onStarted 0.1 1\n", "1003 Global.onLost 1 1003 1003 0\n", 1)
	rep = check(t, write(t, dropped))
	if !rep.Consistent || rep.Whole || rep.Dropped != 1 || rep.LostEvents != 1 {
		t.Errorf("dropped: %+v", rep)
	}
	gone := write(t, story)
	if err := os.Remove(filepath.Join(gone, tracefile.FileName(0))); err != nil {
		t.Fatal(err)
	}
	rep = check(t, gone)
	if !rep.Consistent || rep.Whole || len(rep.Problems) != 1 || rep.LossNS != 100 {
		t.Errorf("without node 0: %+v", rep)
	}
}

// A program that records executions only is not found fault with.
func TestFewKinds(t *testing.T) {
	rep := check(t, write(t, `
#run {"nodes":[{"node":0,"workers":1}]}
0 Global.onProgramStarted
1 CF.onStarted 0.1 1
2 CF.onFinished 0.1 1
3 Global.onProgramFinished
`))
	if !rep.Consistent || !rep.Whole || !slices.Equal(rep.Unchecked,
		[]Unchecked{{"not-created", "there is no CFEvents.onCreated in the trace"}}) {
		t.Errorf("%+v", rep)
	}
}

// Many cases are counted, and the first in time are shown.
func TestExamples(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "%d CF.onFinished 0.%d 1\n", 1000-i, i+1)
	}
	rep := check(t, write(t, b.String()))
	f := rep.Findings[0]
	if f.Kind != "end-without-start" || f.Count != 100 || len(f.Examples) != MaxExamples ||
		f.Examples[0].Time != 901 || f.Examples[4].Time != 905 {
		t.Errorf("%+v", f)
	}
}

func TestInterrupted(t *testing.T) {
	r, err := trace.Open(write(t, story))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Check(ctx, r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestReceivedBeforeSent: what is received before it was sent is found where the clocks were compared,
// though reports put it in order, and nowhere else.
func TestReceivedBeforeSent(t *testing.T) {
	golden, err := txtar.ParseFile(filepath.Join("testdata", "received_before_sent.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	rep := check(t, write(t, string(golden.Files[0].Data)))
	if rep.Order == nil || rep.Order.Repaired.Count > 0 || rep.Consistent {
		t.Errorf("%+v", rep.Order)
	}
	var got strings.Builder
	for _, f := range rep.Findings {
		if f.Kind != "received-before-sent" {
			continue
		}
		fmt.Fprintf(&got, "%s, %d times\n", f.Kind, f.Count)
		for _, e := range f.Examples {
			fmt.Fprintf(&got, "n%d s%d %d %s\n", e.Node, e.Stream, e.Time, e.Text)
		}
	}
	if diff := cmp.Diff(string(golden.Files[1].Data), got.String()); diff != "" {
		t.Error(diff)
	}
}
