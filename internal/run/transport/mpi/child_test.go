//go:build mpi

package mpi

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/transport"
)

// inPieces is the suite where MPI takes no more than a few bytes at once.
func inPieces(w *World) error {
	mostBytes = 100_000
	return suite(w)
}

// far is the suite where each process seems to be on a host of its own.
func far(w *World) error {
	w.onHost.size = 1
	for _, p := range w.net.peers {
		p.word = nil
	}
	return suite(w)
}

// TestIdle: a process in which nothing is going on uses next to no time, and is there at once when something
// comes.
func TestIdle(t *testing.T) { t.Log(well(t, 3, "idle")) }

func idle(w *World) error {
	// All processes are on one host and have one clock.
	took := make(chan time.Duration, 1)
	net := w.Connect(func(m *transport.Message) {
		took <- time.Duration(time.Now().UnixNano() - int64(m.Number))
	})
	var all []time.Duration
	least := 1.0 // share of the time, in the best of some rounds: who waits busily is busy in all
	for range 5 {
		if err := procs.Barrier(w.Group()); err != nil {
			return err
		}
		before, began := cpuTime(), time.Now()
		time.Sleep(300 * time.Millisecond)
		used, lasted := cpuTime()-before, time.Since(began)
		least = min(least, float64(used)/float64(lasted))
		if w.Rank() == 0 {
			fmt.Printf("idle: %v of %v\n", used, lasted)
		}
		if err := procs.Barrier(w.Group()); err != nil {
			return err
		}
		time.Sleep(3 * time.Millisecond)
		if w.Rank() == 0 {
			for to := range w.Size() {
				net.Send(&transport.Message{To: to, Number: uint64(time.Now().UnixNano())})
			}
		}
		all = append(all, <-took)
	}
	net.Close()
	if least > 0.05 {
		return fmt.Errorf("process %d used %.2f of the time in which nothing happened", w.Rank(), least)
	}
	fmt.Printf("process %d was woken after %v\n", w.Rank(), all)
	return nil
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestSignals: signal handling of Go is as it was before Init.
func TestSignals(t *testing.T) { well(t, 1, "signals") }

func signals(*World) error {
	c := make(chan os.Signal, 1)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGCHLD} {
		signal.Notify(c, s)
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			return err
		}
		select {
		case got := <-c:
			if got != s {
				return fmt.Errorf("sent %v, got %v", s, got)
			}
		case <-time.After(time.Minute):
			return fmt.Errorf("%v did not come", s)
		}
		signal.Reset(s)
	}
	err := func() (err error) {
		defer func() { err, _ = recover().(error) }()
		var nothing *World
		return errors.New("read " + fmt.Sprint(nothing.rank))
	}()
	if err == nil || !strings.Contains(err.Error(), "nil pointer") {
		return fmt.Errorf("a nil pointer was followed: %w", err)
	}
	return nil
}

// TestInterrupt: told to end, mpirun tells its processes, which have a moment to end well.
func TestInterrupt(t *testing.T) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd, out := command(t, 2, "interrupt")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for strings.Count(out.String(), "ready") < 2 && t.Context().Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		if err := cmd.Process.Signal(s); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // mpirun may find that anything but well
		if n := strings.Count(out.String(), "told to end"); n != 2 {
			t.Errorf("after %v %d of 2 processes were told to end:\n%s", s, n, out)
		}
	}
}

func interrupted(w *World) error {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	w.Connect(func(*transport.Message) {})
	fmt.Println("ready")
	<-c
	fmt.Println("told to end")
	return nil
}

// TestKilled: where one process dies mpirun ends the others.
func TestKilled(t *testing.T) {
	out, err := mpirun(t, 3, "killed")
	if err == nil || strings.Contains(out, "fine") {
		t.Errorf("with one of three processes killed the others end well: %v\n%s", err, out)
	}
}

func killed(w *World) error {
	net := w.Connect(func(*transport.Message) {})
	if w.Rank() == 1 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			return err
		}
	}
	net.Send(&transport.Message{From: w.Rank(), To: 1, Head: make([]byte, 100_000)})
	return procs.Barrier(w.Group())
}

// TestAbort: one process ends all, with its exit code.
func TestAbort(t *testing.T) {
	out, err := mpirun(t, 3, "abort")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || strings.Contains(out, "fine") {
		t.Errorf("aborted with 7: %v\n%s", err, out)
	}
}

func aborted(w *World) error {
	if w.Rank() == w.Size()-1 {
		w.Abort(7)
	}
	return procs.Barrier(w.Group())
}

// TestOnce: what World says of itself, and that there is one.
func TestOnce(t *testing.T) {
	out := well(t, 2, "once")
	if !regexp.MustCompile(`0 of 2: 0 of 2 here, Open MPI \d+\.\d+\.\d+, (multiple|serialized)\n`).
		MatchString(out) {
		t.Errorf("rank 0 says\n%s", out)
	}
	if v := Version(); !strings.HasPrefix(v, "Open MPI ") {
		t.Errorf("the version is %q", v)
	}
}

func once(w *World) error {
	fmt.Printf("%d of %d: %d of %d here, %s, %s\n", w.Rank(), w.Size(), w.HostRank(), w.HostSize(), Version(),
		w.Threads())
	if _, err := Init(); err == nil {
		return errors.New("MPI was started twice")
	}
	if err := w.Finalize(); err != nil {
		return err
	}
	return w.Finalize()
}
