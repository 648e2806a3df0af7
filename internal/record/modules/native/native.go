//go:build cgo && linux

// Package native loads modules from shared libraries that users have written in C or C++ against
// sdk/whyslow_module.h.
//
// A library's module is a prof.Module like any other. An event costs it one call of C, with the words of the
// event where they are; what a module asks of whyslow comes back by exported Go functions (host.go), which
// find the module by a handle. C never keeps Go memory, Go never looks at what a module calls a pointer of
// its own.
//
// Libraries are unloaded when all is over, by Close: their static objects are destroyed then. Until then they
// stay, so that runs of one process share them. Crashes of modules end the module, see shim.c.
package native

/*
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/prof"
	// holds whyslow_module.h, so that the go command builds this package again when it changes
	_ "github.com/whyslow/whyslow/sdk"
	"github.com/whyslow/whyslow/trace"
)

var moduleName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var guard = sync.OnceValue(func() error {
	if how, err := C.wn_guard(); how < 0 {
		return fmt.Errorf("cannot install the handlers of crashes: %w", err)
	}
	return nil
})

// Open loads a library, which stays loaded until Close, and returns its module.
func Open(path string) (prof.ModuleInfo, error) {
	none := prof.ModuleInfo{}
	if err := guard(); err != nil {
		return none, err
	}
	if _, err := os.Stat(path); err != nil {
		var e *os.PathError
		if errors.As(err, &e) {
			err = e.Err
		}
		return none, fmt.Errorf("cannot load the module library %s: %w", path, err)
	}
	full, err := filepath.Abs(path) // the loader searches elsewhere for a mere name
	if err != nil {
		return none, err
	}
	name := C.CString(full) // never freed: a library that is not waited for may still be loaded
	var desc *C.wsm_module
	var why *C.char
	c, err := open(path, func() *C.wn_crash { return C.wn_open(name, &desc, &why) })
	if err != nil {
		return none, err
	}
	if c != nil && c.closed != 0 {
		return none, fmt.Errorf("cannot load the module library %s: it %w", path, fault("meanwhile", c))
	}
	if c != nil {
		return none, fmt.Errorf("cannot load the module library %s: it crashed while it was being loaded: %s", path,
			crashText(c))
	}
	if why != nil {
		text := strings.TrimPrefix(C.GoString(why), full+": ")
		C.free(unsafe.Pointer(why))
		if text == "" {
			return none, fmt.Errorf("%s is not a module library: it has no function whyslow_module; see"+
				" WHYSLOW_MODULE in whyslow_module.hpp", path)
		}
		return none, fmt.Errorf("cannot load the module library %s: %s", path, text)
	}
	info, err := describe(desc)
	if err != nil {
		return none, fmt.Errorf("module library %s: %w", path, err)
	}
	return info, nil
}

// open waits for a library to be loaded, but for prof.Patience only once the user has asked for the end.
func open(path string, load func() *C.wn_crash) (*C.wn_crash, error) {
	ctx, stop := console.Asked(context.Background())
	defer stop()
	loaded := make(chan *C.wn_crash, 1)
	go func() { loaded <- load() }()
	select {
	case c := <-loaded:
		return c, nil
	case <-ctx.Done():
	}
	select {
	case c := <-loaded:
		return c, nil
	case <-time.After(prof.Patience):
		return nil, fmt.Errorf("the module library %s has not returned from loading: %w", path, prof.ErrLeft)
	}
}

// crashes tells whether a module did something wrong: its library, and with it all others, then stays loaded.
var crashes atomic.Bool

// Close unloads all libraries, which destroys their static objects. No module may run any more, and modules'
// own threads must have ended; nothing can be opened or started afterwards. It does nothing if a module has
// crashed.
func Close() error {
	if crashes.Load() {
		return nil
	}
	if c := C.wn_close(); c != nil {
		return fmt.Errorf("a module library %w", fault("when it was unloaded", c))
	}
	return nil
}

// describe reads what a library says of its module.
func describe(d *C.wsm_module) (prof.ModuleInfo, error) {
	none := prof.ModuleInfo{}
	if d == nil {
		return none, errors.New("whyslow_module returns NULL")
	}
	if d.version != C.WSM_VERSION {
		return none, fmt.Errorf("it was compiled for version %d of whyslow_module.h, and this whyslow has"+
			" version %d: compile it again with that header", d.version, C.WSM_VERSION)
	}
	info := prof.ModuleInfo{
		Name: C.GoString(d.name), Doc: C.GoString(d.doc), Output: C.GoString(d.output), Cost: C.GoString(d.cost),
		Events: texts(d.events), Emits: texts(d.emits), Requires: texts(d.uses),
	}
	if !moduleName.MatchString(info.Name) || strings.HasPrefix(info.Name, "lib") {
		return none, fmt.Errorf("its module is called %q: names are letters, digits and _, not starting"+
			" with a digit or lib", info.Name)
	}
	for _, m := range prof.Modules() {
		if m.Name == info.Name || slices.Contains(m.Aliases, info.Name) {
			return none, fmt.Errorf("%s is the name of one of whyslow's own modules", info.Name)
		}
	}
	if d.start == nil {
		return none, fmt.Errorf("module %s has no function start", info.Name)
	}
	for _, e := range info.Emits {
		if _, err := parseSignature(e); err != nil {
			return none, fmt.Errorf("module %s: %w", info.Name, err)
		}
	}
	for p := d.params; p != nil && p.name != nil; p = (*C.wsm_param)(unsafe.Add(unsafe.Pointer(p),
		C.sizeof_wsm_param)) {
		param, err := newParam(C.GoString(p.name), int(p._type), C.GoString(p.value), C.GoString(p.doc))
		if err == nil && info.Param(param.Name) != nil {
			err = fmt.Errorf("it has two parameters %s", param.Name)
		}
		if err != nil {
			return none, fmt.Errorf("module %s: %w", info.Name, err)
		}
		if p.choices != nil {
			param.Choices = strings.Split(C.GoString(p.choices), "|")
		}
		info.Params = append(info.Params, param)
	}
	info.New = func() prof.Module { return &module{desc: d, info: info} }
	return info, nil
}

// texts reads a list of strings that ends with NULL.
func texts(p **C.char) []string {
	var list []string
	for ; p != nil && *p != nil; p = (**C.char)(unsafe.Add(unsafe.Pointer(p), unsafe.Sizeof(*p))) {
		list = append(list, C.GoString(*p))
	}
	return list
}

// fault is what a module did wrong in a step.
func fault(when string, c *C.wn_crash) error {
	crashes.Store(true)
	if c.closed != 0 {
		return fmt.Errorf("tried to close file descriptors of whyslow %s", when)
	}
	return fmt.Errorf("crashed %s: %s", when, crashText(c))
}

// crashText says what has happened, and where.
func crashText(c *C.wn_crash) string {
	text := words.Crash(syscall.Signal(c.signal), c.overflow != 0, c.cause != 0, uint64(c.address))
	if c.file != nil {
		text += " in " + filepath.Base(C.GoString(c.file))
	}
	return text
}

// memory is C memory that is freed all at once.
type memory []unsafe.Pointer

func (m *memory) text(s string) *C.char {
	p := C.CString(s)
	*m = append(*m, unsafe.Pointer(p))
	return p
}

// alloc returns zeroed memory.
func (m *memory) alloc(n int, size C.size_t) unsafe.Pointer {
	p := C.calloc(C.size_t(max(n, 1)), size)
	*m = append(*m, p)
	return p
}

// texts makes a list of strings that ends with NULL.
func (m *memory) texts(list []string) **C.char {
	p := (**C.char)(m.alloc(len(list)+1, C.size_t(unsafe.Sizeof((*C.char)(nil)))))
	all := unsafe.Slice(p, len(list))
	for i, s := range list {
		all[i] = m.text(s)
	}
	return p
}

func (m *memory) spec(s *trace.KindSpec) *C.wsm_spec {
	p := (*C.wsm_spec)(m.alloc(1, C.sizeof_wsm_spec))
	p.ns, p.name, p.kind, p.fields = m.text(s.Namespace), m.text(s.Name), C.uint32_t(s.Kind), C.uint32_t(
		len(s.Fields))
	fixed, _ := s.List()
	p.fixed = C.uint32_t(fixed)
	p.field = (*C.wsm_field)(m.alloc(len(s.Fields), C.sizeof_wsm_field))
	for i, f := range s.Fields {
		unsafe.Slice(p.field, len(s.Fields))[i] = C.wsm_field{name: m.text(f.Name), _type: C.uint32_t(f.Type)}
	}
	return p
}

func (m *memory) free() {
	for _, p := range *m {
		C.free(p)
	}
	*m = nil
}

// standard holds the standard kinds of all modules, forever.
var standard = sync.OnceValue(func() *[trace.FirstUserKind]*C.wsm_spec {
	var m memory
	all := new([trace.FirstUserKind]*C.wsm_spec)
	for _, k := range trace.Kinds() {
		all[k.Kind] = m.spec(&k)
	}
	return all
})
