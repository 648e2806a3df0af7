package experiment

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/testkit/effort"
)

var buildMPI = sync.OnceValues(func() (string, error) { return whyslowWith("mpi", "whyslow-mpi") })

// quickMPI are options for small experiments with processes started by mpirun.
func quickMPI(t *testing.T) Options {
	t.Helper()
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Skip("there is no mpirun")
	}
	if err := exec.Command("pkg-config", "--exists", "ompi-c").Run(); err != nil {
		t.Skip("Open MPI is not here for programs to be built with")
	}
	whyslow, err := buildMPI()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Whyslow: whyslow, Cores: 2, Quick: true, Repeats: 1}
}

// TestMPI runs all experiments that need processes: what does not depend on how fast anything is must hold.
func TestMPI(t *testing.T) {
	opt := quickMPI(t)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	names := []string{"overhead-mpi", "pic-mpi"}
	if effort.Long {
		names = append(names, "latency-shm", "latency-tcp")
	}
	r, err := Execute(t.Context(), names, opt)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	sure := []string{"L is zero on one rank and is not on four", "the program computes the same result on both",
		"the factors add up to all processor time, to the nanosecond"}
	seen := map[string]bool{}
	for _, e := range r.Experiments {
		for _, p := range e.Points {
			m := p.Median()
			if m.UNS <= 0 || m.CFs < 10 || m.Output == "" || m.TotalNS != int64(p.Nodes*p.Workers)*m.WallNS+m.ExtraNS {
				t.Errorf("%s %s: %+v", e.Name, p.Label, m)
			}
			if sends := m.MessageBytes > 0; sends != (p.Nodes > 1) {
				t.Errorf("%s %s: %d bytes sent on %d ranks", e.Name, p.Label, m.MessageBytes, p.Nodes)
			}
		}
		for _, c := range e.Checks {
			if slices.Contains(sure, c.Claim) {
				seen[c.Claim] = true
				if !c.Holds {
					t.Errorf("%s: %s: %s", e.Name, c.Claim, c.Saw)
				}
			}
		}
	}
	if len(r.Experiments) != len(names) || len(seen) != len(sure) || r.LeftOut != nil {
		t.Errorf("%d experiments, %v checked, left out: %v", len(r.Experiments), seen, r.LeftOut)
	}
	// A program gives the same whatever its nodes are connected by.
	same := map[string]string{"latency-shm": "latency", "latency-tcp": "latency", "pic-mpi": "pic"}
	for _, e := range r.Experiments[1:] {
		emulated, err := Execute(t.Context(), []string{same[e.Name]}, opt)
		if err != nil {
			t.Fatal(err)
		}
		for k, p := range e.Points {
			if want := emulated.Experiments[0].Points[k].Runs[0].Output; p.Runs[0].Output != want {
				t.Errorf("%s %s: %q, without MPI %q", e.Name, p.Label, p.Runs[0].Output, want)
			}
		}
	}
}

// TestInterruptedMPI: an interrupted run ends, with all its processes.
func TestInterruptedMPI(t *testing.T) {
	opt := quickMPI(t)
	scratch := t.TempDir()
	p := &Point{Nodes: 2, Workers: 1, Ranks: true, Program: "crossed/crossed.fa",
		Args: words(100, 8, 2_000_000_000)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := p.run(ctx, opt.Whyslow, "../../../examples", scratch)
		ended <- err
	}()
	for { // until it records, or ends by itself, which would be wrong
		if _, err := os.Stat(filepath.Join(scratch, "trace", "00000.wst")); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("ended: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for range 2400 { // mpirun ends when its processes have
		if running(t, opt.Whyslow) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%d processes are left", running(t, opt.Whyslow))
}

// running counts the processes of a program.
func running(t *testing.T, program string) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, exe := range all {
		if path, err := os.Readlink(exe); err == nil && strings.TrimSuffix(path, " (deleted)") == program {
			n++
		}
	}
	return n
}
