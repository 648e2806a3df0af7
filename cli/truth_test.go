package cli

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/internal/testkit/effort"
)

// Programs that are slow for a known reason, and the same programs mended. Each is run, and its whole report
// is held against what is known: the reason is named first, nothing false is said and, in the long form
// (make truth), what is promised for mending it is what mending it gives. Nothing else depends on how fast
// the machine is or what else runs there.

// knownCause is such a program, in testdata/truth.
type knownCause struct {
	name   string
	dir    string   // beside testdata/truth, where it is not there
	fault  string   // arguments of whyslow run
	mended string   // "": mending it is not tried
	first  []string // the advice that may come first, beside that about the machine; none: no advice may
	cause  string   // the advice that mended follows, where another may come first; "": any of first
	also   []string // advice that is true as well, wherever it comes
	waits  []string // the parts of W that it has
	says   []string // in the report or the messages of the run
	never  []string // likewise; see alwaysFalse
	code   int      // the exit code of the run
	spins  int      // so many other processes take the cores meanwhile
	slow   int      // not 0: they take the last core only, and this node is the only one that is to lose time
	kernel bool     // only the kernel tells it
	silent bool     // the kernel does not report how long threads wait for cores
	// processor: the gain is held against in processor time, which does not depend on what else runs.
	processor bool
	// mend gives the arguments of the mended program, where they depend on the advice.
	mend func(a *advise.Advice) string
}

// asleep gives the arguments for a program whose CFs sleep, and that is to count as work: then neither the
// length of a run nor its faults depend on how busy the machine is.
func asleep(codes, args string) string {
	return "--no-waits --thread-clock=off -O0 --cpp-dir " + codes + "codes " + args
}

// advises has such programs, in pairs.
const advises = "../../internal/analysis/advise/testdata/"

// napping is such a pair, run with flags, or the mended one with others.
func napping(pair string, flags [2]string, c knownCause) knownCause {
	c.name, c.dir = pair, advises+pair
	if flags[1] == "" {
		flags[1] = flags[0]
	}
	c.fault, c.mended = asleep("../", flags[0]+" fault.fa"), asleep("../", flags[1]+" mended.fa")
	c.also = append(c.also, "parallelism", "fewer-workers") // all have chains that leave workers idle
	return c
}

var truths = []knownCause{
	{name: "all on one node", fault: "-n 2 -w 1 one_node.fa 1", mended: "-n 2 -w 1 one_node.fa 2",
		first: []string{"one-node"}, says: []string{"All 400 CFs ran on node 0 of 2", "`work` (one_node.fa:5)"},
		never: []string{"CFs are too small", "Fewer nodes"}},
	{name: "tiny CFs", fault: "-w 1 tiny.fa 20000 1", first: []string{"too-small"},
		says:  []string{"One CF should do the work of"},
		never: []string{"into smaller CFs", "into more CFs", "use smaller fragments"},
		mend: func(a *advise.Advice) string {
			n := int(a.Evidence["times"].(float64))
			return fmt.Sprintf("-w 1 tiny.fa %d %d", 20000/n, n)
		}, processor: true},
	{name: "tiny CFs beside busy neighbours", fault: "-w 1 tiny.fa 20000 1", first: []string{"too-small"},
		spins: 2 * runtime.NumCPU(), says: []string{"One CF should do the work of", "Stop other programs"},
		never: []string{"into smaller CFs", "into more CFs", "use smaller fragments", "Use fewer workers"}},
	{name: "tiny CFs on two nodes", fault: "-n 2 -w 1 tiny_chains.fa 8 2500 1", first: []string{"too-small"},
		says:  []string{"One CF should do the work of"},
		never: []string{"into smaller CFs", "into more CFs", "use smaller fragments"},
		mend: func(a *advise.Advice) string {
			n := int(a.Evidence["times"].(float64))
			return fmt.Sprintf("-n 2 -w 1 tiny_chains.fa 8 %d %d", 2500/n, n)
		}, processor: true},
	{name: "a grid of tiny CFs on two nodes", fault: "-n 2 -w 1 tiny_grid.fa 512 30 2",
		also: []string{"far-data", "too-many-nodes"}, first: []string{"too-small"},
		says:  []string{"One CF should do the work of"},
		never: []string{"into smaller CFs", "into more CFs", "use smaller fragments"},
		mend: func(a *advise.Advice) string {
			n := int(a.Evidence["times"].(float64))
			return fmt.Sprintf("-n 2 -w 1 tiny_grid.fa %d 30 %d", 512/n, 2*n)
		}},
	{name: "a narrow grid of tiny CFs on two nodes", fault: "-n 2 -w 1 tiny_grid.fa 16 1000 2",
		also: []string{"far-data", "too-many-nodes"}, first: []string{"too-small"},
		says:  []string{"One CF should do the work of"},
		never: []string{"into smaller CFs", "into more CFs", "use smaller fragments"},
		mend: func(a *advise.Advice) string { // more than a step has: steps become one
			n := int(a.Evidence["times"].(float64))
			return fmt.Sprintf("-n 2 -w 1 tiny_grid.fa 16 %d %d", 1000/n, 2*n)
		}},
	{name: "a grid of four tiny CFs on two nodes", fault: "-n 2 -w 1 tiny_grid.fa 4 4000 2",
		also: []string{"far-data", "too-many-nodes"}, first: []string{"too-small"},
		says:  []string{"One CF should do the work of"},
		never: []string{"into smaller CFs", "into more CFs", "use smaller fragments"},
		mend: func(a *advise.Advice) string {
			n := int(a.Evidence["times"].(float64))
			return fmt.Sprintf("-n 2 -w 1 tiny_grid.fa 4 %d %d", 4000/n, 2*n)
		}, processor: true},
	{name: "one slow CF", fault: "-w 2 slow_cf.fa 1", mended: "-w 2 slow_cf.fa 8",
		first: []string{"parallelism"}, says: []string{"Divide `slow`"},
		never: []string{"CFs are too small", "Divide `work`"}},
	{name: "slow link", fault: "-n 2 -w 1 --link-latency=3ms slow_link.fa 1",
		mended: "-n 2 -w 1 --link-latency=3ms slow_link.fa 0", first: []string{"far-data"},
		also: []string{"parallelism", "too-many-nodes"}, says: []string{"Give `", "the same locator"},
		never: []string{"CFs are too small for", "They are large"}},
	{name: "thin link", fault: "-n 2 -w 1 --link-bandwidth=20M thin_link.fa 1",
		mended: "-n 2 -w 1 --link-bandwidth=20M thin_link.fa 0", first: []string{"far-data", "too-large"},
		also: []string{"parallelism", "too-many-nodes", "never-freed"},
		says: []string{"for `d` from `make`", "link 0->1"}, never: []string{"CFs are too small"}},
	{name: "memory", fault: "-w 1 memory.fa", mended: "-w 1 memory_mended.fa", first: []string{"never-freed"},
		says:  []string{"21 DFs of `b` (4.2 MB", "; 4.2 MB still held at the end", "req_count b"},
		never: []string{"CFs are too small"}},
	{name: "second copies", fault: "-n 2 -w 1 copies.fa", cause: "never-freed",
		first: []string{"never-freed", "far-data", "late-transfer", "too-many-nodes"}, // it lasts 15 ms
		says:  []string{"21 DFs of `b` (4.2 MB", "Memory at most 5.", "instead of 5."},
		never: []string{"CFs are too small"}},
	{name: "imbalance", fault: "-n 2 -w 1 imbalance.fa 10", mended: "-n 2 -w 1 imbalance.fa 6",
		first: []string{"distribution"}, says: []string{"node 0 ran 10 of 12 CFs"},
		never: []string{"CFs are too small", "Fewer nodes", "Fewer workers"}},
	{name: "serial creation", fault: "-w 2 serial.fa", first: []string{"fewer-workers", "parallelism"},
		says: []string{"`step`"}, never: []string{"CFs are too small"}},
	{name: "a DF asked for at the wrong node", fault: "-n 2 -w 1 wrong_node.fa",
		mended: "-n 2 -w 1 wrong_node_mended.fa", code: console.Stuck, first: []string{"locators-disagree"},
		says: []string{"A[1][0] (here A[i][0]): it was made by put(A[i][0], i) at wrong_node.fa:11:9 and lies on " +
			"node 1 (rule at wrong_node.fa:14:7)",
			"add `locator_cyclic A[i][j] => i;` to row", "was made by `put` (wrong_node.fa:11) and lies on " +
				"node 1 (rule at wrong_node.fa:14:7), but `eat` (wrong_node.fa:5) looks for it on node 0 " +
				"(sub row has no rule for it). Two locators of `A` disagree. " +
				"A sub does not know the rules of its caller: add `locator_cyclic A[i][j] => i;` to row.",
			"it was made by put(A[i][0], i) at wrong_node.fa:11 and lies on node 1 (rule at wrong_node.fa:14:7)"},
		never: []string{"no remaining CF can make it", "never produced: 1"}},
	{name: "no fault", fault: "-w 1 work.fa 40"},
	{name: "no fault on two nodes", fault: asleep(advises, "-n 2 -w 1 even.fa")},
	{name: "sleeping", fault: "-w 1 waits.fa 100 0 0 0 1000", mended: "-w 1 waits.fa 100 0 0 0 0",
		waits: []string{"sleep"}, first: []string{"blocked"},
		says:  []string{"mostly asleep", "mostly in `nap`", "`work.cpp:"},
		never: []string{"for an unknown reason (", "CFs are too small"}},
	{name: "sleeping beside busy neighbours", fault: "-w 1 waits.fa 100 0 0 0 1000", spins: 3 * runtime.NumCPU(),
		waits: []string{"sleep"}, first: []string{"blocked"},
		says:  []string{"mostly asleep", "mostly in `nap`", "Stop other programs"},
		never: []string{"CFs are too small"}},
	{name: "waits that are not recorded", fault: "-w 1 --no-waits waits.fa 100 0 0 0 1000",
		mended: "-w 1 --no-waits waits.fa 0 0 0 0 1000", waits: []string{"blocked"}, first: []string{"blocked"},
		says:   []string{"blocked for an unknown reason", "mostly in `nap`", "Run it without --no-waits"},
		never:  []string{"asleep", "A library that it calls", "`work.cpp:", "No CF is known to have held"},
		kernel: true},
	{name: "a lock that is not recorded", fault: "-w 4 --no-waits lock.fa 1",
		mended: "-w 4 --no-waits lock.fa 0", waits: []string{"blocked"}, first: []string{"blocked"},
		says: []string{"blocked for an unknown reason", "Run it without --no-waits"},
		never: []string{"table_mutex", "Hold it for less time", "A library that it calls",
			"No CF is known to have held"},
		kernel: true},
	{name: "nothing to receive", fault: "-w 1 waits.fa 0 20 0 0 8000", mended: "-w 1 waits.fa 0 20 0 0 0",
		waits: []string{"io"}, first: []string{"blocked"},
		says:  []string{"mostly for files and sockets", "mostly in `receive`", "`socket (work.cpp:"},
		never: []string{"mostly asleep", "for an unknown reason ("}},
	{name: "an unseen wait", fault: "-w 1 waits.fa 0 0 40 0 2000", mended: "-w 1 waits.fa 0 0 40 0 0",
		waits: []string{"blocked"}, first: []string{"blocked"},
		says:  []string{"blocked for an unknown reason", "mostly in `unseen`"},
		never: []string{"mostly asleep", "mostly for files"}, kernel: true},
	{name: "a silent kernel", fault: "-w 1 waits.fa 0 0 40 0 2000", mended: "-w 1 waits.fa 0 0 40 0 0",
		first: []string{"off-core"}, silent: true,
		says: []string{"mostly in `unseen` (", "): pre-empted, or blocked for an unknown reason",
			"O.preempt is also the time for which CFs were blocked"},
		never: []string{"ran on their cores", "W.blocked work", "CFs gave up their cores"}},
	{name: "pages on disk", fault: "-w 1 pages.fa 20", first: []string{"blocked"},
		waits: []string{"page-fault", "io"},
		says:  []string{"mostly for pages read from disk", "mostly in `pages`"},
		never: []string{"mostly asleep", "mostly for files", "for an unknown reason ("}, kernel: true},
	{name: "a thread of the program's own", fault: "-w 1 waits.fa 0 0 0 40 2000",
		mended: "-w 1 waits.fa 0 0 0 40 0", waits: []string{"lock"}, first: []string{"contention"},
		says:  []string{"mostly at `work.cpp:", "mostly in `thread`", "No CF is known to have held"},
		never: []string{"Hold it for less time", "mostly asleep"}},
	{name: "one lock", fault: "-w 4 lock.fa 1", mended: "-w 4 lock.fa 0",
		waits: []string{"lock", "sleep"}, first: []string{"contention"}, also: []string{"blocked"},
		says:  []string{"mostly at `table_mutex (work.cpp:", "held most by `", "Hold it for less time"},
		never: []string{"No CF is known to have held", "CFs are too small"}},
	{name: "a condition variable", fault: "-w 4 condition.fa 1", mended: "-w 4 condition.fa 0",
		waits: []string{"lock", "sleep"}, also: []string{"blocked"}, first: []string{"contention"},
		says:  []string{"mostly at `signals (work.cpp:", "mostly in `await`", "No CF is known to have held"},
		never: []string{"Hold it for less time", "CFs are too small"}},
	{name: "more workers than cores", fault: fmt.Sprintf("-w %d work.fa 80", 4*runtime.NumCPU()),
		mended: fmt.Sprintf("-w %d work.fa 80", runtime.NumCPU()), first: []string{"preempted"},
		says:  []string{fmt.Sprintf("%d workers share ", 4*runtime.NumCPU()), "Use fewer workers"},
		never: []string{"other threads (other programs", "Stop other programs", "A library that it calls"}},
	{name: "busy neighbours", fault: "-w 1 work.fa 150", spins: 2 * runtime.NumCPU(),
		first: []string{"preempted"}, says: []string{"Stop other programs"},
		never: []string{"Use fewer workers", "A library that it calls", "CFs are too small"}},
	{name: "one slow node", fault: fmt.Sprintf("-n 2 -w 1 slow_node.fa %d", runtime.NumCPU()-1),
		spins: 3, slow: 1, first: []string{"preempted"},
		says:  []string{"nearly all of it on node 1", "Stop other programs"},
		never: []string{"on node 0:", "Use fewer workers", "CFs are too small"}, kernel: true},
	{name: "busy neighbours of idle workers", fault: fmt.Sprintf("-w %d serial.fa", 2*runtime.NumCPU()),
		spins: 2 * runtime.NumCPU(), first: []string{"fewer-workers", "parallelism"}, cause: "preempted",
		says: []string{"Stop other programs"}, never: []string{"cores of host"}, kernel: true},
	{name: "long CFs on one node", fault: asleep(advises, "-n 2 -w 1 long_cfs.fa 0"),
		mended: asleep(advises, "-n 2 -w 1 long_cfs.fa 1"), first: []string{"distribution"},
		says:  []string{"Node 0 idled most", "; node 1 did ", "mostly of `task` (long_cfs.fa:5)"},
		never: []string{"Fewer nodes", "ran 10 of 20 CFs"}},
	{name: "a DF that nobody makes", fault: "-w 2 never_made.fa", code: console.Stuck,
		says:  []string{"y: no statement of the program makes y", "1 CF never finished", "never produced: 1"},
		never: []string{"lies on node"}},
	napping("parallelism", [2]string{"-w 4"}, knownCause{first: []string{"fewer-workers", "parallelism"},
		cause: "parallelism", says: []string{"keeps 1.0 of 4 workers busy", "Divide `step`"}}),
	napping("order", [2]string{"-w 2"}, knownCause{first: []string{"order"},
		says: []string{"CFs of `step`", "begin a chain"}, never: []string{"Fewer workers", "CFs are too small"}}),
	napping("replicate", [2]string{"-n 3 -w 1 --link-latency=4ms"}, knownCause{
		first: []string{"replicate", "too-many-nodes"}, cause: "replicate",
		says:  []string{"`locator_replicating c => all;`"},
		never: []string{"locator disagrees", "CFs are too small"}}),
	napping("asked-again", [2]string{"-n 2 -w 1 --link-latency=4ms"}, knownCause{
		first: []string{"asked-again", "too-many-nodes"}, cause: "asked-again",
		says: []string{"`locator_cyclic c => expression;`"}, never: []string{"locator_replicating"}}),
	napping("late-transfer", [2]string{"-n 2 -w 1 --link-latency=4ms"}, knownCause{
		first: []string{"late-transfer", "too-many-nodes"}, cause: "late-transfer",
		says: []string{"They travel only on request"}, never: []string{"locator_replicating"}}),
	napping("too-large", [2]string{"-n 2 -w 1 --link-bandwidth=50M"}, knownCause{
		first: []string{"too-large", "fewer-workers", "too-many-nodes"}, cause: "too-large",
		says: []string{"Divide them and `eat` into smaller fragments"}, never: []string{"CFs are too small"}}),
	napping("too-small-to-send", [2]string{"-n 2 -w 1 --link-latency=4ms"}, knownCause{
		first: []string{"too-small-to-send", "too-many-nodes"}, cause: "too-small-to-send",
		says: []string{"Make the fragments larger"}, never: []string{"locator disagrees"}}),
	napping("locators-disagree", [2]string{"-n 3 -w 1 --link-latency=3ms"}, knownCause{
		first: []string{"locators-disagree", "fewer-workers", "too-many-nodes"}, cause: "locators-disagree",
		says: []string{"Give `y` the locator of the CFs that use them"}, never: []string{"locator_replicating"}}),
	napping("migration", [2]string{"-n 2 -w 1 --link-latency=4ms"}, knownCause{also: []string{"far-data"},
		first: []string{"migration", "fewer-workers", "too-many-nodes"}, cause: "migration",
		says: []string{"for CFs of `step`", "Create CFs where they run"}}),
	napping("fewer-workers", [2]string{"-w 6", "-w 2"}, knownCause{first: []string{"fewer-workers"},
		says: []string{"The program is too small for 6 workers", "2 can be as fast"}}),
	napping("too-many-nodes", [2]string{"-n 4 -w 1 --link-latency=4ms", "-w 1"}, knownCause{
		first: []string{"too-many-nodes", "too-small-to-send"}, cause: "too-many-nodes",
		says: []string{"4 nodes take", "Use fewer nodes"}}),
}

const (
	truthTries = 20 // so often the reason may stay unnamed, as what a run shows depends on the machine's load
	gainTries  = 10
	gainPairs  = 3    // so many pairs of runs are compared at least
	quiet      = 0.03 // above this share of pre-emption times say nothing about gains
)

// TestTruth tries every program; see make truth.
func TestTruth(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	home := lunaHome(t)
	dir, err := filepath.Abs("../testdata/truth")
	if err != nil {
		t.Fatal(err)
	}
	for i := range truths {
		c := &truths[i]
		t.Run(c.name, func(t *testing.T) {
			if _, err := os.Stat("/proc/thread-self/schedstat"); err != nil && c.kernel {
				t.Skip(err)
			}
			if _, err := exec.LookPath("taskset"); c.slow > 0 && (err != nil || runtime.NumCPU() < 2) {
				t.Skip("needs taskset and two cores")
			}
			if c.slow > 0 && !effort.Long {
				t.Skip("other tests run beside this one, and other nodes must not lose time: see make truth")
			}
			for range c.spins {
				spin := exec.Command("sh", "-c", "while :; do :; done")
				if c.slow > 0 {
					spin = exec.Command("taskset", "-c", fmt.Sprint(runtime.NumCPU()-1), "sh", "-c", "while :; do :; done")
				}
				if err := spin.Start(); err != nil {
					t.Fatal(err)
				}
				defer spin.Wait()
				defer spin.Process.Kill()
			}
			runs, dir, whyslow := 0, filepath.Join(dir, c.dir), "whyslow"
			if c.silent {
				whyslow = "LD_PRELOAD=" + cctest.Make(t, cctest.Program{Name: "silent.so",
					Compiler: []string{"cc"}, Flags: []string{"-shared", "-fPIC"}, Link: []string{"-ldl"},
					Sources: []string{filepath.Join(dir, "silent.c")}}) + " whyslow"
			}
			run := func(args string, code int) *account {
				t.Helper()
				runs++
				trace := filepath.Join(t.TempDir(), fmt.Sprint(runs))
				_, errs, got, err := shell(dir, home, whyslow+" run -q -o "+trace+" "+args)
				if err != nil || got != code {
					t.Fatalf("whyslow run %s: exit code %d, %v\n%s", args, got, err, errs)
				}
				return accountOf(t, dir, home, trace, errs)
			}
			var a *account
			var faults []string
			for range truthTries {
				a = run(c.fault, c.code)
				if faults = c.check(a); len(faults) == 0 {
					break
				}
				t.Logf("try %d, %.1f %% pre-empted:\n%s", runs, 100*a.lost, strings.Join(faults, "\n"))
			}
			if len(faults) > 0 && c.slow > 0 && a.others(c.slow) > quiet {
				t.Skip("the machine is busy, so other nodes lost time, too")
			}
			for _, f := range faults {
				t.Error(f)
			}
			if !t.Failed() && effort.Long && (c.mended != "" || c.mend != nil) {
				c.gains(t, run)
			}
		})
	}
}

// gains compares what is promised, and what is simulated, with what mending the program gives: the medians of
// some pairs of runs, of those in which hardly any worker lost its core.
func (c *knownCause) gains(t *testing.T, run func(args string, code int) *account) {
	mended, tried, following := c.mended, "", c.first
	var promised, gained, simulated, compared []int64
	if c.cause != "" {
		following = []string{c.cause}
	}
	for range gainTries {
		a := run(c.fault, c.code)
		x := a.find(following)
		if x == nil {
			continue
		}
		if c.mend != nil {
			mended = c.mend(x)
		}
		b := run(mended, console.Done)
		if x.Blocking {
			return // the program ends
		}
		promise, real := x.GainWallNS, a.wall-b.wall
		switch {
		case c.processor:
			ns, _ := x.Evidence["processor_ns"].(float64)
			promise, real = int64(ns), a.cpu-b.cpu
		case x.GainWallNS == 0 && x.GainNS > 0:
			promise, real = x.GainNS, a.total-b.total
		case x.GainBytes > 0:
			promise, real = x.GainBytes, a.bytes-b.bytes
		}
		tried += fmt.Sprintf("\n%s: promised %d, gained %d", x.ID, promise, real)
		lost := b.lost
		if x.ID != "preempted" && x.ID != "off-core" { // else that is the fault
			lost = max(lost, a.lost)
		}
		if lost > quiet && !c.processor && x.GainBytes == 0 {
			tried += fmt.Sprintf(" (%.0f %% pre-empted)", 100*lost)
			continue
		}
		promised, gained = append(promised, promise), append(gained, real)
		// What is simulated is the run's time. Where the advice does not make it shorter, that itself is compared.
		if x.PredictedWallNS > 0 {
			predicted, real := a.wall-x.PredictedWallNS, a.wall-b.wall
			if x.GainWallNS == 0 {
				predicted, real = x.PredictedWallNS, b.wall
			}
			tried += fmt.Sprintf("; simulated %d of %d", predicted, real)
			simulated, compared = append(simulated, predicted), append(compared, real)
		}
		if len(promised) >= gainPairs && near(promised, gained) && near(simulated, compared) {
			t.Log(tried)
			return
		}
	}
	if len(promised) < gainPairs {
		t.Skipf("the machine is busy, so times say nothing:%s", tried)
	}
	t.Errorf("what is promised, or simulated, is not within 30 %% of the gain:%s", tried)
}

// near tells whether the medians of promises and of what became of them are within 30 % of each other.
func near(promised, gained []int64) bool {
	if len(promised) == 0 {
		return true
	}
	r := float64(median(promised)) / float64(median(gained))
	return r > 0.7 && r < 1.3
}

func median(list []int64) int64 {
	list = slices.Sorted(slices.Values(list))
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// TestTruthShmem: a thread that comes last is named at every collective.
func TestTruthShmem(t *testing.T) {
	if !hasShmem() {
		t.Skip("no OpenSHMEM here")
	}
	home, dir := lunaHome(t), t.TempDir()
	program := cctest.Make(t, cctest.Program{Name: "late", Compiler: []string{"oshcc"},
		Flags: []string{"-g", "-O2"}, Sources: []string{"../testdata/truth/late.c"}})
	if err := os.Symlink(program, filepath.Join(dir, "late")); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"barrier", "malloc", "free", "broadcast", "reduce", "fcollect"} {
		t.Run(what, func(t *testing.T) {
			c := &knownCause{first: []string{"late-thread"}, says: []string{"Thread 1 came last"},
				never: []string{"split the barrier"}}
			var faults []string
			for i := range truthTries {
				trace := fmt.Sprintf("%s.%d.trace", what, i)
				_, errs, code, err := shell(dir, home, "whyslow shmem -q -o "+trace+" -- oshrun -np 2 ./late "+what+
					" 60000")
				if err != nil || code != console.Done {
					t.Fatalf("exit code %d, %v\n%s", code, err, errs)
				}
				if faults = c.check(accountOf(t, dir, home, trace, "")); len(faults) == 0 {
					return
				}
			}
			for _, f := range faults {
				t.Error(f)
			}
		})
	}
}

// TestTruthShmemSort: of a sort like kernel IS, with as many keys and turns as in class W, no more is
// promised for a thread that comes last than what it did outside of collectives, by its own account of the
// same run.
func TestTruthShmemSort(t *testing.T) {
	if !hasShmem() {
		t.Skip("no OpenSHMEM here")
	}
	home, dir := lunaHome(t), t.TempDir()
	program := cctest.Make(t, cctest.Program{Name: "sort", Compiler: []string{"oshcc"},
		Flags: []string{"-g", "-O2"}, Sources: []string{"../testdata/truth/sort.c"}})
	if err := os.Symlink(program, filepath.Join(dir, "sort")); err != nil {
		t.Fatal(err)
	}
	for i := range truthTries {
		trace := fmt.Sprintf("%d.trace", i)
		out, errs, code, err := shell(dir, home, "whyslow shmem -q -o "+trace+" -- oshrun -np 2 ./sort 20 10 4")
		if err != nil || code != console.Done {
			t.Fatalf("exit code %d, %v\n%s", code, err, errs)
		}
		worked := regexp.MustCompile(`PE 1 worked (\d+) ns`).FindStringSubmatch(out)
		if worked == nil {
			t.Fatalf("it does not say what it did: %s", out)
		}
		possible, _ := strconv.ParseInt(worked[1], 10, 64)
		x := accountOf(t, dir, home, trace, "").find([]string{"late-thread"})
		if x == nil || x.Evidence["thread"] != "1" {
			continue // the machine was busy
		}
		if x.GainNS > possible {
			t.Errorf("%d ns are promised; thread 1 worked for %d", x.GainNS, possible)
		}
		return
	}
	t.Skip("thread 1, which has most of the keys, was never said to come last: threads had to wait for cores")
}

// TestTruthMPI: what is promised for dividing the work of examples/mpi is what the mended program gains.
func TestTruthMPI(t *testing.T) {
	effort.Only(t)
	if !hasMPICC() {
		t.Skip("no compiler of MPI programs here")
	}
	home, dir := lunaHome(t), t.TempDir()
	const runs = 5
	walls := map[string][]int64{}
	var promised []int64
	for i := range runs {
		for _, name := range []string{"slow", "mended"} {
			source := mpiProgram(t, "../examples/mpi/"+name+".c")
			source.Flags = append(source.Flags, "-finstrument-functions")
			trace := fmt.Sprintf("%s.%d.trace", name, i)
			_, errs, code, err := shell(dir, home, mpiEnvironment+"whyslow mpi -q -o "+trace+" -- mpirun -n 2 "+
				cctest.Make(t, source)+" 1000")
			if err != nil || code != console.Done {
				t.Fatalf("exit code %d, %v\n%s", code, err, errs)
			}
			a := accountOf(t, dir, home, trace, "")
			walls[name] = append(walls[name], a.wall)
			if x := a.find([]string{"late-sender"}); x != nil && name == "slow" {
				promised = append(promised, x.GainNS/2) // of processor time, on two ranks
			}
		}
	}
	if len(promised) < runs {
		t.Errorf("late senders are named in %d of %d runs", len(promised), runs)
		return
	}
	judgePromise(t, promised, walls)
}

// judgePromise compares what advice promised in several runs of a program, in ns of wall time, with what the
// mended one gained.
func judgePromise(t *testing.T, promised []int64, walls map[string][]int64) {
	t.Helper()
	judgeWithin(t, 0.15, promised, walls)
}

// judgeWithin is judgePromise for promises that may be off by a part of what is gained.
func judgeWithin(t *testing.T, off float64, promised []int64, walls map[string][]int64) {
	t.Helper()
	middle := func(of []int64) float64 { return float64(slices.Sorted(slices.Values(of))[len(of)/2]) }
	spread := func(of []int64) float64 { return float64(slices.Max(of)-slices.Min(of)) / middle(of) }
	gained, said := middle(walls["slow"])-middle(walls["mended"]), middle(promised)
	t.Logf("promised %.0f ms, gained %.0f ms; wall times %v", said/1e6, gained/1e6, walls)
	if math.Abs(said-gained) <= off*gained {
		return
	}
	if s := max(spread(walls["slow"]), spread(walls["mended"])); s > off {
		t.Skipf("too busy to judge: runs of one program differ by %.0f %%", 100*s)
	}
	t.Errorf("promised %.0f ms, gained %.0f ms", said/1e6, gained/1e6)
}
