//go:build cgo && linux

package cpp

/*
#include "events.h"
*/
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// Events hands over what user code has emitted since the last time. Words and texts are valid during the
// call. One goroutine at a time may use it. inside tells that a call may be under way.
func (m *Meter) Events(inside bool, take func(id int, t int64, words []uint64, texts []byte)) {
	first := (*unsafe.Pointer)(unsafe.Pointer(&m.c.events))
	for {
		p := (*C.struct_ws_events)(atomic.LoadPointer(first))
		if p == nil {
			return
		}
		next := atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(&p.next)))
		used := atomic.LoadUint64((*uint64)(unsafe.Pointer(&p.used)))
		all := unsafe.Slice((*uint64)(unsafe.Add(unsafe.Pointer(p), unsafe.Sizeof(*p))), used)
		for m.read < used {
			e := all[m.read:]
			count, size := e[2]&0xffff_ffff, e[2]>>32
			end := 3 + count + (size+7)/8
			texts := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(e[3+count:end]))), size)
			take(int(e[1]), int64(e[0]), e[3:3+count], texts)
			m.read += end
		}
		if next == nil {
			if !inside {
				p.used, m.read = 0, 0
			}
			return
		}
		atomic.StorePointer(first, next)
		m.read = 0
		C.ws_free_events(m.c, p)
	}
}

// EventOf tells what Events calls by a number.
func EventOf(id int) Emitted {
	e := C.ws_event_of(C.uint64_t(id))
	return Emitted{C.GoString(e.space), C.GoString(e.name), C.GoString(e.types)}
}

// EventOff says that nobody wants an event.
func EventOff(id int) { C.ws_event_off(C.uint64_t(id)) }

// EventsLost counts, since it was last called, the events that user code has emitted outside of CFs, and
// those for which there was no memory.
func EventsLost() (homeless, tooMany int64) {
	return atomic.SwapInt64((*int64)(unsafe.Pointer(&C.ws_homeless)), 0),
		atomic.SwapInt64((*int64)(unsafe.Pointer(&C.ws_too_many)), 0)
}
