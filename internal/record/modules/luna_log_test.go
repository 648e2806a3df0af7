//go:build !no_luna_log_module

package modules

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/record/lunalog"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// The files hold what whyslow dump --luna prints of the same run's trace, node by node.
func TestLunaLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t")
	logs := filepath.Join(t.TempDir(), "a", "logs")
	r := startRun(t, 2, 1, use(t, "luna_log_module", map[string]any{"dir": logs, "buffer": 300}))
	streams := map[[2]int]*prof.Stream{}
	for node := range 2 {
		w, err := trace.Create(dir, node, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for site, code := range shop {
			s := shop.Site(node, site)
			w.DefineCode(trace.CodeDef{Code: uint32(site), Name: w.Name(code)})
			w.DefineSite(trace.SiteDef{Site: site, Code: uint32(site), File: w.Name(s.File), Line: s.Line})
		}
		for df := range trace.DF(3) {
			_, identity := shop.DF(node, df+1)
			w.DefineDF(df+1, w.Name("x"), identity)
		}
		for stream := range 2 {
			streams[[2]int{node, stream}] = r.ses.Stream(node, stream, w.Stream(stream))
		}
		defer w.Close()
	}
	w0, r0, w1, r1 := streams[[2]int{0, 0}], streams[[2]int{0, 1}], streams[[2]int{1, 0}], streams[[2]int{1, 1}]
	at := int64(start)
	for round := range uint64(50) {
		main, mult := trace.MakeCF(0, 2*round+1), trace.MakeCF(0, 2*round+2)
		at += 12_345
		parent := trace.CF(0)
		if round > 0 {
			parent = 1
		}
		r.ses.CFCreated.EmitAt(w0, at, main, 1, parent, 0, 1, nil)
		r.ses.CFStarted.EmitAt(w0, at+1000, main, 1, nil)
		r.ses.CFCreated.EmitAt(w0, at+2000, mult, 2, main, 1, 1, nil)
		r.ses.CFMigrated.EmitAt(w0, at+3000, mult, 1, 40, 1)
		r.ses.CFReceived.EmitAt(r1, at+4000, mult, 0, 40, 1)
		r.ses.CFWaiting.EmitAt(w1, at+5000, mult, []trace.DF{1, 2})
		r.ses.DFRequested.EmitAt(w1, at+5000, 1, mult, 0, trace.MakeMessage(1, round+1))
		r.ses.CFFinished.EmitAt(w0, at+6000, main, 1, -1)
		r.ses.CFDestroyed.EmitAt(w0, at+6000, main)
		r.ses.DFCreate.EmitAt(w0, at+7000, 1, 8, main)
		r.ses.DFStored.EmitAt(r0, at+7000, 1, 8)
		r.ses.DFReceived.EmitAt(r1, at+8000, 1, 0, 8, trace.MakeMessage(0, round+1), trace.MakeMessage(1, round+1),
			mult)
		r.ses.DFReceived.EmitAt(r1, at+8000, 2, 0, 8, trace.MakeMessage(0, round+1), 0, 0)
		r.ses.CFStolen.EmitAt(r1, at+9000, mult, 0, 40, 1)
		r.ses.DFDestroy.EmitAt(r0, at+9000, 1, 8, trace.Expired)
		r.ses.Idle.EmitAt(w1, at+9000)
	}
	r.finish(t)
	for _, s := range streams {
		if err := s.Trace().Writer().Close(); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var dump bytes.Buffer
	if err := lunalog.Print(&dump, tr); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	sameStart := regexp.MustCompile(`^\d \| \d+\.\d+ `)
	for _, line := range lines(dump.String()) {
		want[line[:1]] += sameStart.ReplaceAllString(line, "") + "\n"
	}
	for node := range 2 {
		text, err := os.ReadFile(filepath.Join(logs, fmt.Sprintf("log.%02d", node)))
		if err != nil {
			t.Fatal(err)
		}
		got, last := "", ""
		for _, line := range lines(string(text)) {
			if !strings.HasPrefix(line, fmt.Sprintf("%d | 0.000", node)) || line[4:12] < last {
				t.Fatalf("%s: after %s", line, last)
			}
			last = line[4:12]
			got += sameStart.ReplaceAllString(line, "") + "\n"
		}
		if diff := cmp.Diff(want[fmt.Sprint(node)], got); diff != "" {
			t.Error(diff)
		}
	}
}

// Many workers: all lines are there, in order of time, and the numbers of CFs end at none.
func TestLunaLogManyStreams(t *testing.T) {
	logs := t.TempDir()
	r := startRun(t, 2, 4, use(t, "luna_log_module", map[string]any{"dir": logs, "buffer": 1000}))
	const n = 300
	crowd(r.ses, 2, 4, func(s *prof.Stream) {
		for i := range n {
			cf := trace.MakeCF(s.Node(), uint64(s.ID()*n+i+1))
			r.ses.CFCreated.Emit(s, cf, 2, 1, 1, 1, nil)
			r.ses.CFStarted.Emit(s, cf, 1, nil)
			r.ses.CFFinished.Emit(s, cf, 1, -1)
			r.ses.CFDestroyed.Emit(s, cf)
		}
	})
	r.finish(t)
	for node := range 2 {
		text, err := os.ReadFile(filepath.Join(logs, fmt.Sprintf("log.%02d", node)))
		if err != nil {
			t.Fatal(err)
		}
		all := lines(string(text))
		if len(all) != 4*n*7 || !strings.Contains(string(text), "=> 0 |") {
			t.Errorf("%d lines", len(all))
		}
	}
}

func TestLunaLogNeedsAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := prof.New().StartModules([]prof.Use{use(t, "luna_log_module",
		map[string]any{"dir": filepath.Join(file, "x")})}, prof.RunFacts{Nodes: 1})
	if err == nil || !strings.HasPrefix(err.Error(), "module luna_log_module: ") {
		t.Error(err)
	}
}

func init() {
	examples = append(examples, example{"luna_log_module example", func(t *testing.T) string {
		dir := t.TempDir()
		printed("luna_log_module", map[string]any{"dir": dir})(t)
		text, err := os.ReadFile(filepath.Join(dir, "log.01"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}})
}
