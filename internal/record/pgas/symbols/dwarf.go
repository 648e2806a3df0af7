package symbols

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"io"
	"slices"
	"sort"
	"strings"
)

// Each compilation unit that has an address is read once, from front to end: a tree, depth first, in which
// functions contain blocks and inlined calls, each with the addresses it covers. Hostile files would make
// debug/dwarf's recursive way to skip children exhaust the stack, and -ffunction-sections breaks its search
// in line tables.

// maxEntries is how many entries, and ranges of addresses, of one file are looked at.
const maxEntries = 100_000_000

// maxMisses is how many addresses may be in no unit: each is looked for in all of them.
const maxMisses = 10_000

var errTooMuch = errors.New("too much debug information")

// A frame is a function that covers an address: the one that was compiled, or one inlined in it.
type frame struct {
	name     string
	callFile int // inlined: where it was called
	callLine int
	depth    int
}

// lines puts the places of the offsets, sorted, into found.
func lines(data *dwarf.Data, offsets []uint64, found map[uint64]Place) error {
	budget, misses := maxEntries, 0
	units := map[dwarf.Offset]*dwarf.Entry{}
	inUnit := map[dwarf.Offset][]uint64{}
	known := map[uint64]bool{}
	r := data.Reader()
	for _, offset := range offsets {
		if known[offset] || misses > maxMisses {
			continue
		}
		unit, err := r.SeekPC(offset)
		if errors.Is(err, dwarf.ErrUnknownPC) {
			misses++
			continue
		}
		if err != nil {
			return err
		}
		ranges, err := data.Ranges(unit)
		if err != nil {
			return err
		}
		units[unit.Offset] = unit
		for _, pcs := range ranges {
			for _, in := range between(offsets, pcs[0], pcs[1]) {
				if !known[in] {
					known[in] = true
					inUnit[unit.Offset] = append(inUnit[unit.Offset], in)
				}
			}
		}
	}
	for at, unit := range units {
		in := inUnit[at]
		slices.Sort(in) // ranges come in any order
		files, written, err := positions(data, unit, in)
		if err != nil {
			return err
		}
		frames, err := covering(data, unit, in, &budget)
		if err != nil {
			return err
		}
		for _, offset := range in {
			place := found[offset]
			if p, ok := written[offset]; ok {
				place.File, place.Line = p.file, p.line
			}
			place = outOfHeaders(place, frames[offset], files)
			if place != (Place{}) {
				found[offset] = place
			}
		}
	}
	return nil
}

// outOfHeaders takes the function for the place, from its frames, outermost first, or the line that called a
// system header's.
func outOfHeaders(p Place, frames []frame, files []*dwarf.LineFile) Place {
	for i := len(frames) - 1; i >= 0; i-- {
		if frames[i].name != "" {
			p.Function = frames[i].name
		}
		if i == 0 || !ofSystem(p.File) {
			return p
		}
		n := frames[i].callFile
		if n < 0 || n >= len(files) || files[n] == nil || frames[i].callLine <= 0 {
			return p
		}
		p.File, p.Line = files[n].Name, frames[i].callLine
	}
	return p
}

func ofSystem(file string) bool {
	for _, dir := range []string{"/usr/include/", "/usr/lib/", "/usr/lib64/", "/usr/local/include/"} {
		if strings.HasPrefix(file, dir) {
			return true
		}
	}
	return false
}

type position struct {
	file string
	line int
}

// positions reads the line table of a unit.
func positions(data *dwarf.Data, unit *dwarf.Entry, offsets []uint64) ([]*dwarf.LineFile, map[uint64]position,
	error) {
	lr, err := data.LineReader(unit)
	if err != nil || lr == nil {
		return nil, nil, err
	}
	at := map[uint64]position{}
	var last, next dwarf.LineEntry
	for open := false; ; open, last = !next.EndSequence, next {
		err := lr.Next(&next)
		if errors.Is(err, io.EOF) {
			return lr.Files(), at, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if !open || last.File == nil || last.Line <= 0 {
			continue
		}
		for _, offset := range between(offsets, last.Address, next.Address) {
			at[offset] = position{last.File.Name, last.Line}
		}
	}
}

// between returns those of the sorted offsets that are at least low and below high.
func between(offsets []uint64, low, high uint64) []uint64 {
	if low >= high {
		return nil
	}
	from := sort.Search(len(offsets), func(i int) bool { return offsets[i] >= low })
	n := sort.Search(len(offsets)-from, func(i int) bool { return offsets[from+i] >= high })
	return offsets[from : from+n]
}

// covering finds for each offset the functions that cover it, outermost first.
func covering(data *dwarf.Data, unit *dwarf.Entry, offsets []uint64, budget *int) (
	map[uint64][]frame, error) {
	frames := map[uint64][]frame{}
	var failed error
	err := walk(data, unit.Offset, budget, func(e *dwarf.Entry, depth int) bool {
		if e.Tag != dwarf.TagSubprogram && e.Tag != dwarf.TagInlinedSubroutine {
			return true
		}
		var ranges [][2]uint64
		ranges, failed = data.Ranges(e)
		*budget -= len(ranges)
		for _, pcs := range ranges {
			for _, offset := range between(offsets, pcs[0], pcs[1]) {
				name, file, line := called(data, e)
				frames[offset] = append(frames[offset], frame{name, file, line, depth})
			}
		}
		return failed == nil
	})
	// Ranges that overlap are against the standard: the deepest counts.
	for _, f := range frames {
		slices.SortStableFunc(f, func(a, b frame) int { return a.depth - b.depth })
	}
	return frames, cmp.Or(err, failed)
}

// walk calls f for an entry, depth 0, and all within it, until it returns false.
func walk(data *dwarf.Data, at dwarf.Offset, budget *int, f func(e *dwarf.Entry, depth int) bool) error {
	r := data.Reader()
	r.Seek(at)
	for depth := 0; ; {
		e, err := r.Next()
		if err != nil {
			return err
		}
		if *budget--; *budget < 0 {
			return errTooMuch
		}
		switch {
		case e == nil:
			return nil
		case e.Tag == 0:
			depth--
		case !f(e, depth):
			return nil
		case e.Children:
			depth++
		}
		if depth <= 0 {
			return nil
		}
	}
}

// called is the name of a function, and where it was called if it was inlined.
func called(data *dwarf.Data, e *dwarf.Entry) (name string, file, line int) {
	file = -1
	if n, ok := e.Val(dwarf.AttrCallFile).(int64); ok && n >= 0 && n < 1<<31 {
		file = int(n)
	}
	if n, ok := e.Val(dwarf.AttrCallLine).(int64); ok && n > 0 && n < 1<<31 {
		line = int(n)
	}
	// A function refers to its declaration; chains are at most three long.
	for range 8 {
		if e == nil {
			break
		}
		if name, ok := e.Val(dwarf.AttrName).(string); ok {
			return name, file, line
		}
		e = refersTo(data, e)
	}
	return "", file, line
}

// refersTo is the declaration that an entry is the definition of, nil for none.
func refersTo(data *dwarf.Data, e *dwarf.Entry) *dwarf.Entry {
	for _, attr := range []dwarf.Attr{dwarf.AttrSpecification, dwarf.AttrAbstractOrigin} {
		if at, ok := e.Val(attr).(dwarf.Offset); ok {
			return entryAt(data, at)
		}
	}
	return nil
}

// entryAt reads one entry, nil if there is none.
func entryAt(data *dwarf.Data, at dwarf.Offset) *dwarf.Entry {
	r := data.Reader()
	r.Seek(at)
	e, err := r.Next()
	if err != nil {
		return nil
	}
	return e
}
