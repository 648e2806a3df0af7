package shmemtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/record/pgas/collectors"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/trace"
)

// shmemEnv makes Open MPI run as root, with more PEs than cores, and without the part of it that
// crashes in shmem_finalize.
var shmemEnv = []string{
	"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_osc=^rdma",
	"OMPI_MCA_rmaps_base_oversubscribe=1",
	"OMPI_MCA_hwloc_base_binding_policy=none", "OMPI_MCA_mpi_yield_when_idle=1",
}

// needShmem skips a test where OpenSHMEM is not installed.
func needShmem(t testing.TB) {
	t.Helper()
	for _, name := range []string{"oshcc", "oshrun"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed (Debian has it in libopenmpi-dev and openmpi-bin)", name)
		}
	}
}

var shmemLibrary = sync.OnceValues(func() (string,
	error) {
	return collectors.Build(context.Background(), "shmem")
})

// compileShmem compiles a program of testdata.
func compileShmem(t testing.TB, source string, flags ...string) string {
	t.Helper()
	needShmem(t)
	return cctest.Make(t, cctest.Program{
		Name: "program", Compiler: []string{"oshcc"}, Sources: []string{filepath.Join("testdata", source)},
		Flags: []string{"-O2", "-g", "-Wall", "-Wextra", "-pthread"}, Compile: flags, Link: flags,
	})
}

// shmemRun is what a run left behind.
type shmemRun struct {
	trace, output string
	code          int
}

// runShmem runs a program with so many PEs and the library preloaded, unless preload is "-".
func runShmem(t testing.TB, pes int, env []string, program string, args ...string) shmemRun {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trace")
	env = append([]string{"WHYSLOW_TRACE=" + dir}, env...)
	library, err := shmemLibrary()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(env[len(env)-1], "LD_PRELOAD=") {
		env = append(env, "LD_PRELOAD="+library)
	}
	all := []string{"-np", fmt.Sprint(pes)}
	for _, e := range env {
		all = append(all, "-x", e)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "oshrun", append(append(all, program), args...)...)
	cmd.Env = append(os.Environ(), shmemEnv...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that oshrun ends its PEs
	cmd.WaitDelay = 10 * time.Second
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("oshrun: %v, %v\n%s", err, ctx.Err(), text)
	}
	return shmemRun{dir, string(text), cmd.ProcessState.ExitCode()}
}

func (r shmemRun) ok(t testing.TB, output string) {
	t.Helper()
	if r.code != 0 || r.output != output {
		t.Fatalf("exit code %d, output %q, want %q", r.code, r.output, output)
	}
}

// read opens the trace; whole says that nothing may be wrong with it.
func (r shmemRun) read(t testing.TB, whole bool) *trace.Reader {
	t.Helper()
	reader, err := trace.Open(r.trace)
	if err != nil {
		t.Fatalf("%v\n%s", err, r.output)
	}
	t.Cleanup(func() { reader.Close() })
	reader.Verify(2)
	for _, p := range reader.Problems() {
		if whole {
			t.Errorf("problem: %s", p)
		}
	}
	return reader
}

// shmemEvent is an event in words: "enter shmem_long_put", "onPut 1 64 0".
type shmemEvent struct {
	time int64
	text string
}

// events returns the events of a stream. Times must not go back, and regions be nested.
func events(t testing.TB, r *trace.Reader, node, stream int) []shmemEvent {
	t.Helper()
	var list []shmemEvent
	var open []string
	var b trace.Batch
	defs := r.Defs(node)
	for c := r.Stream(node, stream); c.Next(&b); {
		for i := range b.N {
			if n := len(list); n > 0 && b.Time[i] < list[n-1].time {
				t.Fatalf("node %d: time goes back to %d after %s at %d", node, b.Time[i], list[n-1].text, list[n-1].time)
			}
			e := shmemEvent{b.Time[i], inWords(defs, b.Kind[i], b.Args(i))}
			what, name, _ := strings.Cut(e.text, " ")
			switch {
			case what == "enter":
				open = append(open, name)
			case what == "exit" && (len(open) == 0 || open[len(open)-1] != name):
				t.Fatalf("node %d: %s, within %v", node, e.text, open)
			case what == "exit":
				open = open[:len(open)-1]
			}
			list = append(list, e)
		}
	}
	return list
}

func inWords(defs *trace.Defs, kind trace.Kind, args []uint64) string {
	if kind == trace.KindEntered || kind == trace.KindExited {
		site, _ := defs.Site(trace.Site(args[0]))
		code, _ := defs.Code(site.Code)
		return map[trace.Kind]string{trace.KindEntered: "enter ", trace.KindExited: "exit "}[kind] +
			defs.Name(code.Name)
	}
	spec := defs.Kind(kind)
	text := spec.Name
	for i, f := range spec.Fields {
		switch f.Type {
		case trace.FieldName:
			if args[i] != 0 {
				text += " " + defs.Name(trace.Name(args[i]))
			}
		case trace.FieldNS:
		default:
			text += fmt.Sprint(" ", int64(args[i]))
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

// count returns how many events have a text.
func count(list []shmemEvent, text string) (n int) {
	for _, e := range list {
		if e.text == text {
			n++
		}
	}
	return n
}

// times returns when a region was entered and left, the nth time.
func times(t testing.TB, list []shmemEvent, region string, nth int) (entered, exited int64) {
	t.Helper()
	for _, e := range list {
		switch e.text {
		case "enter " + region:
			entered = e.time
		case "exit " + region:
			if nth--; nth == 0 {
				return entered, e.time
			}
		}
	}
	t.Fatalf("%s is not entered and left so often", region)
	return 0, 0
}

// syncs returns the offsets and errors of all comparisons of clocks.
func syncs(t testing.TB, r *trace.Reader) (list [][2]int64) {
	t.Helper()
	err := r.Each(1, func(b *trace.Batch) error {
		for i := range b.N {
			if b.Kind[i] == trace.KindClockSync {
				list = append(list, [2]int64{int64(b.Args(i)[0]), int64(b.Args(i)[1])})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
