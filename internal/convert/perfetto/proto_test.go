package perfetto_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/convert/perfetto"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/testkit/traceprocessor"
)

// file writes a model to a file.
func file(t *testing.T, m *model.Model, name string,
	write func(context.Context, io.Writer, *model.Model) error) string {
	t.Helper()
	var b bytes.Buffer
	name = filepath.Join(t.TempDir(), name)
	if err := errors.Join(write(context.Background(), &b, m), os.WriteFile(name, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	return name
}

const inBoth = `select slice.name, category, ts, dur, depth, process.name as process, thread.name as thread
	from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)
	join process using (upid) order by process.name, thread.name, ts, depth`

// TestTraceProcessor: what Perfetto shows of a run is what is in the model: slices nested, arrows, counters.
func TestTraceProcessor(t *testing.T) {
	const run = `#run {"program":"p","ended":"done","nodes":[{"node":0,"host":"a","workers":1},{"node":1,"host":"a","workers":1}]}
#node 0
#code 1 "quo\"te <ü>" atomic
#site 1 code=1
#df 1 x [0 1 0]
0 GlobalEvents.onProgramStarted
10 CFEvents.onCreated cf=0.1 site=1 parent=-
20 CFEvents.onStarted cf=0.1 execution=1
30 SyncEvents.onWaitStarted lock
40 SyncEvents.onWaitEnded lock
60 CFEvents.onFinished cf=0.1 execution=1
60 GlobalEvents.onReadyQueue length=3
60 DFEvents.onCreate df=1 size=8 cf=0.1
70 DFEvents.onSent df=1 to=1 bytes=8 message=0.1
100 GlobalEvents.onProgramFinished
#node 1
#code 2 main function
#code 3 wait barrier
#site 2 code=2
#site 3 code=3
0 GlobalEvents.onProgramStarted
5 RegionEvents.onEntered 2
5 RegionEvents.onEntered 3
50 RegionEvents.onExited 3
50 RegionEvents.onEntered 3
80 RegionEvents.onExited 3
90 DFEvents.onReceived df=1 from=0 bytes=8 message=0.1
100 RegionEvents.onExited 2
100 GlobalEvents.onProgramFinished
`
	m := sloutest.Build(t, run)
	a := traceprocessor.Ask(t, map[string]string{"slices": inBoth,
		"counters": `select t.name, ts, value, process.name as process from counter join process_counter_track t
			on counter.track_id = t.id join process using (upid) order by t.name, ts`,
		"flows": "select o.ts as sent, i.ts as received from flow join slice o on slice_out = o.id join slice i on" +
			" slice_in = i.id",
		"args": "select slice.name, key, coalesce(string_value, int_value) as value from slice join args using" +
			" (arg_set_id) where key like 'debug.%' order by ts, slice.id, key",
		"stats": "select name, value from stats where value > 0 and severity in ('error', 'data_loss')",
	}, file(t, m, "run.pftrace", perfetto.Write))[0]
	var b strings.Builder
	for _, x := range []struct{ what, columns string }{{"slices", "process thread name category ts dur depth"},
		{"counters", "process name ts value"}, {"flows", "sent received"}, {"args", "name key value"},
		{"stats", "name value"}} {
		fmt.Fprintln(&b, x.what)
		for _, r := range a[x.what] {
			for _, c := range strings.Fields(x.columns) {
				fmt.Fprintf(&b, "%v|", r[c])
			}
			b.WriteByte('\n')
		}
	}
	const want = `slices
node 0 (a)|messages|send|DF|70|0|0|
node 0 (a)|worker 0|quo"te <ü>|ForeignBlock|20|40|0|
node 0 (a)|worker 0|lock|Sync|30|10|1|
node 1 (a)|messages|receive|DF|90|0|0|
node 1 (a)|worker 0|main|Region|5|95|0|
node 1 (a)|worker 0|wait|Region|5|45|1|
node 1 (a)|worker 0|wait|Region|50|30|1|
counters
node 0 (a)|ReadyQueue|60|3|
flows
70|90|
args
quo"te <ü>|debug.cf|quo"te <ü> (0.1)|
send|debug.bytes|8|
send|debug.peer|1|
send|debug.what|#1|
receive|debug.bytes|8|
receive|debug.peer|0|
receive|debug.what|#1|
stats
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestTraceProcessorSums: of both formats counts and sums are those of the model, and Perfetto does not
// complain.
func TestTraceProcessorSums(t *testing.T) {
	var files []string
	var models []*model.Model
	for _, text := range []string{rapid.Custom(sloutest.Random).Example(7).Text(),
		rapid.Custom(sloutest.RandomRegions).Example(2)} {
		m := sloutest.Build(t, text)
		models = append(models, m, m)
		files = append(files, file(t, m, "run.pftrace", perfetto.Write), file(t, m, "run.json", perfetto.WriteChrome))
	}
	const count = "select count(*) as n, cast(ifnull(sum(dur), 0) as int) as ns from slice where category in "
	answers := traceprocessor.Ask(t, map[string]string{"executions": count + "('CF', 'ForeignBlock')",
		"regions": count + "('Region')", "flows": "select count(*) as n from flow",
		"counters": "select count(*) as n, cast(ifnull(sum(value), 0) as int) as sum from counter",
		"nodes": "select pid, count(*) as n from slice join thread_track on slice.track_id = thread_track.id join" +
			" thread using (utid) join process using (upid) group by pid order by pid",
		"stats": "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"}, files...)
	for i, a := range answers {
		m := models[i]
		var ns, visits, inside int64
		for e := range m.Executions() {
			ns += m.EndOf(e) - m.ExecStart[e]
		}
		if m.Regions != nil {
			for _, x := range m.Regions.Threads {
				for v := range x.Enter {
					visits, inside = visits+1, inside+x.Exit[v]-x.Enter[v]
				}
			}
		}
		got := fmt.Sprint(a["executions"], a["regions"], a["stats"])
		want := fmt.Sprintf("[map[n:%d ns:%d]] [map[n:%d ns:%d]] []", m.Executions(), ns, visits, inside)
		if got != want || visits+int64(m.Executions()) == 0 {
			t.Errorf("%s: %s instead of %s", files[i], got, want)
		}
		if diff := cmp.Diff(answers[i&^1], a); diff != "" {
			t.Errorf("the formats differ: %s", diff)
		}
	}
}
