package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("rapid.nofailfile", "true") // the failing program is printed
	os.Exit(m.Run())
}

// compile compiles a program that begins with the prelude. Its first line is line 1 of t.fa.
func compile(t testing.TB, src string) *luna.Program {
	t.Helper()
	p, err := luna.Compile(luna.Options{File: "t.fa", Source: []byte("#include \"prelude.fa\" " + src),
		ReadFile: func(path string) ([]byte, error) {
			return os.ReadFile("testdata/" + path)
		}})
	if err != nil {
		var b strings.Builder
		var e *luna.Error
		if errors.As(err, &e) {
			for _, d := range e.Diags {
				luna.Format(&b, d, false)
			}
		}
		t.Fatalf("%v\n%s\n%s", err, b.String(), src)
	}
	return p
}

var (
	libraryOnce sync.Once
	library     *cpp.Library
)

// open gives the library of the prelude's code fragments, the same for all programs.
func open(t testing.TB, p *luna.Program) *cpp.Library {
	t.Helper()
	libraryOnce.Do(func() {
		b, err := cpp.Build(context.Background(), cpp.Spec{Prog: p, Dir: "testdata/codes", Optimize: "-O0"})
		if err != nil {
			t.Fatal(err)
		}
		if library, err = cpp.Open(b.Path, p); err != nil {
			t.Fatal(err)
		}
	})
	if library == nil {
		t.Fatal("the prelude's C++ code could not be built")
	}
	return library
}

// shape is nodes x workers and whatever else a run needs.
type shape struct {
	nodes, workers int
	set            func(*engine.Config)
	args           []string
	options        trace.Options
	ctx            context.Context
	after          time.Duration // interrupt it then
	session        func(*prof.Session)
	loose          bool // the trace may lack events
	apart          bool // every node has an engine of its own, as if in a process of its own
	part           func(*engine.Config)
	delays         *rand.Rand // apart: messages take a random time
}

func (s shape) String() string {
	if s.apart {
		return fmt.Sprintf("%dx%d apart", s.nodes, s.workers)
	}
	return fmt.Sprintf("%dx%d", s.nodes, s.workers)
}

var (
	one    = shape{nodes: 1, workers: 1}
	shapes = []shape{one, {nodes: 1, workers: 4}, {nodes: 4, workers: 1}, {nodes: 3, workers: 2},
		{nodes: 1, workers: 1, apart: true}, {nodes: 4, workers: 1, apart: true},
		{nodes: 2, workers: 2, apart: true}}
)

// outcome is what a run did.
type outcome struct {
	out    string
	res    *engine.Result
	err    error
	others []error // apart: of the other nodes
	trace  *facts
	dir    string // with the trace
}

func (o *outcome) lines() []string {
	if o.out == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(o.out, "\n"), "\n")
}

func (o *outcome) sorted() string {
	l := o.lines()
	slices.Sort(l)
	return strings.Join(l, "\n")
}

// run runs a program, and checks that its trace is consistent and that no buffer of its DFs is left.
func run(t testing.TB, src string, s shape) *outcome {
	t.Helper()
	return runProgram(t, compile(t, src), s)
}

func runProgram(t testing.TB, p *luna.Program, s shape) *outcome {
	t.Helper()
	o, faults := execute(t, p, s)
	for _, fault := range faults {
		t.Errorf("%v: %s", s, fault)
	}
	if len(faults) > 0 {
		t.Fatalf("a run of\n%s\n%s", p.Text, o.trace.text())
	}
	return o
}

// execute runs a program and returns what it did, and what is wrong with the trace and the memory.
func execute(t testing.TB, p *luna.Program, s shape) (o *outcome, faults []string) {
	t.Helper()
	if s.ctx == nil {
		s.ctx = context.Background()
	}
	cfg := engine.Config{Program: p, Library: open(t, p), Nodes: s.nodes, Workers: s.workers, Args: s.args,
		Session: prof.New()}
	dir := t.TempDir()
	for i := range s.nodes {
		w, err := trace.Create(dir, i, s.options)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Writers = append(cfg.Writers, w)
	}
	if s.session != nil {
		s.session(cfg.Session)
	}
	if s.set != nil {
		s.set(&cfg)
	}
	live := cpp.Live()
	o = &outcome{dir: dir}
	timeout := time.AfterFunc(10*time.Minute, func() { panic("the run does not end:\n" + p.Text) })
	ctx, cancel := context.WithCancel(s.ctx)
	o.out = captured(t, func() {
		if s.after > 0 {
			time.AfterFunc(s.after, cancel)
		}
		if s.apart {
			o.res, o.others, o.err = runApart(ctx, t, cfg, s)
		} else {
			o.res, o.err = engine.Run(ctx, cfg)
		}
	})
	cancel()
	timeout.Stop()
	for _, w := range cfg.Writers {
		if err := w.Close(); err != nil && o.err == nil {
			t.Fatal(err)
		}
	}
	var stuck *engine.StuckError
	good := o.err == nil
	o.trace = readFacts(t, dir, good && !s.loose)
	faults = o.trace.faults
	if (good || errors.As(o.err, &stuck)) && cpp.Live() != live {
		faults = append(faults, fmt.Sprintf("%d buffers leaked", cpp.Live()-live))
	}
	if good && !s.loose {
		k := o.trace.kinds
		for _, c := range []struct {
			what string
			got  int64
			want int
		}{
			{"CFs", o.res.CFs, k[trace.KindCFCreated]}, {"atomic executions", o.res.Atomic, k[trace.KindForeignEnded]},
			{"migrations", o.res.Migrated, k[trace.KindCFMigrated]}, {"thefts", o.res.Stolen, k[trace.KindCFStolen]},
			{"creations and destructions", int64(k[trace.KindCFDestroyed]), k[trace.KindCFCreated]},
		} {
			if c.got != int64(c.want) {
				faults = append(faults, fmt.Sprintf("%d %s, %d in the trace", c.got, c.what, c.want))
			}
		}
		if n := k[trace.KindDFSent] + k[trace.KindDFRequestReceived] + k[trace.KindCFReceived]; o.res.Messages <
			int64(n) {
			faults = append(faults, fmt.Sprintf("%d messages, %d in the trace", o.res.Messages, n))
		}
	}
	return o, faults
}

// captured returns what user code prints meanwhile.
func captured(t testing.TB, f func()) string {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	saved, err := syscall.Dup(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Dup3(int(file.Fd()), 1, 0); err != nil {
		t.Fatal(err)
	}
	f()
	library.Flush()
	if err := syscall.Dup3(saved, 1, 0); err != nil {
		t.Fatal(err)
	}
	syscall.Close(saved)
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// same checks that a program prints the lines of want: with one worker in this order, otherwise in any.
func same(t *testing.T, src, want string, more ...shape) {
	t.Helper()
	want = lines(want)
	p := compile(t, src)
	for _, s := range append(slices.Clone(shapes), more...) {
		o := runProgram(t, p, s)
		if o.err != nil {
			t.Errorf("%v: %v", s, o.err)
			continue
		}
		got := strings.TrimSuffix(o.out, "\n")
		wanted := want
		if s.nodes*s.workers > 1 {
			l := strings.Split(want, "\n")
			slices.Sort(l)
			got, wanted = o.sorted(), strings.Join(l, "\n")
		}
		if got != wanted {
			t.Errorf("%v: printed\n%s\nwanted\n%s", s, got, wanted)
		}
	}
}

// lines takes blanks off the lines of s, and the empty ones at both ends.
func lines(s string) string {
	l := strings.Split(strings.TrimSpace(s), "\n")
	for i := range l {
		l[i] = strings.TrimSpace(l[i])
	}
	return strings.Join(l, "\n")
}

// fails checks that a program fails with a message, and in LuNA's words, in the CF of a statement.
func fails(t *testing.T, src, msg, lunaLine, stmt string, more ...shape) {
	t.Helper()
	p := compile(t, src)
	for _, s := range append(slices.Clone(shapes), more...) {
		o := runProgram(t, p, s)
		var e *engine.ProgramError
		switch {
		case !errors.As(o.err, &e):
			t.Errorf("%v: ended with %v, wanted %q", s, o.err, msg)
		case !strings.Contains(e.Msg, msg) || !strings.HasPrefix(e.LunaLine, lunaLine) ||
			lunaLine == "" && e.LunaLine != "" || e.Stmt != stmt:
			t.Errorf("%v: %v\nLuNA: %q\nstatement %q\nwanted %q, %q, %q", s, e, e.LunaLine, e.Stmt, msg,
				lunaLine, stmt)
		case stmt != "" && e.Pos.Line == 0:
			t.Errorf("%v: %v: no position", s, e)
		}
	}
}

// stuck checks what a program that cannot finish is told.
func stuck(t *testing.T, src, want string, more ...shape) {
	t.Helper()
	p := compile(t, src)
	for _, s := range append([]shape{one, {nodes: 3, workers: 2}, {nodes: 3, workers: 1, apart: true}},
		more...) {
		o := runProgram(t, p, s)
		var e *engine.StuckError
		if !errors.As(o.err, &e) {
			t.Errorf("%v: ended with %v", s, o.err)
			continue
		}
		var b strings.Builder
		fmt.Fprintln(&b, e)
		lifecycle.Explain(&b, &e.Stuck, false)
		if got := b.String(); lines(got) != lines(want) {
			t.Errorf("%v: explained as\n%s\nwanted\n%s", s, got, want)
		}
	}
}

func contains(s, part string) bool { return strings.Contains(s, part) }
