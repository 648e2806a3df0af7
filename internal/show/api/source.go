package api

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
)

// sourceFile is a source that code fragments of a run name.
type sourceFile struct {
	File string `json:"file"`
	Text string `json:"text"`
	Here bool   `json:"here"` // whether it was found
}

// maxSource is how long a source may be that is shown.
const maxSource = 1 << 20

// sourceEndings are those of files that are shown: a trace may name any file.
var sourceEndings = []string{".fa", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".go", ".upc"}

// askSource reads a source file from the folder of the trace, or from the one that it is in: usually the
// program is there. Only files that the run's code fragments name are read, and nothing outside these
// folders.
func askSource(q *question) (any, error) {
	file := q.text("file", 1000)
	snap, err := q.snapshot()
	if err != nil {
		return nil, err
	}
	named := slices.Contains(sourceEndings, strings.ToLower(filepath.Ext(file)))
	if !named || !slices.ContainsFunc(snap.Model.Sites, func(s model.Site) bool { return s.File == file }) &&
		!slices.ContainsFunc(snap.Model.Codes, func(c model.Code) bool { return c.File == file }) {
		return nil, query.Bad("%.200q is not a source file of this run", file)
	}
	for _, dir := range []string{q.run.Dir(), filepath.Dir(q.run.Dir())} {
		for _, name := range []string{filepath.FromSlash(file), filepath.Base(file)} {
			text, err := readSource(dir, name)
			if err == nil {
				return sourceFile{file, text, true}, nil
			}
			if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errOutside) {
				return nil, err
			}
		}
	}
	return sourceFile{File: file}, nil
}

var errOutside = errors.New("it is outside the folder")

func readSource(dir, name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", errOutside
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	// A pipe is not opened: that would wait for its other end.
	if st, err := root.Stat(name); err != nil {
		return "", fmt.Errorf("%w: %w", errOutside, err) // or it is not there, or its link leads out
	} else if !st.Mode().IsRegular() || st.Size() > maxSource {
		return "", query.Bad("%s is no source: it is not a regular file, or longer than %d bytes", name, maxSource)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSource))
	return strings.ToValidUTF8(string(text), "\ufffd"), err
}
