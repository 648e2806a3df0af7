// Package unwind tells which calls a thread of this process is in, from its registers and its stack.
//
// Compilers describe for every instruction where the caller's registers are (.eh_frame). Walk follows that
// from call to call and reads nothing but the description and the stack it is given, within bounds. Code
// without a description, or a description of another kind, ends the walk: then fewer calls are known.
package unwind

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/whyslow/whyslow/internal/files"
)

// Registers are those of a thread, by their DWARF numbers.
type Registers struct {
	Value [33]uint64
	Known uint64 // a bit for each
	PC    uint64
}

// Set sets a register.
func (r *Registers) Set(i int, v uint64) { r.Value[i], r.Known = v, r.Known|1<<i }

func (r *Registers) get(i uint64) (uint64, bool) {
	if i >= uint64(len(r.Value)) || r.Known&(1<<i) == 0 {
		return 0, false
	}
	return r.Value[i], true
}

// Stack gives the word at an address of a thread's stack; false where there is none.
type Stack func(address uint64) (uint64, bool)

// Code is a place in the code of this process.
type Code struct {
	File   string // the executable or shared object, absolute; "" for code that is in no file
	Offset uint64 // as the file counts
}

// maxDepth is how many calls are followed.
const maxDepth = 128

// Walk gives the innermost place first, then what called it, up to the stack address end. Places are of the
// calls, not of the instructions behind them.
func Walk(r Registers, end uint64, stack Stack) (calls []Code) {
	space := mapped()
	for pc := r.PC; len(calls) < maxDepth && pc != 0; pc = r.PC - 1 {
		o, offset := space.find(pc)
		if o == nil {
			return calls
		}
		calls = append(calls, Code{o.file, offset})
		if !o.up(&r, offset, end, stack) {
			return calls
		}
	}
	return calls
}

// AfterReturn are the registers that a function's caller has when the function returns to site, from the
// function's frame (__builtin_frame_address(0)): those that frames keep. The PC is that of the call.
func AfterReturn(site, frame uint64, stack Stack) Registers {
	r := Registers{PC: site - 1}
	if pointer, ok := stack(frame); ok {
		r.Set(framePointer, pointer)
	}
	if framesEndAtCaller {
		r.Set(StackPointer, frame+16) // above are the caller's frame pointer and the return address
	}
	return r
}

// up goes to the caller of the code at the offset. It reports false if there is none or it is not known.
func (o *object) up(r *Registers, offset, end uint64, stack Stack) bool {
	row := o.row(offset)
	if row == nil {
		return false
	}
	sp, known := r.get(StackPointer)
	base, has := r.get(row.cfa.reg)
	if !has || row.cfa.how != atOffset {
		return false
	}
	cfa := base + uint64(row.cfa.offset)
	if known && cfa < sp || cfa > end {
		return false
	}
	next := Registers{}
	for i := range uint64(len(r.Value)) {
		v, has := r.get(i)
		switch rule := row.rules[i]; rule.how {
		case atOffset:
			v, has = stack(cfa + uint64(rule.offset))
		case isOffset:
			v, has = cfa+uint64(rule.offset), true
		case inRegister:
			v, has = r.get(rule.reg)
		case unknown:
			has = false
		}
		if has {
			next.Set(int(i), v)
		}
	}
	next.Set(StackPointer, cfa)
	pc, has := next.get(row.ra)
	next.PC = pc
	*r = next
	return has && pc > 1
}

// object is a file that is mapped for execution, or the code that the kernel gives to every process.
type object struct {
	file   string
	frames []byte // .eh_frame
	at     uint64 // its address, as the file counts
	order  binary.ByteOrder
	loads  []elf.ProgHeader
}

// area is a part of the address space that holds code.
type area struct {
	from, to, offset uint64 // addresses; in the file
	file             string
}

type space []area

// mapped reads what the kernel says of the address space.
func mapped() (s space) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		// 7f0a5c000000-7f0a5c021000 r-xp 00001000 00:1f 1234   /usr/lib/libc.so.6
		words := strings.Fields(line)
		if len(words) < 6 || !strings.Contains(words[1], "x") {
			continue
		}
		from, to, _ := strings.Cut(words[0], "-")
		a := area{file: strings.TrimSpace(line[strings.Index(line, words[5]):])}
		var failed [3]error
		a.from, failed[0] = strconv.ParseUint(from, 16, 64)
		a.to, failed[1] = strconv.ParseUint(to, 16, 64)
		a.offset, failed[2] = strconv.ParseUint(words[2], 16, 64)
		if failed == [3]error{} {
			s = append(s, a)
		}
	}
	return s
}

// find gives the object that has an address, and the address as the object's file counts.
func (s space) find(address uint64) (*object, uint64) {
	for _, a := range s {
		if address < a.from || address >= a.to {
			continue
		}
		o := objectOf(a)
		if o == nil {
			return nil, 0
		}
		in := address - a.from + a.offset // offset in the file
		for _, p := range o.loads {
			if in >= p.Off && in-p.Off < p.Filesz {
				return o, in - p.Off + p.Vaddr
			}
		}
	}
	return nil, 0
}

var (
	objectsMu sync.Mutex
	objects   = map[string]*object{}
)

// maxFrames is how large .eh_frame of a file may be.
const maxFrames = 64 << 20

// objectOf reads a file once; nil if it cannot be read.
func objectOf(a area) (o *object) {
	objectsMu.Lock()
	defer objectsMu.Unlock()
	if o, known := objects[a.file]; known {
		return o
	}
	defer func() { objects[a.file] = o }()
	// The documentation of debug/elf says that malformed files may make it panic.
	defer func() {
		if recover() != nil {
			o = nil
		}
	}()
	var f *elf.File
	name := ""
	if filepath.IsAbs(a.file) {
		text, err := files.Open(a.file)
		if err != nil {
			return nil
		}
		defer text.Close()
		if f, err = elf.NewFile(text); err != nil {
			return nil
		}
		name = a.file
	} else {
		image, err := memory(a.from-a.offset, a.to)
		if err != nil {
			return nil
		}
		if f, err = elf.NewFile(bytes.NewReader(image)); err != nil {
			return nil
		}
	}
	o = &object{file: name, order: f.ByteOrder}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			o.loads = append(o.loads, p.ProgHeader)
		}
	}
	if s := f.Section(".eh_frame"); s != nil && s.Type != elf.SHT_NOBITS && s.Size <= maxFrames {
		o.frames, _ = s.Data()
		o.at = s.Addr
	}
	return o
}

// memory reads this process's memory.
func memory(from, to uint64) ([]byte, error) {
	f, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, to-from)
	n, err := f.ReadAt(b, int64(from))
	if n > 0 {
		return b[:n], nil
	}
	return nil, err
}

// Memory is the memory of this process from one address to another, as a stack: empty if it cannot be read.
// Where another thread changes it meanwhile, nobody knows what is read.
func Memory(from, to uint64) Stack {
	b, _ := memory(from, to)
	return Copied(from, b)
}

// Copied is a stack of which a copy was made, from an address on.
func Copied(from uint64, b []byte) Stack {
	return func(address uint64) (uint64, bool) {
		if address < from || address-from > uint64(len(b)) || uint64(len(b))-(address-from) < 8 {
			return 0, false
		}
		return binary.NativeEndian.Uint64(b[address-from:]), true
	}
}
