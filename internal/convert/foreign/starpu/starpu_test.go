package starpu_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/internal/convert/foreign/starpu"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// load imports a folder, or, where main is not of it, a file alone.
func load(folder fs.FS, main, dir string) (bool, error) {
	f, err := folder.Open(main)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if _, name, _ := foreign.Main([]foreign.Format{starpu.Format}, folder); name != main {
		folder = nil
	}
	return foreign.Import(context.Background(), starpu.Format, f, folder, dir, trace.RunInfo{})
}

func text(t testing.TB, s string, dir string) (bool, error) {
	return foreign.Import(context.Background(), starpu.Format, strings.NewReader(s), nil, dir, trace.RunInfo{})
}

// check demands a trace without contradictions, and gives its model.
func check(t interface {
	sloutest.TB
	Fatalf(string, ...any)
}, dir string) *model.Model {
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if found, err := consistency.Check(context.Background(), r); err != nil || !found.Consistent {
		t.Fatalf("%v, %+v", err, found)
	}
	return sloutest.Load(t, dir)
}

// recorded gives the tasks of tasks.rec that were executed, read in another way than the product does.
func recorded(t testing.TB, file string) (tasks []map[string]string) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for record := range strings.SplitSeq(string(b), "\n\n") {
		f := map[string]string{}
		for line := range strings.SplitSeq(record, "\n") {
			if key, value, ok := strings.Cut(line, ": "); ok {
				f[key] = value
			}
		}
		if f["WorkerId"] != "" && f["EndTime"] != "" {
			tasks = append(tasks, f)
		}
	}
	return tasks
}

func ns(t testing.TB, ms string) int64 {
	f, err := strconv.ParseFloat(ms, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(f*1e6 + 0.5)
}

// TestRecorded: real runs that StarPU 1.3.10 recorded (testdata/README). Every task is there with its times
// and worker, starts after those that it depends on, and reads data that a task with the handle has made.
func TestRecorded(t *testing.T) {
	for name, want := range map[string]struct{ nodes, messages int }{"cholesky": {1, 0}, "stencil": {2, 66}} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join("testdata", name)
			dir := filepath.Join(t.TempDir(), "x.trace")
			if made, err := load(os.DirFS(folder), "tasks.rec", dir); !made || err != nil {
				t.Fatal(made, err)
			}
			m := check(t, dir)
			tasks := recorded(t, filepath.Join(folder, "tasks.rec"))
			if m.Executions() != len(tasks) || len(m.Nodes) != want.nodes || m.Workers() != 2*want.nodes {
				t.Fatalf("%d executions of %d, %d nodes, %d workers", m.Executions(), len(tasks), len(m.Nodes), m.Workers())
			}
			executions := map[string]int{}
			where := map[int]string{}
			for id, w := range m.AllWorkers() {
				for e := w.First; e < w.End; e++ {
					title := m.CFTitle(m.ExecCF[e])
					index := title[strings.LastIndexByte(title, '[')+1 : len(title)-1]
					if want.nodes > 1 {
						index = fmt.Sprintf("%d_%s", id.Node, index)
					}
					executions[index], where[e] = e, fmt.Sprint(id.Worker)
				}
			}
			useful, data := int64(0), 0
			for _, f := range tasks {
				e, ok := executions[f["JobId"]]
				if !ok {
					t.Fatalf("no task %s in %v", f["JobId"], executions)
				}
				start, end := ns(t, f["StartTime"]), ns(t, f["EndTime"])
				useful += end - start
				if m.EndOf(e)-m.ExecStart[e] != end-start || fmt.Sprintf("%v", where[e]) != f["WorkerId"] && want.nodes == 1 {
					t.Errorf("%s executes for %d on worker %s: %v", f["JobId"], m.EndOf(e)-m.ExecStart[e], where[e], f)
				}
				makers := map[model.CF]bool{}
				for _, df := range m.Inputs(e) {
					at, ok := m.Creation(df, m.ExecStart[e])
					if !ok {
						continue
					}
					if m.MadeTime[at] > m.ExecStart[e] {
						t.Errorf("%s uses %s before it is made", f["JobId"], m.DFString(df))
					}
					if makers[m.MadeBy[at]] = true; m.MadeBy[at] != 0 && strings.HasPrefix(m.DFNameOf(df), "data") {
						data++
					}
				}
				for before := range strings.FieldsSeq(f["DependsOn"]) {
					if k, ok := executions[before]; ok && !makers[m.ExecCF[k]] {
						t.Errorf("%s does not wait for %s", f["JobId"], before)
					}
				}
			}
			if data == 0 {
				t.Error("no task reads data of another")
			}
			res, err := slou.Compute(context.Background(), m, slou.Options{}, procs.Alone())
			if err != nil {
				t.Fatal(err)
			}
			if res.Factors.U.NS != useful {
				t.Errorf("U is %d, the tasks take %d", res.Factors.U.NS, useful)
			}
			n := 0
			for i := range m.DFMessages {
				if g := &m.DFMessages[i]; g.Sent != model.None && g.Received != model.None && g.Sent <= g.Received {
					n++
				}
			}
			if n != want.messages {
				t.Errorf("%d messages, not %d", n, want.messages)
			}
			own := m.OwnStates()
			sum := map[string]int64{}
			for _, s := range own {
				sum[s.Name] += s.NS
			}
			if sum["Sleeping"] == 0 || sum["Callback"] == 0 || sum["Executing"] < useful || sum["Executing"] > 2*useful {
				t.Errorf("%d useful, %v", useful, sum)
			}
		})
	}
}

// TestAlone: each file alone gives what it tells.
func TestAlone(t *testing.T) {
	for _, file := range []string{"tasks.rec", "paje.trace"} {
		folder := filepath.Join("testdata", "cholesky")
		head, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		if !starpu.Format.Is(head[:foreign.HeadBytes]) {
			t.Errorf("%s is not known by its first bytes", file)
		}
		dir := filepath.Join(t.TempDir(), "x.trace")
		if made, err := foreign.Import(context.Background(), starpu.Format, bytes.NewReader(head), nil, dir,
			trace.RunInfo{}); !made || err != nil {
			t.Fatal(made, err)
		}
		m := check(t, dir)
		if n := len(recorded(t, filepath.Join(folder, "tasks.rec"))); m.Executions() != n {
			t.Errorf("%s: %d executions, not %d", file, m.Executions(), n)
		}
		if (len(m.OwnStates()) > 0) != (file == "paje.trace") {
			t.Errorf("%s: %v", file, m.OwnStates())
		}
		if words.Imported[m.Info.Settings[model.Imported]].About.In(words.English) == "" {
			t.Error(m.Info.Settings)
		}
	}
}

const task = "Name: a\nJobId: 1\nWorkerId: 0\nSubmitTime: 1.0\nStartTime: 2.5\nEndTime: 3.000001\nHandles: f0\n" +
	"Modes: RW\nSizes: 8\n\n"

// TestDamaged: errors tell where.
func TestDamaged(t *testing.T) {
	const paje = "%EventDef PajeSetState 10\n% Time date\n% Container string\n% Type string\n% Value string\n%EndEventDef\n"
	for s, want := range map[string]string{
		"": "there are no tasks in it",
		"Name: a\nJobId: 1\nWorkerId: 0\nStartTime: x\n":   `line 4, byte 29: "x" is not a time in milliseconds`,
		"Name: a\nJobId: 1\nWorkerId: 0\nStartTime: 1e9\n": `not a time in milliseconds`,
		"Name: a\nJobId: -1\n":                             `line 2, byte 8: "-1" is no number of a task`,
		"Name: a\nJobId: 99999999999999999999\n":           `no number of a task`,
		"Name: a\nJobId: 1\nWorkerId: 99999999\n":          `no number, or too large`,
		"Name: a\nJobId: 1\nDependsOn: 1 two\n":            `"two" is no number of a task`,
		"Name: a\nJobId: 1\nHandles: z\n":                  `"z" is no number of a handle`,
		"Name: a\nJobId: 1\nStartTime: 2\nEndTime: 1\n":    `ends before it starts`,
		"Name: a\nJobId: 1\nnonsense\n":                    `line 3, byte 17: "nonsense" is no field`,
		task + task:                                        `line 20, byte 219: there are two tasks with JobId 1`,
		paje:                                               `without workers`,
		paje + "10 1 w0 WS I\n":                            `line 7, byte 99: "w0" is no worker`,
		paje + "11 1\n":                                    `there is no kind of event "11"`,
		paje + "10 \"1\n":                                  `a quotation mark is missing`,
		"%EventDef\n":                                      `defines no event`,
	} {
		_, err := text(t, s, filepath.Join(t.TempDir(), "x.trace"))
		var damaged *foreign.Error
		if !errors.As(err, &damaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %s", s, err, want)
		}
	}
	dir := filepath.Join(t.TempDir(), "x.trace")
	if made, err := text(t, task+"nonsense", dir); !made || err == nil {
		t.Error(made, err)
	} else if m := sloutest.Load(t, dir); m.Executions() != 1 || m.Info.Ended != "" {
		t.Error(m.Executions(), m.Info.Ended)
	}
	folder := fstest.MapFS{"tasks.rec": {Data: []byte(task)}, "data.rec": {Data: []byte("Handle: f0\nMPIRank: x\n")}}
	if _, err := load(folder, "tasks.rec", filepath.Join(t.TempDir(), "x")); err == nil ||
		err.Error() != `data.rec: line 2, byte 11: "x" is no rank` {
		t.Error(err)
	}
}

// TestRandom: whatever tasks wait for whatever, the trace has no contradiction, and the factors agree with
// the file.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var b strings.Builder
		free := map[int]int{} // by worker
		last := map[int]int{} // by handle: end of the last use
		ends := []int{0}
		useful := 0
		for i := range rapid.IntRange(1, 12).Draw(r, "tasks") {
			worker := rapid.IntRange(0, 2).Draw(r, "worker")
			at := free[worker]
			fmt.Fprintf(&b, "Name: c%d\nJobId: %d\n", i%3, i+1)
			if deps := rapid.SliceOfN(rapid.IntRange(1, i+3), 0, 3).Draw(r, "deps"); len(deps) > 0 {
				b.WriteString("DependsOn:")
				for _, d := range deps {
					fmt.Fprintf(&b, " %d", d)
					if d <= i {
						at = max(at, ends[d])
					}
				}
				b.WriteByte('\n')
			}
			if rapid.IntRange(0, 4).Draw(r, "ghost") == 0 {
				ends = append(ends, at)
				b.WriteString("SubmitTime: 1.0\n\n")
				continue
			}
			handles := slices.Sorted(maps.Keys(rapid.MapOfN(rapid.IntRange(1, 3), rapid.Bool(), 0, 3).Draw(r, "handles")))
			var hs, modes, sizes string
			for _, h := range handles {
				at = max(at, last[h])
				hs += fmt.Sprintf(" %x", h)
				modes += " " + rapid.SampledFrom([]string{"R", "W", "RW", "RWC", "X", "S"}).Draw(r, "mode")
				sizes += " 8"
			}
			at += rapid.IntRange(0, 4).Draw(r, "gap")
			end := at + rapid.IntRange(0, 5).Draw(r, "length")
			free[worker] = end
			for _, h := range handles {
				last[h] = end
			}
			ends = append(ends, end)
			useful += end - at
			fmt.Fprintf(&b, "WorkerId: %d\nSubmitTime: %d.0\nStartTime: %d\nEndTime: %d\n", worker, rapid.IntRange(0, at).Draw(r,
				"submit"), at, end)
			if hs != "" {
				fmt.Fprintf(&b, "Handles:%s\nModes:%s\nSizes:%s\n", hs, modes, sizes)
			}
			b.WriteByte('\n')
		}
		dir := filepath.Join(t.TempDir(), "x.trace")
		made, err := text(t, b.String(), dir)
		if err != nil {
			r.Fatal(err)
		} else if !made {
			return
		}
		m := check(r, dir)
		res, err := slou.Compute(context.Background(), m, slou.Options{}, procs.Alone())
		if err != nil {
			r.Fatal(err)
		}
		if res.Factors.U.NS != int64(useful)*1e6 {
			r.Fatalf("U is %d, not %d ms\n%s", res.Factors.U.NS, useful, b.String())
		}
	})
}

// FuzzRead: whatever the bytes are, there is an error that tells where, or a trace that can be read.
func FuzzRead(f *testing.F) {
	for _, file := range []string{"tasks.rec", "paje.trace", "data.rec"} {
		b, err := os.ReadFile(filepath.Join("testdata", "cholesky", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b[:min(len(b), 1<<14)]), task)
	}
	f.Add(task, "Handle: f0\nName: x\nCoordinates: 1 2\nMPITag: 3\n\n")
	f.Fuzz(func(t *testing.T, first, second string) {
		folder := fstest.MapFS{"tasks.rec": {Data: []byte(first)}, "data.rec": {Data: []byte(second)},
			"paje.trace": {Data: []byte(second)}}
		for _, folder := range []fs.FS{nil, folder} {
			dir := filepath.Join(t.TempDir(), "x.trace")
			made, err := foreign.Import(context.Background(), starpu.Format, io.Reader(strings.NewReader(first)),
				folder, dir, trace.RunInfo{})
			var damaged *foreign.Error
			if err != nil && !errors.As(err, &damaged) {
				t.Fatal(err)
			}
			if made {
				sloutest.Load(t, dir)
			}
		}
	})
}
