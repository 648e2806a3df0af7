package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/trace"
)

// found is a hand-made result: four threads, of which thread 3 comes late to a barrier and holds a lock.
func found() *pattern.Result {
	const (
		aTime = iota
		aProgram
		aSync
		aBarrier
		aWait
		aLock
		aContention
		aComm
		aBulk
		aSent
		aFirst
	)
	row := func(call int, v ...int64) pattern.Row { return pattern.Row{Call: call, Values: v} }
	ms := func(v ...int64) []int64 {
		for i := range v {
			v[i] *= 1e6
		}
		return v
	}
	time := func(call int, v ...int64) pattern.Row { return row(call, ms(v...)...) }
	r := &pattern.Result{
		Metrics: []pattern.Metric{
			aTime: {ID: "time", Name: "Time", Parent: -1, Unit: pattern.NS,
				Rows: []pattern.Row{time(0, 1, 1, 1, 1), time(1, 40, 40, 40, 70), time(2, 40, 40, 40, 10),
					time(3, 10, 10, 10, 10), time(4, 9, 9, 9, 9)}},
			aProgram: {ID: "program", Name: "Program", Parent: aTime, Unit: pattern.NS,
				Rows: []pattern.Row{time(0, 1, 1, 1, 1), time(1, 40, 40, 40, 70)}},
			aSync: {ID: "synchronisation", Name: "Synchronisation", Parent: aTime, Unit: pattern.NS,
				Rows: []pattern.Row{time(2, 40, 40, 40, 10), time(3, 10, 10, 10, 10)}},
			aBarrier: {ID: "barrier", Name: "Barrier", Parent: aSync, Unit: pattern.NS,
				Rows: []pattern.Row{time(2, 40, 40, 40, 10)}},
			aWait: {ID: "wait-at-barrier", Name: "Wait at barrier", Parent: aBarrier, Unit: pattern.NS,
				Pattern: 2, Doc: "Until the last one comes.", Rows: []pattern.Row{time(2, 30, 30, 30, 0)}},
			aLock: {ID: "lock", Name: "Lock", Parent: aSync, Unit: pattern.NS,
				Rows: []pattern.Row{time(3, 10, 10, 10, 10)}},
			aContention: {ID: "lock-contention", Name: "Lock contention", Parent: aLock, Unit: pattern.NS, Pattern: 1,
				Rows: []pattern.Row{time(3, 2, 0, 0, 0)}},
			aComm: {ID: "communication", Name: "Communication", Parent: aTime, Unit: pattern.NS,
				Rows: []pattern.Row{time(4, 9, 9, 9, 9)}},
			aBulk: {ID: "bulk", Name: "Bulk", Parent: aComm, Unit: pattern.NS,
				Rows: []pattern.Row{time(4, 9, 9, 9, 9)}},
			aSent: {ID: "bytes-sent", Name: "Bytes sent", Parent: -1, Unit: pattern.Bytes,
				Rows: []pattern.Row{row(4, 100, 2000, 3e6, 4e9)}},
			aFirst: {ID: "barrier-completion-first", Name: "From the first exit", Parent: -1, Unit: pattern.NS,
				Reading: "wait-at-barrier", Doc: "Another way.",
				Rows: []pattern.Row{time(2, 1, 0, 0, 0)}},
		},
		Regions: []pattern.Region{{Name: "(outside)", Kind: "function"}, {Name: "main", Kind: "function"},
			{Name: "upc_barrier", Kind: "barrier"}, {Name: "upc_lock", Kind: "lock"},
			{Name: "upc_memget", Kind: "bulk"}},
		Calls: []pattern.Call{{Parent: -1, Region: 0}, {Parent: 0, Region: 1},
			{Parent: 1, Region: 2, File: "/src/is.c", Line: 12}, {Parent: 1, Region: 3, File: "/src/is.c", Line: 20},
			{Parent: 1, Region: 4, File: "/src/is.c", Line: 30}},
		Late: []pattern.Late{{Metric: aWait, Call: 2, Thread: 3, NS: 90e6, Count: 9,
			Doing: []pattern.Doing{{Call: 1, NS: 30e6}}}},
		Locks: []pattern.Lock{{ID: 77, Name: "queue_lock", File: "/src/queue.c", Line: 12, Acquired: 8,
			Contended: 3, WaitNS: 2e6, HoldNS: 16e6, LongestNS: 5e6, HandoverNS: 3e3, Chain: 2,
			Blocks: []pattern.Block{{Waiter: 0, Owner: 3, NS: 2e6, Count: 3}}}, {ID: 78, Name: "0x4e", Acquired: 1}},
		Collectives: []pattern.Collective{{Call: 2, Kind: "broadcast", Sync: "all/my", Count: 36, Bytes: 4096,
			NS: 130e6, EntryNS: 90e6, AllSyncNS: 40e6, ExitNS: 1e6, AfterBarrier: 3}},
		Transfers: []pattern.Transfer{{Call: 4, Count: 400, Bytes: 4e6, NS: 36e6, Runs: 4, OverlapNS: 27e6}},
		Problems:  []string{"thread 2 left a region it was not in"},
	}
	for i := range 4 {
		r.Threads = append(r.Threads, pattern.Thread{Node: i, Calls: 120, Syncs: 20, Puts: int64(i), Gets: 100,
			Sent: 1000, Received: 1e6})
	}
	return r
}

// foundRun is what there is to tell when that is all.
func foundRun(t *testing.T) *Everything {
	all := compute(t, "#node 0\n0 Global.onProgramStarted\n100000000 Global.onProgramFinished\n")
	all.Pattern = found()
	return all
}

func TestPGASTerminal(t *testing.T) {
	all := foundRun(t)
	all.model.Count[trace.KindEntered] = 1 // so it has regions alone
	for _, width := range []int{40, 60, 80, 132} {
		var b bytes.Buffer
		if err := Terminal(&b, all, Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n")); n > width && width >= 60 {
				t.Errorf("at %d columns a line has %d: %s", width, n, line)
			}
		}
		if width != 80 {
			continue
		}
		for _, want := range []string{"Wait at barrier", "90.0 ms", "main > upc_barrier (is.c:12)", "thread 3",
			"Locks", "2 locks; queue_lock (queue.c:12) was taken 8 times", "held for 2.00 ms on average",
			"thread 0 waited longest for thread 3",
			"IN_MYSYNC would save up to 40.0 ms", "400 blocking transfers of 4.0 MB"} {
			if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
				t.Errorf("the terminal does not say %q:\n%s", want, b.String())
			}
		}
	}
}

func TestPGASFull(t *testing.T) {
	var b bytes.Buffer
	if err := Terminal(&b, foundRun(t), Options{Full: true, Width: 160}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"PGAS\n====", "IN_ALLSYNC, OUT_MYSYNC", "Another way.",
		"thread 3      9  main 100.0 %",
		"queue_lock (queue.c:12)", "0x4e", "Thread 2 left a region it was not in.", "4.0 GB"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the full report does not say %q:\n%s", want, b.String())
		}
	}
}

// TestPGASCube checks that the data of the three columns are those of the tables, also where a large run is
// cut down.
func TestPGASCube(t *testing.T) {
	r := found()
	r.Metrics = r.Metrics[:1]
	for i := range cubeCalls + 100 {
		r.Calls = append(r.Calls, pattern.Call{Parent: 1, Region: 2, Line: i})
		r.Metrics[0].Rows = append(r.Metrics[0].Rows,
			pattern.Row{Call: len(r.Calls) - 1, Values: []int64{1, 0, 0, 0}})
	}
	for i := 4; i < cubeThreads+10; i++ {
		r.Threads = append(r.Threads, pattern.Thread{Node: i})
	}
	for i := range r.Metrics[0].Rows {
		v := &r.Metrics[0].Rows[i].Values
		*v = append(*v, make([]int64, len(r.Threads)-4)...)
		(*v)[len(*v)-1] = 5
	}
	all := foundRun(t)
	all.Pattern = r
	p := newPGAS(newAuthor(all, ""))
	c := p.newCube()
	if len(c.Calls.Rows) != cubeCalls || len(c.Threads.Rows) != cubeThreads+1 {
		t.Fatalf("%d call paths, %d threads", len(c.Calls.Rows), len(c.Threads.Rows))
	}
	sum := int64(0)
	for _, row := range c.Data.Rows[0] {
		if row[0].(int) >= cubeCalls {
			t.Fatalf("call path %d", row[0])
		}
		for _, v := range row[1].([]int64) {
			sum += v
		}
	}
	if sum != p.total[0] {
		t.Errorf("the data add up to %d, not to %d", sum, p.total[0])
	}
	for i, up := range c.Data.Parents {
		if up >= i {
			t.Errorf("call path %d is below %d", i, up)
		}
	}
}

func TestPGASJSON(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, foundRun(t), Options{}); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		PGAS pattern.Result
		slou.Result
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.PGAS.Metrics) != len(found().Metrics) || doc.PGAS.Late[0].NS != 90e6 || doc.TotalNS != 100e6 {
		t.Errorf("%+v", doc)
	}
	b.Reset()
	if err := JSON(&b, compute(t, "#node 0\n0 Global.onProgramStarted\n10 Global.onProgramFinished\n"),
		Options{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), `"pgas"`) {
		t.Error("a run without regions has a member pgas")
	}
}

// TestPGASBrowser lets a reader choose a metric and a call path.
func TestPGASBrowser(t *testing.T) {
	var page bytes.Buffer
	if err := HTML(&page, foundRun(t), Options{}); err != nil {
		t.Fatal(err)
	}
	b := openBrowser(t, page.String())
	column := func(table int) string {
		return eval[string](b,
			`[...document.querySelectorAll('.cube tbody')[`+string(rune('0'+table))+
				`].rows].map(r => r.cells[1].textContent).join('|')`)
	}
	is := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	is("call paths", column(1), "400 ms|396 ms|130 ms|40.0 ms|36.0 ms")
	is("threads", column(2), "100 ms|100 ms|100 ms|100 ms")
	press := func(table, row int) {
		eval[bool](b,
			`document.querySelectorAll('.cube tbody')[`+string(rune('0'+table))+`].rows[`+string(rune('0'+row))+
				`].querySelector('button.choose').click(), true`)
	}
	press(0, 4)
	is("where it waited at the barrier", column(1), "90.0 ms|90.0 ms|90.0 ms|0 ns|0 ns")
	is("who", column(2), "30.0 ms|30.0 ms|30.0 ms|0 ns")
	press(1, 3)
	is("at the lock", column(2), "0 ns|0 ns|0 ns|0 ns")
	press(1, 3)
	is("anywhere", column(2), "30.0 ms|30.0 ms|30.0 ms|0 ns")
	press(0, 9)
	is("bytes", column(2), "100 bytes|2.0 KB|3.0 MB|4.0 GB")
	hidden := func() int {
		return eval[int](b, `document.querySelectorAll('.cube tr[hidden]').length`)
	}
	eval[bool](b,
		`document.querySelectorAll('.cube tbody')[1].rows[1].querySelector('button.fold').click(), true`)
	if n := hidden(); n != 3 {
		t.Errorf("%d rows are folded away, want the 3 below main", n)
	}
	b.quiet()
}

// TestPGASHostile: names from a trace steer neither the terminal nor the page, and all faces cope with a
// result that is nearly empty.
func TestPGASHostile(t *testing.T) {
	all := foundRun(t)
	nasty := "</script><img src=x onerror=alert(1)>`\x1b[31m\u202e%s"
	for i := range all.Pattern.Regions {
		all.Pattern.Regions[i].Name = nasty
	}
	for i := range all.Pattern.Calls {
		all.Pattern.Calls[i].File = nasty
	}
	all.Pattern.Locks[0].Name, all.Pattern.Locks[0].File = nasty, nasty
	all.Pattern.Threads[0].Host, all.Pattern.Problems = nasty, []string{nasty}
	empty := foundRun(t)
	empty.Pattern = &pattern.Result{Metrics: all.Pattern.Metrics[:1], Regions: []pattern.Region{{}},
		Calls: []pattern.Call{{Parent: -1}}}
	empty.Pattern.Metrics = []pattern.Metric{{ID: "time", Name: "Time", Parent: -1, Unit: pattern.NS}}
	for _, all := range []*Everything{all, empty} {
		var term, page, doc, table bytes.Buffer
		for _, err := range []error{Terminal(&term, all, Options{Full: true}), HTML(&page, all, Options{}),
			JSON(&doc, all, Options{}), CSV(&table, all, Options{})} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if strings.ContainsAny(term.String(), "\x1b\u202e") {
			t.Error("the terminal gets control characters")
		}
		if strings.Contains(page.String(), "<img") || strings.ContainsAny(page.String(), "\x1b\u202e") {
			t.Error("the page has what a trace put there")
		}
		if !json.Valid(doc.Bytes()) {
			t.Error("the JSON is none")
		}
		parsePage(t, page.String())
	}
}

func TestSentence(t *testing.T) {
	for from, want := range map[string]string{
		"regions that were left: 1.":               "Regions that were left: 1.",
		"shmem_barrier_all was called by thread 0": "shmem_barrier_all was called by thread 0.",
	} {
		if got := sentence(from); got != want {
			t.Errorf("%q: %q, want %q", from, got, want)
		}
	}
}
