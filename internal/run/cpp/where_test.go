//go:build cgo && linux

package cpp

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/record/pgas/symbols"
)

// TestWhere: of a call that does not return, the function that it is in is found with its callers, and what
// it waits for, whether the code was optimized or not.
func TestWhere(t *testing.T) {
	for _, level := range []string{"-O0", "-O2"} {
		f, err := openOptimized("testdata/where", program("begin ", "stay i", "finish i"), level)
		if err != nil {
			t.Fatal(err)
		}
		for how, want := range []string{
			"runs: spins stay",
			"runs: computes_in_library stay",
			"runs: asks_the_clock stay",
			"sleep: sleeps stay",
			"lock by 7: locks_twice stay",
			"io of pipe: reads stay",
			"io of pipe: reads_in_library stay",
			"io of pipe: polls stay",
			"sleep: grows stay",
		} {
			t.Run(level+" "+want, func(t *testing.T) { stays(t, f, how, want) })
		}
	}
}

func stays(t *testing.T, f *fixture, how int, want string) {
	f.call(t, "begin")
	m := NewMeter()
	defer m.Close()
	done := make(chan Outcome)
	go func() {
		var tm Times
		done <- m.Call(f.fn("stay"), []Value{IntValue(int32(how))}, &tm, 7, Nothing)
	}()
	for m.Since() == 0 {
	}
	got := ""
	for range 1000 {
		w := m.Where(!strings.HasPrefix(want, "runs"))
		if got = describe(w); got == want {
			break
		}
	}
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if ns, ok := m.CPU(); !ok || ns <= 0 {
		t.Errorf("processor time %d, %v", ns, ok)
	}
	f.call(t, "finish", IntValue(int32(how)))
	if o := <-done; o.Kind != Done {
		t.Error(o)
	}
}

// describe names what the call does and the functions of where.cpp that it is in.
func describe(w Where) string {
	s := "waits"
	switch {
	case w.Runs:
		s = "runs"
	case w.Known:
		s = w.Wait.Reason.String()
	}
	if w.Wait.Holder != 0 {
		s += fmt.Sprintf(" by %d", w.Wait.Holder)
	}
	if kind, _, ok := strings.Cut(w.Wait.File, ":"); ok {
		s += " of " + kind
	}
	s += ":"
	for _, c := range w.Calls {
		text := symbols.Join(c.File, c.Offset)
		p := symbols.Resolve([]string{text})[text]
		if filepath.Base(p.File) == "where.cpp" && p.Line > 0 {
			s += " " + p.Function
		}
	}
	return s
}
