package gotrace_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	exectrace "runtime/trace"
	"strings"
	"sync"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/internal/convert/foreign/gotrace"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

const items = 50

func produce(c chan<- int) {
	for i := range items {
		c <- work(i)
	}
	close(c)
}

func consume(c <-chan int, done *sync.WaitGroup) {
	defer done.Done()
	for v := range c {
		_ = work(v)
		_, _ = os.ReadFile("/proc/self/stat") // a system call where there is that file
	}
}

func work(v int) int {
	for i := range 20000 {
		v += i
	}
	return v
}

// record gives the trace of a program that is known: one goroutine makes what three others wait for.
func record(t testing.TB) []byte {
	var b bytes.Buffer
	if err := exectrace.Start(&b); err != nil {
		t.Skip(err)
	}
	c := make(chan int)
	var done sync.WaitGroup
	done.Add(3)
	for range 3 {
		go consume(c, &done)
	}
	go produce(c)
	ctx, task := exectrace.NewTask(context.Background(), "task")
	exectrace.Log(ctx, "what", "happened")
	exectrace.WithRegion(ctx, "region", done.Wait)
	task.End()
	runtime.GC()
	exectrace.Stop()
	return b.Bytes()
}

func load(t testing.TB, text []byte, dir string) (bool, error) {
	return foreign.Import(context.Background(), gotrace.Format, bytes.NewReader(text), nil, dir, trace.RunInfo{})
}

// TestRecorded: a trace of this very process becomes a run without contradictions, which knows who waited for
// whom, where, and why.
func TestRecorded(t *testing.T) {
	text := record(t)
	if !gotrace.Format.Is(text[:min(len(text), foreign.HeadBytes)]) {
		t.Fatal("not known by its first bytes")
	}
	dir := filepath.Join(t.TempDir(), "x.trace")
	if made, err := load(t, text, dir); !made || err != nil {
		t.Fatal(made, err)
	}
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	found, err := consistency.Check(context.Background(), r)
	if err != nil || !found.Consistent || !found.Whole {
		t.Fatalf("%v, %+v", err, found)
	}
	m := sloutest.Load(t, dir)
	if m.Killed || words.Imported[m.Info.Settings[model.Imported]].About.In(words.English) == "" || m.Info.Started.IsZero() {
		t.Errorf("killed: %v, %v, %v", m.Killed, m.Info.Settings, m.Info.Started)
	}
	if left := m.Info.Settings[model.NotReadSetting]; left != "1 logs\n2 tasks" {
		t.Errorf("not read: %q", left)
	}
	if n := m.Workers(); n < runtime.GOMAXPROCS(0) {
		t.Errorf("%d workers, GOMAXPROCS is %d", n, runtime.GOMAXPROCS(0))
	}
	name := func(cf model.CF) string {
		full := m.Codes[m.CodeOf(cf)].Name
		return full[strings.LastIndexByte(full, '.')+1:]
	}
	received, started, continued := 0, 0, 0
	for e := range m.Executions() {
		for _, df := range m.Inputs(e) {
			at, ok := m.Creation(df, m.ExecStart[e])
			if !ok {
				t.Fatalf("%s was made by nobody", m.DFString(df))
			}
			by, to := m.MadeBy[at], name(m.ExecCF[e])
			switch what := m.DFNameOf(df); {
			case strings.HasPrefix(what, "chan receive gotrace_test.go:") && to == "consume":
				if name(by) == "produce" {
					received++
				}
			case strings.HasPrefix(what, "go gotrace_test.go:") && (to == "consume" || to == "produce"):
				started++
			case what == "continues":
				if continued++; name(by) != to && to != "goroutine" && name(by) != "goroutine" {
					t.Errorf("%s continues as %s", name(by), to)
				}
			}
		}
	}
	if started != 4 || continued < items || received == 0 {
		t.Errorf("%d goroutines started, %d continued, %d woken up by the maker", started, continued, received)
	}
	res, err := slou.Compute(context.Background(), m, slou.Options{}, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	w := res.Factors.W
	if w == nil || w.Parts["GC: stop the world"] == 0 {
		t.Errorf("%+v", w)
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil && w.Parts["system call"] == 0 {
		t.Errorf("no system call in %+v", w)
	}
}

// TestDamaged: of a file that ends early the trace has what is there.
func TestDamaged(t *testing.T) {
	text := record(t)
	dir := filepath.Join(t.TempDir(), "x.trace")
	made, err := load(t, text[:len(text)-len(text)/8], dir)
	var damaged *foreign.Error
	if !errors.As(err, &damaged) || damaged.Offset <= 0 {
		t.Fatal(err)
	}
	if made {
		if m := sloutest.Load(t, dir); m.Info.Ended != "" {
			t.Error("it ended")
		}
	}
	for _, text := range []string{"", "go 1.22 trace\x00\x00\x00", "go 1.99 trace\x00\x00\x00",
		"go 1.22 trace\x00\x00\x00abc"} {
		if _, err := load(t, []byte(text), filepath.Join(t.TempDir(), "x")); !errors.As(err, &damaged) {
			t.Errorf("%q: %v", text, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := foreign.Import(ctx, gotrace.Format, bytes.NewReader(text), nil, filepath.Join(t.TempDir(), "x"),
		trace.RunInfo{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzRead: whatever the bytes are, there is an error that tells where, or a trace that can be read.
func FuzzRead(f *testing.F) {
	text := record(f)
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add([]byte("go 1.22 trace\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := filepath.Join(t.TempDir(), "x.trace")
		made, err := load(t, text, dir)
		var damaged *foreign.Error
		if err != nil && !errors.As(err, &damaged) {
			t.Fatal(err)
		}
		if made && err == nil {
			sloutest.Load(t, dir)
		}
	})
}
