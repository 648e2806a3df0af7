// Package check tests the particle-in-cell program beside it.
package check

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var whyslow string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "pic-*")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		whyslow = filepath.Join(dir, "whyslow")
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", whyslow, "../../../cmd/whyslow")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// pic runs the program and returns its output.
func pic(t *testing.T, nodes, workers int, args ...any) string {
	t.Helper()
	return run(t, "pic.fa", nodes, workers, args...)
}

// run runs a program and returns its output.
func run(t *testing.T, program string, nodes, workers int, args ...any) string {
	t.Helper()
	command := []string{"run", "-q", "--no-trace", "-n", fmt.Sprint(nodes), "-w", fmt.Sprint(workers),
		"../" + program}
	for _, a := range args {
		command = append(command, fmt.Sprint(a))
	}
	cmd := exec.Command(whyslow, command...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("whyslow %v: %v\n%s", command, err, stderr.String())
	}
	return string(out)
}

// TestSequential compares with the plain method: iteration counts are equal, sums differ in rounding only.
// The cases have large and small meshes and slabs, slabs of different thickness, and particles that hit the
// walls.
func TestSequential(t *testing.T) {
	for _, c := range []struct {
		n, particles, slabs, steps, nodes int
		eps                               float64
	}{
		{4, 1, 1, 3, 1, 1e-6},
		{8, 300, 3, 12, 2, 1e-5},
		{16, 2000, 8, 4, 3, 1e-4},
		{10, 500, 1, 3, 1, 1e-4},
		{6, 50, 3, 400, 1, 1e-3},
	} {
		t.Run(fmt.Sprintf("%d^3_%d_in_%d", c.n, c.particles, c.slabs), func(t *testing.T) {
			got := strings.Split(strings.TrimSpace(pic(t, c.nodes, 1, c.n, c.particles, c.slabs, c.steps,
				fmt.Sprintf("%.6f", c.eps), c.nodes)), "\n")
			if len(got) != c.steps+1 {
				t.Fatalf("%d lines of %d steps:\n%s", len(got), c.steps, strings.Join(got, "\n"))
			}
			s := newSequential(c.n, c.particles)
			var want state
			for i := range c.steps {
				want = s.step(c.eps)
				var step, iterations int
				var energy, kinetic, potential float64
				if _, err := fmt.Sscanf(got[i], "step %d: %d iterations, energy %f = %f kinetic %f potential", &step,
					&iterations, &energy, &kinetic, &potential); err != nil {
					t.Fatalf("%q: %v", got[i], err)
				}
				if step != i || iterations != want.iterations || !near(kinetic, want.kinetic) ||
					!near(potential, want.potential) || !near(energy, want.kinetic+want.potential) {
					t.Fatalf("%s\nwanted %d iterations, %.9f kinetic, %.9f potential", got[i], want.iterations, want.kinetic,
						want.potential)
				}
			}
			var particles, n, slabs int
			var mass float64
			var p [3]float64
			if _, err := fmt.Sscanf(got[c.steps], "pic: %d particles, %d^3 points in %d slabs: mass %f, momentum %f "+
				"%f %f", &particles, &n, &slabs, &mass, &p[0], &p[1], &p[2]); err != nil {
				t.Fatalf("%q: %v", got[c.steps], err)
			}
			if particles != c.particles || n != c.n || slabs != c.slabs || !near(mass, 1) {
				t.Errorf("%s", got[c.steps])
			}
			for i := range p {
				if !near(p[i], want.momentum[i]) {
					t.Errorf("momentum is %v, wanted %v", p, want.momentum)
				}
			}
		})
	}
}

// TestBoxes: in boxes the same happens as in slabs, with small and large boxes, of unequal sizes, with
// particles that hit the walls and those that leave through edges and corners: iteration counts are equal,
// sums differ in rounding only. Where it runs makes no difference at all.
func TestBoxes(t *testing.T) {
	for _, c := range []struct {
		n, particles, slabs, parts, steps int
		eps                               string
	}{
		{4, 1, 1, 1, 3, "0.000001"},
		{4, 3, 1, 2, 30, "0.0001"},
		{8, 300, 3, 3, 12, "0.00001"},
		{16, 2000, 8, 4, 4, "0.0001"},
		{6, 50, 3, 3, 60, "0.001"},
	} {
		want := strings.Split(pic(t, 1, 1, c.n, c.particles, c.slabs, c.steps, c.eps, 1), "\n")
		for _, nodes := range []int{1, 3} {
			text := run(t, "boxes.fa", nodes, 1, c.n, c.particles, c.parts, c.steps, c.eps, nodes)
			if nodes > 1 && text != strings.Join(want, "\n") {
				t.Errorf("%+v: on %d nodes:\n%swanted:\n%s", c, nodes, text, strings.Join(want, "\n"))
			}
			got := strings.Split(text, "\n")
			for i := range c.steps {
				var step, iterations, again int
				var a, b [3]float64
				for k, into := range []*[3]float64{&a, &b} {
					line := []string{got[i], want[i]}[k]
					if _, err := fmt.Sscanf(line, "step %d: %d iterations, energy %f = %f kinetic %f potential", &step,
						&again, &into[0], &into[1], &into[2]); err != nil || step != i {
						t.Fatalf("%q: %v", line, err)
					}
					if iterations > 0 && again != iterations {
						t.Errorf("%+v, step %d: %d iterations, and %d", c, i, iterations, again)
					}
					iterations = again
				}
				for k := range a {
					if !near(a[k], b[k]) {
						t.Fatalf("%+v: %s, in slabs %s", c, got[i], want[i])
					}
				}
			}
			want = got
		}
	}
}

// near allows the last printed digit to differ.
func near(a, b float64) bool { return math.Abs(a-b) < 2e-9 }

// TestShapes expects the same digits on any number of nodes and workers.
func TestShapes(t *testing.T) {
	want := pic(t, 1, 1, 16, 1500, 5, 3, "0.0001", 1)
	for _, shape := range [][2]int{{1, 4}, {4, 1}, {2, 2}} {
		if got := pic(t, shape[0], shape[1], 16, 1500, 5, 3, "0.0001", shape[0]); got != want {
			t.Errorf("%d nodes x %d workers:\n%swanted:\n%s", shape[0], shape[1], got, want)
		}
	}
}

// TestConserved: as the cloud collapses, its energy stays constant within a thousandth, and its momentum
// except for the pull of the walls.
func TestConserved(t *testing.T) {
	lines := strings.Split(pic(t, 1, 2, 16, 4000, 4, 25, "0.00001", 1), "\n")
	energy := func(line string) (e, kinetic float64) {
		var a, b int
		if _, err := fmt.Sscanf(line, "step %d: %d iterations, energy %f = %f", &a, &b, &e, &kinetic); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return e, kinetic
	}
	first, slow := energy(lines[0])
	last, fast := energy(lines[24])
	if math.Abs(last-first) > 2e-3*math.Abs(first) || fast < 1.5*slow {
		t.Errorf("energy %f, then %f; kinetic %f, then %f", first, last, slow, fast)
	}
}

// TestBadArguments: an impossible division is reported in one line, with the possible ones.
func TestBadArguments(t *testing.T) {
	for _, args := range [][]string{{"16", "10", "9", "1", "0.1", "1"}, {"7", "10", "1", "1", "0.1", "1"},
		{"2", "10", "1", "1", "0.1", "1"}, {"16", "0", "2", "1", "0.1", "1"}} {
		cmd := exec.Command(whyslow, append([]string{"run", "-q", "--no-trace", "-w", "1", "../pic.fa"},
			args...)...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out),
			"the mesh must be even and 4 or more") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}
