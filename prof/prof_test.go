package prof

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// recording is a session with one stream that is traced.
func recording(t testing.TB) (ses *Session, s *Stream, text func() string) {
	dir := t.TempDir()
	w, err := trace.Create(dir, 0, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ses = New()
	return ses, ses.Stream(0, 1, w.Stream(1)), func() string {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := trace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var b bytes.Buffer
		if err := twin.Dump(&b, r, twin.Options{NoDefs: true}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
}

// Every event object records the fields of its kind in order and hands them to its
// handlers.
func TestEveryStandardEvent(t *testing.T) {
	ses, s, text := recording(t)
	var want []string
	for i, k := range trace.Kinds() {
		var event reflect.Value
		for _, h := range ses.hubs {
			if h.core().kind == k.Kind {
				event = reflect.ValueOf(h)
			}
		}
		emitAt := event.MethodByName("EmitAt")
		args := []reflect.Value{reflect.ValueOf(s), reflect.ValueOf(int64(i))}
		line := fmt.Sprintf("%d n0 s1 %s", i, &k)
		for j, f := range k.Fields {
			v := reflect.New(emitAt.Type().In(j + 2)).Elem()
			text := fmt.Sprint(j + 1)
			switch {
			case f.Type.List():
				v.Set(reflect.MakeSlice(v.Type(), 3, 3))
				for n := range 3 {
					v.Index(n).Set(reflect.ValueOf(n + j).Convert(v.Type().Elem()))
				}
				text = fmt.Sprintf("[%d %d %d]", j, j+1, j+2)
			case f.Type == trace.FieldCF, f.Type == trace.FieldMessage:
				v.SetUint(uint64(trace.MakeCF(j, 9)))
				text = fmt.Sprintf("%d.9", j)
			case f.Type == trace.FieldFloat:
				v.SetFloat(2.5)
				text = "2.5"
			case f.Type == trace.FieldReason:
				v.SetUint(uint64(trace.End))
				text = "end"
			case f.Type == trace.FieldName:
				v.SetUint(uint64(s.Trace().Writer().Name("x")))
				text = "x"
			case v.CanInt():
				v.SetInt(int64(j + 1))
			default:
				v.SetUint(uint64(j + 1))
			}
			args = append(args, v)
			line += " " + f.Name + "=" + text
		}
		want = append(want, line)
		var got []any
		connect := event.MethodByName("Connect")
		handler := reflect.MakeFunc(connect.Type().In(2), func(in []reflect.Value) []reflect.Value {
			for _, v := range in {
				if v.Kind() == reflect.Slice {
					// Only valid during the call.
					v = reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, 3), v)
				}
				got = append(got, v.Interface())
			}
			return nil
		})
		if err := connect.Call([]reflect.Value{reflect.ValueOf("test"), reflect.ValueOf(1),
			handler})[0]; !err.IsNil() {
			t.Fatal(err)
		}
		emitAt.Call(args)
		var given []any
		for _, a := range args {
			given = append(given, a.Interface())
		}
		if !reflect.DeepEqual(got, given) {
			t.Errorf("%s: handler got %v, want %v", &k, got, given)
		}
	}
	if got := strings.Split(strings.TrimSpace(text()), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestHandlersInOrderOfPriority(t *testing.T) {
	ses := New()
	s := ses.Stream(3, 4, nil)
	if ses.Idle.On() {
		t.Error("an event that nobody consumes is on")
	}
	order := ""
	for _, h := range []struct {
		name     string
		priority int
	}{{"c", 5}, {"a", -1}, {"d", 5}, {"b", 0}} {
		err := ses.Idle.Connect(h.name, h.priority, func(s *Stream, t int64) {
			order += fmt.Sprintf("%s%d%d%d ", h.name, s.Node(), s.ID(), t)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	ses.Idle.EmitAt(s, 7)
	if want := "a347 b347 c347 d347 "; order != want {
		t.Errorf("%q, want %q", order, want)
	}
	order = ""
	if n := ses.Disconnect("b"); n != 1 {
		t.Errorf("%d disconnected", n)
	}
	ses.Idle.EmitAt(s, 8)
	if want := "a348 c348 d348 "; order != want {
		t.Errorf("%q, want %q", order, want)
	}
	if err := ses.Idle.Connect("x", 0, nil); err == nil {
		t.Error("a nil handler was connected")
	}
}

func TestSwitchingOff(t *testing.T) {
	ses, s, text := recording(t)
	called := 0
	ses.DFCreate.Connect("test", 0, func(*Stream, int64, trace.DF, int64, trace.CF) { called++ })
	emit := func(t int64) {
		ses.DFCreate.EmitAt(s, t, 1, 8, 0)
		ses.Idle.EmitAt(s, t)
	}
	emit(1)
	if err := ses.Enable("DFEvents", "onCreateSize", false); err != nil { // an alias
		t.Fatal(err)
	}
	if got := ses.Off(); !slices.Equal(got, []string{"DFEvents.onCreate"}) || ses.DFCreate.On() {
		t.Errorf("off: %v", got)
	}
	emit(2)
	ses.EnableAll(false)
	emit(3)
	ses.Enable("GlobalEvents", "onIdle", true)
	emit(4)
	ses.EnableAll(true)
	emit(5)
	if err := ses.Enable("DFEvents", "onNone", true); err == nil ||
		err.Error() != "there is no event DFEvents.onNone" {
		t.Error(err)
	}
	want := `1 n0 s1 DFEvents.onCreate df=1 size=8 cf=-
1 n0 s1 GlobalEvents.onIdle
2 n0 s1 GlobalEvents.onIdle
4 n0 s1 GlobalEvents.onIdle
5 n0 s1 DFEvents.onCreate df=1 size=8 cf=-
5 n0 s1 GlobalEvents.onIdle
`
	if got := text(); got != want || called != 2 {
		t.Errorf("called %d times, recorded\n%s", called, got)
	}
}

func TestPanickingHandlerIsDisconnected(t *testing.T) {
	ses := New()
	var messages []string
	ses.Report(func(m string) { messages = append(messages, m) })
	s := ses.Stream(0, 0, nil)
	before, after := 0, 0
	ses.Busy.Connect("before", 0, func(*Stream, int64) { before++ })
	ses.Busy.Connect("bad", 1, func(*Stream, int64) { panic("out of cheese") })
	ses.Busy.Connect("after", 2, func(*Stream, int64) { after++ })
	for range 3 {
		ses.Busy.Emit(s)
	}
	if before != 3 || after != 3 {
		t.Errorf("the others were called %d and %d times", before, after)
	}
	if want := []string{
		`handler "bad" of GlobalEvents.onBusy failed and is disconnected: out of cheese`}; !slices.Equal(messages,
		want) {
		t.Errorf("%q", messages)
	}
}

// Handlers come and go while workers emit. Run with -race.
func TestConnectWhileOthersEmit(t *testing.T) {
	ses, _, _ := recording(t)
	ses.Report(func(string) {})
	var calls, total atomic.Int64
	total.Store(0)
	ses.CFStarted.Connect("always", 0, func(s *Stream, _ int64, _ trace.CF, _ uint64, inputs []trace.DF) {
		total.Add(1)
		if len(inputs) != 2 || inputs[0] != trace.DF(s.ID()) {
			t.Errorf("inputs %v on stream %d", inputs, s.ID())
		}
	})
	const workers, events = 3, 2000
	var wg sync.WaitGroup
	for id := range workers {
		wg.Go(func() {
			s := ses.Stream(0, id, nil)
			for i := range events {
				ses.CFStarted.Emit(s, trace.MakeCF(0, uint64(i)), 1, []trace.DF{trace.DF(id), 2})
			}
		})
	}
	wg.Go(func() {
		for i := range 200 {
			name := fmt.Sprint("guest", i)
			ses.CFStarted.Connect(name, i%3-1, func(*Stream, int64, trace.CF, uint64, []trace.DF) {
				if calls.Add(1)%50 == 0 {
					panic("enough")
				}
			})
			ses.Enable("CFEvents", "onReady", i%2 == 0)
			ses.Disconnect(name)
		}
	})
	wg.Wait()
	if total.Load() != workers*events {
		t.Errorf("%d calls, want %d", total.Load(), workers*events)
	}
}

// A handler may emit events with lists itself.
func TestHandlersEmit(t *testing.T) {
	ses := New()
	s := ses.Stream(0, 0, nil)
	text := ""
	ses.CFWaiting.Connect("inner", 0, func(_ *Stream, _ int64, _ trace.CF, awaited []trace.DF) {
		text += fmt.Sprint(awaited)
	})
	ses.CFStarted.Connect("outer", 0, func(s *Stream, t int64, cf trace.CF, _ uint64, inputs []trace.DF) {
		for range 3 {
			ses.CFWaiting.EmitAt(s, t, cf, []trace.DF{7, 8, 9, 10})
		}
		text += fmt.Sprint(inputs)
	})
	ses.CFStarted.EmitAt(s, 1, 1, 1, []trace.DF{1, 2})
	if want := "[7 8 9 10][7 8 9 10][7 8 9 10][1 2]"; text != want {
		t.Error(text)
	}
}

func TestEmittingDoesNotAllocate(t *testing.T) {
	ses, s, _ := recording(t)
	ses.Busy.Connect("test", 0, func(*Stream, int64) {})
	ses.CFStarted.Connect("test", 0, func(*Stream, int64, trace.CF, uint64, []trace.DF) {})
	list := [4]trace.DF{1, 2, 3, 4}
	emit := func() {
		ses.CFStarted.Emit(s, 1, 1, list[:])
		inputs := [2]trace.DF{trace.DF(ses.CFStarted.kind), 2} // on this goroutine's stack
		ses.CFWaiting.Emit(s, 1, inputs[:])
		ses.CFFinished.Emit(s, 1, 1, -1)
		ses.Busy.Emit(s)
	}
	emit()
	if n := testing.AllocsPerRun(200, emit); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestUserEvents(t *testing.T) {
	ses, s, text := recording(t)
	u, err := ses.Define("My", "onStep", trace.Field{Name: "step", Type: trace.FieldInt},
		trace.Field{Name: "what", Type: trace.FieldName},
		trace.Field{Name: "residual", Type: trace.FieldFloat}, trace.Field{Name: "took", Type: trace.FieldNS},
		trace.Field{Name: "parts", Type: trace.FieldInts})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	err = u.Connect("test", 0, func(s *Stream, t int64, step int64, what string, residual float64, took int64,
		parts []int64) {
		got += fmt.Sprint(s.ID(), t, step, what, residual, took, parts, ";")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := u.EmitAt(s, 5, 1, "red", 0.5, int64(77), []int{1, -2}); err != nil {
		t.Fatal(err)
	}
	if err := u.EmitAt(s, 6, int64(2), "a b", math.Inf(1), 0, []int32(nil)); err != nil {
		t.Fatal(err)
	}
	if want := "151red0.5 77 [1 -2];162a b+Inf 0 [];"; strings.ReplaceAll(got, " ",
		"") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("%q", got)
	}
	err = u.EmitAt(s, 7, "x")
	if want := "event My.onStep takes (step Int, what Name, residual Float, took NS, parts Ints), but is " +
		"emitted with (string)"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if err := ses.Enable("My", "onStep", false); err != nil {
		t.Fatal(err)
	}
	if err := u.EmitAt(s, 8, "not even looked at"); err != nil {
		t.Error(err)
	}
	want := "5 n0 s1 My.onStep step=1 what=red residual=0.5 took=77 parts=[1 -2]\n6 n0 s1 My.onStep step=2 " +
		"what=\"a b\" residual=+Inf took=0 parts=[]\n"
	if got := text(); got != want {
		t.Errorf("recorded\n%s", got)
	}
}

// The first handler fixes the types.
func TestTypesOfUserEvents(t *testing.T) {
	ses, s, text := recording(t)
	u, err := ses.User("My", "onThing")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Emit(s,
		1); err == nil || err.Error() != "event My.onThing is emitted before Define or a handler has fixed the "+
		"types of its arguments" {
		t.Error(err)
	}
	got := ""
	if err := u.Connect("first", 0, func(n int64, name string) { got += fmt.Sprint(n, name) }); err != nil {
		t.Fatal(err)
	}
	err = u.Connect("second", 0, func(float64) {})
	if want := `event My.onThing takes (arg0 Int, arg1 Name); handler "second" has (arg0 Float)`; err == nil ||
		err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if _, err := ses.Define("My", "onThing", trace.Field{Name: "n", Type: trace.FieldUint}); err == nil {
		t.Error("defined with other types")
	}
	err = u.Connect("third", 0, func(map[string]int) {})
	if want := `event My.onThing: handler "third" has an argument of type map[string]int, which cannot be recorded`; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	for _, f := range []any{nil, 5, func(...int) {}} {
		if err := u.Connect("odd", 0, f); err == nil {
			t.Errorf("%T was connected", f)
		}
	}
	if _, err := ses.User("DFEvents", "onCreate"); err == nil {
		t.Error("a standard event as a user event")
	}
	if err := u.EmitAt(s, 1, 5, "x"); err != nil || got != "5x" {
		t.Error(err, got)
	}
	if got := text(); got != "1 n0 s1 My.onThing arg0=5 arg1=x\n" {
		t.Error(got)
	}
}

func ExampleSession() {
	ses := New()
	s := ses.Stream(0, 0, nil)
	ses.CFFinished.Connect("counter", 10, func(_ *Stream, _ int64, cf trace.CF, _ uint64, cpu int64) {
		fmt.Println(cf, "took", cpu, "ns")
	})
	ses.CFFinished.Emit(s, trace.MakeCF(0, 17), 1, 1500)
	// Output: 0.17 took 1500 ns
}
