package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// benchBind measures what it costs, and brings, to keep each worker on a core of its own: nothing where
// workers are always busy, and a wake-up by the kernel wherever one waits for another.
func benchBind(ctx context.Context, b *bench) error {
	bin, err := b.whyslow(ctx)
	if err != nil {
		return err
	}
	number := func(ordinary, quick int) string { return strconv.Itoa(b.pick(ordinary, quick)) }
	cases := []struct {
		what string
		line []string
	}{
		{"one worker, small CFs", []string{"-n", "1", "-w", "1", "../examples/granularity/granularity.fa",
			number(65536, 1024), number(50_000_000, 1_000_000)}},
		{"two workers, always busy", []string{"-n", "1", "-w", "2", "../examples/mxm/mxm.fa", number(8, 2),
			number(100, 10)}},
		{"two nodes that wait for each other", []string{"-n", "2", "-w", "1", "../examples/heat/heat.fa",
			number(200, 20), "8", "0.1", number(40, 2)}},
	}
	rounds := b.pick(9, 2)
	t := b.table("Workers bound to cores", fmt.Sprintf("whyslow run --bind core and --bind none in turns: "+
		"medians of the ratios of %d rounds. Nothing is recorded.", rounds), "", "wall, bound / not",
		"CPU, bound / not", "ms, not bound")
	for _, c := range cases {
		var wall, cpu, ms []float64
		for round := range rounds + 1 {
			var took, used [2]float64
			for i, bind := range []string{"none", "core"} {
				flags := []string{"run", "-q", "--no-trace", "--bind", bind}
				cmd := exec.CommandContext(ctx, bin, append(flags, c.line...)...)
				var said bytes.Buffer
				cmd.Stderr = &said
				start := time.Now()
				if err := cmd.Run(); err != nil {
					if bind == "core" && strings.Contains(said.String(), "need a core each") {
						t.missing(c.what, strings.TrimSpace(said.String()))
						break
					}
					return fmt.Errorf("%s: %w\n%s", c.what, err, said.Bytes())
				}
				took[i] = float64(time.Since(start))
				used[i] = float64(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
			}
			if took[1] == 0 {
				break
			}
			if round > 0 { // the first one compiles the C++
				wall, cpu = append(wall, took[1]/took[0]), append(cpu, used[1]/used[0])
				ms = append(ms, took[0]/1e6)
			}
		}
		if len(wall) > 0 {
			t.row(c.what, ratio(median(wall)), ratio(median(cpu)), median(ms))
		}
	}
	return nil
}
