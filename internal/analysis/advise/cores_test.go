package advise_test

import (
	"fmt"
	"strings"
	"testing"
)

// queue is a run on a host of two cores. On each worker, CFs of 5 us follow each other, each 3 us after the
// end of the one before it, and every tenth starts 600 us later, because the thread had no core for 500 us
// of this time: the kernel says so. If turns, only one worker has something to do at a time.
type queue struct {
	workers, cfs int
	turns        bool
	others       bool // other programs had the cores, not other threads of this one
	split        bool // the thread was asked about the time before those CFs and about theirs
	settings     string
}

const (
	between, waited, alongside = 3000, 500_000, 100_000 // ns
	work                       = 5000
)

func (q queue) text() string {
	var b strings.Builder
	cpu := int64(0)
	each, rare := int64(work+between), int64(q.cfs/10)
	length := int64(q.cfs)*each + rare*(waited+alongside)
	streams := func(at int64, kind, fields string) {
		for w := range q.workers {
			fmt.Fprintf(&b, "%d s%d Global.%s%s\n", at, w, kind, fields)
		}
	}
	fmt.Fprintf(&b, "#run {\"processes\":[{\"host\":\"h\",\"cores\":2}],\"settings\":{%s},"+
		"\"nodes\":[{\"node\":0,\"host\":\"h\",\"workers\":%d}]}\n#node 0\n#code 1 block atomic at=p.fa:1:1\n"+
		"#code 2 main sub\n#site 1 code=1 at=p.fa:5:1\n#site 2 code=2\n", q.settings, q.workers)
	streams(0, "onProgramStarted", " process=0 cpu=1")
	fmt.Fprintf(&b, "0 CF.onCreated cf=0.1 site=2\n0 CF.onReady 0.1\n0 CF.onStarted 0.1\n")
	for i := range q.workers * q.cfs {
		fmt.Fprintf(&b, "0 CF.onCreated cf=0.%d site=1 parent=0.1\n0 CF.onReady 0.%d\n", i+2, i+2)
	}
	fmt.Fprintf(&b, "0 CF.onFinished 0.1\n")
	end := int64(0)
	for w := range q.workers {
		at := int64(0)
		if q.turns {
			at = int64(w) * length
			fmt.Fprintf(&b, "0 s%d Global.onIdle\n%d s%d Global.onBusy\n", w, at, w)
		}
		for i := range q.cfs {
			from := at
			if at += between; i%10 == 9 {
				at += waited + alongside
			}
			id := fmt.Sprintf("0.%d", w*q.cfs+i+2)
			fmt.Fprintf(&b, "%d s%d CF.onStarted %s\n%d s%d CF.onFinished %s\n", at, w, id, at+work, w, id)
			at += work
			if i%10 == 9 && q.split {
				fmt.Fprintf(&b, "%d s%d Global.onThreadTime ago=%d span=%d cpu=%d queued=%d\n", at, w, work,
					at-from-work, at-from-work-waited, int64(waited))
				fmt.Fprintf(&b, "%d s%d Global.onThreadTime ago=0 span=%d cpu=%[3]d queued=0\n", at, w, work)
			} else if i%10 == 9 {
				fmt.Fprintf(&b, "%d s%d Global.onThreadTime ago=0 span=%d cpu=%d queued=%d\n", at, w, at-from,
					at-from-waited, int64(waited))
			} else {
				fmt.Fprintf(&b, "%d s%d Global.onThreadTime ago=0 span=%d cpu=%d queued=0\n", at, w, each, each)
			}
			cpu += at - from
		}
		if end = max(end, at); q.turns {
			fmt.Fprintf(&b, "%d s%d Global.onIdle\n", at, w)
		}
	}
	if q.others {
		cpu -= int64(q.workers) * rare * waited
	}
	streams(end, "onProgramFinished", fmt.Sprintf(" cpu=%d", cpu+1))
	return b.String()
}

// TestWhatGoesWithTheCFs: whatever workers did between CFs goes when these are merged, however long they did
// it. Of the time in which they had no core, what the program's own threads took goes, too, and of what
// other programs took as much as the workers need the cores less.
func TestWhatGoesWithTheCFs(t *testing.T) {
	const cfs = 400
	for _, others := range []bool{false, true} {
		a := analyse(t, queue{workers: 1, cfs: cfs, others: others}.text())
		x := a.find("too-small")
		if x == nil {
			t.Fatalf("CFs of 5 us are not too small: %+v", a.list)
		}
		times := x.Evidence["times"].(int64)
		system, lost := float64(cfs*between+cfs/10*alongside), float64(cfs/10*waited)
		want := system + lost
		if others {
			want = system + lost*system/(system+cfs*work)
		}
		want *= 1 - 1/float64(times)
		if got := float64(x.GainWallNS); got < 0.95*want || got > 1.05*want {
			t.Errorf("others %v: %d ns are promised; merging %d CFs saves %.0f", others, x.GainWallNS, times, want)
		}
		if got := x.Evidence["processor_ns"].(int64); !others && float64(got) < system {
			t.Errorf("%d ns of processor time are promised; the system used %.0f", got, system)
		}
	}
}

// TestWhoTookTheCores: workers are blamed for having no core only where more of them than cores are at work.
func TestWhoTookTheCores(t *testing.T) {
	for _, c := range []struct {
		queue
		says, never string
	}{
		{queue{workers: 1, cfs: 400, others: true}, "Stop other programs", "share 2 cores"},
		{queue{workers: 1, cfs: 400, others: true, split: true}, "Stop other programs", "share 2 cores"},
		{queue{workers: 4, cfs: 100, others: true}, "4 workers share 2 cores of host h", "Stop other programs"},
		{queue{workers: 4, cfs: 100, others: true, turns: true}, "Stop other programs", "share 2 cores"},
	} {
		x := analyse(t, c.text()).find("preempted")
		if x == nil {
			t.Errorf("%d workers, turns %v: nothing is said", c.workers, c.turns)
			continue
		}
		if !strings.Contains(x.Text, c.says) || strings.Contains(x.Text, c.never) ||
			!strings.HasPrefix(x.Text, "Workers with a ready CF had no processor for 20.0 ms") {
			t.Errorf("%d workers, turns %v: %s", c.workers, c.turns, x.Text)
		}
	}
	silent := queue{workers: 1, cfs: 400, others: true, settings: `"core_waits":"unknown"`}
	if x := analyse(t, silent.text()).find("preempted"); x != nil {
		t.Errorf("the kernel says nothing: %s", x.Text)
	}
}

// TestAskedWhenItsTurnCame: a CF asks for a DF of another node when its worker has come to it, behind many
// tiny CFs. With these merged it asks that much sooner.
func TestAskedWhenItsTurnCame(t *testing.T) {
	const cfs, us = 200, 1000
	var b strings.Builder
	fmt.Fprintf(&b, "#node 0\n#code 1 block atomic at=p.fa:1:1\n#code 2 main sub\n"+
		"#code 3 use atomic at=p.fa:2:1\n"+
		"#site 1 code=1 at=p.fa:5:1\n#site 2 code=2\n#site 3 code=3 at=p.fa:6:1\n#df 1 x [1 1]\n"+
		"0 s0 Global.onProgramStarted\n0 CF.onCreated cf=0.1 site=2\n0 CF.onReady 0.1\n0 CF.onStarted 0.1\n"+
		"0 CF.onCreated cf=0.999 site=3 parent=0.1\n")
	for i := range cfs {
		fmt.Fprintf(&b, "0 CF.onCreated cf=0.%d site=1 parent=0.1\n0 CF.onReady 0.%[1]d\n", i+2)
	}
	fmt.Fprintf(&b, "0 CF.onFinished 0.1\n")
	for i := range cfs {
		at := i * 10 * us
		fmt.Fprintf(&b, "%d CF.onStarted 0.%d\n%d CF.onFinished 0.%[2]d\n", at+8*us, i+2, at+10*us)
	}
	end := cfs * 10 * us
	fmt.Fprintf(&b, "%d DF.onRequested df=1 cf=0.999 node=1 request=0.1\n", end+us)
	fmt.Fprintf(&b, "%d s1 DF.onReceived df=1 from=1 message=1.1 request=0.1 cf=0.999\n", end+21*us)
	fmt.Fprintf(&b, "%d CF.onReady 0.999\n%d CF.onStarted 0.999 inputs=[1]\n%d CF.onFinished 0.999\n", end+22*us,
		end+23*us, end+24*us)
	fmt.Fprintf(&b, "%d Global.onProgramFinished\n", end+24*us)
	fmt.Fprintf(&b, "#node 1\n#code 1 make atomic at=p.fa:3:1\n#site 1 code=1 at=p.fa:7:1\n#df 1 x [1 1]\n"+
		"0 Global.onProgramStarted\n0 CF.onCreated cf=1.1 site=1\n0 CF.onReady 1.1\n1 CF.onStarted 1.1\n"+
		"2 CF.onFinished 1.1\n2 DF.onCreate df=1 cf=1.1\n")
	fmt.Fprintf(&b, "%d s1 DF.onRequestReceived df=1 from=0 request=0.1\n", end+11*us)
	fmt.Fprintf(&b, "%d s1 DF.onSent df=1 to=0 message=1.1 request=0.1\n", end+11*us)
	fmt.Fprintf(&b, "%d Global.onProgramFinished\n", end+11*us)
	x := analyse(t, b.String()).find("too-small")
	if x == nil {
		t.Fatal("nothing is said of CFs of 2 us that cost 8 us")
	}
	times := x.Evidence["times"].(int64)
	if want := float64(cfs*8*us) * (1 - 1/float64(times)); float64(x.GainWallNS) < 0.9*want {
		t.Errorf("%d ns are promised; merging %d CFs saves %.0f", x.GainWallNS, times, want)
	}
}

// TestMergedStepsHaveOneMessage: where every CF takes a DF of the other node, one that does the work of
// several has fewer messages, too.
func TestMergedStepsHaveOneMessage(t *testing.T) {
	const cfs, us = 400, 1000
	var nodes [2]strings.Builder
	end := cfs * 30 * us
	for n := range nodes {
		fmt.Fprintf(&nodes[n], "#node %d\n#code 1 mix atomic at=p.fa:1:1\n#site 1 code=1 at=p.fa:5:1\n", n)
		for i := range cfs {
			fmt.Fprintf(&nodes[n], "#df %d x [1 %[1]d]\n", i+1)
		}
		fmt.Fprintf(&nodes[n], "0 s0 Global.onProgramStarted\n0 s1 Global.onProgramStarted\n")
	}
	for i := range cfs {
		fmt.Fprintf(&nodes[i%2], "0 CF.onCreated cf=%d.%d site=1\n", i%2, i+2)
	}
	for i := range cfs {
		at, here, there := i*30*us, &nodes[i%2], &nodes[1-i%2]
		inputs := ""
		if i > 0 {
			inputs = fmt.Sprint(" inputs=[", i, "]")
			fmt.Fprintf(there, "%d DF.onSent df=%d to=%d message=%d.%d\n", at, i, i%2, 1-i%2, i)
			fmt.Fprintf(here, "%d s1 DF.onReceived df=%d from=%d message=%[3]d.%[2]d cf=%[4]d.%[5]d\n", at+20*us, i, 1-i%2,
				i%2, i+2)
		}
		fmt.Fprintf(here, "%d CF.onReady %d.%d\n%d CF.onStarted %[2]d.%[3]d%[5]s\n", at+21*us, i%2, i+2, at+28*us, inputs)
		fmt.Fprintf(here, "%d CF.onFinished %d.%d\n%[1]d DF.onCreate df=%[4]d cf=%[2]d.%[3]d\n", at+30*us, i%2, i+2,
			i+1)
	}
	var all string
	for n := range nodes {
		all += nodes[n].String() + fmt.Sprintf("%d Global.onProgramFinished\n", end)
	}
	x := analyse(t, all).find("too-small")
	if x == nil {
		t.Fatal("nothing is said of CFs of 2 us that cost 8 us")
	}
	times := x.Evidence["times"].(int64)
	want := float64(cfs*28*us) * (1 - 1/float64(times))
	if got := float64(x.GainWallNS); got < 0.9*want || got > 1.1*want {
		t.Errorf("%.0f ns are promised; merging %d steps saves %.0f: %s", got, times, want, x.Bound)
	}
}
