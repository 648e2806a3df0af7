package symbols

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// The symbol table knows where variables begin. Debug information has their declaration and type, and with it
// what of an array or structure an address is: "state.locks[3]". They may be in any unit, so all entries are
// read, once, until all are found. Types are followed step by step, at most maxSteps: hostile files would
// make debug/dwarf's recursion exhaust the stack.

// maxSteps is how many types an address is followed through; an array of structures with arrays is 3.
const maxSteps = 32

// maxScopes is how deep the scopes are nested whose names count.
const maxScopes = 64

// ofData returns the offsets that are in data.
func ofData(f *elf.File, offsets []uint64) (code, data []uint64) {
	for _, offset := range offsets {
		inData := slices.ContainsFunc(f.Sections, func(s *elf.Section) bool {
			return s.Flags&(elf.SHF_ALLOC|elf.SHF_EXECINSTR|elf.SHF_TLS) == elf.SHF_ALLOC &&
				offset >= s.Addr && offset-s.Addr < s.Size
		})
		if inData {
			data = append(data, offset)
		} else {
			code = append(code, offset)
		}
	}
	return code, data
}

// variables puts what symbols tell of data offsets into found. It returns them by their beginning.
func variables(f *elf.File, offsets []uint64, found map[uint64]Place) map[uint64][]uint64 {
	starts := map[uint64][]uint64{}
	for offset, s := range named(f, offsets, elf.STT_OBJECT, elf.STT_COMMON) {
		name, _, _ := strings.Cut(plain(s.Name), "@") // of a copy of a library's: "lock@VERSION"
		found[offset] = Place{Variable: name + plus(offset-s.Value)}
		starts[s.Value] = append(starts[s.Value], offset)
	}
	return starts
}

func plus(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("+%#x", n)
}

// A declarations looks for variables in debug information.
type declarations struct {
	data   *dwarf.Data
	addrs  []byte // .debug_addr; addresses are given by their place there, in some files
	budget int

	unit      *dwarf.Entry
	files     []*dwarf.LineFile // of the unit, read when they are needed
	qualified map[dwarf.Offset]string
}

// declared puts what debug information tells of variables into found; starts has offsets by their beginning.
func declared(f *elf.File, data *dwarf.Data, starts map[uint64][]uint64, found map[uint64]Place) error {
	d := &declarations{data: data, budget: maxEntries, qualified: map[dwarf.Offset]string{}}
	if s := f.Section(".debug_addr"); s != nil {
		d.addrs, _ = s.Data() // its size counts with the others in debugInfo
	}
	r := data.Reader()
	var scopes []string // of namespaces and classes; a blank for what has no name, and "()" for functions
	depth := 0
	for len(starts) > 0 {
		e, err := r.Next()
		if err != nil || e == nil {
			return err
		}
		if d.budget--; d.budget < 0 {
			return errTooMuch
		}
		if d.unit == nil {
			d.unit = e
		}
		switch e.Tag {
		case 0:
			depth--
			scopes = scopes[:max(0, min(depth, len(scopes)))]
			continue
		case dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit, dwarf.TagSkeletonUnit:
			depth, scopes = 0, scopes[:0]
			d.unit, d.files = e, nil
		case dwarf.TagVariable, dwarf.TagMember:
			d.variable(r, e, scopes, starts, found)
		}
		if e.Children {
			if depth++; depth <= maxScopes {
				scopes = append(scopes, scopeOf(e))
			}
		}
	}
	return nil
}

func scopeOf(e *dwarf.Entry) string {
	switch e.Tag {
	case dwarf.TagNamespace, dwarf.TagClassType, dwarf.TagStructType, dwarf.TagUnionType:
		name, _ := e.Val(dwarf.AttrName).(string)
		return name
	case dwarf.TagSubprogram:
		return "()"
	}
	return ""
}

// nameIn is the name declared in scopes: "work::lock"; within a function the name alone.
func nameIn(scopes []string, name string) string {
	if slices.Contains(scopes, "()") {
		return name
	}
	for i := len(scopes) - 1; i >= 0; i-- {
		if scopes[i] != "" {
			name = scopes[i] + "::" + name
		}
	}
	return name
}

// variable looks at a variable, or a member of a class, which may be the declaration of one.
func (d *declarations) variable(r *dwarf.Reader, e *dwarf.Entry, scopes []string, starts map[uint64][]uint64,
	found map[uint64]Place) {
	name, _ := e.Val(dwarf.AttrName).(string)
	if name != "" && slices.ContainsFunc(scopes, func(s string) bool { return s != "" }) {
		if _, only := e.Val(dwarf.AttrDeclaration).(bool); only || e.Tag == dwarf.TagMember {
			d.qualified[e.Offset] = nameIn(scopes, name)
		}
	}
	location, _ := e.Val(dwarf.AttrLocation).([]byte)
	start, ok := d.address(location, r.ByteOrder(), r.AddressSize())
	offsets := starts[start]
	if !ok || len(offsets) == 0 {
		return
	}
	// The entry that has the place may refer to what was declared elsewhere for the rest.
	p := Place{}
	var of dwarf.Offset
	typed, file := false, int64(-1)
	if name != "" {
		name = nameIn(scopes, name)
	}
	for at := e; at != nil; at = refersTo(d.data, at) {
		if name == "" {
			own, _ := at.Val(dwarf.AttrName).(string)
			name = cmp.Or(d.qualified[at.Offset], own)
		}
		if n, ok := at.Val(dwarf.AttrDeclLine).(int64); ok && p.Line == 0 && n > 0 && n < 1<<31 {
			p.Line = int(n)
		}
		if n, ok := at.Val(dwarf.AttrDeclFile).(int64); ok && file < 0 {
			file = n
		}
		if !typed {
			of, typed = at.Val(dwarf.AttrType).(dwarf.Offset)
		}
		if d.budget -= 100; d.budget < 0 {
			break
		}
	}
	if name == "" {
		return
	}
	delete(starts, start)
	if p.File = d.file(file); p.File == "" {
		p.Line = 0
	}
	for _, offset := range offsets {
		p.Variable = name + plus(offset-start)
		if typed {
			p.Variable = name + d.within(of, offset-start)
		}
		found[offset] = p
	}
}

// address reads a location that is nothing but an address.
func (d *declarations) address(location []byte, order binary.ByteOrder, size int) (uint64, bool) {
	const opAddr, opAddrx = 0x03, 0xa1
	read := func(b []byte) (uint64, bool) {
		switch {
		case size == 8 && len(b) == 8:
			return order.Uint64(b), true
		case size == 4 && len(b) == 4:
			return uint64(order.Uint32(b)), true
		}
		return 0, false
	}
	if len(location) < 2 {
		return 0, false
	}
	switch location[0] {
	case opAddr:
		return read(location[1:])
	case opAddrx:
		i, n := binary.Uvarint(location[1:])
		base, ok := d.unit.Val(dwarf.AttrAddrBase).(int64)
		if !ok || base < 0 || n != len(location)-1 || base > int64(len(d.addrs)) || size == 0 ||
			i >= uint64(len(d.addrs)-int(base))/uint64(size) {
			return 0, false
		}
		at := int(base) + int(i)*size
		return read(d.addrs[at : at+size])
	}
	return 0, false
}

// file is the name of one of the unit's files, "" where it has none of that number.
func (d *declarations) file(n int64) string {
	if d.files == nil {
		d.files = []*dwarf.LineFile{}
		if lr, err := d.data.LineReader(d.unit); err == nil && lr != nil {
			d.files = lr.Files()
		}
	}
	if n < 0 || n >= int64(len(d.files)) || d.files[n] == nil {
		return ""
	}
	return d.files[n].Name
}

// within says what of a type is so many bytes from its start: "[3].lock"; "+0x40" if the type does not tell.
func (d *declarations) within(of dwarf.Offset, rest uint64) (path string) {
	for range maxSteps {
		e := entryAt(d.data, of)
		if e == nil {
			break
		}
		next, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
		switch e.Tag {
		case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType,
			dwarf.TagAtomicType, dwarf.TagRestrictType:
			if !ok {
				return path + plus(rest)
			}
		case dwarf.TagArrayType:
			size := d.sizeOf(next)
			if !ok || size == 0 {
				return path + plus(rest)
			}
			path += indices(d.dimensions(e), rest/size)
			rest %= size
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
			name, at, member, ok := d.member(e, rest)
			if !ok {
				return path + plus(rest)
			}
			if rest == 0 && reserved(name) { // a mutex is what the program calls it, not its first member
				return path
			}
			path += name
			rest -= at
			next = member
		default:
			return path + plus(rest)
		}
		of = next
	}
	return path + plus(rest)
}

// reserved tells whether ".NAME" is a member of one of the C or C++ library's own types.
func reserved(name string) bool {
	return len(name) > 2 && name[1] == '_' && (name[2] == '_' || name[2] >= 'A' && name[2] <= 'Z')
}

// children calls f for what is directly within an entry, until it returns false. What cannot be read is left
// out.
func (d *declarations) children(e *dwarf.Entry, f func(child *dwarf.Entry) bool) {
	_ = walk(d.data, e.Offset, &d.budget, func(c *dwarf.Entry, depth int) bool { return depth != 1 || f(c) })
}

// member finds the member of a structure that is so many bytes from its start.
func (d *declarations) member(e *dwarf.Entry, rest uint64) (name string, at uint64, of dwarf.Offset,
	ok bool) {
	d.children(e, func(c *dwarf.Entry) bool {
		if c.Tag != dwarf.TagMember && c.Tag != dwarf.TagInheritance {
			return true
		}
		offset := memberOffset(c)
		of, ok = c.Val(dwarf.AttrType).(dwarf.Offset)
		_, outside := c.Val(dwarf.AttrExternal).(bool) // a static member
		if !ok || outside || offset < 0 || uint64(offset) > rest {
			ok = false
			return true
		}
		at = uint64(offset)
		size := d.sizeOf(of)
		if ok = rest-at < size; !ok {
			return true
		}
		if own, _ := c.Val(dwarf.AttrName).(string); own != "" && c.Tag == dwarf.TagMember {
			name = "." + own
		}
		return false
	})
	return name, at, of, ok
}

// memberOffset is where a member is; 0 in unions. Before DWARF 3 it is an expression that adds a constant.
func memberOffset(e *dwarf.Entry) int64 {
	const opPlus = 0x23
	switch v := e.Val(dwarf.AttrDataMemberLoc).(type) {
	case int64:
		return v
	case []byte:
		if len(v) > 1 && v[0] == opPlus {
			if n, used := binary.Uvarint(v[1:]); used > 0 && n < 1<<62 {
				return int64(n)
			}
		}
		return -1
	}
	return 0
}

// dimensions are how many elements an array has in each; 0 where that is unknown.
func (d *declarations) dimensions(e *dwarf.Entry) (list []uint64) {
	d.children(e, func(c *dwarf.Entry) bool {
		if c.Tag != dwarf.TagSubrangeType {
			return true
		}
		n := uint64(0)
		if v, ok := c.Val(dwarf.AttrCount).(int64); ok && v > 0 {
			n = uint64(v)
		} else if v, ok := c.Val(dwarf.AttrUpperBound).(int64); ok && v >= 0 && v < 1<<62 {
			n = uint64(v) + 1
		}
		list = append(list, n)
		return len(list) < maxSteps
	})
	return list
}

// indices are those of the element at a place, in an array with so many in each dimension: "[2][3]".
func indices(dims []uint64, place uint64) (s string) {
	for i := len(dims) - 1; i > 0 && dims[i] > 0; i-- {
		s = fmt.Sprintf("[%d]", place%dims[i]) + s
		place /= dims[i]
	}
	return fmt.Sprintf("[%d]", place) + s
}

// sizeOf is the size of a type in bytes, 0 if unknown.
func (d *declarations) sizeOf(of dwarf.Offset) uint64 {
	times := uint64(1)
	for range maxSteps {
		e := entryAt(d.data, of)
		if d.budget--; e == nil || d.budget < 0 {
			return 0
		}
		if n, ok := e.Val(dwarf.AttrByteSize).(int64); ok && n >= 0 {
			over, size := bits.Mul64(times, uint64(n))
			if over != 0 {
				return 0
			}
			return size
		}
		if e.Tag == dwarf.TagArrayType {
			for _, n := range d.dimensions(e) {
				over, product := bits.Mul64(times, n)
				if over != 0 {
					return 0
				}
				times = product
			}
		}
		next, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
		if !ok {
			return 0
		}
		of = next
	}
	return 0
}
