package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/luna"
)

// benchStart measures the whole command for a program of 20 code fragments whose C++ is cached, against a process that
// does nothing.
func benchStart(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "whyslow")
	if out, err := exec.CommandContext(ctx, "go", "build", "-C", "..", "-o", bin, "./cmd/whyslow").CombinedOutput(); err != nil {
		return fmt.Errorf("%v\n%s", err, out)
	}
	var src strings.Builder
	for i := range 20 {
		fmt.Fprintf(&src, "C++ sub f%d(name y, int v) ${{ y.setValue(v); $}}\n", i)
	}
	src.WriteString("sub main()\n{\n    df x;\n")
	for i := range 20 {
		fmt.Fprintf(&src, "    f%d(x[%d], %d);\n", i, i, i)
	}
	src.WriteString("}\n")
	file := filepath.Join(dir, "twenty.fa")
	if err := os.WriteFile(file, []byte(src.String()), 0o666); err != nil {
		return err
	}
	commands := [][]string{{"/bin/true"}, {bin, "version"}, {bin, "run", "--no-trace", file}, {bin, "run", file}}
	ms := make([][]float64, len(commands))
	for round := range 21 {
		for i, c := range commands {
			start := time.Now()
			out, err := exec.CommandContext(ctx, c[0], c[1:]...).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%s: %v\n%s", strings.Join(c, " "), err, bytes.TrimSpace(out))
			}
			if round > 0 { // the first one compiles the C++
				ms[i] = append(ms[i], float64(time.Since(start).Microseconds())/1000)
			}
		}
	}
	fmt.Println("\nStart-up: the whole command, ms (median of 20)")
	for i, name := range []string{"a process that does nothing", "whyslow version", "whyslow run --no-trace, 20 code fragments, C++ cached", "whyslow run, the same with trace and report"} {
		fmt.Printf("%-56s %8.1f\n", name, median(ms[i]))
	}
	return nil
}

// benchCompile measures the compiler up to the C++ compiler's part on a generated program of about 2 000 lines.
func benchCompile(context.Context) error {
	src := generate(2000)
	var ms []float64
	for range 21 {
		start := time.Now()
		if _, err := luna.Compile(luna.Options{File: "generated.fa", Source: src}); err != nil {
			return err
		}
		ms = append(ms, float64(time.Since(start).Microseconds())/1000)
	}
	fmt.Printf("\nCompiling a LuNA program of %d lines (%d KB): %.1f ms (median of 21)\n", bytes.Count(src, []byte("\n")), len(src)/1024, median(ms))
	return nil
}

// generate makes a program of subs with loops, conditions, indexed DFs, rules and locators.
func generate(lines int) []byte {
	var b bytes.Buffer
	b.WriteString("C++ sub put(name c, int v) ${{ c.setValue(v); $}}\nC++ sub add(value a, value b, name c) ${{ c = a + b; $}}\n")
	subs := 0
	for bytes.Count(b.Bytes(), []byte("\n")) < lines-10 {
		fmt.Fprintf(&b, `sub part%d(int n, name x, name y)
{
    df t, done;
    for i = 0 .. n - 1 {
        df local;
        put(local, i * %d + n %% 7) @ { req_count local = 1; };
        add(local, x[i], t[i]) @ { req_count t[i] = 2; locator_cyclic: i; };
        if i %% 2 == 0 && i > 0
            add(t[i], t[i - 1], y[i]) >> (done[i]);
        let k = i + 1, r = t[i] {
            add(r, x[k], y[k * 2]) @ { locator_cyclic: k; };
        }
    }
    while t[s] < %d, s = 0 .. out y[n] {
        put(y[s], s + 1);
    }
} @ {
    locator_cyclic t[i] => i;
}
`, subs, subs+1, subs)
		subs++
	}
	b.WriteString("sub main()\n{\n    df x, y;\n")
	for i := range subs {
		fmt.Fprintf(&b, "    part%d(%d, x[%d], y[%d]);\n", i, i, i, i)
	}
	b.WriteString("}\n")
	return b.Bytes()
}
