//go:build !no_perfetto_module && !no_state_module && !no_profile_module

package modules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/testkit/traceprocessor"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

const (
	askStats  = "select name, severity, value from stats where value > 0 and severity in ('error', 'data_loss')"
	askSlices = `select slice.name, category, ts, dur, depth, process.name as process, pid, thread.name as thread, tid
		from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) join process using (upid) order by ts, slice.id`
	askCounters = `select counter_track.name, ts, value, process.name as process
		from counter join process_counter_track as counter_track on counter.track_id = counter_track.id join process using (upid) order by ts, counter_track.name, value`
	askFlows = `select o.name as out, o.ts as sent, i.name as "in", i.ts as received, op.pid as "from", ip.pid as "to" from flow
		join slice o on slice_out = o.id join thread_track ot on o.track_id = ot.id join thread oth on ot.utid = oth.utid join process op on oth.upid = op.upid
		join slice i on slice_in = i.id join thread_track it on i.track_id = it.id join thread ith on it.utid = ith.utid join process ip on ith.upid = ip.upid`
	askArgs = "select slice.name, key, coalesce(string_value, int_value) as value from slice join args using " +
		"(arg_set_id) where key like 'args.%' order by slice.ts, slice.id, key"
)

// What Perfetto shows of a trace is what was emitted, to the nanosecond.
func TestPerfettoTraceProcessor(t *testing.T) {
	ses, read, finish := perfettoRun(t, prof.RunFacts{Nodes: 2, Workers: 2},
		map[string]any{"args": true, "structured": true})
	perfettoStory(ses)
	finish()
	file := filepath.Join(t.TempDir(), "story.json")
	if err := os.WriteFile(file, []byte(read()), 0o644); err != nil {
		t.Fatal(err)
	}
	a := traceprocessor.Ask(t, map[string]string{"stats": askStats, "slices": askSlices, "counters": askCounters,
		"flows": askFlows, "args": askArgs}, file)[0]
	text := func(rows []traceprocessor.Row, columns ...string) string {
		var b strings.Builder
		for _, r := range rows {
			for _, c := range columns {
				fmt.Fprintf(&b, "%v|", r[c])
			}
			b.WriteByte('\n')
		}
		return b.String()
	}
	for _, c := range []struct{ what, got, want string }{
		{"stats", text(a["stats"], "name", "value"), ""},
		{"slices", text(a["slices"], "name", "category", "ts", "dur", "depth", "process", "pid", "thread", "tid"), `for|CF|600|1250|0|p.fa node 0|6506|worker 0|6508|
block_5|ForeignBlock|2000|2010|0|p.fa node 0|6506|worker 0|6508|
send|DF|4100|0|0|p.fa node 0|6506|worker 0|6508|
receive|DF|5001|0|0|p.fa node 1|6507|worker 0|6512|
` + "quo\"te\\\n<ü>" + `|CF|6000|1000|0|p.fa node 1|6507|worker 0|6512|
lock|Sync|6100|100|1|p.fa node 1|6507|worker 0|6512|
`},
		{"counters", text(a["counters"], "name", "ts", "value", "process"), `DFSizer created|4010|80|p.fa node 0|
DFSizer destroyed|4010|0|p.fa node 0|
DFHeld bytes|5001|80|p.fa node 1|
ReadyQueue length|6000|4|p.fa node 1|
SendQueue to node 0|6000|2|p.fa node 1|
DFHeld bytes|7000|0|p.fa node 1|
DFSizer created|7000|0|p.fa node 1|
DFSizer destroyed|7000|80|p.fa node 1|
`},
		{"flows", text(a["flows"], "out", "sent", "in", "received", "from", "to"),
			"send|4100|receive|5001|6506|6507|\n"},
		{"args", text(a["args"], "name", "key", "value"), `for|args.cf|0.1|
block_5|args.cf|0.2|
block_5|args.label|s[3][-4]|
send|args.bytes|96|
send|args.df|x[3]|
send|args.to|1|
receive|args.bytes|96|
receive|args.df|x[3]|
receive|args.from|0|
` + "quo\"te\\\n<ü>" + `|args.cf|0.3|
`},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", c.what, diff)
		}
	}
}

// A larger trace of many streams; what is there of it when the run is killed, at the end of a piece and
// within one; with whole microseconds.
func TestPerfettoTraceProcessorLarge(t *testing.T) {
	const nodes, workers, calls = 3, 4, 600
	dir := t.TempDir()
	var files []string
	keep := func(name, text string) {
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	atKill := 0 // slices in the file before the end
	for _, precision := range []string{"ns", "us"} {
		ses, read, finish := perfettoRun(t, prof.RunFacts{Nodes: nodes, Workers: workers},
			map[string]any{"precision": precision})
		exchange(ses, nodes, workers, calls)
		if precision == "ns" {
			killed := read()
			atKill = strings.Count(killed, `"ph":"X"`)
			keep("killed.json", killed)
			keep("cut.json", killed[:len(killed)-40])
		}
		finish()
		keep(precision+".json", read())
	}
	count := func(what string) string { return "select count(*) as n from " + what }
	answers := traceprocessor.Ask(t, map[string]string{
		"stats": askStats, "slices": count("slice"), "blocks": count("slice where category = 'ForeignBlock'"),
		"flows": count("flow"), "counters": count("counter"),
		"threads":   count("thread where name like 'worker%'"),
		"processes": count("process where name like 'p.fa node%'"),
		"nested":    count("slice where depth > 0 and category = 'ForeignBlock'"),
		"created": "select value as n from counter join track on track_id = track.id where track.name = " +
			"'DFSizer created' order by value desc limit 1",
		"total": "select sum(dur) as n from slice where category = 'ForeignBlock'",
	}, files...)
	for i, a := range answers {
		n := func(what string) int {
			if len(a[what]) == 0 {
				return 0
			}
			v, _ := a[what][0]["n"].(float64)
			return int(v)
		}
		name := filepath.Base(files[i])
		const all = nodes * workers * calls
		want := map[string]int{"slices": 3 * all, "blocks": all, "flows": all, "counters": 2 * all,
			"threads": nodes * workers, "processes": nodes, "nested": 0, "created": 8 * workers * calls,
			"total": all * 700}
		switch name {
		case "killed.json", "cut.json":
			at := n("slices")
			if d := atKill - at; d != 0 && (d != 1 || name != "cut.json") || at < all {
				t.Errorf("%s: %d slices, %d are in the file", name, at, atKill)
			}
			want = map[string]int{"threads": nodes * workers, "processes": nodes, "nested": 0}
		case "us.json":
			delete(want, "total") // rounded, and so is each
			if d := n("total") - all*700; d < -all*50 || d > all*50 {
				t.Errorf("%s: calls last %d ns", name, n("total"))
			}
		}
		for what, w := range want {
			if got := n(what); got != w {
				t.Errorf("%s: %s %d, want %d", name, what, got, w)
			}
		}
		if len(a["stats"]) > 0 {
			t.Errorf("%s: %v", name, a["stats"])
		}
	}
}

// exchange lets every worker call user code and send what it makes to the same worker of the next node.
func exchange(ses *prof.Session, nodes, workers, calls int) {
	var wg sync.WaitGroup
	for n := range nodes {
		for w := range workers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				s := ses.Stream(n, w, nil)
				for i := range calls {
					t := int64(i)*3003 + 123
					cf := trace.MakeCF(n, uint64(w*calls+i+1))
					message := func(node int) uint64 { return trace.MakeMessage(node, uint64(w*calls+i+1)) }
					from := (n + nodes - 1) % nodes
					ses.CFCreated.EmitAt(s, t, cf, trace.Site(i%2+1), 0, 1, 1, nil)
					ses.ForeignStarted.EmitAt(s, t+10, trace.Site(i%2+1))
					ses.CFStarted.EmitAt(s, t+10, cf, 1, nil)
					ses.CFFinished.EmitAt(s, t+710, cf, 1, -1)
					ses.ForeignEnded.EmitAt(s, t+710, trace.Site(i%2+1))
					ses.DFCreate.EmitAt(s, t+710, trace.DF(i+1), 8, cf)
					ses.DFSent.EmitAt(s, t+720, trace.DF(i+1), (n+1)%nodes, 24, message(n), 0, 0)
					ses.CFDestroyed.EmitAt(s, t+720, cf)
					ses.DFReceived.EmitAt(s, t+2500, trace.DF(i+1), from, 24, message(from), 0, 0)
				}
			}()
		}
	}
	wg.Wait()
}
