package pattern

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// buildText makes a model of a trace's text.
func buildText(t testing.TB, text string) *model.Model {
	t.Helper()
	dir := t.TempDir()
	writeText(t, text, dir)
	return buildDir(t, dir)
}

func writeText(t testing.TB, text, dir string) {
	t.Helper()
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
}

func buildDir(t testing.TB, dir string) *model.Model {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := model.Build(context.Background(), r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func compute(t testing.TB, m *model.Model) *Result {
	t.Helper()
	r, err := Compute(context.Background(), m, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// path names a call path: "main > upc_wait:12".
func (r *Result) path(call int) string {
	c := r.Calls[call]
	name := r.Regions[c.Region].Name
	if c.Line > 0 {
		name += fmt.Sprintf(":%d", c.Line)
	}
	if c.Parent > 0 {
		return r.path(c.Parent) + " > " + name
	}
	return name
}

// show writes what is not zero of a result, a line each. metrics are the ids of those wanted; none means all
// but overload and underload.
func show(r *Result, metrics ...string) string {
	var b bytes.Buffer
	want := func(id string) bool {
		for _, m := range metrics {
			if m == id {
				return true
			}
		}
		return len(metrics) == 0 && id != "overload" && id != "underload" && id != "single-participant" &&
			id != "non-participation" && id != "visits"
	}
	for _, m := range r.Metrics {
		if !want(m.ID) {
			continue
		}
		for _, row := range m.Rows {
			fmt.Fprintf(&b, "%s, %s: %s\n", m.ID, r.path(row.Call),
				strings.Trim(fmt.Sprint(row.Values), "[]"))
		}
	}
	return b.String()
}

// rest writes the other parts of a result.
func rest(r *Result) string {
	var b bytes.Buffer
	for _, l := range r.Late {
		fmt.Fprintf(&b, "late %s, %s: thread %d, %d in %d:", r.Metrics[l.Metric].ID, r.path(l.Call), l.Thread,
			l.NS,
			l.Count)
		for _, d := range l.Doing {
			fmt.Fprintf(&b, " %s %d", r.path(d.Call), d.NS)
		}
		b.WriteByte('\n')
	}
	for _, l := range r.Locks {
		fmt.Fprintf(&b, "lock %d: acquired %d, contended %d, wait %d, hold %d, longest %d, handover %d, chain "+
			"%d, blocks %v\n",
			l.ID, l.Acquired, l.Contended, l.WaitNS, l.HoldNS, l.LongestNS, l.HandoverNS, l.Chain, l.Blocks)
	}
	for _, c := range r.Collectives {
		fmt.Fprintf(&b, "collective %s, %s %q: count %d, bytes %d, time %d, entry %d, allsync %d, exit %d, after "+
			"barrier %d, between %d\n",
			r.path(c.Call), c.Kind, c.Sync, c.Count, c.Bytes, c.NS, c.EntryNS, c.AllSyncNS, c.ExitNS,
			c.AfterBarrier,
			c.BetweenNS)
	}
	for _, x := range r.Transfers {
		fmt.Fprintf(&b, "transfer %s: count %d, bytes %d, time %d, runs %d, overlap %d\n", r.path(x.Call),
			x.Count,
			x.Bytes, x.NS, x.Runs, x.OverlapNS)
	}
	for _, x := range r.Threads {
		fmt.Fprintf(&b, "thread %d.%d: calls %d, syncs %d, puts %d, gets %d, atomics %d, sent %d, received %d\n",
			x.Node, x.Stream, x.Calls, x.Syncs, x.Puts, x.Gets, x.Atomics, x.Sent, x.Received)
	}
	for _, x := range r.Threads {
		for _, p := range r.Pieces(model.WorkerID{Node: x.Node, Worker: x.Stream}) {
			fmt.Fprintf(&b, "piece %d.%d %d-%d %c.%s\n", x.Node, x.Stream, p.From, p.To, "WLOU"[p.Kind], p.Part)
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintln(&b, p)
	}
	return b.String()
}

var update = flag.Bool("update", false, "rewrite the expected results (then check them on paper)")

// TestGolden compares runs in testdata with figures worked out by hand in what each file begins with. Then
// come "-- trace --" and, of its result, "-- metrics --", "-- imbalance --" or "-- rest --".
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			part, name, order := map[string]string{}, "", []string{""}
			for line := range strings.Lines(string(text)) {
				if n, ok := strings.CutPrefix(line, "-- "); ok {
					name = strings.TrimSuffix(n, " --\n")
					order = append(order, name)
					part[name] = ""
					continue
				}
				part[name] += line
			}
			r := compute(t, buildText(t, part["trace"]))
			for name, got := range map[string]string{"metrics": show(r), "rest": rest(r),
				"imbalance": show(r, "overload", "underload", "single-participant", "non-participation")} {
				if _, ok := part[name]; !ok {
					continue
				}
				if want := part[name]; want != got && !*update {
					t.Errorf("%s (-want +got):\n%s", name,
						cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
				}
				part[name] = got
			}
			if *update {
				out := part[""]
				for _, name := range order[1:] {
					out += "-- " + name + " --\n" + part[name]
				}
				if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
