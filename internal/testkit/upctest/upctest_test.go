package upctest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/internal/testkit/effort"
)

// Every pattern's program loses what it was designed to, by its own clock.
func TestCases(t *testing.T) {
	for _, c := range Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel() // they sleep most of the time
			for _, threads := range []int{2, 4} {
				asDesigned(t, c, Options{Threads: threads, Tool: None})
			}
		})
	}
}

// As OpenSHMEM programs they lose time as well. How much is not looked at, with more processes than
// cores: a busy computer delays another process so long at times that nothing is lost.
func TestCasesShmem(t *testing.T) {
	for _, c := range Cases {
		if c.Name != "barrier" && c.Name != "lock" && c.Name != "prefix, partners" {
			continue
		}
		o := Options{Threads: 4, Backend: Shmem, Args: c.Args, Env: c.Env, Tool: None}
		var truth []Lost
		lost := false
		for try := 0; try < 20 && !lost; try++ {
			truth = Truth(t, Run(t, c.Program, o))
			_, seen := Of(truth, Patterns(truth)[0], 4)
			lost = slices.Max(seen) > 0
		}
		if !lost {
			t.Errorf("%s: %v", c.Name, truth)
		}
	}
}

func asDesigned(t *testing.T, c Case, o Options) {
	t.Helper()
	o.Args, o.Env = c.Args, c.Env
	Undisturbed(t, func() string { return deviation(Truth(t, Run(t, c.Program, o)), o.Threads) })
}

// deviation says what is not as designed, "" if all is.
func deviation(truth []Lost, threads int) string {
	for _, p := range Patterns(truth) {
		design, seen := Of(truth, p, threads)
		for i := range design {
			if d := seen[i] - design[i]; d < -8*time.Millisecond || d > 8*time.Millisecond {
				return fmt.Sprintf("%d threads lost %v by %s, meant to lose %v", threads, seen, p, design)
			}
		}
	}
	return ""
}

// The operations do what UPC says, with all ways to synchronise, whatever the number of threads.
func TestEvery(t *testing.T) {
	for _, threads := range []int{1, 2, 4, 7} {
		for _, sync := range []string{"barrier", "partners"} {
			text := Output(t, Run(t, "every", Options{Threads: threads, Env: []string{"UPC_MYSYNC=" + sync},
				Tool: None}))
			if text != "all of it works\n" {
				t.Errorf("%d threads, %s: %q", threads, sync, text)
			}
		}
	}
	Run(t, "every", Options{Threads: 3, Args: []string{"exit"}, Tool: None, Status: 7})
}

// Instrumented as both implementations are, recorded, and with a network that takes time.
func TestEveryRecorded(t *testing.T) {
	for _, env := range [][]string{nil, {"UPC_TABLE=gupc"}, {"UPC_INST=local"}, {"UPC_INST=functions"},
		{"UPC_LATENCY=20", "UPC_BANDWIDTH=1000"}} {
		Run(t, "every", Options{Threads: 3, Env: env})
	}
	Run(t, "every", Options{Threads: 2, Backend: Shmem})
	Run(t, "every", Options{Threads: 3, Args: []string{"exit"}, Status: 7})
	Run(t, "every", Options{Threads: 3, Args: []string{"quit"}, Status: 8})
	Run(t, "every", Options{Threads: 3, Args: []string{"kill"}, Status: -1})
}

var kernels = []Case{
	{"ep", "ep", []string{"100", "1000"}, nil},
	{"is", "is", []string{"20", "12", "4"}, nil},
	{"is, optimised", "is", []string{"20", "12", "4", "optimised"}, nil},
	{"cg", "cg", []string{"1000", "4", "10", "50"}, nil},
	{"ft", "ft", []string{"16", "3"}, nil},
	{"mg", "mg", []string{"16", "3"}, nil},
}

// The kernels compute the same whoever computes it.
func TestKernels(t *testing.T) {
	sums := map[string]string{}
	for _, k := range kernels {
		for _, o := range []Options{{Threads: 1, Tool: None}, {Threads: 2}, {Threads: 4, Tool: None},
			{Threads: 4, Env: []string{"UPC_MYSYNC=partners", "UPC_LATENCY=5"}, Tool: None}, {Threads: 2,
				Backend: Shmem}} {
			if o.Backend == Shmem && Missing(Shmem) != nil {
				continue
			}
			o.Args = k.Args
			fields := strings.Fields(Output(t, Run(t, k.Program, o)))
			if len(fields) != 5 || fields[0] != k.Program || fields[1] != "checksum" || fields[3] != "seconds" {
				t.Fatalf("%s printed %q", k.Name, fields)
			}
			if sums[k.Program] == "" {
				sums[k.Program] = fields[2]
			}
			if fields[2] != sums[k.Program] {
				t.Errorf("%s: checksum %s with %+v, %s before", k.Name, fields[2], o, sums[k.Program])
			}
		}
	}
}

// Nothing is read or written that should not be. (The other kernels were looked at by hand; compiling
// takes long.)
func TestSanitizers(t *testing.T) {
	effort.Only(t)
	for _, flag := range []string{"-fsanitize=address,undefined", "-fsanitize=thread"} {
		cctest.Sanitized(t, cctest.Program{Name: "try", Flags: []string{flag},
			Sources: []string{cctest.Source(t, "try.c", "int main(void) { return 0; }\n")}})
		for _, c := range []Case{{"", "every", nil, nil}, kernels[2], kernels[5]} {
			Run(t, c.Program, Options{Threads: 4, Args: c.Args,
				Flags: []string{flag, "-fno-sanitize-recover=all", "-O1"}, Tool: None})
		}
	}
}

func TestNoSuchProgram(t *testing.T) {
	if _, err := Build(context.Background(), "nothing", Threads, None); err == nil {
		t.Error("it was built")
	}
}
