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
// Mapped memory counts as used by the process until the kernel needs it. So pages are let go of again and
// again, those that were longest ago first, and Spills never hold much more than they may. The kernel still
// has them while it has room: they come back without the disk.

// ErrNoSpill says that there is no disk for a Spill, or that the system cannot map files.
var ErrNoSpill = errors.New("there is no room on disk for what does not fit into memory")

// Spill is space in a file. Its methods may be used by many goroutines at once. A nil *Spill has none.
type Spill struct {
	dir      string
	most     int64 // bytes of the file, of all Spills that share
	resident int64 // bytes that may be in memory
	shared   *spilled
	child    bool // begotten

	mu   sync.Mutex
	file *os.File
	size int64    // of the file
	maps [][]byte // its parts
	rest []byte   // of the last part that small columns share
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
	spillRest  = 4 // times that long where there is much room
)

// NewSpill makes a Spill in a folder on disk: the first of dirs that has room for so many bytes. Of these
// about resident stay in memory, which counts as used (see Budget.Watch). It fails with ErrNoSpill.
func NewSpill(bytes, resident int64, dirs ...string) (*Spill, error) {
	for _, dir := range dirs {
		if room, ok := spillRoom(dir); ok && bytes < room/4*3 {
			s := &Spill{dir: dir, most: room / 4 * 3, resident: resident, shared: &spilled{}}
			if s.open() == nil {
				mapped.allow(resident)
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

// mapped are the parts of all Spills.
var mapped resident

// resident lets go of what is in memory of files.
type resident struct {
	mu    sync.Mutex
	parts []part  // the one that was let go of longest ago first
	most  []int64 // what each Spill may have in memory: all together have no more than the largest of these
	stop  chan struct{}
}

type part struct {
	of    *Spill
	bytes []byte
}

// allow has Spills hold so many bytes in memory, and lets ordinary memory have less.
func (r *resident) allow(bytes int64) {
	r.change(func() { r.most = append(r.most, bytes) })
}

// forbid takes back allow.
func (r *resident) forbid(bytes int64) {
	r.change(func() {
		if i := slices.Index(r.most, bytes); i >= 0 {
			r.most = slices.Delete(r.most, i, i+1)
		}
	})
}

func (r *resident) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.allowed()
	f()
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		debug.SetMemoryLimit(max(limit+before-r.allowed(), 32<<20))
	}
	switch {
	case len(r.most) == 0 && r.stop != nil:
		close(r.stop)
		r.stop = nil
	case len(r.most) > 0 && r.stop == nil:
		r.stop = make(chan struct{})
		go r.watch(r.stop)
	}
}

// allowed is how much of files may be in memory.
func (r *resident) allowed() (most int64) {
	for _, v := range r.most {
		most = max(most, v)
	}
	return most
}

// mappedNow is how much of files all Spills may have in memory.
func mappedNow() int64 {
	mapped.mu.Lock()
	defer mapped.mu.Unlock()
	return mapped.allowed()
}

func (r *resident) add(of *Spill, b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(b) > 0 {
		n := min(len(b), spillPart)
		r.parts = append(r.parts, part{of, b[:n]})
		b = b[n:]
	}
}

// remove forgets the parts of a Spill: nobody lets go of them any more.
func (r *resident) remove(of *Spill) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts = slices.DeleteFunc(r.parts, func(p part) bool { return p.of == of })
}

// watch lets go of pages when there are too many in memory.
func (r *resident) watch(stop <-chan struct{}) {
	tick := time.NewTimer(spillEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			tick.Reset(r.drop())
		}
	}
}

// drop lets go of parts until there is room for what comes before the next look, and says when that is due.
func (r *resident) drop() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := r.allowed()
	switch now := spillResident(); {
	case now <= most/2:
		return spillRest * spillEvery
	case now <= most/4*3:
		return spillEvery
	}
	n := 0
	for n < len(r.parts) && spillResident() > most/2 {
		spillDrop(r.parts[n].bytes)
		n++
	}
	r.parts = append(r.parts[n:], r.parts[:n]...)
	return spillEvery
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
	return os.Remove(s.file.Name())
}

// Beget makes another Spill beside s that is closed on its own; nil where s is nil or there is no room.
func (s *Spill) Beget() *Spill {
	if s == nil {
		return nil
	}
	child := &Spill{dir: s.dir, most: s.most, shared: s.shared, child: true}
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
	mapped.remove(s)
	for _, m := range s.maps {
		spillUnmap(m)
	}
	_ = s.file.Close()
	s.shared.Lock()
	s.shared.bytes -= s.size
	s.shared.Unlock()
	s.file, s.maps, s.rest = nil, nil, nil
	if !s.child {
		mapped.forbid(s.resident)
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
	if p := s.list(reflect.TypeFor[T](), n); p != nil {
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

// list gives room for n zero elements; nil if they are to be in ordinary memory.
func (s *Spill) list(of reflect.Type, n int) unsafe.Pointer {
	bytes := n * int(of.Size())
	if s == nil || bytes < leastSpilled || hasPointers(of) {
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
	mapped.add(s, b)
	return b
}

// spillPage is a multiple of the pages of all systems.
const spillPage = 64 << 10
