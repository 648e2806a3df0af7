package cpp

import (
	"debug/elf"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/whyslow/whyslow/internal/run/luna"
)

var (
	ownSub   = regexp.MustCompile(subPrefix + `[0-9]+_(\w+)`)
	fromOurs = regexp.MustCompile(`(?m)^In file included from ` + generatedName + `:[0-9]+[:,]\n`)
	// The linker's trace, asked for by -t, is the name of a file in each line; lines of source have a bar.
	linkerTrace = regexp.MustCompile(`(?m)^[^:|\n]*\.(?:o|a|so)(?:\.[0-9]+)*\)?\n`)
)

// Readable replaces our names for the user's subs.
func Readable(s string) string { return ownSub.ReplaceAllString(s, "$1") }

// Ours tells whether a function of a library of code fragments is none of the user's: a wrapper, or what
// takes note of waits.
func Ours(file, function string) bool {
	base := filepath.Base(file)
	return base == runtimeFile || base == waitsFile || base == generatedName ||
		strings.HasPrefix(function, "__wrap_") || strings.HasPrefix(function, "ws_call_")
}

// clean gives a compiler's or linker's message the user's names: files of ours become what they were made
// from.
func (b *builder) clean(s string) string {
	s = linkerTrace.ReplaceAllString(s, "")
	s = fromOurs.ReplaceAllString(s, "")
	for _, u := range b.units {
		if u.made != nil && u.made.Path != "" {
			s = strings.ReplaceAll(s, u.made.Path, u.name)
		}
	}
	s = strings.ReplaceAll(s, b.include+"/", "")
	work := b.cache.WorkFolders()
	for _, u := range b.units {
		if u.file != "" {
			s = regexp.MustCompile(work+regexp.QuoteMeta(u.file)).ReplaceAllLiteralString(s, u.name)
			s = strings.ReplaceAll(s, u.file+":(", u.name+":(") // the linker's form
		}
	}
	s = regexp.MustCompile(work+`out\.[do]`).ReplaceAllLiteralString(s, "object file")
	s = regexp.MustCompile(work).ReplaceAllLiteralString(s, "")
	// Lines longer than that say nothing more; the compiler prints source lines whole.
	return regexp.MustCompile(`(?m)^(.{1000}).+$`).ReplaceAllString(Readable(s), "$1…")
}

// functionAt returns the name of the function at an address of an executable or library; "" if it is not
// known.
func functionAt(path string, addr uint64) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	syms, err := f.Symbols()
	if err != nil {
		syms, _ = f.DynamicSymbols()
	}
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value <= addr && addr < s.Value+s.Size {
			return Readable(s.Name)
		}
	}
	return ""
}

// explainLoad says why the library could not be loaded. defined tells whether the process has a symbol
// anyway.
func explainLoad(path string, prog *luna.Program, msg string, defined func(string) bool) error {
	f, err := elf.Open(path)
	if err == nil {
		defer func() { _ = f.Close() }() // only read
	}
	if err != nil || !strings.Contains(msg, "undefined symbol") {
		switch {
		case err != nil && msg == "":
			msg = err.Error()
		case err == nil && !strings.Contains(msg, path):
			msg = path + ": " + msg
		}
		return fmt.Errorf("cannot load the program's C++ code: %s", msg)
	}
	searched := "no .cpp file was found"
	if s := f.Section(sourcesSection); s != nil {
		if data, err := s.Data(); err == nil {
			if names := strings.TrimRight(string(data), "\x00"); names != "" {
				searched = "looked in " + strings.ReplaceAll(names, "\n", ", ")
			}
		}
	}
	missing := map[string]bool{}
	if syms, err := f.DynamicSymbols(); err == nil {
		for _, s := range syms {
			if s.Section == elf.SHN_UNDEF && !defined(s.Name) {
				missing[s.Name] = true
			}
		}
	}
	var errs []error
	for _, r := range prog.Routines {
		if r.Body == nil && missing[r.CName] {
			errs = append(errs, fmt.Errorf("%v: undefined symbol: %s: the C++ function imported as %s "+
				"does not exist; %s; it must be declared extern \"C\"", r.Pos, r.CName, r.Name, searched))
		}
	}
	if errs != nil {
		return errors.Join(errs...)
	}
	_, symbol, _ := strings.Cut(msg, "undefined symbol: ")
	return fmt.Errorf("undefined symbol: %s: the program's C++ code uses it but does not define it; %s; "+
		"name the library it is in by LDFLAGS (for example LDFLAGS=-lm)", symbol, searched)
}
