package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/whyslow/whyslow/"

// wings are the parts of internal/, in the order in which data passes through them. A room imports rooms of
// its own wing and of those before it, never of those after it.
var wings = []string{"tracefile", "run", "record", "model", "analysis", "show", "convert"}

// ground are the rooms that every wing uses. They import nothing of ours but each other.
var ground = []string{"internal/clock", "internal/console", "internal/files", "internal/licences",
	"internal/memory", "internal/procs", "internal/words"}

// TestImportsPointDown keeps the order of wings that ARCHITECTURE.md draws.
func TestImportsPointDown(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") ||
			strings.Contains(file, "testdata") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		from := path.Join("internal", filepath.ToSlash(filepath.Dir(file)))
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			to, ours := strings.CutPrefix(name, module)
			if !ours {
				continue
			}
			seen++
			if why := forbidden(from, to); why != "" {
				t.Errorf("%s imports %s: %s", filepath.Join("internal", file), to, why)
			}
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Fatalf("%d imports were checked (%v)", seen, err)
	}
}

// forbidden says why one room must not import another, or nothing. Both are paths in the module.
func forbidden(from, to string) string {
	wing := func(room string) string { return strings.SplitN(strings.TrimPrefix(room, "internal/"), "/", 2)[0] }
	switch {
	case wing(from) == "testkit":
		return ""
	case to == "cli" || strings.HasPrefix(to, "cmd/"):
		return "the command line stands above all rooms"
	case strings.HasPrefix(to, "internal/testkit/"):
		return "the test kit is for tests"
	case slices.Contains(ground, from):
		if !slices.Contains(ground, to) {
			return "every wing stands on this room, so it imports none"
		}
	case slices.Contains(ground, to) || !strings.HasPrefix(to, "internal/"):
		return ""
	default:
		a, b := slices.Index(wings, wing(from)), slices.Index(wings, wing(to))
		switch {
		case a < 0:
			return "the wing " + wing(from) + " is not known: see wings in rooms_test.go"
		case b > a:
			return "the wing " + wing(to) + " comes after " + wing(from)
		}
	}
	return ""
}

func TestForbidden(t *testing.T) {
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"internal/analysis/slou", "internal/model", true},
		{"internal/analysis/blame", "internal/analysis/slou", true},
		{"internal/model", "internal/analysis/slou", false},
		{"internal/run/engine", "internal/show/report", false},
		{"internal/run/engine", "internal/clock", true},
		{"internal/run/engine", "prof", true},
		{"internal/procs", "trace", false},
		{"internal/show/report", "cli", false},
		{"internal/show/report", "internal/testkit/sloutest", false},
		{"internal/testkit/sloutest", "internal/show/report", true},
		{"internal/tracefile/follow", "internal/tracefile", true},
		{"internal/tracefile", "internal/record/stream", false},
		{"internal/attic", "internal/model", false},
	} {
		if got := forbidden(c.from, c.to) == ""; got != c.allowed {
			t.Errorf("%s imports %s: allowed is %v", c.from, c.to, got)
		}
	}
}
