package shmemtest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
)

// Clocks that are wrong by 30 ms and 40 millionths from PE to PE are found and corrected: a barrier was
// entered after the program looked at the clock before it, which is right, and left before it looked
// again.
func TestShmemWrongClocks(t *testing.T) {
	t.Parallel()
	program := compileShmem(t, "clocks.c")
	library, err := shmemLibrary()
	if err != nil {
		t.Fatal(err)
	}
	skew := cctest.Make(t, cctest.Program{Name: "skew.so", Flags: []string{"-O2", "-fPIC"},
		Dir: "../gasptest", Sources: []string{"testdata/skew.c"}, Link: []string{"-shared"}})
	var from unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &from); err != nil {
		t.Fatal(err)
	}
	const pes, ahead, gain = 3, 30_000_000, 40_000
	res := runShmem(t, pes, []string{"WHYSLOW_CLOCK_SYNC=always",
		fmt.Sprint("SKEW=", from.Nano(), " ", ahead, " ", gain), "LD_PRELOAD=" + skew + ":" + library}, program)
	if res.code != 0 {
		t.Fatalf("exit code %d\n%s", res.code, res.output)
	}
	r := res.read(t, true)
	var slack int64
	for _, s := range syncs(t, r) {
		if s[0]-s[1] > -ahead { // on a busy machine it is found less exactly, and says so
			t.Errorf("offset %d ± %d: it is %d at least", s[0], s[1], -ahead)
		}
		slack = max(slack, s[1]+10)
	}
	m, err := model.Build(context.Background(), r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const fold = int64(1) << 52 // times in traces are less than that
	last := m.Regions.Threads[pes-1]
	for i, site := range last.Site {
		if m.Codes[m.Sites[site].Code].Name != "shmem_barrier_all" {
			continue
		}
		line, rest, _ := strings.Cut(res.output, "\n")
		res.output = rest
		var before, after int64
		if _, err := fmt.Sscan(line, &before, &after); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if before, after := before%fold, after%fold; last.Enter[i] < before-slack || last.Exit[i] > after+slack {
			t.Errorf("a barrier from %d to %d, by the program within %d to %d, +- %d", last.Enter[i],
				last.Exit[i], before, after, slack)
		}
	}
	if res.output != "" {
		t.Errorf("left: %q", res.output)
	}
}
