package memory

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"time"
	"unsafe"
)

// Columns of a large trace need not stay in memory. A Spill gives space that is mapped from a file: what is
// used is in memory as ever, and the kernel writes the rest to disk. The same code computes the same results,
// whether its columns are in a Spill or not; only the speed differs.
//
// The file has no name from the start, so nothing is left of it however the process ends. Its blocks are
// reserved before they are mapped, because a full disk would otherwise end the process on a write. Where
// nothing can be reserved, Make falls back to ordinary memory, which a budget bounds.
//
// Mapped memory counts as used by the process until the kernel needs it. A Spill therefore lets go of its
// pages again and again, so that it never holds much more than it may.

// ErrNoSpill says that there is no disk for a Spill, or that the system cannot map files.
var ErrNoSpill = errors.New("there is no room on disk for what does not fit into memory")

// Spill is space in a file. Its methods may be used by many goroutines at once. A nil *Spill has none.
type Spill struct {
	dir      string
	most     int64 // bytes of the file, of all Spills that share
	resident int64 // bytes that may be in memory
	shared   *spilled
	counts   bool // resident counts as used

	mu   sync.Mutex
	file *os.File
	size int64    // of the file
	maps [][]byte // its parts
	rest []byte   // of the last part that small columns share
	stop chan struct{}
}

// spilled is what a Spill and those it begets take together.
type spilled struct {
	sync.Mutex
	bytes int64
}

const (
	spillPart  = 32 << 20 // bytes mapped at a time for small columns
	spillLarge = 1 << 20  // columns from this size on have a part of their own
	spillAlign = 64
	spillEvery = 10 * time.Millisecond
)

// NewSpill makes a Spill in a folder on disk: the first of dirs that has room for so many bytes. Of these
// about resident stay in memory, which counts as used (see Budget.Watch). It fails with ErrNoSpill.
func NewSpill(bytes, resident int64, dirs ...string) (*Spill, error) {
	for _, dir := range dirs {
		if room, ok := spillRoom(dir); ok && bytes < room/4*3 {
			s := &Spill{dir: dir, most: room / 4 * 3, resident: resident, shared: &spilled{}, counts: true}
			if s.open() == nil {
				count(resident)
				return s, nil
			}
		}
	}
	return nil, ErrNoSpill
}

// CanSpill tells whether NewSpill would find room.
func CanSpill(bytes int64, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		room, ok := spillRoom(dir)
		return ok && bytes < room/4*3
	})
}

// mapped is how much of files all Spills may have in memory.
var mapped struct {
	sync.Mutex
	bytes int64
}

// count adds to what is mapped, and lets ordinary memory have less.
func count(bytes int64) {
	mapped.Lock()
	defer mapped.Unlock()
	mapped.bytes += bytes
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		debug.SetMemoryLimit(max(limit-bytes, 32<<20))
	}
}

// mappedNow is how much of files all Spills may have in memory.
func mappedNow() int64 {
	mapped.Lock()
	defer mapped.Unlock()
	return mapped.bytes
}

// SpillDirs are folders for a Spill of a trace: the user's cache, and beside the trace.
func SpillDirs(path string) []string {
	dirs := []string{filepath.Dir(filepath.Clean(path))}
	if cache, err := os.UserCacheDir(); err == nil {
		dir := filepath.Join(cache, "whyslow")
		if os.MkdirAll(dir, 0o755) == nil {
			dirs = append([]string{dir}, dirs...)
		}
	}
	return dirs
}

func (s *Spill) open() (err error) {
	if s.file, err = os.CreateTemp(s.dir, ".whyslow-spill-*"); err != nil {
		return err
	}
	if err = os.Remove(s.file.Name()); err == nil {
		s.stop = make(chan struct{})
		go s.watch()
	}
	return err
}

// Beget makes another Spill beside s that is closed on its own; nil where s is nil or there is no room.
func (s *Spill) Beget() *Spill {
	if s == nil {
		return nil
	}
	child := &Spill{dir: s.dir, most: s.most, resident: s.resident, shared: s.shared}
	if child.open() != nil {
		return nil
	}
	return child
}

// Close gives the space back. Nobody may use columns of it any more.
func (s *Spill) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return
	}
	close(s.stop)
	for _, m := range s.maps {
		spillUnmap(m)
	}
	_ = s.file.Close()
	s.shared.Lock()
	s.shared.bytes -= s.size
	s.shared.Unlock()
	s.file, s.maps, s.rest = nil, nil, nil
	if s.counts {
		count(-s.resident)
	}
}

// Bytes is how many bytes of disk s takes.
func (s *Spill) Bytes() int64 {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

// Make gives a list of n zero elements, in s where that is worth it and T has no pointers.
func Make[T any](s *Spill, n int) []T {
	if p := spillOf[T](s, n); p != nil {
		return unsafe.Slice((*T)(p), n)
	}
	return make([]T, n)
}

// Append is append, with the list in s where it is not empty.
func Append[T any](s *Spill, list []T, v T) []T {
	if s != nil && len(list) == cap(list) {
		list = append(Make[T](s, max(2*cap(list), 1024))[:0], list...)
	}
	return append(list, v)
}

// leastSpilled is the size in bytes below which a column stays in ordinary memory.
const leastSpilled = 1 << 10

func spillOf[T any](s *Spill, n int) unsafe.Pointer {
	var zero T
	bytes := n * int(unsafe.Sizeof(zero))
	if s == nil || bytes < leastSpilled || hasPointers(reflect.TypeFor[T]()) {
		return nil
	}
	b := s.take((bytes + spillAlign - 1) &^ (spillAlign - 1))
	return unsafe.Pointer(unsafe.SliceData(b))
}

// hasPointers tells whether the garbage collector must see values of a type.
func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	default:
		return t.Kind() < reflect.Bool || t.Kind() > reflect.Complex128 || t.Kind() == reflect.Uintptr
	}
}

// take gives n zero bytes; nil where there is no room.
func (s *Spill) take(n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	if n >= spillLarge {
		return s.grow(n)
	}
	if n > len(s.rest) {
		if s.rest = s.grow(spillPart); s.rest == nil {
			return nil
		}
	}
	b := s.rest[:n:n]
	s.rest = s.rest[n:]
	return b
}

// grow maps n bytes more.
func (s *Spill) grow(n int) []byte {
	n = (n + spillPage - 1) &^ (spillPage - 1)
	s.shared.Lock()
	room := s.shared.bytes+int64(n) <= s.most
	if room {
		s.shared.bytes += int64(n)
	}
	s.shared.Unlock()
	if !room {
		return nil
	}
	b, err := spillMap(s.file, s.size, n)
	if err != nil {
		s.shared.Lock()
		s.shared.bytes -= int64(n)
		s.shared.Unlock()
		return nil
	}
	s.size += int64(n)
	s.maps = append(s.maps, b)
	return b
}

// spillPage is a multiple of the pages of all systems.
const spillPage = 64 << 10

// watch lets go of pages when there are too many in memory.
func (s *Spill) watch() {
	tick := time.NewTicker(spillEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		if spillResident() <= s.resident/4*3 { // more comes before the next look
			continue
		}
		s.mu.Lock()
		for _, m := range s.maps {
			spillDrop(m)
		}
		s.mu.Unlock()
	}
}
