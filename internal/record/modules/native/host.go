//go:build cgo && linux

package native

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"strings"
	"unsafe"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// The functions of wsm_host. What is wrong fails the module; a panic must not reach C.

func moduleOf(ref C.uintptr_t) *module     { return cgo.Handle(ref).Value().(*module) }
func (m *module) failf(f string, a ...any) { m.fail(fmt.Errorf(f, a...)) }

// result tells C how something went, and fails the module where it went wrong.
func (m *module) result(err error) C.int {
	if err == nil {
		return 0
	}
	m.fail(err)
	return -1
}

// guard turns a panic into a failure of the module.
func (m *module) guard() {
	if cause := recover(); cause != nil {
		m.failf("%v", cause)
	}
}

// atStart fails the module if it calls the function too late.
func (m *module) atStart(function string) bool {
	ok := m.is(starting)
	if !ok {
		m.failf("%s is called after the start", function)
	}
	return ok
}

// put copies text to a buffer of C and returns its whole length.
func put(buf *C.char, size C.size_t, text []byte) C.size_t {
	if size > 0 {
		b := unsafe.Slice((*byte)(unsafe.Pointer(buf)), size)
		b[copy(b[:size-1], text)] = 0
	}
	return C.size_t(len(text))
}

//export wnConnect
func wnConnect(ref C.uintptr_t, event *C.char, f, user C.uintptr_t) C.int {
	m := moduleOf(ref)
	defer m.guard()
	if !m.atStart("connect") {
		return -1
	}
	name := C.GoString(event)
	var err error
	if f == 0 {
		err = fmt.Errorf("the handler of %s is NULL", name)
	} else if strings.Contains(name, "*") {
		err = m.h.ConnectMatching([]string{name}, m.handler(f, user))
	} else {
		var ns string
		if ns, name, err = splitEvent(name); err == nil {
			err = m.h.Connect(ns, name, m.handler(f, user))
		}
	}
	return m.result(err)
}

//export wnDefine
func wnDefine(ref C.uintptr_t, signature *C.char) *C.wsm_spec {
	m := moduleOf(ref)
	defer m.guard()
	spec, err := parseSignature(C.GoString(signature))
	var u *prof.UserEvent
	if err == nil {
		u, err = m.h.Session().Define(spec.Namespace, spec.Name, spec.Fields...)
	}
	if err != nil {
		m.fail(err)
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.kind(spec)
	m.own[p] = u
	return p
}

//export wnSpec
func wnSpec(ref C.uintptr_t, event *C.char) *C.wsm_spec {
	m := moduleOf(ref)
	defer m.guard()
	ns, name, err := splitEvent(C.GoString(event))
	if err != nil {
		return nil
	}
	if k, ok := trace.KindByName(ns, name); ok {
		return standard()[k]
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.user[ns+"."+name]; m.own[p] != nil {
		return p
	}
	return nil
}

//export wnEmit
func wnEmit(ref, event C.uintptr_t, spec *C.wsm_spec, time C.int64_t, words *C.uint64_t, count C.uint32_t,
	texts **C.char, textsCount C.uint32_t) C.int {
	m := moduleOf(ref)
	defer m.guard()
	m.mu.Lock()
	u := m.own[spec]
	m.mu.Unlock()
	if u == nil {
		return m.result(errors.New("emit of an event that this module has not defined"))
	}
	t := cgo.Handle(event).Value().(*stream)
	if t.event == nil {
		return m.result(fmt.Errorf("emit of %s when no event is being handled", u))
	}
	at := int64(time)
	if at == 0 {
		at = prof.Now()
	}
	var strs []string
	for _, s := range unsafe.Slice(texts, textsCount) {
		strs = append(strs, C.GoString(s))
	}
	return m.result(u.EmitWords(t.s, at, unsafe.Slice((*uint64)(words), count), strs))
}

//export wnText
func wnText(ref, event C.uintptr_t, field C.uint32_t, buf *C.char, size C.size_t) C.size_t {
	m := moduleOf(ref)
	defer m.guard()
	t := cgo.Handle(event).Value().(*stream)
	t.text = t.text[:0]
	switch {
	case t.event == nil:
		m.failf("text is asked for when no event is being handled")
	case int(field) >= len(t.event.Spec.Fields):
		m.failf("%s has no field %d: it has %d", t.event.Spec, field, len(t.event.Spec.Fields))
	default:
		t.text = t.event.AppendField(t.text, int(field))
	}
	return put(buf, size, t.text)
}

//export wnDF
func wnDF(ref C.uintptr_t, node C.int, df C.uint64_t, buf *C.char, size C.size_t) C.size_t {
	m := moduleOf(ref)
	defer m.guard()
	return put(buf, size, []byte(prof.DFText(m.h.Describe(), int(node), trace.DF(df))))
}

//export wnSite
func wnSite(ref C.uintptr_t, node C.int, site C.uint64_t) *C.wsm_site {
	m := moduleOf(ref)
	defer m.guard()
	key := siteKey{int(node), trace.Site(site)}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.sites[key]
	if p == nil {
		s := m.h.Describe().Site(key.node, key.site)
		p = (*C.wsm_site)(m.mem.alloc(1, C.sizeof_wsm_site))
		p.code, p.kind, p.label = m.mem.text(s.Code), m.mem.text(s.Kind.String()), m.mem.text(s.Label)
		p.file, p.text, p.line, p.column = m.mem.text(s.File), m.mem.text(s.Text), C.int(s.Line), C.int(s.Col)
		m.sites[key] = p
	}
	return p
}

//export wnParam
func wnParam(ref C.uintptr_t, name *C.char) *C.wsm_value {
	m := moduleOf(ref)
	p := m.params[C.GoString(name)]
	if p == nil {
		m.failf("it has no parameter %q", C.GoString(name))
		m.mu.Lock()
		defer m.mu.Unlock()
		p = m.emptyValue()
	}
	return p
}

//export wnGetModule
func wnGetModule(ref C.uintptr_t, name *C.char) *C.wsm_peer {
	m := moduleOf(ref)
	defer m.guard()
	return m.peer(C.GoString(name))
}

//export wnQuery
func wnQuery(ref C.uintptr_t, peer *C.wsm_peer, what *C.char, node C.int, value *C.double) C.int {
	m := moduleOf(ref)
	defer m.guard()
	m.mu.Lock()
	other := m.asked[peer]
	m.mu.Unlock()
	v, ok := ask(other, C.GoString(what), int(node))
	if !ok {
		return 0
	}
	*value = C.double(v)
	return 1
}

//export wnOpen
func wnOpen(ref C.uintptr_t, where *C.char) C.int {
	m := moduleOf(ref)
	defer m.guard()
	if !m.atStart("open") {
		return -1
	}
	o, err := m.h.Open(C.GoString(where))
	if err != nil {
		return m.result(err)
	}
	m.outputs = append(m.outputs, o)
	return C.int(len(m.outputs) - 1)
}

//export wnWrite
func wnWrite(ref C.uintptr_t, output C.int, text *C.char, size C.size_t) {
	m := moduleOf(ref)
	defer m.guard()
	if output < 0 || int(output) >= len(m.outputs) {
		m.failf("write to output %d, which was not opened", output)
		return
	}
	// kept by the Output, which tells
	_, _ = m.outputs[output].Write(unsafe.Slice((*byte)(unsafe.Pointer(text)), size))
}

//export wnWarn
func wnWarn(ref C.uintptr_t, message *C.char) {
	m := moduleOf(ref)
	m.h.Warn("module " + m.info.Name + ": " + C.GoString(message))
}

//export wnFail
func wnFail(ref C.uintptr_t, message *C.char) { moduleOf(ref).failf("%s", C.GoString(message)) }

//export wnNow
func wnNow() C.int64_t { return C.int64_t(prof.Now()) }
