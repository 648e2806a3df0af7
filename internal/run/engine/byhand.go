package engine

// Events that the program's own C++ code emits, with EMIT_EVENT of whyslow.hpp. Package cpp keeps them until
// the call is over, or until the watch takes the stream of a worker that does not come back soon. They are
// then emitted like other events: of the session, on the worker that runs the CF, at their own times.

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// ownEvents is what a worker needs for them.
type ownEvents struct {
	known []*byHand                                           // by number of package cpp
	take  func(id int, t int64, words []uint64, texts []byte) // takeEvent
	words []uint64                                            // of one event
	texts []string
}

// allByHand are those of all workers.
type allByHand struct {
	mu    sync.Mutex
	known map[int]*byHand // by number of package cpp
	names map[string]int  // lists of types by "Namespace.onName"
}

// byHand is an event that the program's code emits with arguments of some types.
type byHand struct {
	user *prof.UserEvent // nil: it cannot be emitted
	text []bool          // by argument: a string
}

// letters are the types of arguments.
var letters = map[byte]trace.FieldType{'i': trace.FieldInt, 'u': trace.FieldUint, 'f': trace.FieldFloat,
	'b': trace.FieldUint, 't': trace.FieldName, 'T': trace.FieldInt, 'd': trace.FieldNS, 'o': trace.FieldName}

// takeEvents emits what user code of the worker has emitted. inside tells that it is still in the call.
func (w *worker) takeEvents(inside bool) { w.meter.Events(inside, w.own.take) }

// takeEvent emits one event.
func (w *worker) takeEvent(id int, t int64, args []uint64, texts []byte) {
	e := w.n.eng
	own := &w.own
	for len(own.known) <= id {
		own.known = append(own.known, nil)
	}
	h := own.known[id]
	if h == nil {
		h = e.eventByHand(id)
		own.known[id] = h
	}
	if h.user == nil || !h.user.On() {
		cpp.EventOff(id)
		return
	}
	own.words, own.texts = append(own.words[:0], args...), own.texts[:0]
	for i, text := range h.text {
		if text {
			own.words[i] = uint64(len(own.texts))
			own.texts = append(own.texts, string(texts[:args[i]]))
			texts = texts[args[i]:]
		}
	}
	if err := h.user.EmitWords(w.ps, t, own.words, own.texts); err != nil {
		e.warn(err.Error())
		cpp.EventOff(id)
	}
}

// eventByHand finds or makes the event of the session.
func (e *engine) eventByHand(id int) *byHand {
	a := &e.byHand
	a.mu.Lock()
	defer a.mu.Unlock()
	if h := a.known[id]; h != nil {
		return h
	}
	if a.known == nil {
		a.known, a.names = map[int]*byHand{}, map[string]int{}
	}
	h := &byHand{}
	a.known[id] = h
	is := cpp.EventOf(id)
	var fields []trace.Field
	for i := range len(is.Types) {
		f := letters[is.Types[i]]
		fields = append(fields, trace.Field{Name: "arg" + strconv.Itoa(i+1), Type: f})
		h.text = append(h.text, f == trace.FieldName)
	}
	var err error
	if h.user, err = e.defineByHand(is.Space, is.Name, fields); err != nil {
		e.warn(fmt.Sprintf("the program's C++ code emits an event that is not recorded: %v", err))
	}
	return h
}

// defineByHand makes the event. A standard one keeps its switch and gets another namespace: it would have to
// say which CF or DF it is about. One that the program emits with several lists of types is several events.
func (e *engine) defineByHand(space, name string, fields []trace.Field) (*prof.UserEvent, error) {
	if k, ok := trace.KindByName(space, name); ok {
		on := e.ses.Chosen(k.Spec().Namespace, k.Spec().Name)
		space += "User"
		defer func() { _ = e.ses.Enable(space, name, on) }() // it fails if the event could not be made
	}
	key := space + "." + name
	if n := e.byHand.names[key]; n > 0 {
		name += strconv.Itoa(n + 1)
	}
	u, err := e.ses.Define(space, name, fields...)
	if err != nil {
		return nil, err
	}
	e.byHand.names[key]++
	return u, nil
}

func (e *engine) warn(s string) {
	if e.cfg.Warn != nil {
		e.cfg.Warn(s)
	}
}

// tellLost warns of events of the program's that are not in the trace.
func (e *engine) tellLost() {
	homeless, tooMany := cpp.EventsLost()
	for _, x := range []struct {
		n   int64
		why string
	}{{homeless, "emitted outside of CFs: by static objects, or by threads that the program started itself"},
		{tooMany, "emitted faster than they could be taken over: a CF may keep 64 MiB of them"}} {
		if x.n > 0 {
			e.warn(fmt.Sprintf("not recorded: %s that the program's C++ code %s",
				words.Plural(x.n, "event", "events"), x.why))
		}
	}
}
