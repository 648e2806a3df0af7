package sdk

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// How sdk/testdata/hpp.cpp is compiled: the whole test takes two compilations that are slow.
var cppBuilds = map[string][]string{
	"asan": {"-std=c++11", "-fsanitize=address"},
	"tsan": {"-std=c++17", "-fsanitize=thread"},
}

// compileCPP compiles C++ sources and returns the program. Where the compiler lacks a sanitizer, and without
// effort.Long, it does without.
func compileCPP(t testing.TB, name string, flags []string, sources ...string) string {
	t.Helper()
	p := cctest.Program{
		Name: name, Compiler: []string{"g++"}, Sources: sources, Flags: append([]string{"-pthread"}, flags...),
		Compile: []string{"-Wall", "-Wextra", "-pedantic", "-Werror", "-I."},
	}
	if !effort.Long {
		p = cctest.Unsanitized(p)
	} else if _, err := p.Make(t.Context()); cctest.LacksLibrary(err) {
		p = cctest.Unsanitized(p)
	}
	return cctest.Make(t, p)
}

func hpp(t testing.TB, build string) string {
	t.Helper()
	return compileCPP(t, "hpp-"+build, append([]string{"-DWHOLE"}, cppBuilds[build]...),
		"testdata/hpp.cpp", "testdata/hpp2.cpp")
}

// cppRun runs a scenario of hpp.cpp with configuration files, "" for none.
func cppRun(t testing.TB, path, events, modules string, env []string, args ...string) result {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"events_config.json": events, "modules_settings.json": modules} {
		if text == "" {
			continue
		}
		variable := map[string]string{"events_config.json": "WHYSLOW_EVENTS",
			"modules_settings.json": "WHYSLOW_MODULES_SETTINGS"}[name]
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		env = append(env, variable+"="+file)
	}
	res := run(t, path, append(env, "TSAN_OPTIONS=halt_on_error=1"), args...)
	res.stderr = strings.ReplaceAll(res.stderr, dir+"/", "")
	return res
}

func (r result) stdoutIs(t testing.TB, want string) {
	t.Helper()
	if diff := cmp.Diff(want, lineNumber(r.stdout)); diff != "" {
		t.Errorf("standard output: %s\nstandard error: %s", diff, r.stderr)
	}
}

var sourceLine = regexp.MustCompile(`(\.cpp):\d+:`)

func lineNumber(s string) string { return sourceLine.ReplaceAllString(s, "$1:LINE:") }

func dump(t testing.TB, path string) string {
	t.Helper()
	var text strings.Builder
	if err := twin.Dump(&text, open(t, path)); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// consistent fails where a trace is not whole or contradicts itself.
func consistent(t *testing.T, path string) {
	t.Helper()
	res, err := consistency.Check(t.Context(), open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range res.Findings {
		t.Errorf("contradiction: %+v", f)
	}
}

// sound also divides the time.
func sound(t *testing.T, path string) {
	t.Helper()
	consistent(t, path)
	report(t, path)
}

// Listings 1 to 5 work as printed: what is inserted by rule, modules that connect handlers, the
// configuration of modules.
func TestListings(t *testing.T) {
	t.Parallel()
	modules := `{
"globalSettings": {
    "enabled": false
},
"printer_module": { "overrideEnabled": true, "priority": 1 },
"my_timer_module": { "overrideEnabled": true },
"libelsewhere_module": { "overrideEnabled": true, "priority": 0, "params": { "prefix": "first: " } },
"libdf_sizer_events_module": {
    "enabled": true,
    "priority": 1
},
"libforeign_block_timer_module": {
    "overrideEnabled": true,
    "priority": 2
}
}`
	res := cppRun(t, hpp(t, "asan"), "", modules, nil, "listings")
	res.stdoutIs(t, "first: CF created\nCF created\nfirst: CF created elsewhere\nCF created "+
		"elsewhere\nblock_1 took time\n")
	if ok, _ := regexp.MatchString(`^Func: block_1, PID: \d+, TID: \d+ => \d+ ms total\n$`, res.stderr); !ok {
		t.Errorf("standard error %q", res.stderr)
	}
	sound(t, res.trace)
	text := dump(t, res.trace)
	for _, want := range []string{"GlobalEvents.onExited function=1 block=1\n",
		"GlobalEvents.onForeignStarted function=1\n", `"workers":1}`, `CFEventsUser.onCreated arg1="CF created"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the trace lacks %s:\n%s", want, text)
		}
	}
}

// Listings 4, 6 and 7, in the braces that a file needs: which events are active, and which modules.
func TestGroups(t *testing.T) {
	t.Parallel()
	settings := `"eventsSettings": {"CFEvents": {"onCreated": true, "onStarted": {"rule": "entry", "enabled": false}},
  "GlobalEvents": {"onForeignStarted": true, "onForeignEnded": {}, "onExited": {
    "enabled": true,
    "rule": "before return EXIT",
    "args": [ "__func__", "std::chrono::high_resolution_clock::now()" ]
}, },
},`
	group := func(memory, created, more bool) string {
		return fmt.Sprintf(`"groups": {
    // the listing's
    "CFEvents": { "enabled": %v, "events": [ "CFEvents::onCreated", "CFEvents::onFinished" ] },
    "Lifecycle": { "enabled": %v, "events": [ "GlobalEvents::onStarted", "GlobalEvents.onExited" ] },
    "More": { "enabled": %v, "events": [ "GlobalEvents::onExited" ] }, }`, created, memory, more)
	}
	modules := `{"globalSettings": {"enabled": false}, "libdf_events_module": {"enabled": true},
  "liblogger_module": {"overrideEnabled": true, "params": {"events": ["CFEvents.*", "GlobalEvents::on*ed"], "file": "-"}}}`
	for _, c := range []struct{ events, want string }{
		{"", "onCreated onForeignStarted onForeignEnded onExited onCreated"},
		{"{" + settings + "}", "onCreated onForeignStarted onForeignEnded onExited onCreated"},
		{"{" + settings + group(false, false, false) + "}", "onForeignStarted onForeignEnded"},
		{"{" + settings + group(true, false, false) + "}", "onForeignStarted onForeignEnded onExited"},
		{"{" + settings + group(false, true, true) + "}",
			"onCreated onForeignStarted onForeignEnded onExited onCreated"},
		{`{"eventsSettings": {}}`, ""},
	} {
		res := cppRun(t, hpp(t, "asan"), c.events, modules, nil, "listings")
		if res.code != 0 || res.stderr != "" {
			t.Errorf("exit code %d, %s", res.code, res.stderr)
		}
		var got []string
		for _, m := range regexp.MustCompile(`::(\w+)`).FindAllStringSubmatch(res.stdout, -1) {
			got = append(got, m[1])
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.events, s, c.want)
		}
	}
}

// The order of modules is that of their priorities, those required first; also at the end. Modules may
// come late.
func TestOrder(t *testing.T) {
	t.Parallel()
	modules := `{"globalSettings": {"enabled": false}, "trace_writer_module": {"enabled": false},
  "a_module": {"priority": 1}, "b_module": {"priority": 5}, "c_module": {"priority": 5}, "late_module": {"priority": 2}, "off_module": {"enabled": false}}`
	res := cppRun(t, hpp(t, "asan"), "", modules, nil, "order")
	res.stdoutIs(t, `destroy off
destroy g
start c
start a
start b
destroy d
destroy f
destroy e
a got 1
c got 1
b got 1
start late
a got 2
late got 2
c got 2
b got 2
a is there, d is not
c_module a_module b_module late_module 
finish c
a got 100
late got 100
b got 100
finish a
late got 100
b got 100
finish b
late got 100
finish late
destroy c
destroy a
destroy b
destroy late
`)
	if want := `whyslow: module "g_module" needs module "no_module", which is off or not there; it is off
whyslow: module "d_module" is in a circle of modules: d_module needs e_module needs f_module needs d_module; it is off
whyslow: module "f_module" needs module "d_module", which is off or not there; it is off
whyslow: module "e_module" needs module "f_module", which is off or not there; it is off
`; res.stderr != want {
		t.Errorf("standard error:\n%s", cmp.Diff(want, res.stderr))
	}
}

// Types: what is the same, what is not, and what is said of that.
func TestTypes(t *testing.T) {
	t.Parallel()
	for build := range cppBuilds {
		res := cppRun(t, hpp(t, build), "", `{"trace_writer_module": {"enabled": false}}`, nil, "types")
		res.stdoutIs(t, `array 1 2 1 0.5 34
string! -1 3 0 1.5 56
 0 3 0 1.5 56
event T::onAll: the program connects a handler of (int), but the event has been (const char*, long, unsigned char, bool, double, Point) since the program connected one
nothing
hpp.cpp:LINE: event T::onNothing is emitted with (std::vector<int, std::allocator<int> >), but its handlers take ()
evaluated 1
`)
		want := `whyslow: testdata/hpp.cpp:LINE: event T::onAll is emitted with (const char*, int, unsigned char, bool, double, Point), but its handlers take (const char*, long, unsigned char, bool, double, Point); nothing is emitted from here
whyslow: testdata/hpp.cpp:LINE: event T::onAll is emitted with (const char*), but its handlers take (const char*, long, unsigned char, bool, double, Point); nothing is emitted from here
whyslow: testdata/hpp.cpp:LINE: event T::onAll is emitted with (), but its handlers take (const char*, long, unsigned char, bool, double, Point); nothing is emitted from here
whyslow: testdata/hpp.cpp:LINE: event T::onTime is emitted with (int), but its handlers take (std::chrono::system_clock::time_point); nothing is emitted from here
`
		if got := lineNumber(res.stderr); got != want {
			t.Errorf("standard error:\n%s", cmp.Diff(want, got))
		}
	}
}

// A handler that throws is disconnected, one that causes itself is cut off; the run goes on.
func TestFailingHandlers(t *testing.T) {
	t.Parallel()
	res := cppRun(t, hpp(t, "asan"), "", "", nil, "failing")
	res.stdoutIs(t, "before 1\nafter 1\nbefore 2\nafter 2\nbefore 3\nafter 3\n")
	if want := `whyslow: event F::onX: a handler of the program failed: two; it is disconnected
whyslow: testdata/hpp.cpp:LINE: event F::onLoop causes itself through its handlers; nothing is emitted from here
`; lineNumber(res.stderr) != want || res.code != 3 {
		t.Errorf("exit code %d\n%s", res.code, res.stderr)
	}
	if info := open(t, res.trace).Run(); info.Ended != trace.EndedFailed || info.Exit != 3 {
		t.Errorf("%+v", info)
	}
}

// Handlers are connected while others emit, and threads come and go: nothing is missing, and nothing races.
func TestThreads(t *testing.T) {
	t.Parallel()
	for build := range cppBuilds {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			res := cppRun(t, hpp(t, build), "",
				`{"df_sizer_events_module": {}, "foreign_block_timer_module": {"enabled": false}}`, nil, "threads")
			res.stdoutIs(t, "8001 1\n")
			if want := "whyslow: event M::onStep: a handler of the program failed: an exception of a type of its " +
				"own; it is disconnected\n" +
				"Total DF size created: 8000 bytes\nTotal DF size destroyed: 8000 bytes\n"; res.stderr != want {
				t.Errorf("standard error: %s", res.stderr)
			}
			sound(t, res.trace)
			r := open(t, res.trace)
			n := map[trace.Kind]int{}
			var b trace.Batch
			for _, s := range r.Streams() {
				for c := r.Stream(s.Node, s.Stream); c.Next(&b); {
					for i := range b.N {
						n[b.Kind[i]]++
					}
				}
			}
			if w := r.Run().Nodes[0].Workers; w < 1 || w > 4 {
				t.Errorf("%d workers", w)
			}
			if n[trace.KindCFStarted] != 80 || n[trace.KindCFFinished] != 80 || n[trace.KindDFDestroy] < 80 ||
				n[trace.FirstUserKind] != 8001 {
				t.Errorf("events: %v", n)
			}
		})
	}
}

// perfetto_module of a program writes every call as an interval of its thread, and sums of DFs as counters.
func TestPerfettoCPP(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.json")
	cppRun(t, hpp(t, "asan"), "", fmt.Sprintf(`{"trace_writer_module": {"enabled": false},
		"perfetto_module": {"params": {"file": %q}}}`, file), nil, "threads")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var records []struct {
		Name, Cat, Ph string
		Ts, Dur       float64
		Pid, Tid      int
		Args          struct{ Created, Destroyed int64 }
	}
	if err := json.Unmarshal(text, &records); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	calls, threads, created, destroyed := 0, map[int]bool{}, int64(0), int64(0)
	for _, r := range records {
		switch {
		case r.Ph == "X" && r.Cat == "ForeignBlock" && r.Ts >= 0 && r.Dur >= 0 && r.Pid > 0:
			calls++
			threads[r.Tid] = true
		case r.Ph == "C" && r.Name == "DFSizer" && r.Cat == "DF":
			created, destroyed = max(created, r.Args.Created), max(destroyed, r.Args.Destroyed)
		case r.Ph != "M":
			t.Errorf("%+v", r)
		}
	}
	if calls != 80 || len(threads) < 1 || created != 8000 || destroyed != 8000 {
		t.Errorf("%d calls on %d threads, %d bytes created, %d destroyed", calls, len(threads), created, destroyed)
	}
}

// The child of a fork is not profiled and finishes nothing.
func TestForkCPP(t *testing.T) {
	t.Parallel()
	res := cppRun(t, hpp(t, "asan"), "", `{"df_sizer_events_module": {}}`,
		[]string{"ASAN_OPTIONS=detect_leaks=0"}, "forking")
	res.ok(t, 0, "Total DF size created: 0 bytes\nTotal DF size destroyed: 0 bytes\n")
	if text := dump(t, res.trace); strings.Count(text, "Fork.onX arg1=") != 2 ||
		strings.Contains(text, "arg1=2") {
		t.Error(text)
	}
}
