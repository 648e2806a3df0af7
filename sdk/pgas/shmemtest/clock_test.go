package shmemtest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/trace"
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
	skew := skewed(t)
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

// Hosts are told apart by what Linux calls the running system: two of one name have two clocks, and two
// names of one host (as in containers) have one.
func TestShmemHosts(t *testing.T) {
	t.Parallel()
	program := compileShmem(t, "delays.c")
	library, err := shmemLibrary()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		systems, names string
		compared       string // by PE
	}{
		{"aab", "xxx", "001"}, {"aba", "xyx", "010"}, {"aaa", "xyz", "000"}, {"abc", "xxx", "011"},
	} {
		t.Run(c.systems+"-"+c.names, func(t *testing.T) {
			t.Parallel()
			res := runShmem(t, 3, []string{"WHYSLOW_CLOCK_SYNC=auto", "SYSTEMS=" + c.systems, "NAMES=" + c.names,
				"LD_PRELOAD=" + skewed(t) + ":" + library}, program)
			res.ok(t, "")
			r := res.read(t, true)
			asked, told := [3]int{}, [3]int{}
			if err := r.Each(1, func(b *trace.Batch) error {
				for i := range b.N {
					if b.Kind[i] == trace.KindClockSync {
						told[b.Node]++
						asked[b.Node] += int(min(b.Args(i)[1], 1))
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			for pe := range 3 {
				if want := 2 * int(c.compared[pe]-'0'); asked[pe] != want || told[pe] != 2*min(pe, 1) {
					t.Errorf("PE %d compared its clock %d times, want %d; it told %d times", pe, asked[pe], want, told[pe])
				}
				if n := r.Run().Node(pe); n == nil || n.Host != "host-"+c.names[pe:pe+1] {
					t.Errorf("PE %d: %+v", pe, n)
				}
			}
		})
	}
}

// skewed is a library that makes clocks wrong and pretends hosts.
func skewed(t *testing.T) string {
	return cctest.Make(t, cctest.Program{Name: "skew.so", Flags: []string{"-O2", "-fPIC"},
		Dir: "../gasptest", Sources: []string{"testdata/skew.c"}, Link: []string{"-shared"}})
}
