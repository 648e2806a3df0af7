package instrument

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/run/config"
)

// maxSource is how many bytes of a file are read at most.
const maxSource = 64 << 20

// Options of Run.
type Options struct {
	// OutDir gets all files, changed or not, with the folders they have below the folder common to all; "": the
	// files are changed in place.
	OutDir string
	DryRun bool // write nothing
	Diff   bool // fill in File.Diff
	Remove bool // take out all insertions, whatever the rules
}

// File is what became of one file.
type File struct {
	Name       string      `json:"file"`       // as given
	Target     string      `json:"target"`     // what is or would be written
	Changed    bool        `json:"changed"`    // Target did not have this content already
	Skipped    bool        `json:"skipped"`    // left as it is: it could not be understood
	Insertions []Insertion `json:"insertions"` // never nil
	Warnings   []Warning   `json:"-"`
	Diff       []byte      `json:"-"` // unified, from Name to Target
}

// Result is what became of all files.
type Result struct {
	Files    []File
	Warnings []Warning // of the rules
}

// Changed is how many files were or would be written with another content.
func (r *Result) Changed() int {
	n := 0
	for i := range r.Files {
		if r.Files[i].Changed {
			n++
		}
	}
	return n
}

// Run instruments source files by the rules. Which functions are declared extern "C", or return
// BlockRetStatus, is taken from all of them together. Every file is read before the first is written, and
// each is replaced at once, so that an interruption leaves no half of one. An error is one line that names
// the file.
func Run(paths []string, rules []Rule, o Options) (*Result, error) {
	paths, targets, err := places(paths, o.OutDir)
	if err != nil {
		return nil, err
	}
	if o.Remove {
		rules = nil
	}
	res := &Result{Files: make([]File, len(paths))}
	list, warnings := compile(rules)
	res.Warnings = warnings
	var sources []*file
	foreign, blocks := names{}, names{}
	for _, name := range paths {
		text, err := files.Read(name, maxSource)
		if err != nil {
			return nil, fmt.Errorf("cannot instrument: %w", err)
		}
		sources = append(sources, open(name, text))
	}
	v := readMacros(sources)
	for _, f := range sources {
		f.parse(v, foreign, blocks)
	}
	outs := make([][]byte, len(sources))
	used := map[string]bool{}
	for i, f := range sources {
		r := &res.Files[i]
		r.Name, r.Target = paths[i], targets[i]
		outs[i], r.Insertions, r.Warnings = f.apply(list, foreign, blocks)
		r.Insertions = append([]Insertion{}, r.Insertions...)
		r.Skipped = slices.ContainsFunc(r.Warnings, func(w Warning) bool { return w.Skipped })
		for _, in := range r.Insertions {
			used[in.Event] = true
		}
		if o.Diff {
			r.Diff = unified(r.Name, f.given, r.Target, outs[i])
		}
		old := f.given
		if o.OutDir != "" {
			old, err = files.Read(r.Target, maxSource)
		}
		r.Changed = err != nil || !bytes.Equal(old, outs[i])
	}
	for _, c := range list {
		if !used[c.Event] {
			res.Warnings = append(res.Warnings, c.nowhere(foreign, blocks))
		}
	}
	if o.DryRun {
		return res, nil
	}
	check := func(_, target string, _ []byte) error { return writable(target, o.OutDir) }
	for _, do := range []func(source, target string, text []byte) error{check, write} {
		for i, f := range res.Files {
			if !f.Changed {
				continue
			}
			if err := do(f.Name, f.Target, outs[i]); err != nil {
				return nil, err
			}
		}
	}
	return res, nil
}

// nowhere says that the rule fits nothing, and why if that is plain.
func (c *compiled) nowhere(foreign, blocks names) Warning {
	text := "fits nowhere in these files"
	switch {
	case c.At.Point == config.PointForeign && len(foreign) == 0:
		text = "none of these files declares a function extern \"C\" without a body"
	case c.At.Point == config.PointBlock && len(blocks) == 0:
		text = "no function in these files returns " + config.PointBlock
	}
	return Warning{Pos: c.Pos, Text: fmt.Sprintf("%s, %q: %s", c.Event, c.At, text)}
}

// places returns the files without repetitions, and where their results belong.
func places(given []string, outDir string) (files, targets []string, err error) {
	var whole []string // absolute
	seen := map[string]bool{}
	for _, name := range given {
		info, err := os.Stat(name)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot instrument: %w", err)
		}
		if !info.Mode().IsRegular() {
			return nil, nil, fmt.Errorf("cannot instrument %s: it is not a file; give the files one by one", name)
		}
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot instrument %s: %w", name, err)
		}
		if !seen[path] {
			seen[path] = true
			files, whole = append(files, name), append(whole, path)
		}
	}
	if outDir == "" || len(files) == 0 {
		return files, files, nil
	}
	common := filepath.Dir(whole[0])
	const separator = string(filepath.Separator)
	for _, path := range whole {
		for !strings.HasPrefix(path, strings.TrimSuffix(common, separator)+separator) {
			common = filepath.Dir(common)
		}
	}
	for _, path := range whole {
		rel, err := filepath.Rel(common, path)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot instrument %s: %w", path, err)
		}
		targets = append(targets, filepath.Join(outDir, rel))
	}
	return files, targets, nil
}

// writable tells whether target is a regular file or nothing yet. A symbolic link may lead anywhere: into a
// file of somebody else, when the sources come from others. So neither target nor a folder from outDir down
// to it may be one; without outDir the folders are those that the user named.
func writable(target, outDir string) error {
	for dir := filepath.Dir(target); outDir != ""; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("cannot write %s: %s is a symbolic link; name the folder that it points to", target, dir)
		}
		if dir == filepath.Clean(outDir) || dir == filepath.Dir(dir) {
			break
		}
	}
	info, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot write %s: %w", target, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("cannot write %s: it is a symbolic link; name the file that it points to", target)
	case !info.Mode().IsRegular():
		return fmt.Errorf("cannot write %s: it is not a regular file", target)
	}
	return nil
}

// write replaces the file target at once; it gets the permissions that it or else source has.
func write(source, target string, text []byte) error {
	err := os.MkdirAll(filepath.Dir(target), 0o777)
	var info fs.FileInfo
	if err == nil {
		if info, err = os.Lstat(target); err != nil {
			info, err = os.Stat(source)
		}
	}
	if err == nil {
		err = files.ReplaceMode(target, info.Mode().Perm(), func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", target, err)
	}
	return nil
}
