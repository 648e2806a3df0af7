//go:build cgo && linux

package native

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// library compiles a source to libNAME.so.
func library(t testing.TB, name, source string, flags ...string) string {
	t.Helper()
	p := cctest.Program{
		Name: "lib" + name + ".so", Compiler: []string{"cc", "-std=c99", "-O1"}, Sources: []string{source},
		Link: []string{"-shared"},
		Flags: append([]string{"-Wall", "-Wextra", "-pedantic", "-Werror", "-I../../../../sdk", "-fPIC",
			"-pthread"}, flags...),
	}
	if strings.HasSuffix(source, ".cpp") {
		p.Compiler = []string{"g++", "-std=c++11", "-O0"}
	}
	return cctest.Make(t, p)
}

var sources = map[string]string{
	"plain_module":         "testdata/plain_module.c",
	"bench_module":         "testdata/bench_module.c",
	"reader_module":        "testdata/reader_module.cpp",
	"event_counter_module": "../../../../examples/module/event_counter_module.cpp",
}

// use opens a module of testdata and gives it parameters.
func use(t testing.TB, name string, params map[string]any) prof.Use {
	t.Helper()
	var flags []string
	if name == "event_counter_module" {
		flags = []string{"-O2"} // as users would
	}
	info, err := Open(library(t, name, sources[name], flags...))
	if err != nil {
		t.Fatal(err)
	}
	return prof.Use{Info: info, Priority: prof.DefaultPriority, Params: params}
}

// session is a session whose modules run.
type session struct {
	*prof.Session
	*prof.ModuleRun
	dir      string
	terminal bytes.Buffer
	mu       sync.Mutex
	messages []string
}

func (s *session) file(name string) string { return filepath.Join(s.dir, name) }

// read is what a module has written, once all have finished.
func (s *session) read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(s.file(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (s *session) told() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.messages, "\n")
}

var started = time.Unix(1700000000, 5)

func newSession(t testing.TB) *session {
	s := &session{Session: prof.New(), dir: t.TempDir()}
	s.Report(func(m string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.messages = append(s.messages, m)
	})
	s.SetDescriber(program{})
	return s
}

// start starts modules; parameter file is a name in the session's folder.
func (s *session) start(t testing.TB, uses ...prof.Use) error {
	t.Helper()
	for i, u := range uses {
		if u.Params["file"] != nil {
			uses[i].Params["file"] = s.file(u.Params["file"].(string))
		}
	}
	var err error
	s.ModuleRun, err = s.StartModules(uses, prof.RunFacts{
		Program: "prog.fa", Args: []string{"one", "two"}, Nodes: 2, Workers: 3, PID: 42, Host: "here",
		Started: started, StartNS: 99, Out: &s.terminal,
	})
	return err
}

func (s *session) finish(t testing.TB) {
	t.Helper()
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
}

// program describes what the tests emit.
type program struct{}

func (program) Site(node int, s trace.Site) prof.Site {
	return prof.Site{Code: fmt.Sprintf("code%d", s), Kind: trace.Atomic, Label: "label", File: "prog.fa",
		Line: node, Col: 3, Text: "text"}
}
func (program) DF(_ int, df trace.DF) (string, []int64) {
	if df == 5 {
		return "a_data_fragment_with_a_long_name", []int64{0, 1, 7}
	}
	return "", nil
}
func (program) Name(int, trace.Name) string { return "a name" }

// stateModule answers as the state module does.
type stateModule struct{}

func (stateModule) Start(*prof.Host) error { return nil }
func (stateModule) Finish() error          { return nil }
func (stateModule) Node(node int) prof.NodeState {
	return prof.NodeState{Ready: int64(10 * node), Weight: 2.5}
}

func useState() prof.Use {
	return prof.Use{Info: prof.ModuleInfo{Name: "test_state_module",
		New: func() prof.Module { return stateModule{} }}}
}
