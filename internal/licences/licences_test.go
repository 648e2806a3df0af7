package licences

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write go.md")

// TestCurrent: the notices are those of the modules that are linked, in their versions.
func TestCurrent(t *testing.T) {
	modules, err := linked()
	if err != nil {
		t.Fatal(err)
	}
	var headings []string
	var text strings.Builder
	for _, m := range modules {
		headings = append(headings, fmt.Sprintf("## %s - %s", m.Path, m.Version))
		texts, err := notices(m)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(headings[len(headings)-1] + "\n\n" + strings.Join(texts, "\n\n") + "\n\n")
	}
	if *update {
		if err := os.WriteFile("go.md", []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got := regexp.MustCompile(`(?m)^## \S+ - \S+$`).FindAllString(Go, -1)
	if len(headings) < 5 || !slices.Equal(got, headings) {
		t.Errorf("go.md has %q\nlinked are  %q: run go generate ./internal/licences", got, headings)
	}
}

// notice matches the names of files with licences and notices.
var notice = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-.].*)?$`)

// notices are the different texts in the folders of a module's packages and in those above them.
func notices(m *module) (texts []string, err error) {
	dirs := map[string]bool{}
	for _, dir := range m.Packages {
		for ; len(dir) >= len(m.Dir); dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	for dir := range dirs {
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if f.IsDir() || !notice.MatchString(f.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				return nil, err
			}
			texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r", "")))
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s: no licence in %s", m.Path, m.Dir)
	}
	slices.Sort(texts)
	return slices.Compact(texts), nil
}

// module is one that is linked; the standard library is the module "go".
type module struct {
	Path, Version string
	Dir           string   // where its sources are
	Packages      []string // the folders of the packages that are linked
}

// linked lists the modules that the command contains, sorted by path, for all systems and build tags that
// releases are made for.
func linked() ([]*module, error) {
	byPath := map[string]*module{}
	for _, env := range [][]string{{"CGO_ENABLED=1"}, {"CGO_ENABLED=1", "GOFLAGS=-tags=mpi"}, {"CGO_ENABLED=0"}} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{if .Standard}}go\tstandard-library\t{{.Root}}\t{{.Root}}"+
			"{{else}}{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}{{end}}",
			"github.com/whyslow/whyslow/cmd/whyslow")
		cmd.Env = append(os.Environ(), env...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
			f := strings.Split(lines.Text(), "\t")
			if len(f) != 4 {
				continue
			}
			m := byPath[f[0]]
			if m == nil {
				m = &module{Path: f[0], Version: f[1], Dir: f[2]}
				byPath[f[0]] = m
			}
			if !slices.Contains(m.Packages, f[3]) {
				m.Packages = append(m.Packages, f[3])
			}
		}
	}
	var all []*module
	for _, m := range byPath {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *module) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}
