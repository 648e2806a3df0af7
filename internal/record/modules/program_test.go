package modules

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/prof/piped"
	"github.com/whyslow/whyslow/trace"
)

// TestMain makes this program a module if it is started as one: that of the name of its file.
func TestMain(m *testing.M) {
	if os.Getenv(piped.Variable) == "" {
		os.Exit(m.Run())
	}
	name := filepath.Base(os.Args[0])
	starts, events := 0, 0
	served := piped.Module{
		Name: name, Doc: "for tests", Events: []string{"CFEvents.onStarted", "DFEvents.onCreate"},
		Params: []prof.Param{{Name: "file", Default: ""}, {Name: "every", Default: 1},
			{Name: "share", Default: 1.0}, {Name: "on", Default: false}, {Name: "names", Default: []string{"a"}},
			{Name: "how", Default: "well", Choices: []string{"well", "badly"}}},
		Start: func(h *piped.Host) error {
			if h.Param("how") == "badly" {
				return errors.New("how is badly")
			}
			return nil
		},
		Event: func(h *piped.Host, e *piped.Event) error {
			events++
			if e.Name == "CFEvents.onStarted" {
				starts++
			}
			return nil
		},
		Finish: func(h *piped.Host) error {
			h.Print("%s: %d events, %d starts, of %s with %v %v %v %v %v\n", name, events, starts, h.Run.Program,
				h.Param("every"), h.Param("share"), h.Param("on"), h.Param("names"), h.Param("none"))
			return nil
		},
	}
	switch name {
	case "crashes":
		served.Event = func(h *piped.Host, e *piped.Event) error { os.Exit(3); return nil }
	case "fails":
		served.Event = func(*piped.Host, *piped.Event) error { return errors.New("no more") }
	case "panics":
		served.Finish = func(*piped.Host) error { panic("at the end") }
	case "hangs_in_start":
		served.Start = func(*piped.Host) error { select {} }
	case "hangs":
		served.Event = func(*piped.Host, *piped.Event) error { select {} }
	case "hangs_in_finish":
		served.Finish = func(*piped.Host) error { select {} }
	case "slow":
		count := served.Event
		served.Event = func(h *piped.Host, e *piped.Event) error {
			time.Sleep(time.Millisecond)
			return count(h, e)
		}
	case "talks":
		os.Stdout.WriteString("hello\n")
		return
	case "goes_on":
		served.Params = []prof.Param{{Name: "x", Default: int8(1)}}
	case "strays":
		served.Start = func(*piped.Host) error {
			_, err := os.NewFile(1, "stdout").WriteString("hello\n")
			return err
		}
	case "silent":
		return
	}
	piped.Serve(served)
}

// moduleProgram is this program under a name.
func moduleProgram(t testing.TB, name string) string {
	t.Helper()
	self, err := os.Executable()
	path := filepath.Join(t.TempDir(), name)
	if err == nil {
		err = os.Symlink(self, path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func programUse(t testing.TB, name string, params map[string]any) prof.Use {
	t.Helper()
	info, err := OpenProgram(moduleProgram(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return prof.Use{Info: info, Params: params}
}

// impatient lets modules that hang be killed soon, while f runs. Others have time, however busy the machine
// is.
func impatient[T any](name string, f func() T) T {
	if strings.HasPrefix(name, "hangs") {
		old := programPatience
		programPatience = time.Second
		defer func() { programPatience = old }()
	}
	return f()
}

// TestProgramModule: all events of a crowd reach a process, in order of time, with its parameters.
func TestProgramModule(t *testing.T) {
	u := programUse(t, "counts", map[string]any{"every": 7, "on": true, "names": []string{"x", "y"}})
	if u.Info.Name != "counts" || u.Info.Doc != "for tests" || len(u.Info.Params) != 6 ||
		u.Info.Param("share").Default != 1.0 || u.Info.Param("every").Default != 1 {
		t.Fatalf("%+v", u.Info)
	}
	r := startRun(t, 2, 2, u)
	const each = 5000
	crowd(r.ses, 2, 2, func(s *prof.Stream) {
		for i := range each {
			r.ses.CFStarted.Emit(s, trace.MakeCF(0, uint64(i+1)), 1, []trace.DF{1, 2})
			r.ses.DFCreate.Emit(s, 1, 80, 0)
			r.ses.CFDestroyed.Emit(s, trace.MakeCF(0, uint64(i+1))) // nothing listens to
		}
	})
	const want = "counts: 40000 events, 20000 starts, of p.fa with 7 1 true [x y] <nil>\n"
	if got := r.finish(t); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestProgramGoesWrong: whatever a module does, the run goes on, and the user is told once.
func TestProgramGoesWrong(t *testing.T) {
	const hung = "has neither read an event nor written anything for 1s; it was killed"
	for name, want := range map[string]string{
		"crashes": "module crashes failed and is disconnected: program %s ended before it had finished" +
			" (exit status 3)",
		"fails":           "module fails failed and is disconnected: program %s failed: no more",
		"panics":          "module panics: program %s ended before it had finished (exit status 2)",
		"hangs":           "module hangs: program %s " + hung,
		"hangs_in_finish": "module hangs_in_finish: program %s " + hung,
	} {
		u := programUse(t, name, nil)
		r := startRun(t, 1, 1, u)
		s := r.ses.Stream(0, 0, nil)
		for range 2000 { // more than a lane holds back
			r.ses.CFStarted.Emit(s, trace.MakeCF(0, 1), 1, nil)
		}
		var told string
		if name == "crashes" || name == "fails" {
			told = <-r.told
		}
		if err := impatient(name, r.modules.Finish); err != nil {
			told += err.Error()
		}
		select {
		case more := <-r.told:
			told += more
		default:
		}
		path := told[strings.Index(told, "program ")+8:]
		path, _, _ = strings.Cut(path, " ")
		if told != fmt.Sprintf(want, path) {
			t.Errorf("%s: %s", name, told)
		}
	}
}

// TestProgramDoesNotStart: what is no module, or cannot start, keeps the program from starting.
func TestProgramDoesNotStart(t *testing.T) {
	for name, want := range map[string]string{
		"talks":   `is not a module: its first line is "hello"`,
		"silent":  "ended without a word",
		"goes_on": "parameter x is int8",
	} {
		_, err := OpenProgram(moduleProgram(t, name))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenProgram(filepath.Join(t.TempDir(), "nowhere")); err == nil ||
		!strings.Contains(err.Error(), "cannot be started: no such file") {
		t.Error(err)
	}
	for name, want := range map[string]string{
		"hangs_in_start": "has neither read an event nor written anything for 1s; it was killed",
		"strays":         `printed "hello", which whyslow does not understand`,
		"counts":         "failed: how is badly",
	} {
		u := programUse(t, name, map[string]any{"how": "badly"})
		if name != "counts" {
			u.Params = nil
		}
		r := &testRun{ses: prof.New()}
		if err := impatient(name, func() error {
			_, err := r.ses.StartModules([]prof.Use{u}, prof.RunFacts{})
			return err
		}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestProgramTooSlow: workers do not wait for a slow module; what it cannot take is dropped and counted.
func TestProgramTooSlow(t *testing.T) {
	old := programBacklog
	programBacklog = 200_000
	t.Cleanup(func() { programBacklog = old })
	r := startRun(t, 1, 1, programUse(t, "slow", nil))
	s := r.ses.Stream(0, 0, nil)
	const events = 20_000
	for range events {
		r.ses.CFStarted.Emit(s, trace.MakeCF(0, 1), 1, nil)
	}
	if err := r.modules.Finish(); err != nil {
		t.Fatal(err)
	}
	var dropped, all, took int
	if _, err := fmt.Sscanf(<-r.told, "module slow: %d of %d events were dropped", &dropped, &all); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(r.out.String(), "slow: %d events", &took); err != nil {
		t.Fatal(err)
	}
	if all != events || dropped == 0 || took == 0 || took+dropped != all {
		t.Errorf("%d of %d dropped, %d taken", dropped, all, took)
	}
}

// TestProgramInterrupted: a module that hangs does not keep an interrupted run from ending.
func TestProgramInterrupted(t *testing.T) {
	u := programUse(t, "hangs_in_finish", nil)
	ses, asked := prof.New(), make(chan struct{})
	run, err := ses.StartModules([]prof.Use{u}, prof.RunFacts{Asked: asked})
	if err != nil {
		t.Fatal(err)
	}
	close(asked)
	if err := run.Finish(); !errors.Is(err, prof.ErrLeft) {
		t.Error(err)
	}
}

// TestProgramLines: what a module says is read as it was written.
func TestProgramLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := piped.Description{Version: piped.Version, Events: []string{"*"},
			Name: rapid.StringMatching(`[A-Za-z_][a-z0-9_]{0,9}`).Draw(t, "name"), Doc: rapid.String().Draw(t, "doc")}
		got, err := programInfo(&d)
		reserved := d.Name == "logger" || strings.HasPrefix(d.Name, "lib") || err != nil &&
			strings.Contains(err.Error(), "one of whyslow's own")
		if (err != nil) != reserved || err == nil && (got.Name != d.Name || got.Doc != d.Doc) {
			t.Fatalf("%+v: %+v, %v", d, got, err)
		}
	})
}

func FuzzProgramLines(f *testing.F) {
	for _, line := range []string{
		`{"whyslow_module":1,"name":"m","events":["*"],"params":[{"name":"x","type":"int","default":3}]}`,
		`{"whyslow_module":1,"name":"m","params":[{"name":"x","type":"list","default":3}]}`,
		`{"ready":true}`, `{"print":"x"}`, `{}`, `{"error":"x"`, "\x00",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if d, err := parseDescription(line); err == nil {
			info, err := programInfo(d)
			if err == nil && (info.Name == "" || len(info.Params) != len(d.Params)) {
				t.Errorf("%q: %+v", line, info)
			}
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", line, err)
		}
		if r, err := parseReply(line); err == nil && r == (piped.Reply{}) {
			t.Errorf("%q says nothing", line)
		}
	})
}
