package compile

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// manifest lists the files that a step read when it ran last.
type manifest struct {
	cwd     string // relative names of files are relative to it
	sources []source
}

const (
	manifestHead   = "whyslow build 2"
	manifestSuffix = ".made"
)

func (c *Cache) manifestPath(s Step) string {
	return filepath.Join(c.Dir, Hash(s.Name, s.Key)+manifestSuffix)
}

// result is the name of the folder with what the step makes of these files.
func (m *manifest) result(s Step) string {
	parts := []string{s.Name, s.Key}
	for _, f := range m.sources {
		parts = append(parts, f.path, f.hash)
	}
	return Hash(parts...)
}

// loadManifest reads a manifest; nil if there is none or it makes no sense.
func loadManifest(path string) *manifest {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	m, ok := parseManifest(string(text))
	if !ok {
		return nil
	}
	return m
}

func (m *manifest) save(path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "tmp-")
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(m.text())
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// text is the manifest's file: a head, the working directory, then size, time, hash and quoted name of
// each file.
func (m *manifest) text() string {
	b := strconv.AppendQuote([]byte(manifestHead+"\n"), m.cwd)
	for _, f := range m.sources {
		b = append(b, '\n')
		b = strconv.AppendInt(b, f.size, 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, f.mtime, 10)
		b = append(b, ' ')
		b = append(b, f.hash...)
		b = append(b, ' ')
		b = strconv.AppendQuote(b, f.path)
	}
	return string(append(b, "\nend\n"...))
}

func parseManifest(text string) (*manifest, bool) {
	text, ok := strings.CutSuffix(text, "\nend\n")
	lines := strings.Split(text, "\n")
	if !ok || len(lines) < 2 || lines[0] != manifestHead {
		return nil, false
	}
	m := &manifest{}
	var err error
	if m.cwd, err = strconv.Unquote(lines[1]); err != nil {
		return nil, false
	}
	for _, line := range lines[2:] {
		f := strings.SplitN(line, " ", 4)
		if len(f) != 4 {
			return nil, false
		}
		size, err1 := strconv.ParseInt(f[0], 10, 64)
		mtime, err2 := strconv.ParseInt(f[1], 10, 64)
		path, err3 := strconv.Unquote(f[3])
		if err1 != nil || err2 != nil || err3 != nil {
			return nil, false
		}
		m.sources = append(m.sources, source{path, size, mtime, f[2]})
	}
	return m, true
}

// ParseRule reads the rule that a compiler writes for make and returns the files after the colon.
func ParseRule(text string) []string {
	_, text, _ = strings.Cut(text, ": ")
	var res []string
	var cur []byte
	flush := func() {
		if len(cur) > 0 {
			res = append(res, string(cur))
		}
		cur = cur[:0]
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch {
		case c == '\\' && (next == '\n' || next == '\r'):
			i++
			flush()
		case c == '\\' && (next == ' ' || next == '#' || next == ':'):
			i++
			cur = append(cur, next)
		case c == '$' && next == '$':
			i++
			cur = append(cur, '$')
		case c == ' ' || c == '\t' || c == '\r':
			flush()
		case c == '\n':
			flush()
			return res
		default:
			cur = append(cur, c)
		}
	}
	flush()
	return res
}
