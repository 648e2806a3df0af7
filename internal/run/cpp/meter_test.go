//go:build cgo && linux

package cpp

import (
	"strings"
	"testing"
)

// TestWaits: a call in which user code was blocked is told with its reason and place, and its time is no CPU
// time.
func TestWaits(t *testing.T) {
	f := get(t, crashFixture)
	m := NewMeter()
	defer m.Close()
	var tm Times
	if o := m.Call(f.fn("nap"), []Value{IntValue(5000)}, &tm, 1, Each); o.Kind != Done {
		t.Fatal(o)
	}
	if m.Waits() != 1 {
		t.Fatalf("%d waits, want 1", m.Waits())
	}
	w := m.Wait(0)
	if w.Reason != Sleep || w.From < tm.Start || w.To > tm.End || w.To-w.From < 4_000_000 {
		t.Errorf("%+v in a call from %d to %d", w, tm.Start, tm.End)
	}
	if file, offset := Offset(w.Site); !strings.HasSuffix(file, ".so") || offset == 0 {
		t.Errorf("it was called in %s+%x", file, offset)
	}
	var spans []Span
	m.Spans(func(s Span) { spans = append(spans, s) })
	if len(spans) != 1 || spans[0].End != tm.End || spans[0].Of < tm.End-tm.Start ||
		spans[0].CPU+max(spans[0].Queued, 0)+w.To-w.From > spans[0].Of+10_000 { // clocks are read one after another
		t.Errorf("spans %+v of a call of %d ns, waited %d", spans, tm.End-tm.Start, w.To-w.From)
	}
	if m.Call(f.fn("spin"), []Value{IntValue(2000)}, &tm, 1, Each); m.Waits() != 0 {
		t.Errorf("a call that computes has %d waits", m.Waits())
	}
}

// TestWaitReasons: what is no file or socket is not waited for as one.
func TestWaitReasons(t *testing.T) {
	f := get(t, crashFixture)
	m := NewMeter()
	defer m.Close()
	for how, want := range []Reason{Sleep, Sleep, IO, Lock} {
		var tm Times
		m.Call(f.fn("doze"), []Value{IntValue(int32(how)), IntValue(5000)}, &tm, 1, Each)
		if m.Waits() == 0 {
			t.Errorf("%d: no waits", how)
		} else if w := m.Wait(0); w.Reason != want || want == Lock && w.File != "/" {
			t.Errorf("%d: it waited for %v %s, not %v", how, w.Reason, w.File, want)
		}
	}
}

// TestRest: a span ends where the worker parks, and the next one does not reach back to before.
func TestRest(t *testing.T) {
	f := get(t, crashFixture)
	m := NewMeter()
	defer m.Close()
	var tm Times
	m.Call(f.fn("spin"), []Value{IntValue(200)}, &tm, 1, Shared)
	rested := m.Rest()
	if s := m.Rest(); s.Of != 0 {
		t.Errorf("a second span %+v", s)
	}
	m.Call(f.fn("spin"), []Value{IntValue(200)}, &tm, 1, Shared)
	m.Spans(func(s Span) {
		if s.End-s.Of < rested.End {
			t.Errorf("a span %+v begins before the rest at %d", s, rested.End)
		}
	})
}
