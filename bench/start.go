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

	"github.com/whyslow/whyslow/internal/run/luna"
)

// benchStart measures the whole command for a program of 20 code fragments whose C++ is cached, against a
// process that does nothing.
func benchStart(ctx context.Context, b *bench) error {
	bin, err := b.whyslow(ctx)
	if err != nil {
		return err
	}
	dir, err := b.temp()
	if err != nil {
		return err
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
	commands := [][]string{{"true"}, {bin, "version"}, {bin, "run", "--no-trace", file}, {bin, "run", file}}
	ms := make([][]float64, len(commands))
	rounds := b.pick(20, 2)
	for round := range rounds + 1 {
		for i, c := range commands {
			start := time.Now()
			out, err := exec.CommandContext(ctx, c[0], c[1:]...).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%s: %w\n%s", strings.Join(c, " "), err, bytes.TrimSpace(out))
			}
			if round > 0 { // the first one compiles the C++
				ms[i] = append(ms[i], float64(time.Since(start).Microseconds())/1000)
			}
		}
	}
	t := b.table("Start-up", fmt.Sprintf("The whole command, median of %d.", rounds), "",
		"ratio to a process that does nothing", "goal, ms", "ms")
	for i, r := range []struct{ name, goal string }{{"a process that does nothing", ""}, {"whyslow version", ""},
		{"whyslow run --no-trace, 20 code fragments, C++ cached", "50"},
		{"whyslow run, the same with trace and report", ""}} {
		t.row(r.name, ratio(median(ms[i])/median(ms[0])), r.goal, median(ms[i]))
	}
	return nil
}

// benchCompile measures the compiler up to the C++ compiler's part on a generated program of about 2 000
// lines.
func benchCompile(_ context.Context, b *bench) error {
	src := generate(2000)
	rounds := b.pick(21, 3)
	var ms []float64
	for range rounds {
		start := time.Now()
		if _, err := luna.Compile(luna.Options{File: "generated.fa", Source: src}); err != nil {
			return err
		}
		ms = append(ms, float64(time.Since(start).Microseconds())/1000)
	}
	lines := bytes.Count(src, []byte("\n"))
	t := b.table("Compiling a LuNA program", fmt.Sprintf("Up to the C++ compiler's part; median of %d.", rounds),
		"lines", "KB", "ms", "thousand lines per second")
	t.row(lines, len(src)/1024, median(ms), float64(lines)/median(ms))
	return nil
}

// generate makes a program of subs with loops, conditions, indexed DFs, rules and locators.
func generate(lines int) []byte {
	var b bytes.Buffer
	b.WriteString("C++ sub put(name c, int v) ${{ c.setValue(v); $}}\nC++ sub add(value a, value b, name c) " +
		"${{ c = a + b; $}}\n")
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
