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

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Everything that a module in C can ask of its host.
func TestPlain(t *testing.T) {
	ses := newSession(t)
	u := use(t, "plain_module", map[string]any{"file": "out", "words": []string{"x", "", "z"}, "depth": 7})
	if err := ses.start(t, u); err != nil {
		t.Fatal(err)
	}
	var sums []string
	sum, err := ses.User("SumEvents", "onSum")
	if err != nil {
		t.Fatal(err)
	}
	if err := sum.Connect("test", 1000, func(s *prof.Stream, at int64, of string, sum uint64, half float64,
		both []int64) {
		sums = append(sums, fmt.Sprintf("%d.%d %d %s %d %g %d", s.Node(), s.ID(), at, of, sum, half, both))
	}); err != nil {
		t.Fatal(err)
	}
	say, err := ses.Define("MyEvents", "onSay", trace.Field{Name: "what", Type: trace.FieldName},
		trace.Field{Name: "x", Type: trace.FieldFloat})
	if err != nil {
		t.Fatal(err)
	}
	s := ses.Stream(1, 2, nil)
	ses.CFStarted.EmitAt(s, 10, trace.MakeCF(1, 3), 1, []trace.DF{5, 6})
	ses.CFFinished.EmitAt(s, 11, trace.MakeCF(1, 3), 1, 500)
	ses.CFFinished.EmitAt(s, 12, trace.MakeCF(1, 4), 1, -1)
	ses.DFCreate.EmitAt(s, 13, 5, 800, trace.MakeCF(1, 3))
	ses.DFDestroy.EmitAt(s, 14, 6, 800, trace.Deleted)
	if err := say.EmitAt(s, 15, "hello", 1.5); err != nil {
		t.Fatal(err)
	}
	ses.finish(t)
	const want = `prog.fa on here: 2 nodes, 3 workers, pid 42, one, started 1700000000000000005 99
7 0.25 1 [x] [] [z]
code7 atomic label prog.fa:1:3 text
1.2 10 CFEvents.onStarted cf=1.3 execution=1 inputs=[a_data_fragment_with_a_long_na...
1.2 13 DFEvents.onCreate df=a_data_fragment_with_a_long_nam... size=800 cf=1.3
1.2 14 DFEvents.onDestroy df=#6 size=800 reason=deleted
1.2 15 MyEvents.onSay what=hello x=1.5
2 finished, 499 ns; 4 others; a_data_fragment_with_a_long_nam
`
	if diff := cmp.Diff(want, ses.read(t, "out")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1.2 77 onStarted 11 5.5 [2 11]"}, sums); diff != "" {
		t.Error(diff)
	}
	if ses.told() != "module plain_module: this is a warning" {
		t.Error(ses.told())
	}
}

// Modules in C++ and C, and one in Go, know each other; the first to finish is there until the last has.
func TestModulesTogether(t *testing.T) {
	for range 2 { // once more in the same process
		ses := newSession(t)
		reader := use(t, "reader_module", map[string]any{"file": "reader", "mode": "emit"})
		plain := use(t, "plain_module", nil)
		if err := ses.start(t, reader, plain, useState()); err != nil {
			t.Fatal(err)
		}
		var seen []string
		if err := ses.ConnectMatching([]string{"ReaderEvents.*"}, "test", 1000, func(s *prof.Stream, a *prof.Any) {
			line := []byte(a.Spec.String())
			for i := range a.Spec.Fields {
				line = a.AppendField(append(line, ' '), i)
			}
			seen = append(seen, string(line))
		}); err != nil {
			t.Fatal(err)
		}
		s := ses.Stream(1, 2, nil)
		ses.CFCreated.EmitAt(s, 5, trace.MakeCF(1, 3), 1, 0, 1, 2.5, nil)
		ses.CFStarted.EmitAt(s, 10, trace.MakeCF(1, 3), 3, []trace.DF{5, 6})
		ses.ForeignStarted.EmitAt(s, 100, 8)
		ses.ForeignEnded.EmitAt(s, 350, 8)
		ses.CFFinished.EmitAt(s, 11, trace.MakeCF(1, 3), 1, 500)
		if v, ok := ses.Get("reader_module").(Gauge).Gauge("calls", 0); v != 1 || !ok {
			t.Error(v, ok)
		}
		if _, ok := ses.Get("reader_module").(Gauge).Gauge("nonsense", 0); ok {
			t.Error("it knows nonsense")
		}
		ses.finish(t)
		const want = `sum of onStarted: 11 5.5, 2 11
start code8
end code8 250
1 calls, 11; plain: 1001 1, state: 10 2.5; 0 0
destroyed
`
		if diff := cmp.Diff(want, ses.read(t, "reader")); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"ReaderEvents.onSeen cf 3 1 1.5 [a_data_fragment_with_a_long_name[7] #6]"},
			seen); diff != "" {
			t.Error(diff)
		}
		if got := ses.terminal.String(); !strings.Contains(got, "1 finished, 500 ns; 1 others") { // plain_module's
			t.Error(got)
		}
	}
}

// The example counts, emits and records an event of its own, with many workers at once.
func TestExample(t *testing.T) {
	const streams, each = 4, 2500
	ses := newSession(t)
	if err := ses.start(t, use(t, "event_counter_module", map[string]any{"file": "table",
		"every": 1000})); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w, err := trace.Create(dir, 0, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for id := range streams {
		wg.Go(func() {
			s := ses.Stream(0, id, w.Stream(id))
			for n := range each {
				cf := trace.MakeCF(0, uint64(n+1))
				ses.CFStarted.Emit(s, cf, 1, nil)
				ses.CFFinished.Emit(s, cf, 1, -1)
			}
		})
	}
	wg.Wait()
	if v, ok := ses.Get("event_counter_module").(Gauge).Gauge("total", 0); v != 2*streams*each || !ok {
		t.Error(v, ok)
	}
	ses.finish(t)
	want := fmt.Sprintf("%-32s node %-4d %10d\n%-32s node %-4d %10d\n", "CFEvents.onFinished", 0, streams*each,
		"CFEvents.onStarted", 0, streams*each)
	if diff := cmp.Diff(want, ses.read(t, "table")); diff != "" {
		t.Error(diff)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var dump bytes.Buffer
	if err := twin.Dump(&dump, r, twin.Options{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(dump.String(), "CounterEvents.onCount kind=CFEvents.onStarted "); n !=
		streams*(each/1000) {
		t.Errorf("%d own events of onStarted in the trace:\n%s", n, dump.String()[:3000])
	}
	if ses.told() != "" {
		t.Error(ses.told())
	}
}

// Runs in one process do not know of each other.
func TestRunsAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 4 {
		ses := newSession(t)
		plain := use(t, "plain_module", nil)
		if err := ses.start(t, use(t, "reader_module", map[string]any{"file": "reader"}), plain); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			s := ses.Stream(0, 0, nil)
			for n := range 100 * (i + 1) {
				ses.CFStarted.Emit(s, trace.MakeCF(0, uint64(n)), 1, []trace.DF{1, 2})
			}
			if err := ses.Finish(); err != nil {
				t.Error(err)
			}
			if got, want := ses.read(t, "reader"), fmt.Sprintf("%d calls, %d; plain:", 100*(i+1),
				300*(i+1)); !strings.Contains(got, want) {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	wg.Wait()
}

// A module that does wrong at the start keeps the program from starting.
func TestFailingStart(t *testing.T) {
	for _, test := range []struct{ module, mode, want string }{
		{"plain_module", "fail at start", "module plain_module: it does not feel like it"},
		{"plain_module", "crash at start",
			"module plain_module: crashed at the start: segmentation fault (SIGSEGV): access to address 0x20 in " +
				"libplain_module.so"},
		{"plain_module", "bad parameter", `module plain_module: it has no parameter "mood"`},
		{"plain_module", "bad event", `module plain_module: event "onStarted": events are named Namespace.onName`},
		{"plain_module", "bad signature",
			`module plain_module: event "SumEvents.onSum(sum:Number)": there is no type "Number"; an event looks like LoadEvents.onLoad(node:Node load:Float)`},
		{"reader_module", "throw at start",
			"module reader_module: registerEvents threw an exception: no luck"},
		{"reader_module", "too many fields",
			"module reader_module: registerEvents threw an exception: a handler takes 3 fields of " +
				"GlobalEvents.onForeignStarted, which has 1"},
		{"reader_module", "bad name", `module reader_module: event "nonsense": events are named Namespace.onName`},
	} {
		ses := newSession(t)
		uses := []prof.Use{use(t, test.module, map[string]any{"mode": test.mode})}
		if test.module == "reader_module" {
			uses = append(uses, use(t, "plain_module", nil))
		}
		err := ses.start(t, uses...)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", test.mode, err, test.want)
		}
		if ses.CFFinished.On() {
			t.Errorf("%s: handlers are left", test.mode)
		}
	}
	ses := newSession(t)
	if err := ses.start(t, use(t, "event_counter_module", map[string]any{"every": 0})); err == nil ||
		!strings.HasSuffix(err.Error(), "parameter every is to be 1 or more") {
		t.Error(err)
	}
}

// A module that does wrong later is disconnected with one message, and the run goes on.
func TestFailingHandlers(t *testing.T) {
	for _, test := range []struct{ module, mode, want string }{
		{"plain_module", "fail", "as it was told to"},
		{"plain_module", "crash",
			"crashed in its handler of CFEvents.onFinished: segmentation fault (SIGSEGV): access to address 0x10 in " +
				"libplain_module.so"},
		{"plain_module", "abort", "crashed in its handler of CFEvents.onFinished: aborted (SIGABRT)"},
		{"plain_module", "overflow",
			"crashed in its handler of CFEvents.onFinished: segmentation fault (SIGSEGV): the stack ran over in " +
				"libplain_module.so"},
		{"plain_module", "divide",
			"crashed in its handler of CFEvents.onFinished: arithmetic exception, such as a division of integers by " +
				"zero (SIGFPE) in libplain_module.so"},
		{"plain_module", "late connect", "connect is called after the start"},
		{"plain_module", "bad text", "CFEvents.onStarted has no field 99: it has 3"},
		{"plain_module", "bad emit", "emit of an event that this module has not defined"},
		{"plain_module", "short emit",
			"event SumEvents.onSum takes (of Name, sum Uint, half Float, both Ints), but is emitted with " +
				"3 words and " +
				"1 strings"},
		{"reader_module", "throw", "the handler of CFEvents.onStarted threw an exception: went wrong"},
		{"reader_module", "throw int",
			"the handler of CFEvents.onStarted threw an exception: it is not a std::exception"},
		{"reader_module", "no such field",
			"the handler of CFEvents.onStarted threw an exception: CFEvents.onStarted has no field weight: " +
				"it has 3"},
		{"reader_module", "crash", "crashed in its handler of CFEvents.onStarted: aborted (SIGABRT)"},
		{"reader_module", "bad emit",
			"the handler of CFEvents.onStarted threw an exception: ReaderEvents.onSeen is emitted with " +
				"a number " +
				"as argument 1"},
		{"reader_module", "short emit",
			"the handler of CFEvents.onStarted threw an exception: ReaderEvents.onSeen is emitted with " +
				"1 arguments, it takes 4"},
	} {
		ses := newSession(t)
		uses := []prof.Use{use(t, test.module, map[string]any{"mode": test.mode})}
		if test.module == "reader_module" {
			uses = append(uses, use(t, "plain_module", nil))
		}
		if err := ses.start(t, uses...); err != nil {
			t.Fatal(err)
		}
		ses.messages = nil
		if err := ses.ConnectMatching([]string{"SumEvents.*"}, "listener", 1000,
			func(*prof.Stream, *prof.Any) {}); err != nil {
			t.Fatal(err)
		}
		var after int
		if err := ses.CFFinished.Connect("test", 1000, func(*prof.Stream, int64, trace.CF, uint64,
			int64) {
			after++
		}); err != nil {
			t.Fatal(err)
		}
		s := ses.Stream(0, 0, nil)
		for range 3 {
			ses.CFStarted.Emit(s, 1, 1, []trace.DF{2})
			ses.CFFinished.Emit(s, 1, 1, 0)
		}
		want := fmt.Sprintf("module %s failed and is disconnected: %s", test.module, test.want)
		if got, _, _ := strings.Cut(ses.told(), " in libc"); got != want {
			t.Errorf("%s: %s\nwant %s", test.mode, ses.told(), want)
		}
		if after != 3 {
			t.Errorf("%s: %d events reach others", test.mode, after)
		}
		ses.finish(t)
	}
}

func TestFailingFinish(t *testing.T) {
	for _, test := range []struct{ module, mode, want string }{
		{"plain_module", "fail at end", "module plain_module: nothing to write"},
		{"plain_module", "crash at end", "module plain_module: crashed at the end: aborted (SIGABRT)"},
		{"reader_module", "throw at end", "module reader_module: finish threw an exception: too late"},
	} {
		ses := newSession(t)
		uses := []prof.Use{use(t, test.module, map[string]any{"mode": test.mode})}
		if test.module == "reader_module" {
			uses = append(uses, use(t, "plain_module", nil))
		}
		if err := ses.start(t, uses...); err != nil {
			t.Fatal(err)
		}
		err := ses.Finish()
		if err == nil {
			t.Fatal(test.mode)
		}
		if got, _, _ := strings.Cut(err.Error(), " in libc"); got != test.want {
			t.Errorf("%s: %v\nwant %s", test.mode, err, test.want)
		}
	}
}

// A crash on one worker while others are in the same module.
func TestConcurrentCrash(t *testing.T) {
	ses := newSession(t)
	if err := ses.start(t, use(t, "reader_module", map[string]any{"mode": "crash"}),
		use(t, "plain_module", map[string]any{"mode": "crash"})); err != nil {
		t.Fatal(err)
	}
	ses.messages = nil
	var wg sync.WaitGroup
	for id := range 4 {
		wg.Go(func() {
			s := ses.Stream(0, id, nil)
			for range 100 {
				ses.CFStarted.Emit(s, 1, 1, nil)
				ses.CFFinished.Emit(s, 1, 1, 0)
			}
		})
	}
	wg.Wait()
	if len(ses.messages) != 2 {
		t.Error(ses.told())
	}
	ses.finish(t)
}

// Go code that a module has called may still panic and recover.
func TestGoFaultsBelow(t *testing.T) {
	ses := newSession(t)
	if err := ses.start(t, use(t, "plain_module", nil)); err != nil {
		t.Fatal(err)
	}
	sum, err := ses.User("SumEvents", "onSum")
	if err != nil {
		t.Fatal(err)
	}
	if err := sum.Connect("test", 1000, func(string, uint64, float64, []int64) {
		var p *int
		*p = 1
	}); err != nil {
		t.Fatal(err)
	}
	s := ses.Stream(0, 0, nil)
	ses.CFStarted.Emit(s, 1, 1, []trace.DF{2})
	ses.CFFinished.Emit(s, 1, 1, 0)
	if !strings.Contains(ses.told(),
		`handler "test" of SumEvents.onSum failed and is disconnected: runtime error: invalid memory address`) {
		t.Error(ses.told())
	}
	ses.finish(t)
	if !strings.Contains(ses.terminal.String(), "1 finished, 0 ns; 1 others") {
		t.Error(ses.terminal.String())
	}
}

func TestOpen(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	check := func(path, want string) {
		t.Helper()
		_, err := Open(path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	check("/nowhere/libx.so", "cannot load the module library /nowhere/libx.so: no such file or directory")
	check(text, "text.so: file too short")
	for name, test := range map[string][2]string{
		"version": {"-DVERSION=99",
			"it was compiled for version 99 of whyslow_module.h, and this whyslow has version 1: compile it again"},
		"function": {"-DNO_FUNCTION", "is not a module library: it has no function whyslow_module"},
		"null":     {"-DNOTHING", "whyslow_module returns NULL"},
		"start":    {"-DSTART=NULL", "module broken_module has no function start"},
		"name":     {`-DNAME="a-b"`, `its module is called "a-b": names are letters`},
		"lib":      {`-DNAME="libx"`, `its module is called "libx"`},
		"taken":    {`-DNAME="taken_module"`, "taken_module is the name of one of whyslow's own modules"},
		"param": {`-DPARAM="many"`,
			`module broken_module: parameter "n" has a default that does not fit its type: "many"`},
		"emits":     {`-DEMITS="My.onX(a)"`, `module broken_module: event "My.onX(a)": "a" has no type`},
		"standard":  {`-DEMITS="CFEvents.onStarted(a:Int)"`, "event CFEvents.onStarted is a standard one"},
		"undefined": {"-DUNDEFINED", "undefined symbol: missing_function"},
	} {
		check(library(t, "broken_"+name, "testdata/broken.c", test[0], "-Wno-unused-function", "-Wno-address"),
			test[1])
	}
	info, err := Open(library(t, "plain_module", sources["plain_module"]))
	if err != nil {
		t.Fatal(err)
	}
	info.New = nil
	want := prof.ModuleInfo{
		Name: "plain_module", Doc: "does it all", Output: "lines", Cost: "little",
		Events: []string{"CFEvents.onFinished", "CFEvents.onStarted", "DFEvents.*", "MyEvents.onSay"},
		Emits:  []string{"SumEvents.onSum(of:Name sum:Uint half:Float both:Ints)"},
		Params: []prof.Param{
			{Name: "file", Default: "", Doc: "where it writes"},
			{Name: "mode", Default: "", Doc: "what it does wrong"},
			{Name: "depth", Default: -3, Doc: "an integer"}, {Name: "ratio", Default: 0.25, Doc: "a number"},
			{Name: "loud", Default: true, Doc: "a truth"},
			{Name: "words", Default: []string{"a", "b c"}, Doc: "strings"}, {Name: "taste", Default: "sweet",
				Choices: []string{"sweet", "sour"}, Doc: "one of two"},
		},
	}
	if diff := cmp.Diff(want, info); diff != "" {
		t.Error(diff)
	}
	if info, err = Open(library(t, "reader_module", sources["reader_module"])); err != nil ||
		info.Requires[0] != "plain_module" || info.Params[2].Default != 1e-9 {
		t.Error(info, err)
	}
}

func init() {
	prof.RegisterModule(prof.ModuleInfo{Name: "taken_module", New: func() prof.Module { return stateModule{} }})
}
