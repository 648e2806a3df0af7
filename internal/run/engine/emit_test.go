package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Events emitted by rule.

// seen are the events that handlers have seen, by name.
type seen struct {
	mu     sync.Mutex
	events map[string][]sight
}

type sight struct {
	node, stream int
	t            int64
	args         map[string]any // by field: string, int64, uint64, or ids as they are shown
}

// watch connects handlers to events "Namespace.onName", which may be patterns.
func (s *seen) watch(t testing.TB, ses *prof.Session, names ...string) {
	t.Helper()
	s.events = map[string][]sight{}
	if err := ses.ConnectMatching(names, "watch", 0, func(st *prof.Stream, a *prof.Any) {
		x := sight{st.Node(), st.ID(), a.Time, map[string]any{}}
		for i, f := range a.Spec.Fields {
			x.args[f.Name] = string(a.AppendField(nil, i))
		}
		s.mu.Lock()
		s.events[a.Spec.String()] = append(s.events[a.Spec.String()], x)
		s.mu.Unlock()
	}); err != nil {
		t.Fatal(err)
	}
}

func (s *seen) count(name string) int { return len(s.events[name]) }

// by counts the events by the text of an argument: "f 2, main 1".
func (s *seen) by(name, arg string) string {
	n := map[string]int{}
	for _, x := range s.events[name] {
		n[fmt.Sprint(x.args[arg])]++
	}
	var l []string
	for k := range n {
		l = append(l, fmt.Sprintf("%s %d", k, n[k]))
	}
	slices.Sort(l)
	return strings.Join(l, ", ")
}

var pointList = []string{"entry", "BlockRetStatus", "return EXIT", "return CONTINUE", "return MIGRATE",
	"return WAIT", "return STEAL", "foreign call"}

// ahead and behind are rules for the two sides of a point.
func ahead(point string) *config.Rule  { return &config.Rule{Before: true, Point: point} }
func behind(point string) *config.Rule { return &config.Rule{Point: point} }

// everyPoint is a rule for each side of each point, with the names User.on<point><side>.
func everyPoint(args ...string) []config.EventState {
	var l []config.EventState
	for _, p := range pointList {
		for _, before := range []bool{true, false} {
			l = append(l, config.EventState{Namespace: "User", Name: eventName(p, before),
				Rule: &config.Rule{Before: before, Point: p},
				Args: args})
		}
	}
	return l
}

func eventName(p string, before bool) string {
	w := strings.Fields(p)
	if before {
		return "before" + w[len(w)-1]
	}
	return "after" + w[len(w)-1]
}

func checked(t testing.TB, rules []config.EventState) []config.EventState {
	t.Helper()
	for _, r := range rules {
		if err := engine.CheckRule(r); err != nil {
			t.Fatal(err)
		}
	}
	return rules
}

// watched runs a program with rules and looks at their events and the standard ones.
func watched(t testing.TB, src string, s shape, rules []config.EventState) (*outcome, *seen) {
	t.Helper()
	w := &seen{}
	set := s.set
	s.set = func(c *engine.Config) {
		c.Rules = checked(t, rules)
		if set != nil {
			set(c)
		}
	}
	s.session = func(ses *prof.Session) { w.watch(t, ses, "*") }
	return run(t, src, s), w
}

// known has 16 CFs: main, for, 3 calls of f, their bodies, 3 put, if, its none, while with 3 tests, its 2
// none.
const known = `
	sub f(int i, name x) { put(x, i); }
	sub main()
	{
		df x, n;
		for i = 1 .. 3 f(i, x[i]);
		if x[1] none();
		while k < 2, k = 0 .. out n { none(); }
	}`

func TestPoints(t *testing.T) {
	for _, s := range []shape{one, {nodes: 1, workers: 4}, {nodes: 4, workers: 1}} {
		o, w := watched(t, known, s, everyPoint("__func__", "cf", "now"))
		if o.err != nil {
			t.Fatal(o.err)
		}
		waits := o.trace.kinds[trace.KindCFWaiting]
		if s.nodes*s.workers == 1 && waits != 1 {
			t.Errorf("%d waits", waits)
		}
		// Every CF goes on from its first block to its second; the loop also from its start, and after each of 2
		// iterations.
		for p, want := range map[string]int{"entry": 16, "EXIT": 16, "call": 6, "CONTINUE": 15 + 1 + 3 + 2,
			"WAIT": waits, "BlockRetStatus": 16 + waits + 21, "MIGRATE": 0, "STEAL": 0} {
			if b, a := w.count("User.before"+p), w.count("User.after"+p); b != want || a != want {
				t.Errorf("%v: %s: %d before, %d after, wanted %d", s, p, b, a, want)
			}
		}
		for name, want := range map[string]string{
			"User.beforeEXIT":    "f 6, for i 1, if 1, main 1, none 3, put 3, while k 1",
			"User.afterEXIT":     "f 6, for i 1, if 1, main 1, none 3, put 3, while k 1",
			"User.afterentry":    "f 6, for i 1, if 1, main 1, none 3, put 3, while k 1",
			"User.beforecall":    "none 3, put 3",
			"User.aftercall":     "none 3, put 3",
			"User.afterCONTINUE": "f 6, for i 1, if 1, main 1, none 3, put 3, while k 6",
		} {
			if got := w.by(name, "func"); got != want {
				t.Errorf("%v: %s: %s, wanted %s", s, name, got, want)
			}
		}
		inOrder(t, o)
	}
}

// inOrder checks in a trace that each side of a point comes where it should, seen from the standard events of
// the same stream.
func inOrder(t testing.TB, o *outcome) {
	t.Helper()
	// What comes right before and right after an event of a rule, among the events looked at.
	next := map[string][]string{
		"beforeentry":          {"beforeBlockRetStatus"},
		"beforeBlockRetStatus": {"onStarted", "afterBlockRetStatus"},
		"onStarted":            {"afterBlockRetStatus"},
		"onContinued":          {"beforeCONTINUE"},
		"beforeCONTINUE":       {"afterCONTINUE"},
		"afterCONTINUE":        {"beforeBlockRetStatus"},
		"onWaiting":            {"beforeWAIT"},
		"beforeWAIT":           {"afterWAIT"},
		"onExited":             {"beforeEXIT"},
		"beforeEXIT":           {"afterEXIT"},
		"onForeignStarted":     {"beforecall"},
		"beforecall":           {"onForeignEnded"},
		"onForeignEnded":       {"aftercall"},
	}
	last := map[[2]int]string{}
	r, err := trace.Open(o.trace.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, e := range o.trace.events {
		spec := r.Defs(e.node).Kind(e.kind)
		if spec.Namespace != "User" && spec.Namespace != "GlobalEvents" ||
			e.kind >= trace.KindProgramStarted && e.kind < trace.FirstUserKind {
			continue
		}
		k := [2]int{e.node, e.stream}
		if want := next[last[k]]; want != nil && !slices.Contains(want, spec.Name) {
			t.Errorf("n%d s%d: %s is followed by %s, wanted one of %v", e.node, e.stream, last[k], spec.Name, want)
			return
		}
		last[k] = spec.Name
	}
}

// TestPointsMigration looks at CFs that go to other nodes: at once, after they have fetched what their
// locator needs, and again and again.
func TestPointsMigration(t *testing.T) {
	const src = `
		sub main()
		{
			df x, n;
			for i = 0 .. 7 { put(x[i], i) @ { locator_cyclic: i; }; none() @ { locator_cyclic: x[i] + 1; }; }
			while k < 6, k = 0 .. out n { none(); } @ { locator_cyclic: k; }
		} @ { locator_cyclic x[i] => i; }`
	for _, s := range []shape{{nodes: 4, workers: 1}, {nodes: 3, workers: 2}} {
		o, w := watched(t, src, s, everyPoint("__func__", "block", "node"))
		if o.err != nil {
			t.Fatal(o.err)
		}
		inBlock := o.trace.kinds[trace.KindBlockMigrated]
		if inBlock == 0 || int(o.res.Migrated) <= inBlock {
			t.Fatalf("%d of %d migrations from a block", inBlock, o.res.Migrated)
		}
		for _, f := range conserved(o, w, inBlock) {
			t.Errorf("%v: %s", s, f)
		}
	}
}

// conserved checks that all points fit together: every block that begins ends, by one of the statuses.
// inBlock is how many CFs left for other nodes from a block.
func conserved(o *outcome, w *seen, inBlock int) (faults []string) {
	waits, goesOn := o.trace.kinds[trace.KindBlockWaiting], o.trace.kinds[trace.KindBlockContinued]
	for p, want := range map[string]int{
		"EXIT": int(o.res.CFs), "MIGRATE": int(o.res.Migrated), "STEAL": int(o.res.Stolen), "WAIT": waits,
		"call":  int(o.res.Atomic),
		"entry": int(o.res.CFs) + inBlock, "CONTINUE": goesOn,
		"BlockRetStatus": int(o.res.CFs) + waits + goesOn + inBlock,
	} {
		b, a := w.count("User.before"+p), w.count("User.after"+p)
		if p == "entry" && o.trace.kinds[trace.KindBalanced] > 0 {
			want = max(b, want) // CFs that waited and were moved then enter again
		}
		if b != want || a != want {
			faults = append(faults, fmt.Sprintf("%s: %d before, %d after, wanted %d", p, b, a, want))
		}
	}
	return faults
}

func TestPointsStealing(t *testing.T) {
	const src = `
		sub main()
		{
			df x, done;
			for i = 1 .. 60 {
				put(x[i], i);
				cf job: mix(done[i], x[i], 7) @ { stealable; request x[i]; };
				busy(300);
			}
		}`
	total := int64(0)
	for range 4 {
		o, w := watched(t, src, shape{nodes: 3, workers: 1, set: func(c *engine.Config) { c.Steal = true }},
			everyPoint("__func__", "worker", "cf"))
		if o.err != nil {
			t.Fatal(o.err)
		}
		total += o.res.Stolen
		inBlock := o.trace.kinds[trace.KindBlockMigrated]
		for _, f := range conserved(o, w, inBlock) {
			t.Error(f)
		}
		if fromQueue := strings.Count(fmt.Sprint(w.events["User.beforeSTEAL"]),
			"worker:1]"); fromQueue != int(o.res.Stolen)-inBlock {
			t.Errorf("%d of %d thefts from the queue, %d from a block", fromQueue, o.res.Stolen, inBlock)
		}
	}
	if total == 0 {
		t.Error("nothing was stolen")
	}
}

func TestRuleFunctions(t *testing.T) {
	for _, c := range []struct {
		patterns []string
		want     string
	}{
		{nil, "f 6, for i 1, if 1, main 1, none 3, put 3, while k 1"},
		{[]string{"*"}, "f 6, for i 1, if 1, main 1, none 3, put 3, while k 1"},
		{[]string{"f*"}, "f 6, for i 1"},
		{[]string{"?"}, "f 6"},
		{[]string{"main", "*n*"}, "main 1, none 3"},
		{[]string{"p?t", "wh*le ?"}, "put 3, while k 1"},
		{[]string{"**u*t**"}, "put 3"},
		{[]string{"[fp]*", "pu"}, ""},
	} {
		var warned []string
		r := config.EventState{Namespace: "A", Name: "onX", Rule: ahead("return EXIT"),
			Args: []string{"__func__"}, Functions: c.patterns}
		r.Pos = config.Pos{File: "e.json", Line: 3, Col: 4}
		o, w := watched(t, known, shape{nodes: 1, workers: 2, set: func(c *engine.Config) {
			c.Warn = func(s string) { warned = append(warned, s) }
		}}, []config.EventState{r})
		if got := w.by("A.onX", "func"); o.err != nil || got != c.want {
			t.Errorf("%v: %s, wanted %s; %v", c.patterns, got, c.want, o.err)
		}
		if want := "[e.json:3:4: event A.onX: the program has no code fragment called [fp]* or " +
			"pu]"; (c.want == "") != (fmt.Sprint(warned) == want) {
			t.Errorf("%v: warned %v", c.patterns, warned)
		}
	}
}

func TestCheckRule(t *testing.T) {
	for _, c := range []struct {
		rule config.EventState
		want string // "" for a good one
	}{
		{config.EventState{Namespace: "GlobalEvents", Name: "onExited", Rule: ahead("return EXIT"),
			Args: []string{"__func__", "std::chrono::high_resolution_clock::now()"}}, ""},
		{config.EventState{Namespace: "GlobalEvents", Name: "onExited", Rule: behind("entry")}, ""},
		{config.EventState{Namespace: "GlobalEvents", Name: "onNew", Rule: behind("entry"),
			Args: []string{`"a \"b\""`, "-1",
				"0x10", ".5", "1e3", " steady_clock :: now ( ) ", "chrono::system_clock::now()", "index7",
				"std::chrono::steady_clock::now().time_since_epoch().count()"}}, ""},
		{config.EventState{Namespace: "GlobalEvents", Name: "onForeignEnded", Rule: behind("foreign call"),
			Args: []string{"__func__", "block"}},
			"event GlobalEvents.onForeignEnded is a standard one with the fields (function Site) and a time: it " +
				"cannot carry block; give the event another name"},
		{config.EventState{Namespace: "GlobalEvents", Name: "onExited", Rule: behind("return EXIT"),
			Args: []string{"cf"}},
			"event GlobalEvents.onExited is a standard one with the fields (function Site, block Uint) and a time: " +
				"it cannot carry cf; give the event another name"},
		{config.EventState{Namespace: "CFEvents", Name: "onCreated", Rule: behind("entry")},
			"event CFEvents.onCreated is emitted by the run-time system itself; its place is fixed"},
		{config.EventState{Namespace: "DFEvents", Name: "onCreateSize", Rule: behind("entry")},
			"event DFEvents.onCreateSize is emitted by the run-time system itself; its place is fixed"},
		{config.EventState{Namespace: "A", Name: "b", Rule: behind("return 0")},
			`event A.b: there is no point "return 0" in LuNA programs: there are entry, BlockRetStatus, return EXIT, return CONTINUE, return MIGRATE, return WAIT, return STEAL, foreign call`},
		{config.EventState{Namespace: "A", Name: "b", Rule: behind("entry"), Functions: []string{"x", ""}},
			"event A.b: an empty pattern matches no code fragment; leave functions out for all"},
		{config.EventState{Namespace: "A", Name: "b", Rule: behind("entry"), Args: []string{"self.id()"}},
			"event A.b: there is no argument self.id() in LuNA programs: there are __func__, std::chrono::"},
		{config.EventState{Namespace: "A", Name: "b", Rule: behind("entry"), Args: []string{"node", ` "x`}},
			`event A.b: argument "x is not a C string`},
		{config.EventState{Namespace: "A", Name: "b", Rule: behind("entry"), Args: []string{"12ab"}},
			"event A.b: argument 12ab is not a number"},
		{config.EventState{Namespace: "A", Name: "b", Rule: behind("entry"), Args: []string{"99999999999999999999"}},
			"event A.b: argument 99999999999999999999 does not fit 64 bits"},
		{config.EventState{Namespace: "A", Name: "b", Rule: behind("entry"), Args: []string{"cf + 1"}},
			"event A.b: argument cf + 1: + needs numbers, but one side is a CF"},
		{config.EventState{Namespace: "A", Name: "b", Rule: behind("entry"), Args: []string{"(node"}},
			"event A.b: argument (node: a ) is missing"},
		{config.EventState{Namespace: "A b", Name: "b", Rule: behind("entry")}, `event "A b"."b": names are letters`},
		{config.EventState{Namespace: "A", Name: "b", Rule: behind("entry"),
			Args: slices.Repeat([]string{"node"}, 17)},
			"event A.b has 17 fields, at most 16 are possible"},
	} {
		err := engine.CheckRule(c.rule)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.rule, err)
		}
		if err != nil {
			p := compile(t, known)
			c.rule.Pos = config.Pos{File: "e.json", Line: 1, Col: 2}
			if _, runErr := engine.Run(t.Context(), engine.Config{Program: p, Library: open(t, p), Nodes: 1,
				Workers: 1, Session: prof.New(), Rules: []config.EventState{c.rule}}); runErr == nil ||
				runErr.Error() != "e.json:1:2: "+err.Error() {
				t.Errorf("Run: %v", runErr)
			}
		}
	}
}

// TestStandardRules moves and limits the standard events of blocks.
func TestStandardRules(t *testing.T) {
	std := func(name string, before bool, point string, functions ...string) []config.EventState {
		return []config.EventState{{Namespace: "GlobalEvents", Name: name,
			Rule: &config.Rule{Before: before, Point: point},
			Args: []string{"__func__", "steady_clock::now()"}, Functions: functions}}
	}
	const all = "f 6, for i 1, if 1, main 1, none 3, put 3, while k 1"
	for _, c := range []struct {
		rules        []config.EventState
		event        string
		function     string
		block        string
		inconsistent bool // the blocks no longer begin and end in pairs
	}{
		{nil, "onExited", all, "2 16", false},
		{std("onExited", true, "return EXIT"), "onExited", all, "2 16", false},
		{std("onExited", true, "return EXIT", "f", "w*"), "onExited", "f 6, while k 1", "2 7", true},
		{std("onExited", false, "return EXIT"), "onExited", all, "2 16", true},
		{std("onExited", true, "entry"), "onExited", all, "0 15, 1 1", true},
		{nil, "onStarted", "f 6, for i 1, if 2, main 1, none 3, put 3, while k 1", "0 15, 1 1, 2 1", false},
		{std("onStarted", false, "BlockRetStatus"), "onStarted",
			"f 6, for i 1, if 2, main 1, none 3, put 3, while k 1", "0 15, 1 1, 2 1", false},
		{std("onStarted", true, "BlockRetStatus", "if"), "onStarted", "if 3", "0 1, 2 2", true},
		{std("onStarted", false, "BlockRetStatus", "if"), "onStarted", "if 2", "0 1, 2 1", true},
		{std("onContinued", true, "return CONTINUE"), "onContinued",
			"f 6, for i 1, if 1, main 1, none 3, put 3, while k 6", "0 3, 2 18", false},
		{std("onContinued", true, "return CONTINUE", "while *"), "onContinued", "while k 6", "0 3, 2 3", false},
		{std("onContinued", false, "return CONTINUE", "while *"), "onContinued", "while k 6", "0 3, 2 3", false},
		{std("onContinued", true, "return EXIT", "while *"), "onContinued", "while k 1", "2 1", true},
		{std("onWaiting", true, "return WAIT", "none"), "onWaiting", "", "", true},
		{std("onWaiting", true, "return WAIT", "if"), "onWaiting", "if 1", "2 1", false},
		{std("onForeignStarted", true, "foreign call", "put"), "onForeignStarted", "put 3", "", true},
		{std("onForeignEnded", false, "foreign call", "none"), "onForeignEnded", "none 3", "", true},
		{std("onForeignEnded", false, "entry", "main"), "onForeignEnded", "main 1", "", true},
		{std("onMigrated", true, "return EXIT", "main"), "onMigrated", "main 1", "2 1", true},
	} {
		w := &seen{}
		set := shape{nodes: 1, workers: 1, loose: true, set: func(cfg *engine.Config) {
			cfg.Rules = checked(t, c.rules)
		}}
		set.session = func(ses *prof.Session) { w.watch(t, ses, "GlobalEvents.*") }
		o, faults := execute(t, compile(t, known), set)
		if o.err != nil || !c.inconsistent && len(faults) > 0 {
			t.Errorf("%v: %v %v", c.rules, o.err, faults)
		}
		name := "GlobalEvents." + c.event
		function, block := w.by(name, "function"), w.by(name, "block")
		if c.block == "" {
			block = ""
		}
		if function != c.function || block != c.block {
			t.Errorf("%v %s: %s; blocks %s; wanted %s; %s", c.rules, c.event, function, block, c.function, c.block)
		}
	}
}

// TestRuleFails lets rules meet user code that crashes, and a program that fails otherwise.
func TestRuleFails(t *testing.T) {
	for src, want := range map[string]string{
		"sub main() { crash(0); }":                                "0 returned, exits main 1",
		"sub main() { df x; put(x[1 / (x - 1)], 1); put(x, 1); }": "2 returned, exits main 1, put 1",
	} {
		o, w := watched(t, src, one, everyPoint("__func__"))
		var e *engine.ProgramError
		if got := fmt.Sprintf("%d returned, exits %s", w.count("User.aftercall"),
			w.by("User.beforeEXIT", "func")); !errors.As(o.err, &e) || got != want {
			t.Errorf("%s: %v; %s", src, o.err, got)
		}
	}
	// The types of an event are fixed already.
	p := compile(t, known)
	ses := prof.New()
	u, err := ses.User("A", "onX")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Connect("h", 0, func(float64) {}); err != nil {
		t.Fatal(err)
	}
	r := config.EventState{Namespace: "A", Name: "onX", Rule: behind("entry"),
		Args: []string{"__func__"}}
	r.Pos = config.Pos{File: "e.json", Line: 7, Col: 1}
	_, err = engine.Run(t.Context(), engine.Config{Program: p, Library: open(t, p), Nodes: 1, Workers: 1,
		Session: ses, Rules: []config.EventState{r}})
	if err == nil || err.Error() != "e.json:7:1: event A.onX takes (arg0 Float); definition has (func Name)" {
		t.Error(err)
	}
}

// TestRuleHold checks that a CF that is held back begins once.
func TestRuleHold(t *testing.T) {
	o, w := watched(t, known, shape{nodes: 1, workers: 2, set: func(c *engine.Config) {
		c.Hold = map[string]time.Duration{"put": time.Millisecond}
	}}, everyPoint("__func__", "block"))
	if got := w.by("User.beforeentry", "func"); o.err != nil || !strings.Contains(got, "put 3") ||
		w.by("User.afterWAIT", "func") != w.by("GlobalEvents.onWaiting", "function") {
		t.Error(o.err, got)
	}
}
