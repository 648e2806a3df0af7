//go:build !no_perfetto_module && !no_state_module && !no_profile_module

package modules

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// viewedProgram describes the program of these tests: statement n runs code fragment codes[n-1], the same on
// every node.
type viewedProgram struct{}

var programSites = []prof.Site{
	{Code: "block_5", Kind: trace.Atomic, Label: "s", File: "p.fa", Line: 3, Col: 5, Text: "block_5(x)"},
	{Code: "b15", Kind: trace.Atomic, File: "p.fa", Line: 4, Col: 5},
	{Code: "for", Kind: trace.For, File: "p.fa", Line: 5, Col: 1},
	{Code: "for", Kind: trace.For, File: "p.fa", Line: 9, Col: 1},
	{Code: "quo\"te\\\n<ü>", Kind: trace.Atomic},
}

func (viewedProgram) Site(_ int, s trace.Site) prof.Site {
	if s == 0 || int(s) > len(programSites) {
		return prof.Site{Code: "#"}
	}
	return programSites[s-1]
}
func (viewedProgram) DF(_ int, df trace.DF) (string, []int64) { return "x", []int64{0, 1, int64(df)} }
func (viewedProgram) Name(_ int, n trace.Name) string         { return "lock" }

// viewed is a session in which one module runs.
func viewed(t testing.TB, module string, facts prof.RunFacts, params map[string]any) (*prof.Session,
	*prof.ModuleRun) {
	t.Helper()
	list := prof.Modules()
	i := slices.IndexFunc(list, func(m prof.ModuleInfo) bool { return m.Name == module })
	if i < 0 {
		t.Fatal("no module " + module)
	}
	for name := range params {
		if list[i].Param(name) == nil {
			t.Fatalf("%s has no parameter %s", module, name)
		}
	}
	ses := prof.New()
	ses.Report(func(message string) { t.Error(message) })
	ses.SetDescriber(viewedProgram{})
	if facts.Nodes == 0 {
		facts.Nodes = 1
	}
	if facts.Workers == 0 {
		facts.Workers = 1
	}
	facts.Program, facts.PID, facts.Started = "p.fa", 6506, time.Now()
	run, err := ses.StartModules([]prof.Use{{Info: list[i], Params: params}}, facts)
	if err != nil {
		t.Fatal(err)
	}
	return ses, run
}

// The parts of docs/modules.md that show what these modules write.
func init() {
	examples = append(examples,
		example{"perfetto_module example", func(t *testing.T) string {
			ses, read, finish := perfettoRun(t, prof.RunFacts{Nodes: 2, Workers: 2}, map[string]any{"args": true})
			perfettoStory(ses)
			finish()
			return some(func(*testing.T) string { return read() }, "block_5", "DFSizer", "send", "receive")(t)
		}},
		example{"profile_module example", func(t *testing.T) string {
			var out bytes.Buffer
			ses, run := viewed(t, ProfileName, prof.RunFacts{Nodes: 2, Out: &out},
				map[string]any{"file": "", "format": "table"})
			profiled(ses)
			if err := run.Finish(); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}},
		example{"profile_module json", func(t *testing.T) string {
			file := filepath.Join(t.TempDir(), "profile.json")
			ses, run := viewed(t, ProfileName, prof.RunFacts{Nodes: 2}, map[string]any{"file": file})
			profiled(ses)
			if err := run.Finish(); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			// As far as the first node's figures.
			text, _, _ := strings.Cut(string(b), "        {\n          \"node\": 1")
			return text
		}},
	)
}

// An unknown value of a parameter keeps the run from starting.
func TestViewsParameters(t *testing.T) {
	for _, c := range []struct {
		module, param string
		value         any
		want          string
	}{
		{StateName, "interval", -1, "module state_module: interval=-1: give a number of milliseconds, 0 for never"},
		{StateName, "emit", -5, "module state_module: emit=-5: give a number of milliseconds, 0 for never"},
		{ProfileName, "format", "xml", "module profile_module: format=xml: use json or table"},
		{PerfettoName, "precision", "s", "module perfetto_module: precision=s: use ns or us"},
		{PerfettoName, "counters", []string{"Tea"},
			"module perfetto_module: counters=Tea: use some of [DFSizer DFHeld ReadyQueue SendQueue]"},
	} {
		list := prof.Modules()
		i := slices.IndexFunc(list, func(m prof.ModuleInfo) bool { return m.Name == c.module })
		_, err := prof.New().StartModules([]prof.Use{{Info: list[i], Params: map[string]any{c.param: c.value,
			"file": t.TempDir() + "/f"}}}, prof.RunFacts{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", c.module, err)
		}
	}
}
