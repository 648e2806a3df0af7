package gasptest

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// syncs are the comparisons of the clocks of each node.
func syncs(t *testing.T, r *trace.Reader, nodes int) [][]model.ClockSync {
	t.Helper()
	all := make([][]model.ClockSync, nodes)
	err := r.Each(1, func(b *trace.Batch) error {
		for i := range b.N {
			if b.Kind[i] == trace.KindClockSync {
				a := b.Args(i)
				all[b.Node] = append(all[b.Node], model.ClockSync{Time: b.Time[i], Offset: int64(a[0]),
					Error: int64(a[1])})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// monotonic is the time of the clock that all processes of this host have.
func monotonic(t *testing.T) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}

// How clocks are made wrong: that of process p is p * ahead at a time from, and gains p * gain in a second.
const (
	ahead = 30_000_000
	gain  = 40_000
)

// checkOffsets checks comparisons of the clock of a process with the truth.
func checkOffsets(t *testing.T, process int, from int64, list []model.ClockSync) {
	t.Helper()
	const fold = int64(1) << 52 // times in traces are less than that
	from %= fold
	for _, s := range list {
		since := float64(s.Time-from-int64(process)*ahead) / (1 + float64(process)*gain/1e9)
		truth := from + int64(since) - s.Time
		if d := s.Offset - truth; max(d, -d) > s.Error+10 || s.Error == 0 {
			t.Errorf("process %d: offset %d, error %d, the truth is %d", process, s.Offset, s.Error, truth)
		}
	}
}

// Threads that are processes of different hosts compare their clocks with those that do, and are right
// within the errors told.
func TestClocksOfHosts(t *testing.T) {
	t.Parallel()
	res := run(t, compile(t, "clocks", "mute"), []string{"CLOCKS_BEGIN=0"}, "2", "1")
	res.ok(t, 0, "")
	r := open(t, res.trace)
	if got := r.Run().Settings["clock_sync"]; got != "not compared: the program has no whyslow_upc_put and "+
		"whyslow_upc_get" || len(syncs(t, r, 2)[1]) > 0 {
		t.Errorf("clock_sync: %q", got)
	}
	const compared, some, not = "compared", "compared, but for threads that are not recorded",
		"not compared: there are threads that are not recorded"
	for _, c := range []struct {
		args  string
		env   string
		clock string // the setting
		syncs string // by thread: how often compared, = is with the same clock
	}{
		{args: "2 1", clock: compared, syncs: "0 2"},
		{args: "4 1", clock: compared, syncs: "0 2 2 2"},
		{args: "4 1 x 2", clock: compared, syncs: "0 2= 2 2"}, // two hosts
		{args: "3 2", clock: compared, syncs: "0 2= 2 2 2 2"}, // two threads in each process
		{args: "3 1 x 1", clock: "one host", syncs: "0 2= 2="},
		{args: "4 1 one_name 2", clock: compared, syncs: "0 2= 2 2"},
		{args: "3 1 own_names 1", clock: "one host", syncs: "0 2= 2="},
		{args: "3 1 own_time 1", clock: compared, syncs: "0 2 2"},
		{args: "3 1 x 1", env: "WHYSLOW_CLOCK_SYNC=always", clock: compared, syncs: "0 2 2"},
		{args: "3 1 x 3", env: "WHYSLOW_CLOCK_SYNC=off", clock: "off", syncs: "0 0 0"},
		{args: "1 3 x", env: "WHYSLOW_CLOCK_SYNC=always", syncs: "0 0 0"},
		{args: "3 1 none", clock: compared, syncs: "0 1 1"}, // no barrier: only at the end
		{args: "3 1 switched", clock: compared, syncs: "0 2 2"},
		{args: "3 1 one_by_one", clock: compared, syncs: "0 2 2"},
		{args: "3 1 off", clock: some, syncs: "0 0 2"},
		{args: "2 1 off", clock: not, syncs: "0 0"},
		{args: "3 1 off_0", syncs: "- 0 0"},
		{args: "3 1 odd", clock: some, syncs: "0 1 2"},
		{args: "3 1 mute", clock: compared, syncs: "0 0 0"},
	} {
		t.Run(c.args+c.env, func(t *testing.T) {
			t.Parallel()
			var args []string
			for _, a := range strings.Fields(c.args) {
				args = append(args, strings.ReplaceAll(a, "_", " "))
			}
			from := monotonic(t)
			res := run(t, compile(t, "clocks", "plain"), []string{c.env, fmt.Sprint("CLOCKS_BEGIN=", from)}, args...)
			res.ok(t, 0, "")
			if strings.Contains(c.args, "off_0") { // who writes run.json is not recorded
				return
			}
			r := open(t, res.trace, trace.Missing)
			if got := r.Run().Settings["clock_sync"]; got != c.clock {
				t.Errorf("clock_sync: %q, want %q", got, c.clock)
			}
			want := strings.Fields(c.syncs)
			all := syncs(t, r, len(want))
			got := make([]string, len(want))
			for i, list := range all {
				got[i] = fmt.Sprint(len(list))
				if len(list) > 0 && list[0].Error == 0 && list[0].Offset == 0 {
					got[i] += "="
				}
			}
			if strings.Join(got, " ") != c.syncs {
				t.Fatalf("comparisons %v, want %v: %v", got, want, all)
			}
			for _, n := range want {
				if strings.HasSuffix(n, "=") {
					return
				}
			}
			nodes := int(c.args[2] - '0')
			for i, list := range all {
				checkOffsets(t, i/nodes, from, list)
			}
		})
	}
}
