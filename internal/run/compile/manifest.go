package compile

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/files"
)

// manifest lists the files that a step read when it ran last. Each start of a program reads one that lists
// hundreds, so it is no JSON: its file has Cwd, the number of files, and four fields for each, each ended by
// a 0.
type manifest struct {
	Cwd     string // relative names of files are relative to it
	Sources []source
}

func (c *Cache) manifestPath(s Step) string { return filepath.Join(c.Dir, Hash(s.Name, s.Key)+".read") }

// result is the name of the folder with what the step makes of these files.
func (m *manifest) result(s Step) string {
	parts := []string{s.Name, s.Key}
	for _, f := range m.Sources {
		parts = append(parts, f.Path, f.Hash)
	}
	return Hash(parts...)
}

// loadManifest reads a manifest; nil if there is none or it makes no sense.
func loadManifest(path string) *manifest {
	text, err := os.ReadFile(path)
	fields := strings.Split(string(text), "\x00")
	n := len(fields) / 4
	if err != nil || len(fields) != 4*n+3 || fields[4*n+2] != "" || fields[1] != strconv.Itoa(n) {
		return nil
	}
	m := &manifest{fields[0], make([]source, n)}
	for i := range m.Sources {
		f := fields[2+4*i:]
		size, err := strconv.ParseInt(f[1], 10, 64)
		mtime, err2 := strconv.ParseInt(f[2], 10, 64)
		if err != nil || err2 != nil {
			return nil
		}
		m.Sources[i] = source{f[0], size, mtime, f[3]}
	}
	return m
}

func (m *manifest) save(path string) error {
	text := fmt.Appendf(nil, "%s\x00%d\x00", m.Cwd, len(m.Sources))
	for _, f := range m.Sources {
		text = fmt.Appendf(text, "%s\x00%d\x00%d\x00%s\x00", f.Path, f.Size, f.MTime, f.Hash)
	}
	return files.ReplaceText(path, text)
}

var (
	ruleName   = regexp.MustCompile(`(?:\\[ #:]|\S)+`)
	ruleEscape = strings.NewReplacer(`\ `, " ", `\#`, "#", `\:`, ":", "$$", "$")
)

// parseRule reads the rule that a compiler writes for make and returns the files after the colon.
func parseRule(text string) (names []string) {
	_, text, _ = strings.Cut(text, ": ")
	text = strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(text)
	text, _, _ = strings.Cut(text, "\n")
	for _, name := range ruleName.FindAllString(text, -1) {
		names = append(names, ruleEscape.Replace(name))
	}
	return names
}
