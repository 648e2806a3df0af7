//go:build mpi

package mpi

// Each test starts mpirun on this very test binary; an environment variable tells its processes what to do.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/run/transport"
	"github.com/whyslow/whyslow/internal/testkit/grouptest"
	"github.com/whyslow/whyslow/internal/testkit/transporttest"
)

const childVar = "WHYSLOW_MPI_TEST"

func TestMain(m *testing.M) {
	name := os.Getenv(childVar)
	if name == "" {
		os.Exit(m.Run())
	}
	w, err := Init()
	if err == nil {
		err = children[name](w)
	}
	if err == nil {
		err = w.Finalize()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAIL", err)
		os.Exit(1)
	}
	fmt.Println("fine")
}

// children are what processes of tests do.
var children = map[string]func(w *World) error{
	"suite":     suite,
	"pieces":    inPieces,
	"far":       far,
	"served":    served,
	"idle":      idle,
	"signals":   signals,
	"interrupt": interrupted,
	"killed":    killed,
	"abort":     aborted,
	"once":      once,
}

// mpirun runs a child in n processes and returns what they print.
func mpirun(t *testing.T, n int, child string, args ...string) (string, error) {
	t.Helper()
	cmd, out := command(t, n, child, args...)
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() < 0 {
		t.Fatalf("mpirun did not end: %v\n%s", err, out)
	}
	return out.String(), err
}

// command is mpirun of a child, and what it prints.
func command(t *testing.T, n int, child string, args ...string) (*exec.Cmd, *output) {
	t.Helper()
	path, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip("mpirun is not installed (Debian: openmpi-bin)")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// with all cores busy, milliseconds become seconds
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, slices.Concat([]string{"--oversubscribe", "--bind-to", "none", "-n",
		strconv.Itoa(n)}, args, []string{self})...)
	cmd.Env = append(os.Environ(), childVar+"="+child, "OMPI_ALLOW_RUN_AS_ROOT=1",
		"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	// mpirun ends its processes when it is told to end; killed, it could not.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// output is what processes print, to be looked at while they do.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// well is mpirun where all processes end well.
func well(t *testing.T, n int, child string, args ...string) string {
	t.Helper()
	out, err := mpirun(t, n, child, args...)
	if err != nil || strings.Count(out, "fine\n") != n {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

func TestSuite(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		t.Run(strconv.Itoa(n), func(t *testing.T) { well(t, n, "suite") })
	}
	t.Run("pieces", func(t *testing.T) { well(t, 2, "pieces") })
	t.Run("far", func(t *testing.T) { well(t, 3, "far") })
	t.Run("served", func(t *testing.T) { well(t, 3, "served") })
	t.Run("tcp", func(t *testing.T) { well(t, 2, "suite", "--mca", "btl", "tcp,self") })
}

func suite(w *World) error { return suiteBy(w, w.Connect) }

// served is the suite where two threads receive off and on, beside the pump.
func served(w *World) error {
	var connections sync.WaitGroup
	served := int64(0)
	err := suiteBy(w, func(deliver func(*transport.Message)) transport.Network {
		busy := atomic.Bool{}
		net := w.Connect(func(m *transport.Message) {
			if busy.Swap(true) {
				panic("two messages are delivered at once")
			}
			deliver(m)
			busy.Store(false)
		})
		for i := range 2 {
			connections.Go(func() {
				random := rand.New(rand.NewPCG(uint64(w.Rank()), uint64(i)))
				for !net.(*conn).closed.Load() {
					looks := random.IntN(300)
					if net.Serve(func() bool { looks--; return looks < 0 }) {
						atomic.AddInt64(&served, 1)
					}
					time.Sleep(time.Duration(random.IntN(100)) * time.Microsecond)
				}
			})
		}
		return net
	})
	connections.Wait()
	if err == nil && served == 0 { // hundreds of times where there are cores for all
		err = errors.New("the pump took every message")
	}
	return err
}

func suiteBy(w *World, connect func(deliver func(*transport.Message)) transport.Network) error {
	for _, name := range slices.Sorted(maps.Keys(grouptest.Checks)) {
		if err := grouptest.Checks[name](w.Group()); err != nil {
			return fmt.Errorf("group %s: %w", name, err)
		}
	}
	n := &transporttest.Node{Group: w.Group(), Connect: connect}
	for _, name := range slices.Sorted(maps.Keys(transporttest.Checks)) {
		if err := transporttest.Checks[name](n); err != nil {
			return fmt.Errorf("network %s: %w", name, err)
		}
	}
	return nil
}
