package simulate_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/replicate"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// asRecorded is the machine of the trace; with ownCores each worker has one.
var (
	asRecorded = simulate.Machine{Latency: -1, Bandwidth: -1}
	ownCores   = simulate.Machine{Latency: -1, Bandwidth: -1, Cores: -1}
)

func simulator(t sloutest.TB, m *model.Model) *simulate.Simulator {
	t.Helper()
	s, err := simulate.Portable(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t sloutest.TB, s *simulate.Simulator, m simulate.Machine) *simulate.Result {
	t.Helper()
	r, err := s.Run(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func recording(t *testing.T, name string) *model.Model {
	t.Helper()
	text, err := replicate.Recording(name)
	if err != nil {
		t.Fatal(err)
	}
	return sloutest.Build(t, string(text))
}

// A run that was predicted is a trace: it is consistent, everything ran in it, and what is predicted from it
// is the same again.
func TestAgain(t *testing.T) {
	// Of the time of cholesky less than a hundredth is user code: all else depends on the costs.
	for name, most := range map[string]float64{"heat": 0.05, "cholesky": 0.45, "balance": 0.05} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := simulator(t, recording(t, name))
			dir := filepath.Join(t.TempDir(), "predicted.trace")
			m := s.Complete(ownCores)
			// Few samples of very different lengths fall elsewhere each time, and signals are not in every trace.
			same := map[string]float64{"signal": 0, "wake": 20_000, "resume": 3000, "transport": 40_000}
			m.Costs = m.Costs.With(same, false, false)
			r, err := s.Record(context.Background(), m, dir, trace.NewRunID())
			if err != nil {
				t.Fatal(err)
			}
			if r.Left != 0 {
				t.Errorf("%d executions are left", r.Left)
			}
			info := &trace.RunInfo{Ended: trace.EndedDone, Settings: map[string]string{
				"link_latency":   fmt.Sprintf("%.0fns", m.Latency),
				"link_bandwidth": fmt.Sprintf("%.0f", m.Bandwidth)}, Off: simulate.Off()}
			if m.Bandwidth == 0 {
				delete(info.Settings, "link_bandwidth")
			}
			for n := range m.Nodes {
				info.Nodes = append(info.Nodes, trace.NodeInfo{Node: n, Workers: m.Workers})
			}
			if err := trace.WriteRunInfo(dir, info); err != nil {
				t.Fatal(err)
			}
			reader, err := trace.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			c, err := consistency.Check(context.Background(), reader)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Findings) > 0 {
				t.Errorf("the trace contradicts itself: %+v", c.Findings)
			}
			again := sloutest.Load(t, dir)
			if again.Wall() != r.WallNS {
				t.Errorf("the trace lasts %d ns, %d were predicted", again.Wall(), r.WallNS)
			}
			s2, m2 := simulator(t, again), ownCores
			m2.Costs = s2.Recorded().Costs.With(same, false, false)
			r2 := run(t, s2, m2)
			if d := math.Abs(float64(r2.WallNS-r.WallNS)) / float64(r.WallNS); d > most {
				t.Errorf("%d ns the first time, %d ns the second: %.1f %% apart", r.WallNS, r2.WallNS, 100*d)
			}
			if r2.UsefulNS != r.UsefulNS || r2.Executed != r.Executed || r2.Messages != r.Messages {
				t.Errorf("first %+v, then %+v", r, r2)
			}
		})
	}
}

// task is a CF that needs nothing: when it is created, then which worker starts it when, and for how long.
type task struct{ created, worker, start, ns int }

// created is a trace of tasks that one CF of one node creates until it finishes at a time.
func created(finished int, tasks []task) string {
	var b strings.Builder
	b.WriteString(`#code 1 main call
#code 2 work atomic
#site 1 code=1
#site 2 code=2
0 n0 s0 GlobalEvents.onProgramStarted process=0 cpu=0
0 n0 s0 CFEvents.onCreated cf=0.1 site=1
0 n0 s0 CFEvents.onReady cf=0.1
100 n0 s0 CFEvents.onStarted cf=0.1
`)
	end := finished
	for i, x := range tasks {
		fmt.Fprintf(&b, "%d n0 s0 CFEvents.onCreated cf=0.%d site=2 parent=0.1\n", x.created, i+2)
		fmt.Fprintf(&b, "%d n0 s0 CFEvents.onReady cf=0.%d\n", x.created, i+2)
		end = max(end, x.start+x.ns)
	}
	fmt.Fprintf(&b, "%d n0 s0 CFEvents.onFinished cf=0.1\n", finished)
	for i, x := range tasks {
		fmt.Fprintf(&b, "%d n0 s%d CFEvents.onStarted cf=0.%d\n", x.start, x.worker, i+2)
		fmt.Fprintf(&b, "%d n0 s%d CFEvents.onFinished cf=0.%d cpu=%d\n", x.start+x.ns, x.worker, i+2, x.ns)
	}
	fmt.Fprintf(&b, "%d n0 s0 GlobalEvents.onProgramFinished cpu=%d\n", end, end)
	return b.String()
}

// bag is a trace of such CFs on one worker.
func bag(lengths []int) string {
	var tasks []task
	t := 300
	for _, ns := range lengths {
		tasks = append(tasks, task{created: 300, start: t + 50, ns: ns})
		t += 50 + ns
	}
	return created(300, tasks)
}

// More workers are never slower where CFs do not depend on each other and to wake a worker takes no time,
// and a CF that is twice as fast takes half of the time; work and the longest CF bound every result. Where to
// wake others takes a worker some time, that is the most by which the run is longer.
func TestBag(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.IntRange(1000, 100_000), 1, 60).Draw(t, "lengths")
		s := simulator(t, sloutest.Build(t, bag(lengths)))
		work, longest := 0, 0
		for _, n := range lengths {
			work, longest = work+n, max(longest, n)
		}
		last := int64(math.MaxInt64)
		for workers := 1; workers <= len(lengths)+1; workers++ {
			m := asRecorded
			m.Workers = workers
			m.Costs = s.Recorded().Costs.With(map[string]float64{"wake": 0, "signal": 0}, false, false)
			r := run(t, s, m)
			const signal = 3000
			m.Costs = s.Recorded().Costs.With(map[string]float64{"wake": 0, "signal": signal}, false, false)
			if d := run(t, s, m).WallNS - r.WallNS; d < 0 || d > signal*r.Woken {
				t.Fatalf("%d workers: to wake %d takes 3 us each, and the run is %d ns longer", workers, r.Woken, d)
			}
			if r.WallNS > last {
				t.Fatalf("%d workers take %d ns, one fewer %d", workers, r.WallNS, last)
			}
			last = r.WallNS
			if r.UsefulNS != int64(work) || r.LeastNS != int64(max(longest, work/workers)) || r.WallNS < r.LeastNS {
				t.Fatalf("%d workers: %+v; work %d, longest %d", workers, r, work, longest)
			}
		}
		m := asRecorded
		m.Costs = s.Recorded().Costs.With(nil, true, true)
		whole := run(t, s, m).WallNS
		m.Speed = map[string]float64{"work": 2}
		if half := run(t, s, m).WallNS; half < whole/2-int64(len(lengths)) || half > whole/2+1 {
			t.Fatalf("%d ns, at twice the speed %d", whole, half)
		}
	})
}

// Where all CFs of a chain are created before those of the next, several workers leave none for the end, when
// others would have nothing to do.
func TestChainsBeginTogether(t *testing.T) {
	const length, own = 200, 10_000
	for chains := 2; chains <= 9; chains++ {
		s := simulator(t, sloutest.Build(t, chainsOf(chains, length, own)))
		for workers := 2; workers <= chains; workers++ {
			m := asRecorded
			m.Workers = workers
			m.Costs = s.Recorded().Costs.With(nil, true, true)
			if r := run(t, s, m); float64(r.WallNS) > 1.05*float64(r.LeastNS) {
				t.Errorf("%d chains on %d workers take %d ns, at least %d", chains, workers, r.WallNS, r.LeastNS)
			}
		}
	}
}

// chainsOf is a trace of chains of CFs that one CF creates, a chain after the other, on one node with one
// worker.
func chainsOf(chains, length, own int) string {
	var b strings.Builder
	b.WriteString(`#code 1 main call
#code 2 work atomic
#site 1 code=1
#site 2 code=2
`)
	for i := range chains * length {
		fmt.Fprintf(&b, "#df %d x [0 0 %[1]d]\n", i+1)
	}
	b.WriteString(`0 n0 s0 GlobalEvents.onProgramStarted process=0 cpu=0
0 n0 s0 CFEvents.onCreated cf=0.1 site=1
0 n0 s0 CFEvents.onReady cf=0.1
100 n0 s0 CFEvents.onStarted cf=0.1
`)
	for i := range chains * length {
		fmt.Fprintf(&b, "200 n0 s0 CFEvents.onCreated cf=0.%d site=2 parent=0.1\n", i+2)
	}
	b.WriteString("200 n0 s0 CFEvents.onFinished cf=0.1\n")
	t := 300
	for i := range chains * length {
		input := ""
		if i%length > 0 {
			input = fmt.Sprintf(" inputs=[%d]", i)
		}
		fmt.Fprintf(&b, "%d n0 s0 CFEvents.onReady cf=0.%d\n", t, i+2)
		fmt.Fprintf(&b, "%d n0 s0 CFEvents.onStarted cf=0.%d%s\n", t+50, i+2, input)
		fmt.Fprintf(&b, "%d n0 s0 CFEvents.onFinished cf=0.%d cpu=%d\n", t+50+own, i+2, own)
		fmt.Fprintf(&b, "%d n0 s0 DFEvents.onCreate df=%d size=4 cf=0.%d\n", t+50+own, i+1, i+2)
		t += 100 + own
	}
	fmt.Fprintf(&b, "%d n0 s0 GlobalEvents.onProgramFinished cpu=%d\n", t, t)
	return b.String()
}

// Whatever was recorded, a simulation ends, and nothing beats the bounds.
func TestAnyTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recorded := sloutest.Random(t)
		m := sloutest.Build(t, recorded.Text())
		s, err := simulate.Portable(context.Background(), m)
		if err != nil {
			return // no CF ran
		}
		machine := asRecorded
		machine.Nodes = rapid.IntRange(1, 5).Draw(t, "nodes")
		machine.Workers = rapid.IntRange(1, 3).Draw(t, "workers")
		r := run(t, s, machine)
		if r.Executed+r.Left != m.Executions() {
			t.Fatalf("%+v of %d executions", r, m.Executions())
		}
		if r.Left == 0 && r.WallNS < r.LeastNS {
			t.Fatalf("faster than possible: %+v", r)
		}
	})
}

// A placement replaces what locators say: with all on one node nothing is sent, and with what the locators
// say the run is the same.
func TestPlacement(t *testing.T) {
	s := simulator(t, recording(t, "heat"))
	m := s.Complete(ownCores)
	m.Nodes = 2
	want := run(t, s, m)
	located := s.Located(2)
	m.Place = &simulate.Placement{Executions: located.Executions, Values: located.Values}
	if got := run(t, s, m); got.WallNS != want.WallNS || got.Messages != want.Messages {
		t.Errorf("placed as by locators: %+v, by locators: %+v", got, want)
	}
	m.Place = &simulate.Placement{Executions: make([]uint16, s.Tasks().Executions()),
		Values: make([]uint16, s.Tasks().Values())}
	if got := run(t, s, m); got.Messages != 0 || got.Left != 0 || want.Messages == 0 {
		t.Errorf("all on one node: %+v", got)
	}
}

// CFs that can be stolen are: nodes that nothing is placed on take their part of them, and what is written
// is a consistent trace.
func TestStealing(t *testing.T) {
	lengths := slices.Repeat([]int{100_000}, 40)
	alone := simulator(t, sloutest.Build(t, bag(lengths)))
	text := strings.Replace(bag(lengths), "#site 2 code=2", "#site 2 code=2 stealable=1", 1)
	shared := simulator(t, sloutest.Build(t, text))
	m := ownCores
	m.Nodes, m.Costs = 4, alone.Recorded().Costs.With(map[string]float64{"wake": 10_000, "transport": 10_000},
		false, false)
	if r := run(t, alone, m); r.Stolen != 0 || r.WallNS < 4_000_000 {
		t.Errorf("nothing can be stolen: %+v", r)
	}
	if r := run(t, shared, m); r.Stolen < 20 || r.WallNS > 2_000_000 || r.Left != 0 {
		t.Errorf("40 CFs of 0.1 ms on 4 nodes: %+v", r)
	}
	all := m
	all.Stealable = true
	if r := run(t, alone, all); r.Stolen < 20 || r.WallNS > 2_000_000 || r.Left != 0 {
		t.Errorf("if all can be stolen: %+v", r)
	}
	dir := filepath.Join(t.TempDir(), "stolen.trace")
	if _, err := shared.Record(context.Background(), m, dir, trace.NewRunID()); err != nil {
		t.Fatal(err)
	}
	info := &trace.RunInfo{Ended: trace.EndedDone, Off: simulate.Off()}
	for n := range m.Nodes {
		info.Nodes = append(info.Nodes, trace.NodeInfo{Node: n, Workers: 1})
	}
	if err := trace.WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	again := sloutest.Load(t, dir)
	if n := len(again.Moves); n < 20 || !again.Moves[n-1].Stolen {
		t.Errorf("%d moves", n)
	}
	if r := run(t, simulator(t, again), m); r.Stolen < 20 || r.WallNS > 2_000_000 {
		t.Errorf("from the predicted trace: %+v", r)
	}
}

// Nodes that are slower take as much longer, and links between groups are others.
func TestUneven(t *testing.T) {
	machine, err := simulate.ParseMachine([]byte(
		`{"nodes": 1, "workers": 1, "speeds": [{"nodes": "0", "speed": 0.5}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s := simulator(t, sloutest.Build(t, bag([]int{1_000_000})))
	even, slow := run(t, s, simulate.Machine{Cores: -1}), run(t, s, machine)
	if d := float64(slow.WallNS) / float64(even.WallNS); d < 1.9 || d > 2.01 || slow.LeastNS != 2*even.LeastNS {
		t.Errorf("at half the speed %+v, else %+v", slow, even)
	}

	heat := simulator(t, recording(t, "heat"))
	near := heat.Complete(ownCores)
	near.Latency = 0
	far := near
	far.Uneven = &simulate.Uneven{Speed: []float64{1, 1, 1}, Group: []int{1, 2, 2}, Latency: 1e6}
	further := near
	further.Latency = 1e6
	a, b, c := run(t, heat, near).WallNS, run(t, heat, far).WallNS, run(t, heat, further).WallNS
	if !(a < b && b <= c) {
		t.Errorf("%d, with one far group %d, with far nodes %d", a, b, c)
	}
}

func TestParseMachine(t *testing.T) {
	m, err := simulate.ParseMachine([]byte(`{
	"nodes": 4, "workers": 2, "cores": 16,
	"link": {"latency": "5us", "bandwidth": "10G"},
	"speeds": [{"nodes": "1,3", "speed": 0.5}],
	"groups": ["0-1", "2-3"],
	"between": {"latency": "50us", "bandwidth": "none"}
}`))
	want := simulate.Machine{Nodes: 4, Workers: 2, Cores: 16, Latency: 5000, Bandwidth: 1e10,
		Uneven: &simulate.Uneven{Speed: []float64{1, 0.5, 1, 0.5}, Group: []int{1, 1, 2, 2}, Latency: 50_000}}
	if err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("%+v, %v", m, err)
	}
	for text, want := range map[string]string{
		"":                            "it ends too early",
		`{"nodes": 2, "wor`:           "it ends too early",
		"{\n\"nodes\": x}":            "line 2: invalid character 'x' looking for beginning of value",
		`{"nodes": 2, "worker": 1}`:   `json: unknown field "worker"`,
		`{"nodes": 2}`:                "workers: 0: give a number from 1 to 4096",
		`{"nodes": 0, "workers": 1}`:  "nodes: 0: give a number from 1 to 65536",
		`{"nodes": 1, "workers": 1}1`: "more than one value",
		`"speeds": [{"nodes": "1", "speed": 2}]}`: `speeds: nodes: "1": give nodes from 0 to 0, such as 0-3,7`,
		`"speeds": [{"nodes": "0", "speed": 0}]}`: "speeds: 0: give a factor over 0, such as 0.5",
		`"link": {"latency": "-1s"}}`:             `link: latency: "-1s": give a time such as 50us`,
		`"link": {"bandwidth": "x"}}`:             `link: bandwidth: "x": give bytes per second, such as 1G, or none`,
		`"groups": ["0"]}`:                        "groups and between, the links between groups, belong together",
		`"groups": ["0", "0"], "between": {}}`:    "groups: node 0 is in two groups",
	} {
		if strings.HasPrefix(text, `"`) { // the rest of the description of a machine
			text = `{"nodes": 1, "workers": 1, ` + text
		}
		if _, err := simulate.ParseMachine([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, expected %s", text, err, want)
		}
	}
}

func FuzzParseMachine(f *testing.F) {
	f.Add([]byte(`{"nodes": 4, "workers": 2, "speeds": [{"nodes": "1,3", "speed": 0.5}],
		"groups": ["0-1"], "between": {}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := simulate.ParseMachine(text)
		if err == nil && (m.Nodes < 1 || m.Uneven != nil && len(m.Uneven.Speed) != m.Nodes) {
			t.Errorf("%+v", m)
		}
	})
}

// A prediction says what it rests on: that others hold locks as long as they did, and that CFs which read and
// write much do not slow each other down, though only one ran at a time when they were recorded.
func TestDoubts(t *testing.T) {
	doubts := func(text string, workers int) string {
		var b strings.Builder
		for _, d := range run(t, simulator(t, sloutest.Build(t, text)), simulate.Machine{Workers: workers}).Doubts {
			b.WriteString(d.In(words.English) + "\n")
		}
		return b.String()
	}
	plain := bag([]int{1_000_000, 1_000_000})
	locks := strings.Replace(plain, "cf=0.2 cpu=1000000", "cf=0.2 cpu=960000", 1)
	line := "1000350 n0 s0 CFEvents.onFinished cf=0.2"
	locks = strings.Replace(locks, line,
		"1000350 n0 s0 SyncEvents.onBlocked cf=0.2 span=40000 reason=lock\n"+line, 1)
	if got := doubts(locks, 1); !strings.Contains(got, "CFs waited for locks for 2.0 % of their time.") {
		t.Errorf("%s\n%s", locks, got)
	}
	writes := strings.Replace(plain, line, "1000340 n0 s0 DFEvents.onCreate df=1 size=5000000 cf=0.2\n"+line, 1)
	if got := doubts(writes, 2); !strings.Contains(got, "CFs of this program read and write 2.5 GB a second") {
		t.Errorf("%s\n%s", writes, got)
	}
	if got := doubts(plain, 2); !strings.Contains(got, "Measured fewer than 5 times, so another run may differ "+
		"much: `work`.") || strings.Contains(doubts(bag([]int{1, 1, 1, 1, 1}), 2), "fewer") {
		t.Errorf("%s\n%s", plain, got)
	}
	for _, off := range []string{"GlobalEvents.onIdle", "GlobalEvents.onBusy"} {
		if got := doubts(`#run {"ended":"done","off":["`+off+`"]}`+"\n"+plain, 1); !strings.HasPrefix(got,
			"When workers were parked was not recorded ("+off+"), so costs include") {
			t.Error(got)
		}
	}
	if got := doubts(writes, 1) + doubts(plain, 1); got != "" {
		t.Errorf("on the recorded machine, and without locks and values: %s", got)
	}
}

// Two workers on one core: CFs that compute take turns, CFs that sleep do not.
func TestAsleep(t *testing.T) {
	const ms = 1_000_000
	computes := bag([]int{ms, ms})
	sleeps := computes
	for _, at := range []string{"0.2 cpu=1000000", "0.3 cpu=1000000"} {
		line := fmt.Sprintf("CFEvents.onFinished cf=%s\n", at)
		i := strings.Index(sleeps, line)
		begin := strings.LastIndex(sleeps[:i], "\n") + 1
		when, _, _ := strings.Cut(sleeps[begin:], " ")
		sleeps = sleeps[:begin] + fmt.Sprintf("%s n0 s0 SyncEvents.onBlocked cf=%s span=999000 reason=sleep\n%s",
			when, at[:3], strings.Replace(sleeps[begin:], at, at[:3]+" cpu=1000", 1))
	}
	wall := func(text string) int64 {
		s := simulator(t, sloutest.Build(t, text))
		m := simulate.Machine{Nodes: 1, Workers: 2, Cores: 1, Costs: s.Recorded().Costs.With(nil, true, true)}
		return run(t, s, m).WallNS
	}
	if got := wall(computes); got < 2*ms {
		t.Errorf("two CFs that compute for 1 ms take %d ns on one core", got)
	}
	if got := wall(sleeps); got > ms+ms/10 {
		t.Errorf("two CFs that sleep for 1 ms take %d ns on one core", got)
	}
}

// TestMadeByNobody: a value that no CF makes, such as data that is there from the start or what a network
// brings, comes when it came in the recorded run, on any machine.
func TestMadeByNobody(t *testing.T) {
	m := sloutest.Build(t, `#run {"program":"p","ended":"done","nodes":[{"node":0,"workers":1}]}
#node 0
#code 1 f atomic
#site 1 code=1
#df 1 data [0 1]
#df 2 packet [0 2]
0 GlobalEvents.onProgramStarted
0 DFEvents.onCreate df=1 size=8 cf=-
10 CFEvents.onCreated cf=0.1 site=1 parent=-
10 CFEvents.onCreated cf=0.2 site=1 parent=-
1000 CFEvents.onStarted cf=0.1 inputs=[1]
21000 CFEvents.onFinished cf=0.1
21010 GlobalEvents.onIdle
40000 DFEvents.onCreate df=2 size=8 cf=-
40090 GlobalEvents.onBusy
40100 CFEvents.onStarted cf=0.2 inputs=[2]
50000 CFEvents.onFinished cf=0.2
50000 GlobalEvents.onProgramFinished
`)
	for _, workers := range []int{1, 4} {
		machine := asRecorded
		machine.Workers = workers
		if r := run(t, simulator(t, m), machine); r.Left != 0 || r.WallNS < 49_900 || r.WallNS > 55_000 {
			t.Errorf("%d workers: %+v", workers, r)
		}
	}
}
