//go:build !no_perfetto_module && !no_state_module && !no_profile_module

package modules

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/whyslow/whyslow/internal/tracefile/eventjson"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// perfettoRun is a run whose trace can be looked at.
func perfettoRun(t testing.TB, facts prof.RunFacts, params map[string]any) (ses *prof.Session,
	read func() string, finish func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "perfetto.json")
	if params == nil {
		params = map[string]any{}
	}
	params["file"] = file
	ses, run := viewed(t, PerfettoName, facts, params)
	read = func() string {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return ses, read, func() {
		t.Helper()
		if err := run.Finish(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkLines compares a trace with what is wanted of it, which begins with a line break.
func checkLines(t *testing.T, got, want string) {
	t.Helper()
	if !json.Valid([]byte(got)) {
		t.Errorf("this is no JSON")
	}
	if "\n"+got != want {
		t.Errorf("got\n%s\nwant%s", got, want)
	}
}

// The form of records is that of LuNA's own module.
func TestPerfettoForm(t *testing.T) {
	ses, read, finish := perfettoRun(t, prof.RunFacts{Workers: 20}, map[string]any{"precision": "us",
		"counters": []string{"DFSizer"}, "flows": false})
	a, b := ses.Stream(0, 16, nil), ses.Stream(0, 17, nil)
	ses.ForeignStarted.EmitAt(a, 5_468_567_900, 1)
	ses.ForeignEnded.EmitAt(a, 5_469_088_100, 1)
	ses.DFCreate.EmitAt(b, 1_992_146_000, 1, 256_252_196, 0)
	ses.DFDestroy.EmitAt(b, 1_992_147_999, 1, 61008, trace.Expired)
	ses.DFStored.EmitAt(b, 1, 1, 1) // not wanted
	finish()
	checkLines(t, read(), `
[
{"name":"process_name","ph":"M","pid":6506,"args":{"name":"p.fa node 0"}},
{"name":"thread_name","ph":"M","pid":6506,"tid":6523,"args":{"name":"worker 16"}},
{"name":"block_5","cat":"ForeignBlock","ph":"X","ts":5468567,"dur":521,"pid":6506,"tid":6523,"args":{}},
{"name":"thread_name","ph":"M","pid":6506,"tid":6524,"args":{"name":"worker 17"}},
{"name":"DFSizer","cat":"DF","ph":"C","ts":1992146,"dur":0,"pid":6506,"tid":6524,"args":{"created":256252196,"destroyed":0}},
{"name":"DFSizer","cat":"DF","ph":"C","ts":1992147,"dur":0,"pid":6506,"tid":6524,"args":{"created":256252196,"destroyed":61008}}
]
`)
}

// story emits some of everything.
func perfettoStory(ses *prof.Session) {
	a, b, lengths := ses.Stream(0, 0, nil), ses.Stream(1, 0, nil), ses.Stream(1, 3, nil)
	loop, cf, other := trace.MakeCF(0, 1), trace.MakeCF(0, 2), trace.MakeCF(0, 3)
	ses.CFCreated.EmitAt(a, 500, loop, 3, 0, 1, 1, nil)
	ses.CFStarted.EmitAt(a, 600, loop, 1, nil)
	ses.CFCreated.EmitAt(a, 700, cf, 1, loop, 1, 1, []int32{3, -4})
	ses.CFCreated.EmitAt(a, 700, other, 5, loop, 1, 1, nil)
	ses.CFFinished.EmitAt(a, 1850, loop, 1, -1)
	ses.ForeignStarted.EmitAt(a, 2000, 1)
	ses.CFStarted.EmitAt(a, 2000, cf, 1, nil)
	ses.CFFinished.EmitAt(a, 4010, cf, 1, -1)
	ses.ForeignEnded.EmitAt(a, 4010, 1)
	ses.DFCreate.EmitAt(a, 4010, 3, 80, cf)
	ses.DFSent.EmitAt(a, 4100, 3, 1, 96, trace.MakeMessage(0, 17), 0, 0)
	ses.CFMigrated.EmitAt(a, 4200, other, 1, 64, 1)
	ses.CFReceived.EmitAt(b, 4900, other, 0, 64, 1)
	ses.DFReceived.EmitAt(b, 5001, 3, 0, 96, trace.MakeMessage(0, 17), 0, 0)
	ses.DFStored.EmitAt(b, 5001, 3, 80)
	ses.ReadyQueue.EmitAt(lengths, 6000, 4)
	ses.SendQueue.EmitAt(lengths, 6000, 0, 2)
	// A CF of a program that does not tell about calls of user code.
	ses.CFStarted.EmitAt(b, 6000, other, 1, nil)
	ses.WaitStarted.EmitAt(b, 6100, 1)
	ses.WaitEnded.EmitAt(b, 6200, 1)
	ses.CFFinished.EmitAt(b, 7000, other, 1, -1)
	ses.DFDropped.EmitAt(b, 7000, 3, 80)
	ses.DFDestroy.EmitAt(b, 7000, 3, 80, trace.Expired)
}

func TestPerfettoEverything(t *testing.T) {
	facts := prof.RunFacts{Nodes: 2, Workers: 2, StartNS: 1000}
	ses, read, finish := perfettoRun(t, facts, map[string]any{"args": true, "structured": true})
	perfettoStory(ses)
	finish()
	checkLines(t, read(), `
[
{"name":"process_name","ph":"M","pid":6506,"args":{"name":"p.fa node 0"}},
{"name":"thread_name","ph":"M","pid":6506,"tid":6508,"args":{"name":"worker 0"}},
{"name":"for","cat":"CF","ph":"X","ts":-0.4,"dur":1.25,"pid":6506,"tid":6508,"args":{"cf":"0.1"}},
{"name":"block_5","cat":"ForeignBlock","ph":"X","ts":1,"dur":2.01,"pid":6506,"tid":6508,"args":{"cf":"0.2","label":"s[3][-4]"}},
{"name":"DFSizer","cat":"DF","ph":"C","ts":3.01,"dur":0,"pid":6506,"tid":6508,"args":{"created":80,"destroyed":0}},
{"name":"send","cat":"DF","flow_out":true,"bind_id":"0x11","ph":"X","ts":3.1,"dur":0,"pid":6506,"tid":6508,"args":{"to":1,"bytes":96,"df":"x[3]"}},
{"name":"process_name","ph":"M","pid":6507,"args":{"name":"p.fa node 1"}},
{"name":"thread_name","ph":"M","pid":6507,"tid":6512,"args":{"name":"worker 0"}},
{"name":"receive","cat":"DF","flow_in":true,"bind_id":"0x11","ph":"X","ts":4.001,"dur":0,"pid":6507,"tid":6512,"args":{"from":0,"bytes":96,"df":"x[3]"}},
{"name":"lock","cat":"Sync","ph":"X","ts":5.1,"dur":0.1,"pid":6507,"tid":6512,"args":{}},
{"name":"quo\"te\\\n\u003cü\u003e","cat":"CF","ph":"X","ts":5,"dur":1,"pid":6507,"tid":6512,"args":{"cf":"0.3"}},
{"name":"DFSizer","cat":"DF","ph":"C","ts":6,"dur":0,"pid":6507,"tid":6512,"args":{"created":0,"destroyed":80}},
{"name":"DFHeld","cat":"DF","ph":"C","ts":4.001,"dur":0,"pid":6507,"tid":6512,"args":{"bytes":80}},
{"name":"DFHeld","cat":"DF","ph":"C","ts":6,"dur":0,"pid":6507,"tid":6512,"args":{"bytes":0}},
{"name":"thread_name","ph":"M","pid":6507,"tid":6515,"args":{"name":"system 3"}},
{"name":"ReadyQueue","cat":"CF","ph":"C","ts":5,"dur":0,"pid":6507,"tid":6515,"args":{"length":4}},
{"name":"SendQueue","cat":"Message","ph":"C","ts":5,"dur":0,"pid":6507,"tid":6515,"args":{"to node 0":2}}
]
`)
}

// User code that has not returned when the run is broken off, and ends without starts.
func TestPerfettoUnfinished(t *testing.T) {
	ses, read, finish := perfettoRun(t, prof.RunFacts{}, nil)
	s := ses.Stream(0, 0, nil)
	ses.ForeignEnded.EmitAt(s, 1000, 1)
	ses.WaitEnded.EmitAt(s, 1000, 1)
	ses.CFFinished.EmitAt(s, 1000, 5, 1, -1)
	ses.ForeignStarted.EmitAt(s, 2000, 2)
	finish()
	got := read()
	if !json.Valid([]byte(got)) || strings.Count(got, `"ph":"X"`) != 1 ||
		!strings.Contains(got, `{"name":"b15","cat":"ForeignBlock","ph":"X","ts":2,"dur":`) ||
		!strings.Contains(got, `"args":{"unfinished":true}}`) {
		t.Errorf("%s", got)
	}
}

// Times keep every nanosecond, or are rounded so that neighbours stay neighbours.
func TestPerfettoTimes(t *testing.T) {
	for _, c := range []struct {
		ns        int64
		exact, us string
	}{{0, "0", "0"}, {1, "0.001", "0"}, {10, "0.01", "0"}, {999, "0.999", "0"}, {1000, "1", "1"},
		{1020, "1.02", "1"}, {1999, "1.999", "1"}, {123456789012345, "123456789012.345", "123456789012"},
		{-1, "-0.001", "-1"}, {-1500, "-1.5", "-2"}, {-2000, "-2", "-2"}} {
		fine, whole := Perfetto{}, Perfetto{whole: true}
		if got := string(fine.appendTime(nil, c.ns)); got != c.exact {
			t.Errorf("%d ns: %s, want %s", c.ns, got, c.exact)
		}
		if got := string(whole.appendTime(nil, floor(c.ns))); got != c.us {
			t.Errorf("%d ns: %s, want %s", c.ns, got, c.us)
		}
	}
}

// What a node holds is added up in order of time, whoever tells of it first, and changes at one time count
// together. What is told a second late still counts from then on.
func TestPerfettoHeldInOrderOfTime(t *testing.T) {
	ses, read, finish := perfettoRun(t, prof.RunFacts{Workers: 2},
		map[string]any{"counters": []string{"DFHeld"}})
	a, b := ses.Stream(0, 0, nil), ses.Stream(0, 1, nil)
	ses.DFStored.EmitAt(a, 1000, 1, 100)
	ses.DFStored.EmitAt(a, 3000, 2, 50)
	ses.DFDropped.EmitAt(b, 2000, 1, 100)
	ses.DFStored.EmitAt(b, 3000, 3, 7)
	ses.DFDropped.EmitAt(a, 3000, 2, 50)
	ses.DFStored.EmitAt(a, 3_000_000_000, 4, 1)
	ses.DFStored.EmitAt(b, 2500, 5, 3)
	finish()
	var got []string
	for line := range strings.Lines(read()) {
		if strings.Contains(line, `"DFHeld"`) {
			got = append(got, line[strings.Index(line, `"ts"`):strings.Index(line, `,"dur"`)]+
				line[strings.Index(line, `"bytes"`):strings.Index(line, "}")])
		}
	}
	want := []string{`"ts":1"bytes":100`, `"ts":2"bytes":0`, `"ts":3"bytes":7`, `"ts":3"bytes":10`,
		`"ts":3000000"bytes":11`}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// While the program runs the file grows, and it always ends with a whole record.
func TestPerfettoWhileItRuns(t *testing.T) {
	const nodes, workers, cfs = 2, 3, 2000
	ses, read, finish := perfettoRun(t, prof.RunFacts{Nodes: nodes, Workers: workers},
		map[string]any{"args": true, "structured": true})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				// Between two pieces of the stream the last record is whole.
				if got := read(); got != "" && !strings.HasSuffix(got, "}") && len(got)%4096 != 0 {
					t.Errorf("ends with %q", got[max(0, len(got)-100):])
				}
			}
		}
	}()
	live(ses, nodes, workers, cfs)
	close(stop)
	<-stopped
	killed := read()
	if len(killed) < 100_000 || !json.Valid([]byte(killed+"]")) {
		t.Errorf("%d bytes are in the file before the end; they end with %q", len(killed),
			killed[max(0, len(killed)-100):])
	}
	finish()
	var records []struct{ Name, Ph string }
	if err := json.Unmarshal([]byte(read()), &records); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, r := range records {
		if r.Ph == "X" {
			count["X"]++
		} else {
			count[r.Name]++
		}
	}
	const all = nodes * workers * cfs
	if held := count["DFHeld"]; held <= all || held > 2*all { // changes at one time count together
		t.Errorf("%d records of DFHeld", held)
	}
	delete(count, "DFHeld")
	if got, want := fmt.Sprint(count), fmt.Sprint(map[string]int{"DFSizer": 2 * all, "X": all,
		"process_name": nodes, "thread_name": nodes * workers}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func FuzzJSONString(f *testing.F) {
	for _, s := range []string{"", "a", `"\`, "\x00\n\x1f", "ü<&>\u2028", "\xff\xc3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		if err := json.Unmarshal(eventjson.AppendString(nil, s), &got); err != nil {
			t.Fatal(err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
