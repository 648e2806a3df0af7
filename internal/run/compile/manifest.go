package compile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/whyslow/whyslow/internal/files"
)

// manifest lists the files that a step read when it ran last. Its file is JSON.
type manifest struct {
	Cwd     string // relative names of files are relative to it
	Sources []source
}

func (c *Cache) manifestPath(s Step) string { return filepath.Join(c.Dir, Hash(s.Name, s.Key)+".json") }

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
	m := &manifest{}
	if err != nil || json.Unmarshal(text, m) != nil {
		return nil
	}
	return m
}

func (m *manifest) save(path string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
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
