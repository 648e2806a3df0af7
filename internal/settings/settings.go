// Package settings reads files with the user's own defaults of the command line, whyslow.toml:
//
//	lang = "ru"        # of every verb that has this flag
//
//	[run]
//	workers = 2
//	set = ["logger_module.format=csv", "logger_module.dir=logs"]
//
// A key is a flag without its dashes, a table is a verb. Whether they exist is for the command line to say.
package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Name is that of the files.
const Name = "whyslow.toml"

// Setting is a line of a file.
type Setting struct {
	Verb   string   // "": every verb that has the flag
	Flag   string   // without dashes
	Values []string // of a flag that may be repeated there may be several
	From   string   // FILE:LINE
}

// Files are the paths of the files that count, whether they exist or not, the most important first: of the
// project, which is the current folder and, in a git repository, those above it up to its root; then the
// user's.
func Files() (list []string) {
	dir, err := os.Getwd()
	if err == nil {
		var project []string
		for {
			project = append(project, filepath.Join(dir, Name))
			if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
				list = project
				break
			}
			up := filepath.Dir(dir)
			if up == dir { // no repository
				list = project[:1]
				break
			}
			dir = up
		}
	}
	if dir, err := os.UserConfigDir(); err == nil {
		list = append(list, filepath.Join(dir, "whyslow", Name))
	}
	return list
}

// Read reads a file. Errors begin with FILE:LINE. That there is no file is fs.ErrNotExist.
func Read(path string) ([]Setting, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse reads the text of a file, whose name is for messages.
func Parse(path string, text []byte) (list []Setting, err error) {
	var whole map[string]any
	if err := toml.Unmarshal(text, &whole); err != nil { // it knows every rule of the language
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, _ := at.Position()
			return nil, fmt.Errorf("%s:%d: %s", path, line, strings.TrimPrefix(at.Error(), "toml: "))
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var p unstable.Parser
	p.Reset(text)
	verb := ""
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.KeyValue && e.Kind != unstable.ArrayTable {
			continue
		}
		var key []string
		line := 0
		for it := e.Key(); it.Next(); {
			if line == 0 {
				line = p.Shape(it.Node().Raw).Start.Line
			}
			key = append(key, string(it.Node().Data))
		}
		from := fmt.Sprintf("%s:%d", path, line)
		switch {
		case e.Kind == unstable.ArrayTable || len(key) > 1 && (e.Kind == unstable.Table || verb != "") ||
			len(key) > 2:
			return nil, fmt.Errorf("%s: %s: give a verb in brackets, and its flags below it", from,
				strings.Join(key, "."))
		case e.Kind == unstable.Table:
			verb = key[0]
			continue
		}
		s := Setting{Verb: verb, Flag: key[len(key)-1], From: from}
		if len(key) == 2 { // run.workers = 2
			s.Verb = key[0]
		}
		if s.Values, err = values(e.Value()); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", from, s.Flag, err)
		}
		list = append(list, s)
	}
	return list, p.Error()
}

// values are the words that the flag would be given.
func values(v *unstable.Node) (list []string, err error) {
	switch v.Kind {
	case unstable.String, unstable.Bool, unstable.Integer, unstable.Float:
		return []string{string(v.Data)}, nil
	case unstable.Array:
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.Comment {
				continue
			}
			one, err := values(it.Node())
			if err != nil || it.Node().Kind == unstable.Array {
				return nil, errors.New("a list holds texts or numbers")
			}
			list = append(list, one[0])
		}
		return list, nil
	}
	return nil, errors.New("give a text, a number, true, false, or a list of these")
}
