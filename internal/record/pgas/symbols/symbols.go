// Package symbols tells which function, file and line an address of a program is in, or which variable it is.
//
// A collector that knows only addresses writes "PATH+0xOFFSET": the path of the executable or shared object,
// absolute, and the address as the file itself counts (where the code was at run time, less where the file
// was loaded). Programs are built again and moved, so what the addresses mean is looked up when the run ends
// and kept beside the trace, in symbols.json. A trace that was sent has them in its run.json.
package symbols

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// Place is where an address is in the source.
type Place = trace.SymbolInfo

// Table has the places of addresses, by their text "PATH+0xOFFSET".
type Table map[string]Place

// File is the name of a table in the folder of a trace.
const File = "symbols.json"

// tableLimit is how large symbols.json may be, in bytes: some 500,000 places.
const tableLimit = 64 << 20

// Resolve looks addresses up in the symbol tables and debug information (DWARF 2 to 5) of the files they
// name. It leaves out what it cannot find: no addresses, files that are missing, not regular, not ELF, or
// stripped. A file built again after the run gives wrong places.
func Resolve(addresses []string) Table {
	modules := map[string][]uint64{}
	for _, text := range addresses {
		if path, offset, ok := Split(text); ok {
			modules[path] = append(modules[path], offset)
		}
	}
	t := Table{}
	for path, offsets := range modules {
		for offset, place := range lookUp(path, offsets) {
			t[Join(path, offset)] = place
		}
	}
	// The same address may be written with other digits (0x0A); what was asked for is what is found.
	for _, text := range addresses {
		if path, offset, ok := Split(text); ok {
			if place, found := t[Join(path, offset)]; found {
				t[text] = place
			}
		}
	}
	return t
}

// Split takes "PATH+0xOFFSET" apart; ok is false where the text is no address, or its path not absolute.
func Split(address string) (path string, offset uint64, ok bool) {
	i := strings.LastIndex(address, "+0x")
	if i < 1 || !filepath.IsAbs(address[:i]) {
		return "", 0, false
	}
	offset, err := strconv.ParseUint(address[i+3:], 16, 64)
	return address[:i], offset, err == nil
}

// Join makes the text of an address.
func Join(path string, offset uint64) string { return path + "+0x" + strconv.FormatUint(offset, 16) }

// OfTrace resolves the addresses that were recorded of a node, or of all (-1).
func OfTrace(r *trace.Reader, node int) Table {
	seen := map[string]bool{}
	var addresses []string
	for _, n := range r.Nodes() {
		if node >= 0 && n != node {
			continue
		}
		r.Defs(n).EachName(func(_ trace.Name, text string) {
			if _, _, ok := Split(text); ok && !seen[text] {
				seen[text] = true
				addresses = append(addresses, text)
			}
		})
	}
	if len(addresses) == 0 {
		return nil
	}
	return Resolve(addresses)
}

// Load reads the table kept with a trace; nil without an error if there is none.
func Load(traceDir string) (Table, error) {
	path := filepath.Join(traceDir, File)
	text, err := files.Read(path, tableLimit)
	t := Table{}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		info, err := trace.ReadRunInfo(traceDir)
		if err != nil || info.Symbols == nil {
			return nil, nil // there is none; what is wrong with run.json others tell
		}
		path, t = filepath.Join(traceDir, tracefile.RunFile), info.Symbols
	case err == nil:
		err = json.Unmarshal(text, &t)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w; remove it to see addresses instead of lines", path, err)
	}
	for address, p := range t {
		if p.Line < 0 {
			return nil, fmt.Errorf("%s: %s: line %d: there is none; remove the file to see addresses instead of lines",
				path, address, p.Line)
		}
	}
	return t, nil
}

// Save keeps the table with a trace: whole or, where that fails, as it was.
func (t Table) Save(traceDir string) error {
	text, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return err
	}
	return files.ReplaceText(filepath.Join(traceDir, File), append(text, '\n'))
}
