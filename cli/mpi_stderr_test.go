//go:build cgo && linux

package cli

import (
	"fmt"
	"strings"
	"testing"
)

const inPieces = `C++ sub say(int r, int n) ${{
    for (int i = 0; i < n; i++) {
        std::cerr << r << ' ' << i << " and so on " << r << std::endl;
        std::cout << r << ' ' << i << " and so on " << r << std::endl;
        fprintf(stderr, "%d ", r);
        fprintf(stderr, "%d and so on ", i);
        fprintf(stderr, "%d\n", r);
    }
$}}
sub main(int n) for r = 0 .. 3 say(r, n) @ { locator_cyclic: r; };
`

// Lines of different ranks are not mixed, neither on standard output nor on standard error, though each comes
// in pieces.
func TestMPIStderr(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t), manyDir(t, map[string]string{"pieces.fa": inPieces})
	must(t, dir, home, 0, "luna -q -c -O0 pieces.fa")
	const n = 2000
	for _, command := range []string{"whyslow run -q --no-trace -O0 -w 1 pieces.fa", "rts ./libucodes.so"} {
		stdout, stderr := must(t, dir, home, 0, fmt.Sprintf("mpirun -n 4 %s %d", command, n))
		for text, each := range map[string]int{stdout: 1, stderr: 2} {
			var next [4]int
			for line := range strings.Lines(coresLine.ReplaceAllString(text, "")) {
				var r, i, again int
				if k, err := fmt.Sscanf(line, "%d %d and so on %d\n", &r, &i, &again); k != 3 || r != again ||
					i != next[r]/each {
					t.Fatalf("%s: %q, %v", command, line, err)
				}
				next[r]++
			}
			if next != [4]int{n * each, n * each, n * each, n * each} {
				t.Errorf("%s: %v lines", command, next)
			}
		}
	}
}

const dying = `#include <csignal>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <unistd.h>
extern "C" void c_die(int r, int how) {
    for (int i = 0; i < 100; i++) std::cerr << r << " says " << i << std::endl;
    if (r != 1) return;
    std::cerr << "last " << "words";
    switch (how) {
    case 0: *(volatile int *)nullptr = 1; break;
    case 1: abort();
    case 2: exit(5);
    case 3: _exit(6);
    case 4: std::thread([] { abort(); }).join(); break;
    case 5: raise(SIGKILL); break;
    case 6: signal(SIGSEGV, SIG_DFL); *(volatile int *)nullptr = 1; break;
    }
}
`

// However a rank ends within a line, what it wrote last is to be read, on a line of its own. mpirun has its
// usual time to end the others: in less it does not read what comes after the end.
func TestMPILastWords(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home := lunaHome(t)
	dir := manyDir(t, map[string]string{
		"die.cpp": dying,
		"die.fa": "import c_die(int, int) as die;\nsub main(int how) for r = 0 .. 2 die(r, how) @ " +
			"{ locator_cyclic: r; };\n",
	})
	must(t, dir, home, 0, "luna -q -c -O0 die.fa")
	check := func(command string, code int, said string) {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			_, stderr := must(t, dir, home, code, "mpirun -n 3 "+command)
			if strings.Count("\n"+stderr, "\nlast words\n") != 1 || !strings.Contains(stderr, said) {
				t.Errorf("%s", stderr)
			}
			for line := range strings.Lines(stderr) {
				var r, i int
				if n, _ := fmt.Sscanf(line, "%d says %d\n", &r, &i); strings.Contains(line, "says") && n != 2 {
					t.Errorf("%q", line)
				}
			}
		})
	}
	for how, end := range []struct {
		code int
		said string // by rank 0
	}{
		{1, "die crashed: segmentation fault"}, {1, "die aborted (SIGABRT)"}, {1, "die called exit(5)"},
		{1, "die called exit(6)"},
		{1, "thread started by the program's C++ code ended the program: aborted"},
		{128 + 9, ""}, {128 + 11, ""},
	} {
		check(fmt.Sprintf("whyslow run -q --no-trace -O0 -w 1 die.fa %d", how), end.code, end.said)
	}
	check("rts ./libucodes.so 0", 128+11, "")
}
