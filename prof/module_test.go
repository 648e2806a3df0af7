package prof

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/trace"
)

// part is a module made of functions.
type part struct {
	start  func(h *Host) error
	finish func() error
}

func (p *part) Start(h *Host) error {
	if p.start == nil {
		return nil
	}
	return p.start(h)
}

func (p *part) Finish() error {
	if p.finish == nil {
		return nil
	}
	return p.finish()
}

func use(name string, priority int, start func(h *Host) error, requires ...string) Use {
	return Use{Priority: priority, Info: ModuleInfo{Name: name, Requires: requires, New: func() Module {
		return &part{start: start}
	}}}
}

// Handlers run in the order of the modules: what is required first, then by priority, then by name.
func TestModulesInOrder(t *testing.T) {
	ses := New()
	var seen []string
	listen := func(name string) func(h *Host) error {
		return func(h *Host) error {
			return h.Session().Idle.Connect(h.Name(), h.Priority(), func(*Stream, int64) { seen = append(seen, name) })
		}
	}
	run, err := ses.StartModules([]Use{
		use("user", 1, listen("user"), "base"), use("late", 9, listen("late")), use("base", 8, listen("base")),
		use("b", 3, listen("b")), use("a", 3, listen("a")),
	}, RunFacts{})
	if err != nil {
		t.Fatal(err)
	}
	ses.Idle.Emit(ses.Stream(0, 0, nil))
	want := []string{"a", "b", "base", "user", "late"}
	if !slices.Equal(seen, want) || !slices.Equal(run.Names(), want) {
		t.Errorf("events reached %v, modules %v; want %v", seen, run.Names(), want)
	}
	if run.Get("base") == nil || run.Get("nobody") != nil {
		t.Error("Get finds the wrong modules")
	}
	if err := run.Finish(); err != nil {
		t.Error(err)
	}
	if ses.Idle.On() || run.Get("base") == nil {
		t.Error("after the end handlers are connected, or modules cannot be asked")
	}
}

// Random requirements: either an order that keeps them, or a circle that is one.
func TestOrderProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "modules")
		var uses []Use
		requires := map[string][]string{}
		for i := range n {
			u := use(fmt.Sprint("m", i), rapid.IntRange(0, 3).Draw(t, "priority"), nil)
			for j := range n {
				if rapid.IntRange(0, 4).Draw(t, "edge") == 0 {
					u.Info.Requires = append(u.Info.Requires, fmt.Sprint("m", j))
				}
			}
			requires[u.Info.Name] = u.Info.Requires
			uses = append(uses, u)
		}
		sorted, err := order(uses)
		if err == nil {
			done := map[string]bool{}
			for k, u := range sorted {
				for _, r := range u.Info.Requires {
					if !done[r] {
						t.Fatalf("%s comes before %s", u.Info.Name, r)
					}
				}
				done[u.Info.Name] = true
				// Whoever is later and could have been here has no better claim.
				for _, v := range sorted[k+1:] {
					free := !slices.ContainsFunc(v.Info.Requires, func(r string) bool {
						return !done[r] || r == u.Info.Name
					})
					if free && v.Priority < u.Priority {
						t.Fatalf("%s (priority %d) comes before %s (%d)", u.Info.Name, u.Priority, v.Info.Name, v.Priority)
					}
				}
			}
			return
		}
		_, circle, ok := strings.Cut(err.Error(), "circle: ")
		names := strings.Split(circle, " -> ")
		if !ok || len(names) < 2 || names[0] != names[len(names)-1] {
			t.Fatalf("%v", err)
		}
		for i := range len(names) - 1 {
			if !slices.Contains(requires[names[i]], names[i+1]) {
				t.Fatalf("%v, but %s does not require %s", err, names[i], names[i+1])
			}
		}
	})
}

func TestModulesThatCannotStart(t *testing.T) {
	fail := func(*Host) error { return errors.New("no disk") }
	for _, c := range []struct {
		uses []Use
		want string
	}{
		{[]Use{use("a", 1, nil, "b")}, "module a requires b, which does not run"},
		{[]Use{use("a", 1, nil), use("a", 2, nil)}, "module a is to run twice"},
		{[]Use{use("a", 1, nil, "a")}, "modules require each other in a circle: a -> a"},
		{[]Use{use("x", 0, nil), use("a", 1, nil, "b", "x"), use("b", 1, nil, "c"), use("c", 1, nil, "a")},
			"in a circle: a -> b -> c -> a"},
		{[]Use{use("a", 1, fail)}, "module a: no disk"},
		{[]Use{use("a", 1, func(h *Host) error { panic("broken") })}, "module a: failed: broken"},
		{[]Use{use("a", 1, func(h *Host) error { h.Int("size"); return nil })},
			"module a: failed: no parameter size"},
	} {
		if _, err := New().StartModules(c.uses, RunFacts{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// A module that fails at its start leaves nothing behind, and those started before are finished.
func TestFailedStart(t *testing.T) {
	ses, finished := New(), 0
	first := Use{Info: ModuleInfo{Name: "first", New: func() Module {
		return &part{finish: func() error { finished++; return nil }}
	}}}
	_, err := ses.StartModules([]Use{first, use("second", 5, func(h *Host) error {
		if err := h.Connect("CFEvents", "onReady", func(*Stream, *Any) {}); err != nil {
			return err
		}
		return errors.New("after all not")
	})}, RunFacts{})
	if err == nil || finished != 1 || ses.CFReady.On() {
		t.Errorf("%v; first was finished %d times; handler left: %v", err, finished, ses.CFReady.On())
	}
}

func TestFinish(t *testing.T) {
	var order []string
	module := func(name string, result error) Use {
		return Use{Info: ModuleInfo{Name: name, New: func() Module {
			return &part{finish: func() error { order = append(order, name); return result }}
		}}}
	}
	run, err := New().StartModules([]Use{module("b", nil), module("a", errors.New("disk full"))}, RunFacts{})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Finish(); err == nil || err.Error() != "module a: disk full" || fmt.Sprint(order) != "[a b]" {
		t.Errorf("%v, %v", err, order)
	}
	if err := run.Finish(); err != nil || len(order) != 2 {
		t.Errorf("finishing again: %v, %v", err, order)
	}
}

// A handler of any kind sees the words that the trace gets, lists and strings included.
func TestAny(t *testing.T) {
	ses := New()
	ses.SetDescriber(fruits{})
	s := ses.Stream(2, 1, nil)
	var lines []string
	show := func(s *Stream, a *Any) {
		line := []byte(a.Spec.String())
		for i, f := range a.Spec.Fields {
			line = append(line, " "+f.Name+"="...)
			line = a.AppendField(line, i)
		}
		lines = append(lines, string(line))
	}
	for _, e := range [][2]string{{"CFEvents", "onCreated"}, {"CFEvents", "onWaiting"},
		{"DFEvents", "onDestroySize"}, {"SyncEvents", "onWaitStarted"}, {"Mine", "onStep"}} {
		if err := ses.ConnectAny(e[0], e[1], "show", 1, show); err != nil {
			t.Fatal(err)
		}
	}
	ses.CFCreated.EmitAt(s, 1, trace.MakeCF(2, 7), 3, trace.MakeCF(0, 1), 1, 2.5, []int32{4, -1})
	ses.CFWaiting.EmitAt(s, 2, trace.MakeCF(2, 7), []trace.DF{1, 2, 0})
	ses.DFDestroy.EmitAt(s, 3, 1, 80, trace.Expired)
	ses.WaitStarted.EmitAt(s, 4, 9)
	u, err := ses.Define("Mine", "onStep", trace.Field{Name: "what", Type: trace.FieldName},
		trace.Field{Name: "size", Type: trace.FieldBytes},
		trace.Field{Name: "on", Type: trace.FieldName}, trace.Field{Name: "l", Type: trace.FieldInts})
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Emit(s, "half", int64(5), trace.Name(3), []int64{1, 2}); err != nil {
		t.Fatal(err)
	}
	if err := u.EmitWords(s, 9, []uint64{1, 6, 0, 1, 8}, []string{"zero", "one"}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"CFEvents.onCreated cf=2.7 site=peel parent=0.1 execution=1 weight=2.5 indices=[4 -1]",
		"CFEvents.onWaiting cf=2.7 awaited=[apple[5] #2 -]",
		"DFEvents.onDestroy df=apple[5] size=80 reason=expired",
		"SyncEvents.onWaitStarted name=pear",
		"Mine.onStep what=half size=5 on=pear l=[1 2]",
		"Mine.onStep what=one size=6 on=zero l=[8]",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	for _, words := range [][]uint64{nil, {1, 2}, {7, 1, 0, 0}, {0, 1, 0, 2, 1}, {0, 1, 0}} {
		if err := u.EmitWords(s, 0, words, []string{"a"}); err == nil {
			t.Errorf("words %v are taken", words)
		}
	}
}

type fruits struct{}

func (fruits) Site(node int, s trace.Site) Site { return Site{Code: "peel"} }
func (fruits) DF(node int, df trace.DF) (string, []int64) {
	if df != 1 || node != 2 {
		return "", nil
	}
	return "apple", []int64{0, 1, 5}
}
func (fruits) Name(node int, n trace.Name) string { return "pear" }

// Patterns reach the events there are and user events made later.
func TestConnectMatching(t *testing.T) {
	ses, seen := New(), map[string]int{}
	count := func(s *Stream, a *Any) { seen[a.Spec.String()]++ }
	early, err := ses.Define("Mine", "onEarly")
	if err != nil {
		t.Fatal(err)
	}
	if err := ses.ConnectMatching([]string{"DFEvents.onS*", "*.onId*", "Mine.*", "DFEvents::onDestroySize"},
		"count", 1, count); err != nil {
		t.Fatal(err)
	}
	late, err := ses.Define("Mine", "onLate")
	if err != nil {
		t.Fatal(err)
	}
	s := ses.Stream(0, 0, nil)
	ses.DFStored.Emit(s, 1, 1)
	if !ses.DFDestroy.On() {
		t.Error("an alias matches nothing")
	}
	ses.CFReady.Emit(s, 1, 0)
	ses.Idle.Emit(s)
	ses.Busy.Emit(s)
	if err := errors.Join(early.Emit(s), late.Emit(s)); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(seen) != "map[DFEvents.onStored:1 GlobalEvents.onIdle:1 Mine.onEarly:1 Mine.onLate:1]" {
		t.Errorf("%v", seen)
	}
	if ses.CFReady.On() {
		t.Error("onReady is on, although nobody listens")
	}
}

func TestPerStream(t *testing.T) {
	ses := New()
	a := NewPerStream(ses, func(s *Stream, n *int) { *n = 100 * s.ID() })
	b := NewPerStream[string](ses, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		s := ses.Stream(0, i, nil)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 1000 {
				*a.Get(s)++
				*b.Get(s) = fmt.Sprint(s.ID())
			}
		}()
	}
	wg.Wait()
	n := 0
	a.All(func(s *Stream, v *int) {
		if n++; *v != 100*s.ID()+1000 || *b.Get(s) != fmt.Sprint(s.ID()) {
			t.Errorf("stream %d has %d and %q", s.ID(), *v, *b.Get(s))
		}
	})
	if n != 8 {
		t.Errorf("%d streams", n)
	}
}

// A module's file, its connection, and a disk that is full: the module ends, with one message.
func TestOutput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.txt")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan string)
	go func() {
		c, err := listener.Accept()
		if err != nil {
			received <- err.Error()
			return
		}
		var b bytes.Buffer
		_, _ = b.ReadFrom(c)
		received <- b.String()
	}()
	for _, where := range []string{file, "tcp://" + listener.Addr().String(), "/dev/full", file + "/no",
		"tcp://127.0.0.1:1"} {
		ses := New()
		told := make(chan string, 10)
		ses.Report(func(m string) { told <- m })
		run, err := ses.StartModules([]Use{use("writer", 0, func(h *Host) error {
			out, err := h.Open(where)
			if err != nil {
				return err
			}
			return h.Session().Idle.Connect(h.Name(), h.Priority(), func(*Stream, int64) {
				fmt.Fprintln(out, "idle")
				_ = out.Flush()
			})
		})}, RunFacts{})
		if strings.HasSuffix(where, "/no") || strings.HasSuffix(where, ":1") {
			if err == nil {
				t.Errorf("%s can be opened", where)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		s := ses.Stream(0, 0, nil)
		ses.Idle.Emit(s)
		if where == "/dev/full" {
			if m := <-told; !strings.Contains(m, "module writer failed and is disconnected: cannot write: ") {
				t.Errorf("told: %s", m)
			}
			ses.Idle.Emit(s)
			if err := run.Finish(); err != nil || len(told) > 0 {
				t.Errorf("%v, told %d times more", err, len(told))
			}
			continue
		}
		ses.Idle.Emit(s)
		if err := run.Finish(); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(file); string(text) != "idle\nidle\n" {
		t.Errorf("%q, %v", text, err)
	}
	if text := <-received; text != "idle\nidle\n" {
		t.Errorf("received %q", text)
	}
}

// A file has one writer: neither another module nor another run may spoil it.
func TestOutputIsWrittenByOne(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "out.txt")
	start := func(names ...string) (*ModuleRun, error) {
		var uses []Use
		for _, n := range names {
			uses = append(uses, use(n, 0, func(h *Host) error {
				out, err := h.Open(file)
				if err == nil {
					fmt.Fprintln(out, n)
				}
				return err
			}))
		}
		return New().StartModules(uses, RunFacts{})
	}
	if err := os.WriteFile(file, []byte("longer text of an older run\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	first, err := start("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start("b"); err == nil ||
		err.Error() != "module b: "+file+" is being written by another run; name another place, or wait" {
		t.Error(err)
	}
	if err := first.Finish(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); string(text) != "a\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := start("b", "x"); err == nil ||
		err.Error() != "module x: "+file+" is written by b already; name another place" {
		t.Error(err)
	}
	// A run that does not start leaves the results of the one before.
	if text, err := os.ReadFile(file); string(text) != "a\n" {
		t.Errorf("%q, %v", text, err)
	}
	if again, err := start("c"); err != nil || again.Finish() != nil {
		t.Error(err)
	}
}

// An error that comes up only at the end is returned by Finish, once and with the module's name.
func TestOutputFullAtTheEnd(t *testing.T) {
	ses, told := New(), 0
	ses.Report(func(m string) { told++ })
	var out *Output
	writer := Use{Info: ModuleInfo{Name: "writer", New: func() Module {
		return &part{
			start:  func(h *Host) (err error) { out, err = h.Open("/dev/full"); return err },
			finish: func() error { fmt.Fprintln(out, "the end"); _ = out.Flush(); return nil },
		}
	}}}
	run, err := ses.StartModules([]Use{writer}, RunFacts{})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Finish(); err == nil || !strings.HasPrefix(err.Error(), "module writer: cannot write: ") ||
		told > 0 {
		t.Errorf("%v, told %d times", err, told)
	}
}

func TestRegistry(t *testing.T) {
	info := ModuleInfo{Name: "registered_module", Aliases: []string{"other_name"}, New: func() Module {
		return &part{}
	},
		Params: []Param{{Name: "n", Default: 3}, {Name: "f", Default: 0.5}, {Name: "b", Default: true},
			{Name: "s", Default: "x"}, {Name: "l", Default: []string{"y"}}}}
	RegisterModule(info)
	if !slices.ContainsFunc(Modules(), func(m ModuleInfo) bool {
		return m.Name == info.Name && m.Param("n") != nil && m.Param("z") == nil
	}) {
		t.Error("not there")
	}
	for _, again := range []ModuleInfo{{Name: "registered_module", New: info.New}, {Name: "other_name",
		New: info.New}, {Name: "new", Aliases: []string{"other_name"}, New: info.New}, {Name: "empty"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is taken", again.Name)
				}
			}()
			RegisterModule(again)
		}()
	}
	got := ""
	info.New = func() Module {
		return &part{start: func(h *Host) error {
			got = fmt.Sprint(h.Int("n"), h.Float("f"), h.Bool("b"), h.String("s"), h.Strings("l"))
			return nil
		}}
	}
	if _, err := New().StartModules([]Use{{Info: info, Params: map[string]any{"n": 4}}},
		RunFacts{}); err != nil || got != "4 0.5 truex[y]" {
		t.Errorf("%s, %v", got, err)
	}
}
