package symbols

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/whyslow/whyslow/internal/files"
)

// Limits on what is read of one file; larger ones give what the symbol table has, or nothing.
const (
	maxSymbolBytes = 512 << 20
	maxDebugBytes  = 1 << 30 // of all debug information together, uncompressed
)

// lookUp finds the places of offsets in one file.
func lookUp(path string, offsets []uint64) map[uint64]Place {
	f, err := files.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	found := map[uint64]Place{}
	// What was found before a file turns out to be damaged counts.
	_ = resolve(f, offsets, found)
	return found
}

// resolve puts into found what the ELF file knows of the offsets. The error is why it does not know more.
func resolve(r io.ReaderAt, offsets []uint64, found map[uint64]Place) (err error) {
	// The documentation of debug/elf and debug/dwarf says that malformed files may make them panic. They
	// change nothing but what they return, so that a file that does this is one that cannot be read.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed: %v", p)
		}
	}()
	f, err := elf.NewFile(r)
	if err != nil {
		return err
	}
	offsets = slices.Clone(offsets)
	slices.Sort(offsets)
	offsets = slices.Compact(offsets)
	code, inData := ofData(f, offsets)
	for offset, s := range named(f, code, elf.STT_FUNC, elf.STT_GNU_IFUNC) {
		found[offset] = Place{Function: plain(s.Name)}
	}
	starts := variables(f, inData, found)
	data, err := debugInfo(f)
	if err != nil || data == nil {
		return err
	}
	return errors.Join(lines(data, code, found), declared(f, data, starts, found))
}

// named finds the symbols of some types at the offsets; in stripped files those for dynamic linking.
func named(f *elf.File, offsets []uint64, types ...elf.SymType) map[uint64]elf.Symbol {
	if len(offsets) == 0 {
		return nil
	}
	var size uint64
	for _, s := range f.Sections {
		if s.Type == elf.SHT_SYMTAB || s.Type == elf.SHT_DYNSYM || s.Type == elf.SHT_STRTAB {
			if size += s.Size; size < s.Size || size > maxSymbolBytes {
				return nil
			}
		}
	}
	symbols, err := f.Symbols()
	if err != nil || len(symbols) == 0 {
		symbols, err = f.DynamicSymbols()
	}
	if err != nil {
		return nil
	}
	symbols = slices.DeleteFunc(symbols, func(s elf.Symbol) bool {
		return !slices.Contains(types, elf.ST_TYPE(s.Info)) || s.Section == elf.SHN_UNDEF || s.Name == "" ||
			s.Value+s.Size < s.Value
	})
	// Of several symbols at one address the last counts: the longest, and a global one.
	slices.SortStableFunc(symbols, func(a, b elf.Symbol) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Size, b.Size),
			cmp.Compare(elf.ST_BIND(a.Info)&elf.STB_GLOBAL, elf.ST_BIND(b.Info)&elf.STB_GLOBAL))
	})
	found := map[uint64]elf.Symbol{}
	for _, offset := range offsets {
		i := sort.Search(len(symbols), func(i int) bool { return symbols[i].Value > offset }) - 1
		if i < 0 {
			continue
		}
		end := symbols[i].Value + symbols[i].Size
		if symbols[i].Size == 0 { // written in assembler: up to the next
			if end = ^uint64(0); i+1 < len(symbols) {
				end = symbols[i+1].Value
			}
		}
		if offset < end {
			found[offset] = symbols[i]
		}
	}
	return found
}

// plain is the source's name of a symbol: compilers number parts and copies ("solve.part.0", "lock.0").
func plain(name string) string {
	if before, _, ok := strings.Cut(name, "."); ok && before != "" {
		return before
	}
	return name
}

// debugInfo reads the debug information; nil without an error if there is none.
func debugInfo(f *elf.File) (*dwarf.Data, error) {
	var size uint64
	has := false
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".zdebug_") {
			has = has || strings.HasSuffix(s.Name, "debug_info")
			if size += s.Size; size < s.Size || size > maxDebugBytes {
				return nil, fmt.Errorf("debug information of more than %d MiB", maxDebugBytes>>20)
			}
		}
	}
	if !has {
		return nil, nil
	}
	return f.DWARF()
}
