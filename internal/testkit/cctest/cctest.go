// Package cctest compiles C and C++ programs for tests. They are kept in the user's cache from run to
// run, see package compile, so that only what has changed is compiled.
package cctest

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/run/compile"
	"github.com/whyslow/whyslow/internal/testkit/effort"
)

// Program says what to compile.
type Program = compile.Program

// Make compiles and links a program and returns its path. The test is skipped where the compiler is not
// installed.
func Make(t testing.TB, p Program) string {
	t.Helper()
	path, err := p.Make(t.Context())
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Sanitized is Make for a program with sanitizers, which it has with effort.Long only: with them, compiling
// and running take several times as long. The test is skipped where the compiler lacks their libraries.
func Sanitized(t testing.TB, p Program) string {
	t.Helper()
	if !effort.Long {
		p = Unsanitized(p)
	}
	path, err := p.Make(t.Context())
	if LacksLibrary(err) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Unsanitized is the program without sanitizers.
func Unsanitized(p Program) Program {
	for _, flags := range []*[]string{&p.Flags, &p.Compile, &p.Link} {
		*flags = slices.DeleteFunc(slices.Clone(*flags), func(f string) bool {
			return strings.HasPrefix(f, "-fsanitize=") || strings.HasPrefix(f, "-fno-sanitize")
		})
	}
	return p
}

// LacksLibrary reports whether a program was not linked because a library is not installed, or not
// compiled because there is no compiler.
func LacksLibrary(err error) bool {
	var failed *compile.Error
	return errors.Is(err, exec.ErrNotFound) || errors.As(err, &failed) &&
		(strings.Contains(failed.Output, "cannot find -l") || strings.Contains(failed.Output, "cannot find lib"))
}

// Source keeps a source that a test has made in the cache, in a folder named by its content, and
// returns its path: where it is is a part of what is compiled.
func Source(t testing.TB, name, text string) string {
	t.Helper()
	return filepath.Join(Folder(t, map[string]string{name: text}), name)
}

// Folder is Source for several files.
func Folder(t testing.TB, files map[string]string) string {
	t.Helper()
	c, err := compile.Open("", "")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := c.Folder(files)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
