package advise_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/advise"
)

// TestSortedByWhatIsPrinted: a gain of processor time may be more nanoseconds than one of the run's time, and
// yet the smaller share.
func TestSortedByWhatIsPrinted(t *testing.T) {
	r := sums(ms{"": 150}, nil, nil, ms{"preempt": 50, "extra": 55}, nil)
	r.TotalNS += 55e6
	list := advise.Alone(advise.Input{SLOU: r})
	if len(list) < 2 {
		t.Fatalf("%d pieces of advice", len(list))
	}
	for i, a := range list[1:] {
		if a.Share > list[i].Share {
			t.Errorf("%s (%s) comes after %s (%s)", a.ID, a.Gain, list[i].ID, list[i].Gain)
		}
	}
}

// turns is the trace of two nodes that take turns: the DFs are on the link for flight, and a CF runs for
// wall, of which its thread has a core for cpu. Times are in us.
func turns(times, wall, cpu, flight int) string {
	var b [2]strings.Builder
	for n := range b {
		fmt.Fprintf(&b[n], "#node %d\n#code 1 step atomic at=p.fa:1:1\n#site 1 code=1 at=p.fa:5:1\n", n)
		for i := range times + 1 {
			fmt.Fprintf(&b[n], "#df %d x [0 1 %d]\n", i+1, i)
		}
		fmt.Fprintf(&b[n], "0 Global.onProgramStarted\n")
		for i := n; i < times; i += 2 {
			fmt.Fprintf(&b[n], "0 CF.onCreated cf=%d.%d site=1\n", n, i+1)
		}
	}
	at := 0
	for i := range times {
		n := i % 2
		if i > 0 {
			fmt.Fprintf(&b[n], "%dus s1 DF.onReceived df=%d from=%d message=%d.%d\n", at, i+1, 1-n, 1-n, i)
		}
		fmt.Fprintf(&b[n], "%dus CF.onReady %d.%d\n", at, n, i+1)
		fmt.Fprintf(&b[n], "%dus CF.onStarted %d.%d inputs=[%s]\n", at, n, i+1,
			map[bool]string{true: fmt.Sprint(i + 1)}[i > 0])
		at += wall
		fmt.Fprintf(&b[n], "%dus CF.onFinished %d.%d cpu=%d\n", at, n, i+1, cpu*1000)
		fmt.Fprintf(&b[n], "%dus DF.onCreate %d cf=%d.%d\n", at, i+2, n, i+1)
		if i+1 < times {
			fmt.Fprintf(&b[n], "%dus DF.onSent df=%d to=%d message=%d.%d\n", at, i+2, 1-n, n, i+1)
			at += flight
		}
	}
	for n := range b {
		fmt.Fprintf(&b[n], "%dus Global.onProgramFinished\n", at)
	}
	return b[0].String() + b[1].String()
}

// TestFewerNodesOnABusyMachine: what other threads take from the workers is no reason for fewer nodes; slow
// messages are.
func TestFewerNodesOnABusyMachine(t *testing.T) {
	if a := analyse(t, turns(20, 1000, 400, 13)).find("too-many-nodes"); a != nil {
		t.Errorf("20 messages of 13 us are blamed for a busy machine: %s", a.Text)
	}
	a := analyse(t, turns(20, 1000, 1000, 2000)).find("too-many-nodes")
	if a == nil {
		t.Fatal("nothing is said of 20 messages of 2 ms")
	}
	if want := int64(19 * 2e6); a.GainWallNS < want*9/10 || a.GainWallNS > want*11/10 {
		t.Errorf("%d ns are promised; the messages take %d", a.GainWallNS, want)
	}
}

// tinyChain is a chain of CFs of 5 us, each of which costs 5 us more, on one of two workers. The run goes on
// for a while after the last.
func tinyChain(times int) string {
	var b strings.Builder
	b.WriteString("#code 1 block atomic at=p.fa:1:1\n#code 2 main sub\n")
	b.WriteString("#site 1 code=1 at=p.fa:5:1\n#site 2 code=2\n")
	for i := range times {
		fmt.Fprintf(&b, "#df %d x [0 1 %d]\n", i+1, i)
	}
	b.WriteString("0 Global.onProgramStarted\n0 CF.onCreated cf=0.1 site=2\n")
	b.WriteString("0 CF.onReady 0.1\n0 CF.onStarted 0.1\n")
	at := 1000
	for i := range times {
		at += 4000
		fmt.Fprintf(&b, "%d CF.onCreated cf=0.%d site=1 parent=0.1\n", at, i+2)
	}
	fmt.Fprintf(&b, "%d CF.onFinished 0.1\n", at)
	for i := range times {
		inputs := ""
		if i > 0 {
			inputs = fmt.Sprint(i)
		}
		fmt.Fprintf(&b, "%d CF.onReady 0.%d\n%d CF.onStarted 0.%d inputs=[%s]\n", at+500, i+2, at+1000, i+2, inputs)
		at += 6000
		fmt.Fprintf(&b, "%d CF.onFinished 0.%d\n%d DF.onCreate %d cf=0.%d\n", at, i+2, at, i+1, i+2)
	}
	at += 2000 * times
	fmt.Fprintf(&b, "%d Global.onProgramFinished\n", at)
	return b.String()
}

// TestTinyCFs: CFs that cost as much as they do are to be merged, never divided, and the gain counts what
// creating them costs.
func TestTinyCFs(t *testing.T) {
	const times = 400
	a := analyse(t, strings.Replace(tinyChain(times), "0 Global.onProgramStarted",
		"0 Global.onProgramStarted\n0 s1 Global.onProgramStarted", 1))
	x := a.find("too-small")
	if x == nil {
		t.Fatalf("CFs of 5 us at 5 us each are not too small; instead: %+v", a.list)
	}
	for _, x := range a.list {
		for _, wrong := range []string{"smaller CFs", "more CFs"} {
			if strings.Contains(x.Text, wrong) {
				t.Errorf("%s says the opposite: %s", x.ID, x.Text)
			}
		}
	}
	per, ok := x.Evidence["times"].(int64)
	if !ok || per < 10 {
		t.Fatalf("one CF is to do the work of %v", x.Evidence["times"])
	}
	want := 5000 * (times - times/per) // 4 us to create it, 1 us to start it
	if x.GainWallNS < want*7/10 || x.GainWallNS > want*13/10 {
		t.Errorf("%d ns are promised; merging %d CFs saves %d", x.GainWallNS, per, want)
	}
}

// decided is a run in which node 0 looks at what its own CF has made, then creates a CF for node 1, whose
// result the next one of node 0 needs. Each message takes 3 ms.
func decided(rounds int) string {
	const ms, flight = 1_000_000, 3_000_000
	var b [2]strings.Builder
	for n := range b {
		fmt.Fprintf(&b[n], "#node %d\n#code 1 make atomic at=p.fa:1:1\n#code 2 task atomic at=p.fa:2:1\n"+
			"#code 3 if if at=p.fa:3:1\n#site 1 code=1 at=p.fa:5:1\n#site 2 code=2 at=p.fa:6:1\n"+
			"#site 3 code=3 at=p.fa:7:1\n", n)
		for i := range 2 * rounds {
			fmt.Fprintf(&b[n], "#df %d x [0 1 %d]\n", i+1, i)
		}
		b[n].WriteString("0 Global.onProgramStarted\n")
	}
	at := 0
	say := func(node, at int, format string, args ...any) {
		fmt.Fprintf(&b[node], "%d %s\n", at, fmt.Sprintf(format, args...))
	}
	for i := range rounds {
		say(0, 0, "CF.onCreated cf=0.%d site=1", 3*i+1)
		say(0, 0, "CF.onCreated cf=0.%d site=3", 3*i+2)
		if i > 0 {
			say(0, 0, "DF.onRequested df=%d cf=0.%d node=1 request=0.%d", 2*i, 3*i+1, i)
			say(1, 0, "DF.onRequestReceived df=%d from=0 request=0.%d", 2*i, i)
		}
	}
	for i := range rounds {
		maker, look, task, x, y := 3*i+1, 3*i+2, 3*i+3, 2*i+1, 2*i+2
		inputs := ""
		if i > 0 {
			inputs = fmt.Sprint(y - 2)
			say(1, at, "DF.onSent df=%s to=0 bytes=40 message=1.%d request=0.%d", inputs, i, i)
			at += flight
			say(0, at, "DF.onReceived df=%s from=1 bytes=40 message=1.%d request=0.%d", inputs, i, i)
		}
		say(0, at, "CF.onReady 0.%d", maker)
		say(0, at, "CF.onStarted 0.%d inputs=[%s]", maker, inputs)
		at += ms
		say(0, at, "CF.onFinished 0.%d", maker)
		say(0, at, "DF.onCreate %d 8 0.%d", x, maker)
		say(0, at, "CF.onReady 0.%d", look)
		say(0, at, "CF.onStarted 0.%d inputs=[%d]", look, x)
		say(0, at, "CF.onCreated cf=0.%d site=2 parent=0.%d execution=1", task, look)
		say(0, at, "CF.onMigrated cf=0.%d to=1 bytes=40", task)
		say(0, at, "CF.onFinished 0.%d", look)
		at += flight
		say(1, at, "CF.onReceived cf=0.%d from=0 bytes=40", task)
		say(1, at, "CF.onReady 0.%d", task)
		say(1, at, "CF.onStarted 0.%d", task)
		at += ms
		say(1, at, "CF.onFinished 0.%d", task)
		say(1, at, "DF.onCreate %d 8 0.%d", y, task)
		say(1, at, "DF.onStored %d 8", y)
	}
	for n := range b {
		say(n, at, "Global.onProgramFinished")
	}
	return b[0].String() + b[1].String()
}

// TestCreatedWhereTheDataAreNot: CFs that another node decides about by data of its own gain nothing if they
// are created where they run: the data would travel in their place.
func TestCreatedWhereTheDataAreNot(t *testing.T) {
	a := analyse(t, decided(10))
	if l := a.res.Factors.L; l == nil || l.NS < 50e6 {
		t.Fatalf("no latency: %+v", a.res.Factors)
	}
	if x := a.find("migration"); x != nil {
		t.Errorf("%s %s", x.Text, x.Gain)
	}
}
