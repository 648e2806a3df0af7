//go:build cgo

package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever the pieces that text comes in, what is written at once is lines: as many as mpirun reads, or one that is longer.
func TestMPIPassLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text []byte
		for _, n := range rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 60), rapid.IntRange(4000, 9000)), 0, 200).Draw(t, "lengths") {
			text = append(append(text, strings.Repeat("x", n)...), '\n')
		}
		want := bytes.Clone(text)
		if rapid.Bool().Draw(t, "begun") {
			text, want = append(text, "last words"...), append(want, "last words\n"...)
		}
		out := &writes{}
		if err := passLines(&pieces{text, rapid.IntRange(1, 5000).Draw(t, "piece")}, out, func(n int) { out.asked = n }); err != nil {
			t.Fatal(err)
		}
		if got := bytes.Join(out.all, nil); !bytes.Equal(got, want) {
			t.Fatalf("%d bytes instead of %d", len(got), len(want))
		}
		for _, b := range out.all {
			if n := bytes.Count(b, []byte("\n")); b[len(b)-1] != '\n' || len(b) > mpirunReads && n > 1 {
				t.Fatalf("%d lines in %d bytes at once", n, len(b))
			}
		}
	})
}

// A line without an end does not stay for ever.
func TestMPIPassLongLine(t *testing.T) {
	out := &writes{}
	if err := passLines(&pieces{bytes.Repeat([]byte("x"), longestLine+2000), 1000}, out, func(int) {}); err != nil {
		t.Fatal(err)
	}
	if len(out.all) != 2 || len(out.all[0]) < longestLine || out.all[1][len(out.all[1])-1] != '\n' {
		t.Errorf("%d writes", len(out.all))
	}
}

// writes keeps what is written, by write.
type writes struct {
	all   [][]byte
	asked int
}

func (w *writes) Write(b []byte) (int, error) {
	if w.asked > 0 && w.asked != len(b) {
		return 0, fmt.Errorf("%d bytes, space was asked for %d", len(b), w.asked)
	}
	w.all = append(w.all, bytes.Clone(b))
	return len(b), nil
}

// pieces is text that is read so many bytes at a time, at most.
type pieces struct {
	text []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	n := copy(b, p.text[:min(p.n, len(p.text))])
	if p.text = p.text[n:]; n == 0 {
		return 0, os.ErrClosed
	}
	return n, nil
}

// Who reads as much as mpirun never gets a part of a line, however slow; lines that nobody reads are written all the same, and
// when nobody can read them that is an end.
func TestMPIPipeSpace(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		return r, w
	}
	t.Run("read", func(t *testing.T) {
		r, w := pipe()
		go func() {
			_ = passLines(strings.NewReader(strings.Repeat(line, 1000)), w, pipeSpace(w))
			w.Close()
		}()
		b, total := make([]byte, mpirunReads), 0
		for {
			n, err := r.Read(b)
			if err != nil {
				break
			}
			if total += n; b[n-1] != '\n' {
				t.Fatalf("a part of a line after %d bytes", total)
			}
		}
		if total != 1000*len(line) {
			t.Errorf("%d bytes", total)
		}
	})
	t.Run("not read", func(t *testing.T) {
		r, w := pipe()
		if err := passLines(strings.NewReader(strings.Repeat(line, 200)), w, pipeSpace(w)); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if n, err := r.Read(make([]byte, 1<<20)); n != 200*len(line) {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		r, w := pipe()
		r.Close()
		if err := passLines(strings.NewReader(strings.Repeat(line, 200)), w, pipeSpace(w)); err == nil {
			t.Error("no error")
		}
	})
}

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

// Lines of different ranks are not mixed, neither on standard output nor on standard error, though each comes in pieces.
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
				if k, err := fmt.Sscanf(line, "%d %d and so on %d\n", &r, &i, &again); k != 3 || r != again || i != next[r]/each {
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

// However a rank ends within a line, what it wrote last is to be read, on a line of its own. mpirun has its usual time to end the others: in less it does
// not read what comes after the end.
func TestMPILastWords(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home := lunaHome(t)
	dir := manyDir(t, map[string]string{
		"die.cpp": dying,
		"die.fa":  "import c_die(int, int) as die;\nsub main(int how) for r = 0 .. 2 die(r, how) @ { locator_cyclic: r; };\n",
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
		{1, "die crashed: segmentation fault"}, {1, "die aborted (SIGABRT)"}, {1, "die called exit(5)"}, {1, "die called exit(6)"},
		{1, "thread started by the program's C++ code ended the program: aborted"},
		{128 + 9, ""}, {128 + 11, ""},
	} {
		check(fmt.Sprintf("whyslow run -q --no-trace -O0 -w 1 die.fa %d", how), end.code, end.said)
	}
	check("rts ./libucodes.so 0", 128+11, "")
}
