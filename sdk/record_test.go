package sdk

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// checkSteps goes through the events of a stream of testdata/many.c, all of which must be those recorded, in
// order; where drop is set some may be missing, as many as the onLost events say. It returns the number of
// events and of lost ones.
func checkSteps(t *testing.T, r *trace.Reader, s trace.StreamInfo, drop bool) (n, lost uint64) {
	t.Helper()
	var b trace.Batch
	next, last := uint64(0), int64(math.MinInt64)
	for c := r.Stream(s.Node, s.Stream); c.Next(&b); {
		for i := range b.N {
			args := b.Args(i)
			if b.Time[i] < last {
				t.Fatalf("stream %d: time goes back from %d to %d", s.Stream, last, b.Time[i])
			}
			last = b.Time[i]
			switch b.Kind[i] {
			case trace.FirstUserKind:
				if args[0] != uint64(s.Stream) || args[1] < next || args[1] != next && !drop || args[2] != args[1]%7 {
					t.Fatalf("stream %d, after event %d: %v", s.Stream, next, args)
				}
				for k, v := range args[3:] {
					if v != args[1]*uint64(k) {
						t.Fatalf("stream %d, event %d: %v", s.Stream, args[1], args)
					}
				}
				next = args[1] + 1
				n++
			case trace.KindLost:
				lost += args[0]
				if args[1] > args[2] || int64(args[2]) > b.Time[i] || args[3] != uint64(s.Stream) {
					t.Fatalf("stream %d: onLost %v at %d", s.Stream, args, b.Time[i])
				}
			}
		}
	}
	return n, lost
}

func TestMany(t *testing.T) {
	t.Parallel()
	const threads, events = 4, 50000
	for _, c := range []struct {
		build string
		env   []string
	}{
		{"c", nil},
		{"c++", []string{"WHYSLOW_LEVEL=-1", "WHYSLOW_BUFFER=4k"}},
		{"c", []string{"WHYSLOW_SYNC=1", "WHYSLOW_BUFFER=2k"}},
		{"c", []string{"WHYSLOW_BUFFER=1k", "WHYSLOW_POOL=1", "WHYSLOW_CLOCK=monotonic"}},
		{"c", []string{"WHYSLOW_BUFFER=32k", "FLUSH=1"}},
		{"asan", []string{"WHYSLOW_BUFFER=8k", "FLUSH=1"}},
		{"tsan", []string{"WHYSLOW_BUFFER=8k", "WHYSLOW_POOL=2"}},
		{"tsan", []string{"WHYSLOW_BUFFER=64k", "FLUSH=1"}},
		{"tsan", []string{"WHYSLOW_BUFFER=8k", "WHYSLOW_SYNC=1"}},
	} {
		t.Run(fmt.Sprint(c.build, c.env), func(t *testing.T) {
			t.Parallel()
			res := run(t, compile(t, "testdata/many.c", c.build), c.env, fmt.Sprint(threads), fmt.Sprint(events))
			res.ok(t, 0, "")
			r := open(t, res.trace)
			streams := r.Streams()
			if len(streams) != threads {
				t.Fatalf("%d streams", len(streams))
			}
			for _, s := range streams {
				if n, lost := checkSteps(t, r, s, false); n != events || lost != 0 {
					t.Errorf("stream %d: %d events, %d lost", s.Stream, n, lost)
				}
				if s.Blocks < 5 {
					t.Errorf("stream %d has %d blocks only", s.Stream, s.Blocks)
				}
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if sum := report(t, res.trace); sum.WallNS <= 0 || sum.Ended != trace.EndedDone {
				t.Errorf("%+v", sum)
			}
		})
	}
}

func TestDrop(t *testing.T) {
	t.Parallel()
	for _, build := range []string{"c", "tsan"} {
		res := run(t, compile(t, "testdata/many.c", build), []string{"WHYSLOW_FULL=drop", "WHYSLOW_POOL=1",
			"WHYSLOW_BUFFER=64k"}, "4", "100000")
		told, err := strconv.ParseUint(strings.TrimSpace(res.stdout), 10, 64)
		if err != nil || res.stderr != "" {
			t.Fatal(res.stdout, res.stderr)
		}
		if want := map[bool]int{true: 1, false: 0}[told > 0]; res.code != want {
			t.Errorf("%d events lost, exit code %d", told, res.code)
		}
		if told == 0 {
			t.Errorf("%s: nothing was dropped", build)
		}
		var n, lost uint64
		r := open(t, res.trace)
		for _, s := range r.Streams() {
			a, b := checkSteps(t, r, s, true)
			n, lost = n+a, lost+b
		}
		if n+lost != 400000 || lost != told {
			t.Errorf("%d events and %d lost; the program says %d lost", n, lost, told)
		}
		t.Logf("%s: %d of 400000 events lost", build, lost)
	}
}

// A program that was killed leaves whole blocks, all of which can be read.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(compile(t, "testdata/many.c", "c"), "2", "0", "kill")
	cmd.Env = append(os.Environ(), "WHYSLOW_TRACE="+dir, "WHYSLOW_BUFFER=16k")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	bufio.NewReader(out).ReadString('\n')
	written(t, dir, 2, func(n, _ int) bool { return n > 1000 })
	cmd.Process.Kill()
	cmd.Wait()
	r := openAny(t, dir)
	if r.Closed(0) || r.Run() == nil || r.Run().Ended != "" {
		t.Errorf("closed %v, run.json %+v", r.Closed(0), r.Run())
	}
	for _, p := range r.Problems() {
		if p.Kind != trace.Unfinished && p.Kind != trace.Truncated {
			t.Errorf("problem: %s", p)
		}
	}
	for _, s := range r.Streams() {
		if n, lost := checkSteps(t, r, s, false); n < 1000 || lost != 0 || s.Finished {
			t.Errorf("stream %d: %d events, %d lost, finished %v", s.Stream, n, lost, s.Finished)
		}
	}
	if len(r.Streams()) != 2 {
		t.Errorf("streams %v", r.Streams())
	}
	report0(t, dir)
}

// With flush_ms what was recorded is in the file soon, though its buffers are not full and its threads
// record nothing any more.
func TestKillWhileIdle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(compile(t, "testdata/many.c", "c"), "3", "1000", "idle")
	cmd.Env = append(os.Environ(), "WHYSLOW_TRACE="+dir, "WHYSLOW_BUFFER=1m", "FLUSH=10")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	written(t, dir, 3, func(n, lost int) bool { return n == 1000 && lost == 0 })
}

// The end takes over what the writer is about to write for flush_ms: every event is written once. The
// longer a program of this size records, the more of it is in the file already.
func TestFlushAtTheEnd(t *testing.T) {
	t.Parallel()
	const threads = 4
	path := compile(t, "testdata/many.c", "c")
	for i := range 60 {
		events := 500 + 100*i
		res := run(t, path, []string{"WHYSLOW_BUFFER=1m", "FLUSH=1"}, fmt.Sprint(threads), fmt.Sprint(events))
		res.ok(t, 0, "")
		r := open(t, res.trace)
		for _, s := range r.Streams() {
			if n, _ := checkSteps(t, r, s, false); n != uint64(events) {
				t.Errorf("stream %d: %d events, want %d", s.Stream, n, events)
			}
		}
		if len(r.Streams()) != threads {
			t.Errorf("%d streams", len(r.Streams()))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// written waits until a trace that is being written has so many streams, and in each of them as many
// events as are wanted.
func written(t *testing.T, dir string, streams int, enough func(events, lost int) bool) {
	t.Helper()
	all := func() bool {
		r, err := trace.Open(dir)
		if err != nil {
			return false // not begun
		}
		defer r.Close()
		for _, s := range r.Streams() {
			if n, lost := checkSteps(t, r, s, false); !enough(int(n), int(lost)) {
				return false
			}
		}
		return len(r.Streams()) == streams && !r.Closed(0)
	}
	for end := time.Now().Add(2 * time.Minute); !all(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the events are not in the file")
		}
	}
}

// report0 checks that a trace that ends early can be divided.
func report0(t *testing.T, path string) {
	t.Helper()
	if sum, err := divide(openAny(t, path)); err != nil || sum.TotalNS <= 0 {
		t.Errorf("%v, %v", sum, err)
	}
}

// exit in one thread while others record: what was complete is in the file.
func TestExit(t *testing.T) {
	t.Parallel()
	for _, build := range []string{"c", "tsan"} {
		for _, env := range []string{"WHYSLOW_SYNC=0", "WHYSLOW_SYNC=1"} {
			res := run(t, compile(t, "testdata/many.c", build), []string{env}, "2", "0", "exit")
			res.ok(t, 3, "")
			r := open(t, res.trace)
			for _, s := range r.Streams() {
				if n, lost := checkSteps(t, r, s, false); n < 1000 || lost != 0 || !s.Finished {
					t.Errorf("stream %d: %d events, %d lost, finished %v", s.Stream, n, lost, s.Finished)
				}
			}
			if info := r.Run(); !r.Closed(0) || info.Ended != trace.EndedFailed || info.Exit != 3 {
				t.Errorf("closed %v, %+v", r.Closed(0), info)
			}
			report(t, res.trace)
		}
	}
}

// With signals on, the trace is completed before a signal ends the program as usual.
func TestSignals(t *testing.T) {
	t.Parallel()
	path := compile(t, "testdata/hard.c", "c")
	for _, c := range []struct {
		args   []string
		sig    syscall.Signal
		ended  string
		events uint64
	}{
		{[]string{"segv"}, syscall.SIGSEGV, trace.EndedFailed, 1000},
		{[]string{"signal", fmt.Sprint(int(syscall.SIGABRT))}, syscall.SIGABRT, trace.EndedFailed, 2000},
		{[]string{"signal", fmt.Sprint(int(syscall.SIGINT))}, syscall.SIGINT, trace.EndedInterrupted, 2000},
	} {
		res := run(t, path, []string{"WHYSLOW_SIGNALS=1"}, c.args...)
		if !res.status.Signaled() || res.status.Signal() != c.sig {
			t.Fatalf("%v: %v %s", c.args, res.status, res.stderr)
		}
		r := open(t, res.trace)
		info := r.Run()
		if n, lost := count(t, r); n != c.events || lost != 0 || info.Ended != c.ended ||
			info.Exit != 128+int(c.sig) || info.Message != fmt.Sprintf("ended by signal %d", int(c.sig)) {
			t.Errorf("%v: %d events, %d lost, %+v", c.args, n, lost, info)
		}
		res = run(t, path, nil, c.args...)
		if r := openAny(t, res.trace); r.Closed(0) || r.Run().Ended != "" || !res.status.Signaled() {
			t.Errorf("%v: completed without being asked to", c.args)
		}
	}
}

// count returns the numbers of the onStep events of a trace of testdata/hard.c and the sum of its onLost.
func count(t *testing.T, r *trace.Reader) (n, lost uint64) {
	t.Helper()
	r.Each(1, func(b *trace.Batch) error {
		for i := range b.N {
			switch b.Kind[i] {
			case trace.FirstUserKind:
				n++
			case trace.KindLost:
				lost += b.Args(i)[0]
			}
		}
		return nil
	})
	return n, lost
}

var told = regexp.MustCompile(`^(\d+) (\d+) (.*)\n$`)

// said reads the line that testdata/hard.c prints at its end.
func said(t *testing.T, r result) (n, lost uint64, message string) {
	t.Helper()
	m := told.FindStringSubmatch(r.stdout)
	if m == nil {
		t.Fatalf("%d %q %q", r.code, r.stdout, r.stderr)
	}
	n, _ = strconv.ParseUint(m[1], 10, 64)
	lost, _ = strconv.ParseUint(m[2], 10, 64)
	return n, lost, m[3]
}

func TestFork(t *testing.T) {
	t.Parallel()
	for _, build := range []string{"c", "asan"} {
		for _, env := range []string{"WHYSLOW_SYNC=0", "WHYSLOW_SYNC=1"} {
			// The child makes a trace of its own, for which it must not inherit the folder's name.
			path := compile(t, "testdata/hard.c", build)
			dir := t.TempDir()
			cmd := exec.Command(path, "fork")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), env, "ASAN_OPTIONS=detect_leaks=0") // it cannot look for them after a fork
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != "4000 0 -\n" {
				t.Fatalf("%v %s", err, out)
			}
			r := open(t, filepath.Join(dir, filepath.Base(path)+".trace"))
			if n, lost := count(t, r); n != 4000 || lost != 0 || len(r.Streams()) != 1 ||
				r.Run().Ended != trace.EndedDone {
				t.Errorf("%d events, %d lost, %v", n, lost, r.Streams())
			}
			child := open(t, filepath.Join(dir, "child.trace"))
			if n, _ := count(t, child); n != 10 || child.Run().Processes[0].PID == r.Run().Processes[0].PID {
				t.Errorf("the child's trace has %d events", n)
			}
		}
	}
}

const tooLarge = "cannot write %s: File too large; events are being lost"

// The disk is full for a while: what is missing is told by onLost, exactly.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	for _, build := range []string{"c", "asan"} {
		res := run(t, compile(t, "testdata/hard.c", build), nil, "full")
		message := fmt.Sprintf(tooLarge, res.trace+"/00000.wst")
		res.ok(t, 1, "whyslow: "+message+"\n")
		emitted, dropped, was := said(t, res)
		r := open(t, res.trace)
		n, lost := count(t, r)
		if was != message || lost == 0 || n+lost != emitted || lost != dropped || n < 4000 {
			t.Errorf("%q: %d of %d events, %d lost, %d dropped", was, n, emitted, lost, dropped)
		}
		if info := r.Run(); info.Message != fmt.Sprintf("%s (%d events lost)", message, lost) {
			t.Errorf("message %q", info.Message)
		}
		t.Logf("%d of %d events lost", lost, emitted)
	}
}

// The disk stays full: the program goes on, run.json tells how much is lost, and what was written
// before is whole.
func TestDiskStaysFull(t *testing.T) {
	t.Parallel()
	res := run(t, compile(t, "testdata/hard.c", "c"), nil, "fuller")
	emitted, _, _ := said(t, res)
	if res.code != 1 {
		t.Errorf("exit code %d", res.code)
	}
	r := openAny(t, res.trace)
	missing := uint64(0)
	for _, p := range r.Problems() {
		switch p.Kind {
		case trace.Unwritten:
			missing += p.Events
		case trace.Unfinished:
		default:
			t.Errorf("problem: %s", p)
		}
	}
	n, lost := count(t, r)
	m := regexp.MustCompile(`\((\d+) events lost\)$`).FindStringSubmatch(r.Run().Message)
	if m == nil {
		t.Fatalf("message %q", r.Run().Message)
	}
	// onProgramStarted or onProgramFinished may be among the lost.
	told, _ := strconv.ParseUint(m[1], 10, 64)
	if n+told < emitted || n+told > emitted+2 || missing+lost != told || missing == 0 {
		t.Errorf("%d events of %d, %d told, %d in onLost, %d in run.json", n, emitted, told, lost, missing)
	}
}

func TestLongLists(t *testing.T) {
	t.Parallel()
	for _, build := range []string{"c", "asan"} {
		res := run(t, compile(t, "testdata/hard.c", build), nil, "long")
		res.ok(t, 0, "")
		r := open(t, res.trace)
		var lens []int
		var b trace.Batch
		for c := r.Stream(0, 0); c.Next(&b); {
			for i := range b.N {
				if b.Kind[i] == trace.KindCFCreated {
					list := b.ListAt(i, 5)
					for k, v := range list {
						if v != uint64(k)*uint64(k) {
							t.Fatalf("element %d is %d", k, v)
						}
					}
					lens = append(lens, len(list))
				}
			}
		}
		if fmt.Sprint(lens) != "[100000 1000]" {
			t.Errorf("lists of %v elements", lens)
		}
	}
}

// Blocks that compress better than readers allow are padded; a buffer that is larger than blocks may be
// becomes several.
func TestSameEvents(t *testing.T) {
	t.Parallel()
	for _, size := range []string{"4m", "64m"} {
		res := run(t, compile(t, "testdata/hard.c", "c"), []string{"WHYSLOW_LEVEL=1", "WHYSLOW_BUFFER=" +
			size}, "same")
		res.ok(t, 0, "")
		r := open(t, res.trace)
		if n, s := r.Events(), r.Streams()[0]; n != 1000002 || s.Blocks < 2 {
			t.Errorf("%s: %d events, %d blocks", size, n, s.Blocks)
		}
	}
}

func TestManyDefinitions(t *testing.T) {
	t.Parallel()
	res := run(t, compile(t, "testdata/hard.c", "asan"), nil, "define")
	res.ok(t, 0, "")
	d := open(t, res.trace).Defs(0)
	names := 0
	d.EachName(func(n trace.Name, text string) {
		i := names
		if head := fmt.Sprint(i, ":xx"); int(n) != i+1 || !strings.HasPrefix(text,
			strings.ReplaceAll(head, " ", "")) || len(text) != 1000+i%999 {
			t.Errorf("name %d is %.20q, %d bytes", n, text, len(text))
		}
		names++
	})
	dfs := int64(0)
	d.EachDF(func(df trace.DF, name trace.Name, identity []int64) {
		i := dfs % 200000
		if int64(df) != dfs+1 || int64(name) != i%3000+1 || int64(len(identity)) != i%10 {
			t.Fatalf("DF %d: name %d, %v", df, name, identity)
		}
		for k, v := range identity {
			if v != i*int64(k) {
				t.Fatalf("DF %d: %v", df, identity)
			}
		}
		dfs++
	})
	if names != 3000 || dfs != 400000 {
		t.Errorf("%d names, %d DFs", names, dfs)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, build := range []string{"c", "asan"} {
		res := run(t, compile(t, "testdata/hard.c", build), nil, "wrong")
		if res.code != 0 || res.stdout != string(want) {
			t.Errorf("exit code %d\n%s%s", res.code, res.stdout, res.stderr)
		}
	}
}

// Files have the id of run.json: a random one of a single node, or that which all nodes are told.
func TestRunID(t *testing.T) {
	t.Parallel()
	const told = "3f1d5a60c2b94e7788aa01f4d2936BE5"
	hard, nodes := compile(t, "testdata/hard.c", "c"), compile(t, "testdata/nodes.c", "c")
	seen := map[string]bool{}
	for _, c := range []struct {
		path  string
		env   []string
		nodes int
		id    string
	}{
		{hard, nil, 1, "random"}, {hard, nil, 1, "random"}, {hard, []string{"WHYSLOW_RUN_ID=" + told}, 1, told},
		{nodes, nil, 2, ""}, {nodes, []string{"WHYSLOW_RUN_ID=" + told}, 2, told},
	} {
		res := run(t, c.path, c.env, "return")
		id := open(t, res.trace).Run().ID
		if c.id == "random" {
			if len(id) != 32 || seen[id] {
				t.Errorf("id %q", id)
			}
			seen[id] = true
		} else if id != c.id {
			t.Errorf("id %q, want %q", id, c.id)
		}
		mark := strings.ToLower(id[:min(24, len(id))])
		if id == "" {
			mark = strings.Repeat("0", 24)
		}
		for node := range c.nodes {
			head, err := os.ReadFile(filepath.Join(res.trace, tracefile.FileName(node)))
			if err != nil || hex.EncodeToString(head[16:28]) != mark {
				t.Errorf("%v: node %d has %x, want %s", err, node, head[16:28], mark)
			}
		}
	}
}

// Where nothing can be recorded all calls do nothing.
func TestOff(t *testing.T) {
	t.Parallel()
	path := compile(t, "testdata/hard.c", "asan")
	for _, c := range []struct{ env, want string }{
		{"WHYSLOW_OFF=1", "-"},
		{"WHYSLOW_TRACE=/dev/null/x", "cannot write /dev/null/x/00000.wst: Not a directory; nothing is recorded"},
	} {
		res := run(t, path, []string{c.env}, "")
		stderr, code := "", 0
		if c.want != "-" {
			stderr, code = "whyslow: "+c.want+"\n", 1
		}
		res.ok(t, code, stderr)
		if res.stdout != "1000 0 "+c.want+"\n" {
			t.Errorf("%s: %q", c.env, res.stdout)
		}
		if _, err := os.Stat(res.trace); err == nil {
			t.Errorf("%s: a trace was made", c.env)
		}
	}
}

func TestRunInfo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode, ended, message string
		code                 int
	}{
		{"exit", trace.EndedFailed, "", 3}, {"return", trace.EndedDone, "", 0}, {"failed", trace.EndedFailed,
			"line 1\nline 2", 2},
	} {
		path := compile(t, "testdata/hard.c", "c")
		before := time.Now()
		res := run(t, path, nil, c.mode, "\"quoted\" \\ \x01 \xff", "--token=sesame", "--my-Password", "sesame",
			"DB_SECRET=sesame", "tokens", "--x=sesam")
		r := open(t, res.trace)
		if n, _ := count(t, r); n != 1000 {
			t.Errorf("%d events", n)
		}
		info := r.Run()
		if info.Ended != c.ended || info.Exit != c.code || info.Message != c.message {
			t.Errorf("%+v", info)
		}
		if info.Program != filepath.Base(path) || fmt.Sprintf("%q",
			info.Args) != `["`+c.mode+`" "\"quoted\" \\ \x01 `+"\ufffd"+
			`" "--token=***" "--my-Password" "***" "DB_SECRET=***" "tokens" "--x=sesam"]` || info.CommandLine[0] != path {
			t.Errorf("%q %q %q", info.Program, info.Args, info.CommandLine)
		}
		if info.Started.Before(before.Add(-time.Second)) || info.Started.After(time.Now()) {
			t.Errorf("started %v", info.Started)
		}
		if p := info.Processes[0]; p.Cores < 1 || p.Affinity == "" || p.Host == "" || p.PID == 0 {
			t.Errorf("%+v", p)
		}
		if info.Clock != "tsc" && info.Clock != "monotonic" || info.Settings["codec"] != "stored" {
			t.Errorf("%q %v", info.Clock, info.Settings)
		}
		if c.mode == "failed" && info.Settings["steal"] != "\"on\"\n" {
			t.Errorf("%q", info.Settings["steal"])
		}
		text, err := os.ReadFile(filepath.Join(res.trace, "run.json"))
		if err != nil || !json.Valid(text) || strings.Contains(string(text), "sesame") {
			t.Errorf("%v\n%s", err, text)
		}
	}
}
