//go:build otf2 && cgo

package otf2

/*
#cgo LDFLAGS: -lotf2
#include <stdlib.h>
#include "records.h"
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

func init() {
	hasOTF2 = true
	serve = func(anchor string) {
		name := C.CString(anchor)
		defer C.free(unsafe.Pointer(name))
		if C.wso_read(name, C.int(os.Stdout.Fd())) != 0 {
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// The kinds are those of records.h.
var _ = [1]struct{}{}[C.WSO_RMA_COLLECTIVE_BEGIN-RMACollectiveBegin]

// library is an archive that libotf2 writes. Records go there many at a time.
type library struct {
	w     *C.struct_wso_writer
	words []uint64
	err   error
}

func init() {
	create = func(folder string) (archiveWriter, error) {
		name := C.CString(folder)
		defer C.free(unsafe.Pointer(name))
		w := C.wso_create(name)
		if w == nil {
			return nil, fmt.Errorf("%s: libotf2 cannot make an archive there", folder)
		}
		return &library{w: w}, nil
	}
}

func (l *library) put(kind Kind, words ...uint64) {
	l.words = append(append(l.words, uint64(kind)|uint64(len(words))<<8), words...)
	if len(l.words) > 1<<16 {
		l.flush()
	}
}

func (l *library) flush() {
	if l.err == nil && len(l.words) > 0 {
		l.tell(C.wso_put(l.w, (*C.uint64_t)(&l.words[0]), C.uint64_t(len(l.words))))
	}
	l.words = l.words[:0]
}

func (l *library) tell(problem *C.char) {
	if problem != nil && l.err == nil {
		l.err = fmt.Errorf("libotf2: %s", C.GoString(problem))
	}
}

func (l *library) close() error {
	l.flush()
	l.tell(C.wso_close(l.w))
	return l.err
}
