package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// What modules see of runs, with and without a trace: all values, all names, and everything given back at the
// end.

// ledger does what modules do with events: it keeps accounts, and asks what every number means.
type ledger struct {
	mu     sync.Mutex
	ses    *prof.Session
	node   map[int]*account
	faults []string
	names  map[[2]int]string // DFs by node and number
	runs   int               // executions
	exact  bool              // one worker: nothing happens while lengths are recorded
	most   int64             // CFs ready
	first  map[[2]int]trace.Kind
	last   map[[2]int]trace.Kind
}

type account struct {
	cfs, copies, bytes, ready, idle, running, foreign int64
	waiting                                           map[uint64]bool // ready, not started
	sending                                           map[uint64]uint64
}

func (l *ledger) fault(format string, args ...any) {
	if len(l.faults) < 10 {
		l.faults = append(l.faults, fmt.Sprintf(format, args...))
	}
}

func keepLedger(t testing.TB, ses *prof.Session) *ledger {
	t.Helper()
	l := &ledger{ses: ses, node: map[int]*account{}, names: map[[2]int]string{}, first: map[[2]int]trace.Kind{},
		last: map[[2]int]trace.Kind{}}
	if err := ses.ConnectMatching([]string{"*"}, "ledger", 0, l.event); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *ledger) event(s *prof.Stream, a *prof.Any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.node[s.Node()]
	if n == nil {
		n = &account{sending: map[uint64]uint64{}, waiting: map[uint64]bool{}}
		l.node[s.Node()] = n
	}
	k := [2]int{s.Node(), s.ID()}
	if l.first[k] == 0 {
		l.first[k] = a.Spec.Kind
	}
	l.last[k] = a.Spec.Kind
	for i, f := range a.Spec.Fields {
		switch f.Type {
		case trace.FieldDF:
			l.df(s, a, trace.DF(a.Words[i]))
		case trace.FieldDFs:
			for _, w := range a.List() {
				l.df(s, a, trace.DF(w))
			}
		case trace.FieldSite:
			if d := l.ses.Describe().Site(s.Node(), trace.Site(a.Words[i])); d.Code == "" || d.Text == "" ||
				d.File == "" || d.Line == 0 {
				l.fault("%v: statement %d is %+v", a.Spec, a.Words[i], d)
			}
		}
	}
	word := func(i int) int64 { return int64(a.Words[i]) }
	switch a.Spec.Kind {
	case trace.KindCFCreated, trace.KindCFReceived:
		n.cfs++
	case trace.KindCFDestroyed, trace.KindCFMigrated, trace.KindCFStolen:
		n.cfs--
		delete(n.waiting, a.Words[0])
	case trace.KindCFReady:
		n.waiting[a.Words[0]] = true
	case trace.KindCFStarted:
		delete(n.waiting, a.Words[0])
		l.runs++
		n.running++
	case trace.KindCFFinished:
		n.running--
	case trace.KindForeignStarted:
		n.foreign++
	case trace.KindForeignEnded:
		n.foreign--
	case trace.KindDFStored:
		n.copies++
		n.bytes += word(1)
	case trace.KindDFDropped:
		n.copies--
		n.bytes -= word(1)
	case trace.KindIdle:
		n.idle++
	case trace.KindBusy:
		n.idle--
	case trace.KindReadyQueue:
		n.ready = word(0)
		if l.most = max(l.most, n.ready); l.exact && n.ready > 0 && int(n.ready) != len(n.waiting) {
			l.fault("n%d: %d CFs are ready, %d are told", s.Node(), len(n.waiting), n.ready)
		}
	case trace.KindSendQueue:
		n.sending[a.Words[0]] = a.Words[1]
	}
}

// df checks that a DF is known by the name it always had.
func (l *ledger) df(s *prof.Stream, a *prof.Any, df trace.DF) {
	text := prof.DFText(l.ses.Describe(), s.Node(), df)
	k := [2]int{s.Node(), int(df)}
	switch old := l.names[k]; {
	case df == 0 || strings.HasPrefix(text, "#"):
		l.fault("n%d %v: %s is not known", s.Node(), a.Spec, text)
	case old == "":
		l.names[k] = text
	case old != text:
		l.fault("n%d %v: DF %d is %s and %s", s.Node(), a.Spec, df, old, text)
	}
}

// balance says what is not zero at the end.
func (l *ledger) balance() string {
	var out []string
	for i, n := range l.node {
		for name, v := range map[string]int64{"cfs": n.cfs, "copies": n.copies, "bytes": n.bytes, "ready": n.ready, "idle": n.idle, "running": n.running, "foreign": n.foreign} {
			if v != 0 {
				out = append(out, fmt.Sprintf("n%d %s %d", i, name, v))
			}
		}
		for peer, v := range n.sending {
			if v != 0 {
				out = append(out, fmt.Sprintf("n%d sending to %d: %d", i, peer, v))
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// ends checks that the run begins and ends for every stream as it should.
func (l *ledger) ends(t *testing.T, s shape) {
	t.Helper()
	if want := s.nodes * (s.workers + 2); len(l.first) != want {
		t.Errorf("%v: %d streams, wanted %d", s, len(l.first), want)
	}
	for k := range l.first {
		if l.first[k] != trace.KindProgramStarted || l.last[k] != trace.KindProgramFinished {
			t.Errorf("%v: stream %v begins with %v and ends with %v", s, k, l.first[k], l.last[k])
		}
	}
}

// watchRun runs a program that is not recorded.
func watchRun(t *testing.T, src string, s shape) (*ledger, *engine.Result, error) {
	t.Helper()
	p := compile(t, src)
	ses := prof.New()
	l := keepLedger(t, ses)
	l.exact = s.nodes*s.workers == 1
	cfg := engine.Config{Program: p, Library: open(t, p), Nodes: s.nodes, Workers: s.workers, Session: ses,
		DescribeDFs: true}
	if s.set != nil {
		s.set(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if s.after > 0 {
		time.AfterFunc(s.after, cancel)
	}
	var res *engine.Result
	var err error
	captured(t, func() { res, err = engine.Run(ctx, cfg) })
	for _, f := range l.faults {
		t.Errorf("%v: %s", s, f)
	}
	return l, res, err
}

const farAndWide = `
	sub f(name a, int k) { put(a[k][k + 1], k) @ { req_count a[k][k + 1] = 3; }; } @ { locator_cyclic a[i][j] => i; }
	sub main()
	{
		df grid, x, n, text, pushed, s, j;
		for i = 0 .. 40 {
			f(grid[7], i);
			show("v", grid[7][i][i + 1]) @ { locator_cyclic: i; };
			add(grid[7][i][i + 1], grid[7][i][i + 1], s[i]) @ { locator_cyclic: grid[7][i][i + 1] + 1; req_count s[i] = 1; };
			out_i("s", s[i]) @ { locator_cyclic: i + 2; };
		}
		while x[k] < 6, k = 0 .. out n { put(x[k + 1], x[k] + 1) @ { delete x[k]; stealable; }; } @ { locator_cyclic: k; }
		put(x[0], 0);
		cf reader: show("pushed", pushed[1]) @ { wait pushed[1]; locator_cyclic: 1; };
		put(pushed[1], 5) @ { afterpush pushed[1] => reader; };
		put_s(text, "kept to the end") @ { locator_replicating text => all; };
		two(j[0], j[1], 3) @ { drop j[1]; };
	} @ { locator_cyclic grid[a][i][j] => i; locator_cyclic reader => 1; locator_replicating text => all; locator_cyclic s[i] => i; }`

func TestModulesWithoutTrace(t *testing.T) {
	for _, s := range []shape{one, {nodes: 1, workers: 4}, {nodes: 4, workers: 1},
		{nodes: 3, workers: 2, set: func(c *engine.Config) { c.Steal = true }}} {
		l, res, err := watchRun(t, farAndWide, s)
		if err != nil {
			t.Errorf("%v: %v", s, err)
			continue
		}
		if b := l.balance(); b != "" {
			t.Errorf("%v: %s", s, b)
		}
		l.ends(t, s)
		names := map[string]bool{}
		for _, n := range l.names {
			names[n] = true
		}
		for _, want := range []string{"grid[7][3][4]", "x[0]", "n", "text", "pushed[1]", "s[40]", "j[1]"} {
			if !names[want] {
				t.Errorf("%v: %s was not seen", s, want)
			}
		}
		if l.runs < int(res.Atomic) {
			t.Errorf("%v: %d executions, %d atomic ones", s, l.runs, res.Atomic)
		}
	}
}

// What is recorded as the queue of ready CFs is those that are ready and not started, not all that wait for a
// worker: most of these have not even asked for their inputs.
func TestReadyQueueHasReadyCFs(t *testing.T) {
	l, _, err := watchRun(t, `sub main() {
			df x, y;
			for i = 0..40 { busy(500); add(x[i], x[i], y[i]); }
			for i = 0..40 { put(x[i], i); }
		}`, one)
	if err != nil || l.most == 0 {
		t.Error(l.most, err)
	}
}

// TestBalance looks at runs that do not end well: nothing that was stored stays so, and what is left are CFs.
func TestBalance(t *testing.T) {
	left := func(l *ledger) string { // what may be left: CFs that never ended
		var out []string
		for _, w := range strings.Split(l.balance(), ", ") {
			if f := strings.Fields(w); len(f) < 2 || f[1] != "cfs" {
				out = append(out, w)
			}
		}
		return strings.Join(out, ", ")
	}
	for name, c := range map[string]struct {
		src   string
		after time.Duration
		hold  time.Duration
		is    func(error) bool
	}{
		"stuck": {src: `
			sub main()
			{
				df x, y, never;
				for i = 0 .. 9 { put(x[i], i) @ { locator_cyclic: i + 1; }; add(x[i], never[i], y[i]) @ { locator_cyclic: i; }; }
				show("twice", x[1]); show("never", x[-1] + x[2]) @ { locator_cyclic: 1; };
			} @ { locator_cyclic x[i] => i; }`,
			is: func(err error) bool { var e *engine.StuckError; return errors.As(err, &e) }},
		"failed": {src: `
			sub main()
			{
				df x, y, z;
				for i = 0 .. 99 { put(x[i], i) @ { locator_cyclic: i + 1; }; add(x[i], x[i + 1], y[i]) @ { locator_cyclic: i; }; add(y[i], x[i + 2], z[i]) @ { locator_cyclic: i + 3; }; }
				if z[20] crash(2);
			} @ { locator_cyclic x[i] => i; locator_cyclic y[i] => i + 2; }`,
			is: func(err error) bool { var e *engine.ProgramError; return errors.As(err, &e) }},
		"interrupted": {src: `
			sub main()
			{
				df x, y, z, n;
				while k < 100000000, k = 0 .. out n {
					put(x[k], k) @ { locator_cyclic: k + 1; };
					add(x[k], x[k - 1], y[k]) @ { locator_cyclic: k; };
					add(y[k], x[k], z[k]) @ { locator_cyclic: k + 3; };
				}
				put(x[-1], 1);
			} @ { locator_cyclic x[i] => i; locator_cyclic y[i] => i + 2; }`,
			after: 100 * time.Millisecond, is: func(err error) bool { return errors.Is(err, engine.ErrInterrupted) }},
		"held": {src: `
			sub main()
			{
				df x, y;
				for i = 0 .. 9 { put(x[i], i); add(x[i], x[i], y[i]) @ { locator_cyclic: i; }; }
			}`,
			after: 100 * time.Millisecond, hold: time.Hour, is: func(err error) bool {
				return errors.Is(err, engine.ErrInterrupted)
			}},
		"in user code": {src: `
			sub main() { df x, y; for i = 0 .. 3 { put(x[i], i); add(x[i], x[i], y[i]) @ { locator_cyclic: i; }; } put(x[-1], 3000); stay(x[-1]); }`,
			after: 100 * time.Millisecond, is: func(err error) bool { return errors.Is(err, engine.ErrInterrupted) }},
	} {
		for _, s := range []shape{one, {nodes: 4, workers: 1}, {nodes: 3, workers: 2}} {
			if name == "in user code" && s.nodes != 3 {
				continue // it takes two seconds
			}
			s.after = c.after
			s.set = func(cfg *engine.Config) {
				if c.hold > 0 {
					cfg.Hold = map[string]time.Duration{"add": c.hold}
				}
				cfg.LinkLatency = 100 * time.Microsecond
			}
			l, _, err := watchRun(t, c.src, s)
			if !c.is(err) {
				t.Errorf("%s %v: ended with %v", name, s, err)
			}
			got := left(l)
			if name == "in user code" {
				// The worker is left where it is.
				got = strings.Trim(strings.ReplaceAll(strings.ReplaceAll(got, "n0 running 1", ""), "n0 foreign 1", ""),
					", ")
			}
			if got != "" {
				t.Errorf("%s %v: %s", name, s, got)
			}
			l.ends(t, s)
		}
	}
}

// TestSomeEvents has only some events on.
func TestSomeEvents(t *testing.T) {
	p := compile(t, farAndWide)
	ses := prof.New()
	ses.EnableAll(false)
	l := keepLedger(t, ses)
	for _, name := range []string{"onStored", "onDropped"} {
		if err := ses.Enable("DFEvents", name, true); err != nil {
			t.Fatal(err)
		}
	}
	captured(t, func() {
		if _, err := engine.Run(t.Context(), engine.Config{Program: p, Library: open(t, p), Nodes: 2, Workers: 2,
			Session: ses, DescribeDFs: true}); err != nil {
			t.Error(err)
		}
	})
	if l.balance() != "" || len(l.faults) > 0 || l.runs != 0 || len(l.names) < 100 {
		t.Errorf("%s; %v; %d runs, %d names", l.balance(), l.faults, l.runs, len(l.names))
	}
	// Lengths are looked at if a handler wants them, also without a trace.
	ses = prof.New()
	ses.EnableAll(false)
	l = keepLedger(t, ses)
	if err := ses.Enable("GlobalEvents", "onReadyQueue", true); err != nil {
		t.Fatal(err)
	}
	seen := int64(0)
	if err := ses.ReadyQueue.Connect("max", 1, func(_ *prof.Stream, _ int64, n uint64) {
		seen = max(seen, int64(n))
	}); err != nil {
		t.Fatal(err)
	}
	q := compile(t,
		`sub main() { df x; for i = 1 .. 200 { busy(200); put(x[i], i); } for i = 1 .. 200 put(x[i][i], x[i]); }`)
	if _, err := engine.Run(t.Context(), engine.Config{Program: q, Library: open(t, q), Nodes: 1, Workers: 1,
		Session: ses}); err != nil {
		t.Fatal(err)
	}
	if l.balance() != "" || seen < 100 {
		t.Errorf("%s, %d in the queue", l.balance(), seen)
	}
}
