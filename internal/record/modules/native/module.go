//go:build cgo && linux

package native

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/cgo"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Phases of a module's life.
const (
	starting = iota
	running
	finishing
)

// module is a run of a module of a library.
type module struct {
	desc    *C.wsm_module
	info    prof.ModuleInfo
	h       *prof.Host
	ref     cgo.Handle
	host    *C.wsm_host
	hostRef C.uintptr_t // the same, as a number
	self    C.uintptr_t
	streams *prof.PerStream[stream]
	dead    atomic.Bool  // or released: it is called no more
	alive   sync.RWMutex // held for reading by who asks for numbers, for writing at the end

	// Made by the start, only looked at afterwards.
	params  map[string]*C.wsm_value
	outputs []*prof.Output

	phase atomic.Int32
	mu    sync.Mutex // guards what follows
	err   error      // in start or finish
	mem   memory
	own   map[*C.wsm_spec]*prof.UserEvent
	user  map[string]*C.wsm_spec // kinds that are not standard, by "Namespace.onName"
	sites map[siteKey]*C.wsm_site
	peers map[string]*C.wsm_peer
	asked map[*C.wsm_peer]prof.Module
}

type siteKey struct {
	node int
	site trace.Site
}

// stream is what a module has for each stream.
type stream struct {
	s     *prof.Stream
	event *prof.Any // being handled, nil for none
	kinds map[*trace.KindSpec]C.uintptr_t
	ref   cgo.Handle
	text  []byte
}

// groups counts a session's unfinished modules; finished ones stay, as others may look at what they have.
var groups = struct {
	sync.Mutex
	of map[*prof.Session]*sessionModules
}{of: map[*prof.Session]*sessionModules{}}

type sessionModules struct {
	left     int
	finished []*module
}

// Start starts the module, which connects its handlers.
func (m *module) Start(h *prof.Host) error {
	h.WantDFs() // the library may ask
	m.h = h
	m.own, m.user = map[*C.wsm_spec]*prof.UserEvent{}, map[string]*C.wsm_spec{}
	m.sites = map[siteKey]*C.wsm_site{}
	m.peers, m.asked = map[string]*C.wsm_peer{}, map[*C.wsm_peer]prof.Module{}
	m.streams = prof.NewPerStream(h.Session(), func(s *prof.Stream, t *stream) {
		t.s, t.kinds, t.ref = s, map[*trace.KindSpec]C.uintptr_t{}, cgo.NewHandle(t)
	})
	m.makeParams()
	m.ref = cgo.NewHandle(m)
	m.host = C.wn_host(C.uintptr_t(m.ref), m.desc, m.facts())
	m.hostRef = C.uintptr_t(uintptr(unsafe.Pointer(m.host)))
	for _, name := range m.info.Requires {
		m.peer(name) // now, when all of them run: some will have finished before this one asks
	}
	if c := C.wn_start(m.desc, m.host, &m.self); c != nil {
		return fault("at the start", c)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	m.phase.Store(running)
	groups.Lock()
	defer groups.Unlock()
	if groups.of[h.Session()] == nil {
		groups.of[h.Session()] = &sessionModules{}
	}
	groups.of[h.Session()].left++
	return nil
}

// Finish lets the module write its results. The last module of the session to finish releases all.
func (m *module) Finish() error {
	m.phase.Store(finishing)
	var err error
	if m.desc.finish != nil && !m.dead.Load() {
		if c := C.wn_finish(m.desc, m.self); c != nil {
			m.dead.Store(true)
			err = fault("at the end", c)
		}
	}
	m.mu.Lock()
	err = errors.Join(err, m.err)
	m.err = nil
	m.mu.Unlock()

	groups.Lock()
	defer groups.Unlock()
	ses := m.h.Session()
	g := groups.of[ses]
	g.finished = append(g.finished, m)
	if g.left--; g.left > 0 {
		return err
	}
	delete(groups.of, ses)
	for _, f := range slices.Backward(g.finished) {
		if e := f.release(); e != nil {
			err = errors.Join(err, fmt.Errorf("module %s: %w", f.info.Name, e))
		}
	}
	return err
}

// release frees the module. After a crash it leaves everything in place.
func (m *module) release() error {
	m.alive.Lock()
	defer m.alive.Unlock()
	m.h.Session().Disconnect(m.h.Name())
	if m.dead.Swap(true) {
		return nil
	}
	if c := C.wn_release(m.desc, m.self); c != nil {
		return fault("when it was released", c)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.streams.All(func(_ *prof.Stream, t *stream) { t.ref.Delete() })
	m.ref.Delete()
	m.mem.free()
	C.free(unsafe.Pointer(m.host))
	return m.err
}

// fail ends the module's work.
func (m *module) fail(err error) {
	if m.is(running) {
		m.h.Fail(err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = cmp.Or(m.err, err)
}

// handler makes the handler that calls the module's function f with user.
func (m *module) handler(f, user C.uintptr_t) func(s *prof.Stream, a *prof.Any) {
	kinds := standard()
	return func(s *prof.Stream, a *prof.Any) {
		if m.dead.Load() {
			return
		}
		t := m.streams.Get(s)
		var spec C.uintptr_t
		if a.Spec.Kind != 0 {
			spec = C.uintptr_t(uintptr(unsafe.Pointer(kinds[a.Spec.Kind])))
		} else if spec = t.kinds[a.Spec]; spec == 0 {
			m.mu.Lock()
			spec = C.uintptr_t(uintptr(unsafe.Pointer(m.kind(a.Spec))))
			m.mu.Unlock()
			t.kinds[a.Spec] = spec
		}
		outer := t.event // the handler of one event may have emitted another
		t.event = a
		c := C.wn_handle(f, user, m.hostRef, spec, C.uintptr_t(t.ref), C.int64_t(a.Time), C.int32_t(s.Node()),
			C.int32_t(s.ID()), (*C.uint64_t)(unsafe.SliceData(a.Words)), C.uint32_t(len(a.Words)))
		t.event = outer
		if c != nil && !m.dead.Swap(true) {
			m.h.Fail(fault(fmt.Sprintf("in its handler of %s", a.Spec), c))
		}
	}
}

// kind returns the description of a kind that is not standard; the caller holds m.mu.
func (m *module) kind(s *trace.KindSpec) *C.wsm_spec {
	name := s.String()
	p := m.user[name]
	if p == nil {
		p = m.mem.spec(s)
		m.user[name] = p
	}
	return p
}

// peer returns another module that runs, nil if there is none of that name.
func (m *module) peer(name string) *C.wsm_peer {
	m.mu.Lock()
	p := m.peers[name]
	m.mu.Unlock()
	if p != nil {
		return p
	}
	other := m.h.Get(name)
	if other == nil {
		return nil
	}
	var api C.uintptr_t
	if n, ok := other.(*module); ok && n.desc.api != nil && n.is(running) {
		if c := C.wn_api(n.desc, n.self, &api); c != nil && !n.dead.Swap(true) {
			n.fail(fault("when it was asked for its api", c))
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p = (*C.wsm_peer)(m.mem.alloc(1, C.sizeof_wsm_peer))
	p.name = m.mem.text(name)
	*(*C.uintptr_t)(unsafe.Pointer(&p.api)) = api
	m.peers[name], m.asked[p] = p, other
	return p
}

func (m *module) is(phase int32) bool { return m.phase.Load() == phase }

func (m *module) facts() *C.wsm_run {
	r := m.h.Run()
	p := (*C.wsm_run)(m.mem.alloc(1, C.sizeof_wsm_run))
	p.program, p.args, p.host = m.mem.text(r.Program), m.mem.texts(r.Args), m.mem.text(r.Host)
	p.nodes, p.workers, p.pid = C.int(r.Nodes), C.int(r.Workers), C.int(r.PID)
	p.node, p.processes = C.int(r.Node), C.int(max(r.Processes, 1))
	p.started_unix_ns, p.start = C.int64_t(r.Started.UnixNano()), C.int64_t(r.StartNS)
	return p
}

// makeParams writes down the parameters for C.
func (m *module) makeParams() {
	m.params = map[string]*C.wsm_value{}
	for _, p := range m.info.Params {
		v := m.emptyValue()
		switch p.Default.(type) {
		case string:
			v._type, v.text = paramString, m.mem.text(m.h.String(p.Name))
		case int:
			n := m.h.Int(p.Name)
			v._type, v.integer, v.real = paramInt, C.int64_t(n), C.double(n)
		case float64:
			v._type, v.real = paramFloat, C.double(m.h.Float(p.Name))
		case bool:
			v._type = paramBool
			if m.h.Bool(p.Name) {
				v.integer = 1
			}
		case []string:
			v._type, v.texts = paramStrings, m.mem.texts(m.h.Strings(p.Name))
		}
		m.params[p.Name] = v
	}
}

func (m *module) emptyValue() *C.wsm_value {
	v := (*C.wsm_value)(m.mem.alloc(1, C.sizeof_wsm_value))
	v.text, v.texts = m.mem.text(""), m.mem.texts(nil)
	return v
}

// Gauge asks the module for a number of a node.
func (m *module) Gauge(what string, node int) (float64, bool) {
	m.alive.RLock()
	defer m.alive.RUnlock()
	if m.desc.query == nil || m.is(starting) || m.dead.Load() {
		return 0, false
	}
	name := C.CString(what)
	defer C.free(unsafe.Pointer(name))
	var value C.double
	var known C.int
	if c := C.wn_query(m.desc, m.self, name, C.int(node), &value, &known); c != nil {
		if !m.dead.Swap(true) {
			m.fail(fault(fmt.Sprintf("when it was asked for %q", what), c))
		}
		return 0, false
	}
	return float64(value), known != 0
}
