package gasptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/whyslow/whyslow/trace"
)

// eventNames are the names of regions in the table of gasp.h, of those that a table has.
func eventNames(t *testing.T, table string) []string {
	t.Helper()
	header, err := os.ReadFile("../gasp.h")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`X\(\w+, (\d+), (\d+), "(.*)", \w+\)`).FindAllStringSubmatch(
		string(header), -1) {
		if m[1+strings.Index("bg", table[:1])] != "0" && m[3] != "" {
			names = append(names, m[3])
		}
	}
	if len(names) < 35 {
		t.Fatalf("%q", names)
	}
	return names
}

// counts are the numbers of events by kind and stream.
func counts(t *testing.T, r *trace.Reader, node int) (byKind map[trace.Kind]int, byStream map[int]int) {
	t.Helper()
	byKind, byStream = map[trace.Kind]int{}, map[int]int{}
	if err := r.Each(1, func(b *trace.Batch) error {
		for i := range b.N {
			if b.Node == node {
				byKind[b.Kind[i]]++
				byStream[b.Stream]++
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return byKind, byStream
}

var hardBuilds = []string{"plain", "asan", "tsan"}

// each runs hard.c in a mode, with every build, with and without a writer thread.
func each(t *testing.T, mode string, builds []string, env []string, f func(t *testing.T, res result)) {
	for _, build := range builds {
		for _, sync := range []string{"0", "1"} {
			leaks := map[bool]string{true: "0", false: "1"}[mode == "fork"] // they cannot be looked for after a fork
			t.Run(build+sync, func(t *testing.T) {
				t.Parallel()
				f(t, run(t, compile(t, "hard", build), append(env, "WHYSLOW_SYNC="+sync,
					"ASAN_OPTIONS=allow_user_segv_handler=1:handle_segv=0:detect_leaks="+leaks), mode))
			})
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	each(t, "plain", hardBuilds, []string{"WHYSLOW_BUFFER=4k"}, func(t *testing.T, res result) {
		res.ok(t, 0, "")
		r := open(t, res.trace)
		if n, _ := counts(t, r, 0); n[trace.KindEntered] != 1001 || n[trace.KindExited] != 1001 ||
			n[trace.KindCollective] != 1001 || r.Run().Message != "" {
			t.Errorf("%v %+v", n, r.Run())
		}
	})
}

// A program that exits in the midst of a barrier: everything is there, the region is open, run.json says why.
func TestExit(t *testing.T) {
	t.Parallel()
	each(t, "exit", hardBuilds, nil, func(t *testing.T, res result) {
		res.ok(t, 3, "")
		r := open(t, res.trace)
		n, _ := counts(t, r, 0)
		if info := r.Run(); n[trace.KindEntered] != 11 || n[trace.KindExited] != 10 ||
			n[trace.KindProgramFinished] != 1 || info.Ended != trace.EndedFailed || info.Exit != 3 ||
			info.Message != "it ended without a collective exit: what followed the last events is not known" {
			t.Errorf("%v %+v", n, info)
		}
	})
}

// What was recorded some time before the program was killed is in the file.
func TestKill(t *testing.T) {
	t.Parallel()
	each(t, "kill", []string{"plain"}, []string{"WHYSLOW_FLUSH=10"}, func(t *testing.T, res result) {
		if !res.status.Signaled() || res.status.Signal() != syscall.SIGKILL {
			t.Fatal(res.status)
		}
		r := open(t, res.trace, trace.Unfinished, trace.Truncated)
		if n, _ := counts(t, r, 0); n[trace.KindEntered] < 500 || len(r.Problems()) == 0 || r.Run().Ended != "" {
			t.Errorf("%v, problems %v", n, r.Problems())
		}
	})
}

// With the setting, the trace is completed before the signal ends the program.
func TestSignals(t *testing.T) {
	t.Parallel()
	for mode, sig := range map[string]syscall.Signal{"term": syscall.SIGTERM, "crash": syscall.SIGSEGV} {
		each(t, mode, []string{"plain"}, []string{"WHYSLOW_SIGNALS=1"}, func(t *testing.T, res result) {
			if !res.status.Signaled() || res.status.Signal() != sig {
				t.Fatal(res.status, res.stderr)
			}
			r := open(t, res.trace)
			if n, _ := counts(t, r, 0); n[trace.KindEntered] < 10 || n[trace.KindProgramFinished] != 1 ||
				r.Run().Message != fmt.Sprintf("ended by signal %d", sig) {
				t.Errorf("%v %+v", n, r.Run())
			}
		})
	}
}

// The children of a fork do not touch the parent's trace: not one that goes on, one that begins anew,
// one that exits, nor a program it becomes.
func TestFork(t *testing.T) {
	t.Parallel()
	each(t, "fork", []string{"plain", "asan"}, []string{"WHYSLOW_BUFFER=4k"}, func(t *testing.T, res result) {
		res.ok(t, 0, "whyslow: another process is writing "+res.trace+"/00000.wst; nothing is recorded\n")
		if n, _ := counts(t, open(t, res.trace), 0); n[trace.KindEntered] != 201 || n[trace.KindExited] != 201 {
			t.Errorf("%v", n)
		}
	})
}

func TestNested(t *testing.T) {
	t.Parallel()
	each(t, "nested", hardBuilds, nil, func(t *testing.T, res result) {
		res.ok(t, 0, "")
		if got, want := text(t, open(t, res.trace),
			0), "onProgramStarted\nupc_memset hard.upc:1\n    onPut to=0 bytes=4 transfer=0\n/upc_memset hard.upc:1\n"+
			"exit\n    onCollective kind=finish sync=\"\" start=0 stride=1 size=1 root=-1 sent=0 "+
			"received=0\n/exit\nonProgramFinished\n"; got != want {
			t.Error(got)
		}
	})
}

// A context may be used by any number of threads; those that come after others have ended use their
// streams again.
func TestThreads(t *testing.T) {
	t.Parallel()
	each(t, "threads", hardBuilds, []string{"WHYSLOW_BUFFER=4k"}, func(t *testing.T, res result) {
		res.ok(t, 0, "")
		r := open(t, res.trace)
		n, streams := counts(t, r, 0)
		if want := 8*1000 + 50*1000 + 50 + 1000 + 1; n[trace.KindEntered] != want ||
			n[trace.KindExited] != want || len(streams) < 2 || len(streams) > 9 {
			t.Errorf("%v, %v", n, streams)
		}
	})
}

// More threads call gasp_init than there are UPC threads.
func TestNodes(t *testing.T) {
	t.Parallel()
	each(t, "nodes", hardBuilds, nil, func(t *testing.T, res result) {
		for _, node := range []int{3, 4} {
			if m := fmt.Sprintf("whyslow: node %d of 3 with 1 workers", node); !strings.Contains(res.stderr, m) {
				t.Errorf("%s does not say %q", res.stderr, m)
			}
		}
		r := open(t, res.trace, trace.Missing)
		for node := 1; node < 3; node++ { // thread 0 was begun as the only one by main
			if n, _ := counts(t, r, node); res.code != 0 || n[trace.KindEntered] != 1001 {
				t.Errorf("node %d: %v", node, n)
			}
		}
	})
}

// Node 0 learns the hosts of the others from files, which it takes away.
func TestHosts(t *testing.T) {
	t.Parallel()
	each(t, "hosts", []string{"asan"}, nil, func(t *testing.T, res result) {
		res.ok(t, 0, "")
		info := open(t, res.trace).Run()
		host, err := os.Hostname()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range info.Nodes {
			if n.Host != host || info.Processes[n.Process].Host != host {
				t.Errorf("%+v", n)
			}
		}
		if left, _ := filepath.Glob(res.trace + "/*.host"); len(info.Nodes) != 3 || len(left) > 0 {
			t.Errorf("%d nodes, files %v", len(info.Nodes), left)
		}
	})
}

func TestTwice(t *testing.T) {
	t.Parallel()
	each(t, "twice", hardBuilds, nil, func(t *testing.T, res result) {
		res.ok(t, 0, "")
		if n, streams := counts(t, open(t, res.trace), 0); n[trace.KindEntered] != 21 || len(streams) != 1 {
			t.Errorf("%v, %v", n, streams)
		}
	})
}

// Threads that are cancelled leave no lock behind.
func TestCancel(t *testing.T) {
	t.Parallel()
	each(t, "cancel", []string{"plain"}, []string{"WHYSLOW_BUFFER=1k", "WHYSLOW_POOL=1"},
		func(t *testing.T, res result) {
			res.ok(t, 0, "")
			if n, _ := counts(t, open(t, res.trace), 0); n[trace.KindEntered] == 0 ||
				n[trace.KindProgramFinished] != 1 {
				t.Errorf("%v", n)
			}
		})
}

// The disk is full: the program goes on to its end, run.json tells how many events are missing.
func TestFull(t *testing.T) {
	t.Parallel()
	each(t, "full", []string{"plain", "asan"}, []string{"WHYSLOW_BUFFER=64k"}, func(t *testing.T, res result) {
		res.ok(t, 0, "whyslow: cannot write "+res.trace+"/00000.wst: File too large; events are being lost\n")
		r := open(t, res.trace, trace.Unwritten, trace.Unfinished)
		n, _ := counts(t, r, 0)
		there := 0
		for _, k := range n {
			there += k
		}
		m := regexp.MustCompile(`File too large; events are being lost \((\d+) events lost\)$`).FindStringSubmatch(
			r.Run().Message)
		if m == nil {
			t.Fatalf("%+v", r.Run())
		}
		// 200001 operations of three events, the program's start and end; onLost events are there in
		// addition.
		if lost, _ := strconv.Atoi(m[1]); lost == 0 || there-n[trace.KindLost]+lost != 3*200001+2 {
			t.Errorf("%d events there, %d lost", there, lost)
		}
	})
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ env, want string }{
		{"WHYSLOW_OFF=1", ""},
		{"WHYSLOW_TRACE=/dev/null/x", "cannot write /dev/null/x/00000.wst: Not a directory; nothing is recorded"},
	} {
		res := run(t, compile(t, "hard", "asan"), []string{c.env}, "plain")
		if c.want != "" {
			c.want = "whyslow: " + c.want + "\n"
		}
		res.ok(t, 0, c.want)
		if _, err := os.Stat(res.trace); err == nil {
			t.Errorf("%s: a trace was made", c.env)
		}
	}
	for _, build := range []string{"plain", "shared"} {
		res := run(t, compile(t, "nohooks", build), nil)
		res.ok(t, 0, "whyslow: the program has no whyslow_upc_mythread: link it with whyslow_upc.upc; "+
			"nothing is recorded\n")
	}
	// What is refused is said, and does not cost the recording.
	cases, err := os.ReadFile("../../../internal/record/pgas/launch/testdata/settings.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(cases)) {
		line = strings.TrimSuffix(line, "\n")
		taken, setting, _ := strings.Cut(line, " ")
		if taken == "#" {
			continue
		}
		res := run(t, compile(t, "hard", "plain"), []string{setting}, "plain")
		if taken == "yes" {
			res.ok(t, 0, "")
		} else if !strings.HasPrefix(res.stderr, "whyslow: "+setting+" is ignored: it must be ") ||
			strings.Count(res.stderr, "\n") != 1 || res.code != 0 {
			t.Errorf("%q: exit code %d, %q", setting, res.code, res.stderr)
		}
		if n, _ := counts(t, open(t, res.trace), 0); n[trace.KindEntered] == 0 {
			t.Errorf("%q: nothing was recorded", setting)
		}
	}
}

// Formats that would make printf read or write where it must not.
func TestFormats(t *testing.T) {
	t.Parallel()
	each(t, "formats", []string{"plain", "asan"}, nil, func(t *testing.T, res result) {
		res.ok(t, 0, "whyslow: event event 746: more than 768 user events: it is not recorded\n")
		r := open(t, res.trace)
		var b strings.Builder
		for line := range strings.Lines(text(t, r, 0)) {
			if !strings.Contains(line, "\"event ") {
				b.WriteString(line)
			}
		}
		golden(t, "formats.txt", b.String())
		if n, _ := counts(t, r, 0); len(r.Defs(0).UserKinds()) < 700 || n[trace.FirstUserKind] != 1 {
			t.Errorf("%d kinds, %v", len(r.Defs(0).UserKinds()), n)
		}
	})
}

// Formats by chance.
func TestRandomFormats(t *testing.T) {
	t.Parallel()
	for _, build := range []string{"plain", "asan"} {
		run(t, compile(t, "format", build), nil, "1").ok(t, 0, "")
	}
}

// Ends without starts, starts without ends, endless recursion, events of no table.
func TestWrong(t *testing.T) {
	t.Parallel()
	each(t, "wrong", []string{"plain", "asan"}, []string{"WHYSLOW_INSTRUMENT=functions"},
		func(t *testing.T, res result) {
			res.ok(t, 0, "")
			r := open(t, res.trace)
			got := text(t, r, 0)
			golden(t, "wrong.txt", strings.Join(strings.SplitAfter(got, "\n")[:30], ""))
			if n, _ := counts(t, r, 0); n[trace.KindEntered] != n[trace.KindExited] ||
				n[trace.KindEntered] < 65000+60000 || n[trace.KindEntered] > 65600+65000 {
				t.Errorf("%v", n)
			}
		})
}

// A header of its own, that others may include, in C and C++.
func TestHeader(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"cc -std=c99 -pedantic -x c", "g++ -std=c++11 -pedantic -x c++"} {
		w := strings.Fields(c)
		if _, err := exec.LookPath(w[0]); err != nil {
			continue
		}
		source := filepath.Join(t.TempDir(), "x.c")
		if err := os.WriteFile(source,
			[]byte("#include \"gasp.h\"\nint main(void) { return (int)GASP_GUPC_BARRIER - 9; }\n"),
			0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(w[0], append(w[1:], "-Wall", "-Wextra", "-Werror", "-I..",
			"-fsyntax-only", source)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", c, out)
		}
	}
}
