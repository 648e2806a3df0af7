package modules

import (
	"bytes"
	"flag"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

var update = flag.Bool("update", false, "write what the tests compare with")

// program is a describer for tests: statement n runs the code fragment of that name, DF n is x[n].
type program map[trace.Site]string

func (p program) Site(_ int, s trace.Site) prof.Site {
	return prof.Site{Code: p[s], Label: "step", File: "dir/p.fa", Line: int(s), Col: 3, Text: "f(x[1], \"<&\");"}
}
func (p program) DF(_ int, df trace.DF) (string, []int64) {
	if df >= 100 {
		return "", nil
	}
	if int(df) >= len(identities) {
		return "x", []int64{0, 7, int64(df)}
	}
	return "x", identities[df]
}
func (p program) Name(_ int, n trace.Name) string { return "lock \"A\", n" }

// identities are made before so that describing costs nothing.
var identities [64][]int64

func init() {
	for i := range identities {
		identities[i] = []int64{0, 7, int64(i)}
	}
}

var shop = program{1: "main", 2: "mult", 3: "put", 4: "mult"}

// use is a module to run.
func use(t testing.TB, name string, params map[string]any) prof.Use {
	t.Helper()
	i := slices.IndexFunc(prof.Modules(), func(m prof.ModuleInfo) bool { return m.Name == name })
	if i < 0 {
		t.Fatalf("no module %s", name)
	}
	return prof.Use{Info: prof.Modules()[i], Params: params}
}

// start is when the runs of tests start.
const start = 1_000_000_000

// a run of modules in a session of its own.
type testRun struct {
	ses     *prof.Session
	modules *prof.ModuleRun
	out     bytes.Buffer // the terminal
	told    chan string  // by the session
}

func startRun(t testing.TB, nodes, workers int, uses ...prof.Use) *testRun {
	t.Helper()
	r := &testRun{ses: prof.New(), told: make(chan string, 100)}
	r.ses.SetDescriber(shop)
	r.ses.Report(func(message string) { r.told <- message })
	var err error
	r.modules, err = r.ses.StartModules(uses, prof.RunFacts{
		Program: "p.fa", Nodes: nodes, Workers: workers, PID: 1405, Host: "here", Started: time.Unix(0, 0),
		StartNS: start, Out: &r.out,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// finish ends the run and returns what is on the terminal.
func (r *testRun) finish(t testing.TB) string {
	t.Helper()
	if err := r.modules.Finish(); err != nil {
		t.Fatal(err)
	}
	select {
	case message := <-r.told:
		t.Error(message)
	default:
	}
	return r.out.String()
}

// story emits a bit of everything on two nodes, the second stream of which is the run-time system's.
func story(ses *prof.Session) {
	w0, r0, w1 := ses.Stream(0, 0, nil), ses.Stream(0, 1, nil), ses.Stream(1, 0, nil)
	main, mult, put := trace.MakeCF(0, 1), trace.MakeCF(0, 2), trace.MakeCF(0, 3)
	at := int64(start)
	next := func() int64 { at += 1_234_567; return at }
	ses.ProgramStarted.EmitAt(w0, at, 0, 5)
	ses.CFCreated.EmitAt(w0, next(), main, 1, 0, 0, 1, nil)
	ses.CFStarted.EmitAt(w0, next(), main, 1, nil)
	ses.CFCreated.EmitAt(w0, next(), mult, 2, main, 1, 2.5, []int32{3, -4})
	ses.CFCreated.EmitAt(w0, next(), put, 3, main, 1, 1, nil)
	ses.CFFinished.EmitAt(w0, next(), main, 1, -1)
	ses.CFDestroyed.EmitAt(w0, at, main)
	ses.CFMigrated.EmitAt(r0, next(), mult, 1, 40, 2.5)
	ses.CFReceived.EmitAt(w1, next(), mult, 0, 40, 2.5)
	ses.CFWaiting.EmitAt(w1, next(), mult, []trace.DF{1, 2})
	ses.DFRequested.EmitAt(w1, at, 1, mult, 0, trace.MakeMessage(1, 1))
	ses.ForeignStarted.EmitAt(w0, next(), 3)
	ses.CFStarted.EmitAt(w0, at, put, 1, nil)
	ses.CFFinished.EmitAt(w0, next(), put, 1, 900)
	ses.ForeignEnded.EmitAt(w0, at, 3)
	ses.DFCreate.EmitAt(w0, at, 1, 80, put)
	ses.DFStored.EmitAt(w0, at, 1, 80)
	ses.CFDestroyed.EmitAt(w0, at, put)
	ses.DFSent.EmitAt(r0, next(), 1, 1, 96, trace.MakeMessage(0, 1), trace.MakeMessage(1, 1), 0)
	ses.DFReceived.EmitAt(w1, next(), 1, 0, 96, trace.MakeMessage(0, 1), trace.MakeMessage(1, 1), mult)
	ses.WaitStarted.EmitAt(w1, next(), 1)
	ses.WaitEnded.EmitAt(w1, next(), 1)
	ses.CFStolen.EmitAt(w1, next(), mult, 0, 12, 2.5)
	ses.DFDestroy.EmitAt(r0, next(), 1, 80, trace.Deleted)
	ses.DFDestroy.EmitAt(r0, next(), 100, 0, trace.End)
}

// crowd runs f in many goroutines, each with a stream of its own: workers of nodes.
func crowd(ses *prof.Session, nodes, workers int, f func(s *prof.Stream)) {
	var wg sync.WaitGroup
	for n := range nodes {
		for w := range workers {
			wg.Add(1)
			s := ses.Stream(n, w, nil)
			go func() { defer wg.Done(); f(s) }()
		}
	}
	wg.Wait()
}

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }
