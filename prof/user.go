package prof

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/whyslow/whyslow/trace"
)

// UserEvent is an event of a user namespace. The types of its arguments are fixed
// by Define or by the first handler connected, and are the same from then on.
type UserEvent struct {
	Event[func(s *Stream, t int64, args []any)]
	spec  trace.KindSpec // its Fields may be looked at once fixed is set
	index int
	fixed atomic.Bool
}

// String is "Namespace.onName".
func (u *UserEvent) String() string { return u.spec.String() }

type argType struct {
	t reflect.Type
	f trace.FieldType
}

// goTypes maps Go types of arguments to field types; arguments made of words have the first of a field's.
var goTypes = []argType{
	{reflect.TypeFor[trace.CF](), trace.FieldCF}, {reflect.TypeFor[trace.DF](), trace.FieldDF},
	{reflect.TypeFor[trace.Site](), trace.FieldSite}, {reflect.TypeFor[trace.Name](), trace.FieldName},
	{reflect.TypeFor[trace.Reason](), trace.FieldReason}, {reflect.TypeFor[string](), trace.FieldName},
	{reflect.TypeFor[float64](), trace.FieldFloat}, {reflect.TypeFor[int64](), trace.FieldInt},
	{reflect.TypeFor[int](), trace.FieldInt}, {reflect.TypeFor[int32](), trace.FieldInt},
	{reflect.TypeFor[uint64](), trace.FieldUint}, {reflect.TypeFor[uint32](), trace.FieldUint},
	{reflect.TypeFor[bool](), trace.FieldUint}, {reflect.TypeFor[[]int64](), trace.FieldInts},
	{reflect.TypeFor[[]int32](), trace.FieldInts}, {reflect.TypeFor[[]int](), trace.FieldInts},
	{reflect.TypeFor[[]trace.DF](), trace.FieldDFs},
}

// fromWords makes an argument for a field of words: one, or those of a list.
func fromWords(f trace.FieldType, words ...uint64) any {
	i := slices.IndexFunc(goTypes, func(g argType) bool { return g.f == class(f) })
	t := goTypes[i].t
	if !f.List() {
		return reflect.ValueOf(words[0]).Convert(t).Interface()
	}
	return convert(reflect.ValueOf(words), t).Interface()
}

func fieldType(t reflect.Type) (trace.FieldType, bool) {
	for _, g := range goTypes {
		if g.t == t {
			return g.f, true
		}
	}
	return 0, false
}

// User returns the event of a user namespace, making it at the first call; its
// argument types are still open unless Define or a handler has fixed them.
func (s *Session) User(ns, name string) (*UserEvent, error) {
	if _, ok := trace.KindByName(ns, name); ok {
		return nil, fmt.Errorf("event %s.%s is a standard one: use its own object", ns, name)
	}
	s.mu.Lock()
	key := [2]string{ns, name}
	u := s.users[key]
	if u != nil {
		s.mu.Unlock()
		return u, nil
	}
	u = &UserEvent{spec: trace.KindSpec{Namespace: ns, Name: name}, index: len(s.users)}
	u.ses, u.kind, u.title = s, trace.FirstUserKind, u.String()
	u.off = s.choose != nil && !s.choose(ns, name)
	s.users[key] = u
	s.hubs = append(s.hubs, u)
	u.update()
	later := s.later[:len(s.later):len(s.later)]
	s.mu.Unlock()
	for _, f := range later {
		if err := f(u); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// Define returns the event of a user namespace and fixes its fields. Defining it
// again with the same field types is allowed.
func (s *Session) Define(ns, name string, fields ...trace.Field) (*UserEvent, error) {
	u, err := s.User(ns, name)
	if err != nil {
		return nil, err
	}
	spec := trace.KindSpec{Namespace: ns, Name: name, Fields: fields}
	if err := spec.Check(); err != nil {
		return nil, err
	}
	return u, u.fix(fields, "definition")
}

// fix settles the fields, or checks that they are those settled before.
func (u *UserEvent) fix(fields []trace.Field, who string) error {
	u.ses.mu.Lock()
	defer u.ses.mu.Unlock()
	if !u.fixed.Load() {
		u.spec.Fields = fields
		u.fixed.Store(true)
		return nil
	}
	same := len(fields) == len(u.spec.Fields)
	for i := 0; same && i < len(fields); i++ {
		same = class(fields[i].Type) == class(u.spec.Fields[i].Type)
	}
	if !same {
		other := trace.KindSpec{Fields: fields}
		return fmt.Errorf("event %s takes %s; %s has %s", u, u.spec.Signature(), who, other.Signature())
	}
	return nil
}

// fieldsOf describes arguments of the given Go types.
func (u *UserEvent) fieldsOf(types []reflect.Type, who string) ([]trace.Field, error) {
	var fields []trace.Field
	for i, t := range types {
		ft, ok := fieldType(t)
		if !ok {
			return nil, fmt.Errorf("event %s: %s has an argument of type %s, which cannot be recorded", u, who, t)
		}
		fields = append(fields, trace.Field{Name: "arg" + strconv.Itoa(i), Type: ft})
	}
	spec := trace.KindSpec{Namespace: u.spec.Namespace, Name: u.spec.Name, Fields: fields}
	return fields, spec.Check()
}

// Connect adds a handler. f is a function of the event's arguments, of Go types such as int64, float64,
// string, []int32 or the id types of package trace, and may take (*Stream, int64) before them: where and when
// the event was emitted. The first one fixes the types if Define has not.
func (u *UserEvent) Connect(name string, priority int, f any) error {
	v := reflect.ValueOf(f)
	who := fmt.Sprintf("handler %q", name)
	if f == nil || v.Kind() != reflect.Func || v.IsNil() || v.Type().IsVariadic() {
		return fmt.Errorf("event %s: %s is %T, not a function of fixed arguments", u, who, f)
	}
	var types []reflect.Type
	for i := range v.Type().NumIn() {
		types = append(types, v.Type().In(i))
	}
	place := len(types) >= 2 && types[0] == reflect.TypeFor[*Stream]() && types[1] == reflect.TypeFor[int64]()
	if place {
		types = types[2:]
	}
	fields, err := u.fieldsOf(types, who)
	if err != nil {
		return err
	}
	if err := u.fix(fields, who); err != nil {
		return err
	}
	call := func(s *Stream, t int64, args []any) {
		in := make([]reflect.Value, 0, len(args)+2)
		if place {
			in = append(in, reflect.ValueOf(s), reflect.ValueOf(t))
		}
		for i, a := range args {
			in = append(in, convert(reflect.ValueOf(a), types[i]))
		}
		v.Call(in)
	}
	return u.Event.Connect(name, priority, call)
}

// convert turns an argument into the handler's type for the same field.
func convert(v reflect.Value, t reflect.Type) reflect.Value {
	switch {
	case v.Type() == t:
		return v
	case t.Kind() == reflect.Slice:
		out := reflect.MakeSlice(t, v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(v.Index(i).Convert(t.Elem()))
		}
		return out
	case v.Kind() == reflect.Bool:
		n := uint64(0)
		if v.Bool() {
			n = 1
		}
		return reflect.ValueOf(n).Convert(t)
	case t.Kind() == reflect.Bool:
		return reflect.ValueOf(!v.IsZero())
	}
	return v.Convert(t)
}

// connectAny adds a handler that leaves the types of the arguments open.
func (u *UserEvent) connectAny(name string, priority int, f func(s *Stream, a *Any)) error {
	if f == nil {
		return u.Event.Connect(name, priority, nil)
	}
	return u.Event.Connect(name, priority, func(s *Stream, t int64, args []any) {
		a := s.begin(&u.spec, t)
		defer s.end()
		for i, arg := range args {
			switch arg := arg.(type) {
			case string:
				a.Words, a.texts = append(a.Words, uint64(len(a.texts))), append(a.texts, arg)
			case trace.Name:
				a.Words, a.texts = append(a.Words, uint64(len(a.texts))), append(a.texts,
					s.ses.Describe().Name(s.node, arg))
			default:
				a.Words = appendWords(a.Words, s, args[i])
			}
		}
		f(s, a)
	})
}

// EmitWords is EmitAt for arguments that are known as words, in the order of the fields: one for
// each, a list as the number of its elements and the elements, a string as its index in texts.
func (u *UserEvent) EmitWords(s *Stream, t int64, words []uint64, texts []string) error {
	if u.state.Load() == 0 {
		return nil
	}
	if !u.fixed.Load() {
		return u.check(nil)
	}
	args, err := u.argsOf(words, texts)
	if err != nil {
		return err
	}
	return u.EmitAt(s, t, args...)
}

// argsOf turns words into arguments of the types of the fields.
func (u *UserEvent) argsOf(words []uint64, texts []string) ([]any, error) {
	fixed, list := u.spec.List()
	ok := len(words) == fixed
	if list {
		ok = len(words) > fixed && words[fixed] == uint64(len(words)-fixed-1)
	}
	var args []any
	for i := 0; ok && i < fixed; i++ {
		switch w, f := words[i], u.spec.Fields[i].Type; f {
		case trace.FieldName:
			if ok = w < uint64(len(texts)); ok {
				args = append(args, texts[w])
			}
		case trace.FieldFloat:
			args = append(args, math.Float64frombits(w))
		default:
			args = append(args, fromWords(f, w))
		}
	}
	if !ok {
		return nil, fmt.Errorf("event %s takes %s, but is emitted with %d words and %d strings", u,
			u.spec.Signature(), len(words), len(texts))
	}
	if list {
		args = append(args, fromWords(u.spec.Fields[fixed].Type, words[fixed+1:]...))
	}
	return args, nil
}

// Emit emits the event at the present time. Arguments of other types than those
// fixed are an error, which names the event and both lists of types.
func (u *UserEvent) Emit(s *Stream, args ...any) error {
	if u.state.Load() == 0 {
		return nil
	}
	return u.EmitAt(s, Now(), args...)
}

// EmitAt is Emit at a given time.
func (u *UserEvent) EmitAt(s *Stream, t int64, args ...any) error {
	if u.state.Load() == 0 {
		return nil
	}
	if err := u.check(args); err != nil {
		return err
	}
	if s.trace != nil {
		if err := u.record(s, t, args); err != nil {
			return err
		}
	}
	if u.state.Load()&handled != 0 {
		u.run(func(f any) { f.(func(*Stream, int64, []any))(s, t, args) })
	}
	return nil
}

func (u *UserEvent) check(args []any) error {
	if !u.fixed.Load() {
		return fmt.Errorf("event %s is emitted before Define or a handler has fixed the types of its"+
			" arguments", u)
	}
	fields := u.spec.Fields
	ok := len(args) == len(fields)
	for i := 0; ok && i < len(args); i++ {
		ok = accepts(fields[i].Type, reflect.TypeOf(args[i]))
	}
	if ok {
		return nil
	}
	var given []string
	for _, a := range args {
		given = append(given, fmt.Sprintf("%T", a))
	}
	return fmt.Errorf("event %s takes %s, but is emitted with (%s)", u, u.spec.Signature(),
		strings.Join(given, ", "))
}

// class is the field type that stands for all that share its Go type: nodes, messages,
// times and sizes have none of their own.
func class(f trace.FieldType) trace.FieldType {
	switch f {
	case trace.FieldNode, trace.FieldNS, trace.FieldBytes:
		return trace.FieldInt
	case trace.FieldMessage:
		return trace.FieldUint
	}
	return f
}

// accepts reports whether a value of a Go type may be recorded as a field type.
func accepts(f trace.FieldType, t reflect.Type) bool {
	ft, ok := fieldType(t)
	return ok && ft == class(f)
}

// record appends the event to the stream's trace.
func (u *UserEvent) record(s *Stream, t int64, args []any) error {
	for len(s.kinds) <= u.index {
		s.kinds = append(s.kinds, 0)
	}
	k := s.kinds[u.index]
	if k == 0 {
		var err error
		if k, err = s.trace.Writer().DefineKind(u.spec); err != nil {
			return err
		}
		s.kinds[u.index] = k
	}
	words := s.words[:0]
	for _, a := range args {
		words = appendWords(words, s, a)
	}
	s.words = words
	s.trace.Emit(t, k, words...)
	return nil
}

func appendWords(words []uint64, s *Stream, a any) []uint64 {
	switch a := a.(type) {
	case string:
		return append(words, uint64(s.trace.Writer().Name(a)))
	case float64:
		return append(words, math.Float64bits(a))
	case bool:
		if a {
			return append(words, 1)
		}
		return append(words, 0)
	}
	v := reflect.ValueOf(a)
	if v.Kind() != reflect.Slice {
		return append(words, scalar(v))
	}
	words = append(words, uint64(v.Len()))
	for i := range v.Len() {
		words = append(words, scalar(v.Index(i)))
	}
	return words
}

func scalar(v reflect.Value) uint64 {
	if v.CanInt() {
		return uint64(v.Int())
	}
	return v.Uint()
}
