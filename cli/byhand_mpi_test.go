package cli

import (
	"strings"
	"testing"
)

// Events that the program's code emits are in the trace of each process.
func TestMPIEventsByHand(t *testing.T) {
	needMPI(t)
	t.Parallel()
	dir := manyDir(t, map[string]string{
		"p.fa": "import step(int) as step;\n" +
			"sub main() { for i = 0..3 { cf c[i]: step(i) @ { locator_cyclic: i; }; } }\n",
		"p.cpp": "#include \"whyslow.hpp\"\nextern \"C\" void step(int i) { EMIT_EVENT(Solver, onStep, i); }\n",
	})
	home := lunaHome(t)
	must(t, dir, home, 0, "mpirun -n 2 whyslow run -q -w 1 -o t p.fa")
	out, _ := must(t, dir, home, 0, "whyslow dump t")
	for _, want := range []string{" n0 s0 Solver.onStep arg1=2", " n1 s0 Solver.onStep arg1=3"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
