package sdk

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/run/instrument"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/internal/testkit/effort"
)

// A worker that sleeps is starved, one that computes between two functions has overhead; the main
// thread is no worker. All sorts of events get into the trace.
func TestTraceOfEvents(t *testing.T) {
	t.Parallel()
	res := cppRun(t, hpp(t, "asan"), "",
		`{"trace_writer_module": {"params": {"cpu": "on", "workers": 1, "dri": "x"}}}`, nil, "starve")
	res.ok(t, 0, "whyslow: module \"trace_writer_module\" has no parameter \"dri\" (did you mean \"dir\"?)\n")
	sound(t, res.trace)
	const ms = 1000000
	sum := report(t, res.trace)
	text := dump(t, res.trace)
	var useful int64
	for _, cpu := range regexp.MustCompile(`onFinished cf=\S+ execution=1 cpu=(\d+)`).FindAllStringSubmatch(text, -1) {
		ns, err := strconv.ParseInt(cpu[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		useful += ns
	}
	// Four times it slept 20 ms, computed up to 10 ms and ran block_1 for 2 ms of wall time. How much
	// processor time that is depends on what else runs.
	if f := sum.Factors; f.U == nil || useful <= 0 || f.U.NS != useful || f.U.MeasuredNS != useful ||
		f.S == nil || f.S.NS < 79*ms || f.O == nil || f.O.NS <= 0 {
		t.Errorf("U %+v of %d, S %+v O %+v", f.U, useful, f.S, f.O)
	}
	if len(sum.Fragments) != 1 || sum.Fragments[0].Code != "block_1" || sum.Fragments[0].Count != 4 {
		t.Errorf("%+v", sum.Fragments)
	}
	for _, want := range []string{
		`CFEventsUser.onCreated arg1="never started"`, `#code 1 task sub`, "inputs=[",
		"SyncEvents.onWaitStarted name=lock", "GlobalEvents.onReadyQueue length=7",
		`My.onStep arg1=1 arg2=2 arg3=0.5 arg4=1 arg5=text arg6=3000000 arg7=Point`,
		`My.onStep2 arg1="other types"`, `"workers":1}`,
		"GlobalEvents.onIdle\n", "GlobalEvents.onBusy\n", "size=10 reason=expired", "#df", " result [0",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the trace lacks %s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// Where functions are off, a CF's start and end are an execution.
func TestTraceOfCFs(t *testing.T) {
	t.Parallel()
	events := `{"eventsSettings": {"CFEvents": {"onStarted": true, "onFinished": true}}}`
	res := cppRun(t, hpp(t, "asan"), events, "", nil, "starve")
	res.ok(t, 0, "")
	sound(t, res.trace)
	if sum := report(t, res.trace); len(sum.Fragments) != 1 || sum.Fragments[0].Code != "task" ||
		sum.Fragments[0].Count != 4 {
		t.Errorf("%+v", sum.Fragments)
	}
}

// A module is loaded from a library that knows nothing of the program; it uses another module and emits
// an event.
func TestSharedModule(t *testing.T) {
	t.Parallel()
	library := compileCPP(t, "libshared_module.so", []string{"-std=c++11", "-shared", "-fPIC"},
		"testdata/hppmodule.cpp")
	dir := t.TempDir()
	text, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "libshared_module.so"), text, 0o755); err != nil {
		t.Fatal(err)
	}
	const log = `"logger_module": {"params": {"events": ["SharedEvents::*"], "format": "csv", "file": "-"}}`
	for _, c := range []struct{ settings, env string }{
		{`{"shared_module": {"params": {"step": 3}, "library": "` + library + `"}, ` + log + `}`, ""},
		{`{"libshared_module": {"params": {"step": 3}}, ` + log + `}`, "WHYSLOW_MODULES=/nowhere:" + dir},
	} {
		res := cppRun(t, hpp(t, "asan"), "", c.settings, []string{c.env}, "listings")
		if res.stderr != "" || !strings.HasPrefix(res.stdout, "time,thread,event,arguments\n") ||
			strings.Count(res.stdout, ",SharedEvents::onSeen,CF created") != 2 ||
			!strings.Contains(res.stdout, "shared_module saw 6, logged\n") {
			t.Errorf("%s%s", res.stdout, res.stderr)
		}
		if text := dump(t, res.trace); strings.Count(text, "SharedEvents.onSeen arg1=") != 2 {
			t.Error(text)
		}
	}
}

// Of two modules that write to one file the second is refused, and what the first writes is whole.
func TestOneWriterOfAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte(strings.Repeat("of an older run\n", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	logs := fmt.Sprintf(
		`{"cf_events_module": {"params": {"file": %[1]q}}, "global_events_module": {"params": {"file": %[1]q}}}`,
		file)
	res := cppRun(t, hpp(t, "asan"), "", logs, nil, "listings")
	if want := "whyslow: module \"global_events_module\" cannot start: " + file +
		" is being written by another module or another run: name another file; it is off\n"; res.stderr != want {
		t.Error(res.stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "CFEvents::onCreated") ||
		strings.Contains(string(text), "older") || strings.Contains(string(text), "GlobalEvents") {
		t.Errorf("%s %v", text, err)
	}
}

// What is wrong with the configuration is said with its place, and the run goes on.
func TestConfigMistakes(t *testing.T) {
	t.Parallel()
	events := `{
  "eventSettings": {},
  "eventsSettings": {
    "CFEvents": {"onCreatd": true, "onCreated": {"enable": true, "rule": "entry", "args": [], "functions": "x"}, "onStarted": 1, "onMine": {"rule": "entry"}},
    "Mine": {"anything": true}, "DFEvents": true
  },
  "groups": {
    "A": {"enabled": 1, "events": ["CFEvents::onCreated", "nonsense", 3, "DFEvents.onCreateSise", "Mien.anything"], "x": 0},
    "A": {"enabled": false}
  }
}`
	modules := `{
  "globalSettings": {"enabled": true, "enabld": true},
  "logger_module": {"priority": 1.5, "params": {"file": {}, "fil": "x", "format": 3}, "colour": "red", "enabled": "yes"},
  "liblogger_module": {},
  "printer_module": {"enabled": true}, "my_module": {}, "broken_module": {"library": "/dev/null"}, "cf_counter_events_module": {"params": {"file": "/nowhere/x"}}
}`
	res := cppRun(t, hpp(t, "asan"), events, modules, []string{"WHYSLOW_MODULES="}, "listings")
	got := regexp.MustCompile(`libmy_module.so in .*;`).ReplaceAllString(res.stderr, "libmy_module.so in DIR;")
	got = regexp.MustCompile(`(?m)^\d+\.\d+ \d+ CFEvents::onCreated .*\n`).ReplaceAllString(got, "") // logged
	want := `whyslow: events_config.json:2:3: unknown key "eventSettings" (did you mean "eventsSettings"?); skipped
whyslow: events_config.json:4:18: there is no event CFEvents::onCreatd (did you mean "CFEvents::onCreated"?); skipped
whyslow: events_config.json:4:50: unknown key "enable" (did you mean "enabled"?); skipped
whyslow: events_config.json:4:127: event "CFEvents::onStarted" must be true, false or an object, not a number; skipped
whyslow: events_config.json:5:45: "DFEvents" must be an object, not true or false; skipped
whyslow: events_config.json:8:22: "enabled" must be true or false, not a number; skipped
whyslow: events_config.json:8:117: unknown key "x"; skipped
whyslow: events_config.json:8:59: "nonsense" is not an event: write Namespace::onName; skipped
whyslow: events_config.json:8:71: "event of a group" must be a string, not a number; skipped
whyslow: events_config.json:8:74: there is no event DFEvents::onCreateSise (did you mean "DFEvents::onCreateSize"?); skipped
whyslow: events_config.json:8:99: there is no namespace Mien (did you mean "Mine"?)
whyslow: events_config.json:9:5: there is a group "A" already; skipped
whyslow: modules_settings.json:2:39: unknown key "enabld" (did you mean "enabled"?); skipped
whyslow: modules_settings.json:3:33: "priority" must be a whole number; skipped
whyslow: modules_settings.json:3:57: parameter "file" must be a string, a number, true, false or a list of strings; skipped
whyslow: modules_settings.json:3:87: unknown key "colour"; skipped
whyslow: modules_settings.json:3:115: "enabled" must be true or false, not a string; skipped
whyslow: modules_settings.json:4:3: module "logger_module" has settings already; skipped
whyslow: module "broken_module" cannot be loaded: /dev/null: file too short; it is off
whyslow: module "my_module" is not in the program, and there is no libmy_module.so in DIR; it is off
whyslow: module "cf_counter_events_module" cannot start: cannot write /nowhere/x: No such file or directory; it is off
whyslow: module logger_module: parameter format must be a string; the default is taken
whyslow: module "logger_module" has no parameter "fil" (did you mean "file"?)
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	res.stdoutIs(t, "CF created\nCF created elsewhere\n")
	for events, want := range map[string]string{
		"{": "whyslow: events_config.json:1:2: a key in quotation marks or } is missing; nothing is " +
			"profiled\n",
		"": "whyslow: cannot read /nowhere: No such file or directory; nothing is profiled\n",
		"\n // x\n[1]": "whyslow: events_config.json:3:1: the file must hold an object, not a list; nothing is " +
			"profiled\n",
	} {
		env := []string{}
		if events == "" {
			env = append(env, "WHYSLOW_EVENTS=/nowhere")
		}
		if res := cppRun(t, hpp(t, "asan"), events, "", env, "init"); res.stderr != want || res.code != 1 {
			t.Errorf("exit code %d, %s", res.code, res.stderr)
		}
	}
}

// Whatever is in the files, they are read or refused, not more.
func TestConfigsAtRandom(t *testing.T) {
	t.Parallel()
	seed := []byte(`{"eventsSettings": {"CFEvents": {"onCreated": true, "a\u00e9\ud83d\ude00\n": {"enabled": false, "rule": "entry", "args": ["x"]}}}, // c
 "groups": {"G": {"enabled": true, "events": ["CFEvents::onCreated", "X.y", ],},}, /* */ "globalSettings": {"enabled": -1.5e3},
 "logger_module": {"enabled": true, "overrideEnabled": false, "priority": 12, "params": {"a": [1, "b"], "c": null, "d": ["e"]}, "library": "x"}}`)
	pieces := []string{"{", "}", "[", "]", `"`, ":", ",", "\\", "\\u", "\\ud800", "//", "/*", "*/", "\n",
		"\x00", "\xff", "-", "1e", "true", "nul", "0", "[[[[[[[[[[[[[[[[", `{"a":`, `"CFEvents::onCreated"`}
	random := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	args := []string{"configs"}
	files := effort.Times(150, 1500)
	for i := range files {
		text := append([]byte{}, seed...)
		for range random.IntN(6) * min(i, 1) {
			at := random.IntN(len(text) + 1)
			switch random.IntN(4) {
			case 0:
				text = text[:at]
			case 1:
				text = append(text[:at:at], text[min(len(text), at+random.IntN(20)):]...)
			case 2:
				if at < len(text) {
					text[at] = byte(random.IntN(256))
				}
			default:
				text = append(text[:at:at], append([]byte(pieces[random.IntN(len(pieces))]), text[at:]...)...)
			}
		}
		if i == 1 {
			text = []byte(strings.Repeat("[", 100000))
		}
		file := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	res := run(t, hpp(t, "asan"), nil, args...)
	if res.code != 0 || strings.Count(res.stdout, "\n") != files ||
		!strings.HasPrefix(res.stdout, "1110\n0000\n") {
		t.Errorf("exit code %d, %d files\n%s\n%.2000s", res.code, strings.Count(res.stdout, "\n"),
			res.stdout[:min(40, len(res.stdout))], res.stderr)
	}
	if strings.Contains(res.stderr, "Sanitizer") {
		t.Error(res.stderr)
	}
}

const exampleDir = "../examples/cpp/"

var exampleFlags = []string{"-std=c++11", "-I" + exampleDir}

// exampleCPP compiles the example with one of its files replaced, runs it and returns its output and
// its trace.
func exampleCPP(t *testing.T, name, blocks string) (string, string) {
	t.Helper()
	path := compileCPP(t, name, exampleFlags, blocks, exampleDir+"rts.cpp", exampleDir+"kernels.cpp",
		exampleDir+"profiling.cpp")
	work := t.TempDir()
	if err := os.CopyFS(work, os.DirFS(exampleDir)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "3", "20", "2")
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "WHYSLOW_TRACE="+filepath.Join(work, "t"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out), filepath.Join(work, "t")
}

// The example works as it is, when what it emits by hand is in the trace; and when events have been
// inserted by its rules.
func TestExampleCPP(t *testing.T) {
	t.Parallel()
	// 9 blocks of each matrix, 27 of the product, of 20 x 20 elements.
	const want = "sum of the product: 1.296e+06\nTotal DF size created: 144000 bytes\nTotal DF size " +
		"destroyed: " +
		"144000 bytes\n"
	const blocks = exampleDir + "blocks.cpp"
	out, path := exampleCPP(t, "product", blocks)
	if out != want {
		t.Errorf("%s", out)
	}
	consistent(t, path)
	if text := dump(t, path); strings.Count(text, "DFEvents.onDestroy ") != 45 ||
		strings.Count(text, "Product.onResult arg1=1.296e+06") != 1 {
		t.Errorf("%s", text)
	}

	rules, warnings, err := instrument.ReadRules(exampleDir + "config/events_config.json")
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	res, err := instrument.Run([]string{blocks}, rules, instrument.Options{OutDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if doubts := append(res.Warnings, res.Files[0].Warnings...); len(doubts) > 0 {
		t.Error(doubts)
	}
	target, err := os.ReadFile(res.Files[0].Target)
	if err != nil {
		t.Fatal(err)
	}
	out, path = exampleCPP(t, "instrumented", cctest.Source(t, "blocks.cpp", string(target)))
	if !strings.HasPrefix(out, want) {
		t.Errorf("%s", out)
	}
	for _, block := range []string{"block_1", "block_2", "block_5", "block_7"} {
		if !regexp.MustCompile("(?m)^Func: " + block + `, PID: \d+, TID: \d+ => \d+ ms total$`).MatchString(out) {
			t.Errorf("no time of %s:\n%s", block, out)
		}
	}
	sound(t, path)
	got := map[string]int{}
	for _, f := range report(t, path).Fragments {
		got[f.Code] = int(f.Count)
	}
	if diff := cmp.Diff(map[string]int{"block_1": 9, "block_2": 9, "block_5": 27, "block_7": 9},
		got); diff != "" {
		t.Error(diff)
	}
	text := dump(t, path)
	for event, n := range map[string]int{"onExited": 1 + 9 + 9 + 27 + 1, "onContinued": 2*27 + 1} {
		if got := strings.Count(text, "GlobalEvents."+event+" "); got != n {
			t.Errorf("%d %s, want %d", got, event, n)
		}
	}
}

// The program in docs/cpp-sdk.md, with the configuration there, prints what is there.
func TestPageCPP(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/cpp-sdk.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```(cpp|json)\n(.*?)^```$").FindAllSubmatch(page, -1) {
		blocks = append(blocks, string(m[2]))
	}
	if len(blocks) < 3 { // what follows is not about this program
		t.Fatalf("%d blocks", len(blocks))
	}
	// The implementation, which takes long to compile, is the example's.
	source := cctest.Source(t, "squares.cpp",
		"#define WHYSLOW_IMPLEMENTED\n#define WHYSLOW_HPP_IMPLEMENTED\n"+blocks[0])
	res := cppRun(t, compileCPP(t, "squares", exampleFlags, source, exampleDir+"profiling.cpp"),
		blocks[1], blocks[2], nil)
	res.ok(t, 0, "")
	if !strings.Contains(string(page), "```\n"+res.stdout+"```\n") {
		t.Errorf("the page lacks\n%s", res.stdout)
	}
	sound(t, res.trace)
	if sum := report(t, res.trace); len(sum.Fragments) != 1 || sum.Fragments[0].Code != "square" ||
		sum.Fragments[0].Count != 8 || len(sum.Nodes[0].Workers) < 1 {
		t.Errorf("%+v", sum)
	}
}

// BenchmarkEventCPP prints nanoseconds of an event that nobody wants, one in the trace, a function and
// a DF, with the trace and with other modules instead.
func BenchmarkEventCPP(b *testing.B) {
	path := compileCPP(b, "hpp-bench", []string{"-std=c++11", "-O2", "-DWHOLE"}, "testdata/hpp.cpp",
		"testdata/hpp2.cpp")
	events := `{"eventsSettings": {"On": {"onStep": true}, "DFEvents": {"onCreateSize": true, "onDestroySize": true},
  "GlobalEvents": {"onForeignStarted": true, "onForeignEnded": true}}}`
	for b.Loop() {
		for _, modules := range []string{"",
			`{"trace_writer_module": {"enabled": false}, "df_sizer_events_module": {}, "foreign_block_timer_module": {}}`} {
			b.Logf("%s\n%s", modules, cppRun(b, path, events, modules, nil, "bench").stdout)
		}
	}
}
