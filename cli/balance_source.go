package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/balance"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/placement"
	"github.com/whyslow/whyslow/internal/show/report"
)

// rewrite finds the rules of LuNA that say what a distribution does, puts them into d, and gives the edits
// that write them. It fails where the program is not here any more, as it was.
func rewrite(d *report.Distribution, best *balance.Trial) ([]luna.Edit, error) {
	if best == nil || best.Place == nil {
		return nil, nil
	}
	p := d.Result.Program
	prog, err := sourceOf(p.Model())
	if err != nil {
		return nil, err
	}
	name := filepath.Base(d.Program)
	f := p.File(best.Place, name)
	if bound, err := f.Bind(prog); err != nil || bound.Unknown != "" {
		return nil, fmt.Errorf("%s has changed since it was recorded: its locators cannot be written", d.Program)
	}
	var edits []luna.Edit
	d.Source, edits = p.Needed(best.Place, name).Source(prog, p.Needed(nil, name))
	return edits, nil
}

// sourceOf compiles the program of a recorded run.
func sourceOf(m *model.Model) (*luna.Program, error) {
	info := m.Info
	i := slices.IndexFunc(m.Sites, func(s model.Site) bool {
		return s.File != "" && filepath.Base(s.File) == info.Program
	})
	if i < 0 {
		return nil, errors.New("the trace does not say where the program is: its locators cannot be written")
	}
	file := m.Sites[i].File
	text, err := files.Read(file, maxSource)
	if err != nil {
		return nil, err
	}
	opt := luna.Options{File: file, Source: text}
	if line := info.CommandLine; len(line) > 2 && line[1] == "run" {
		f := runCommand(console.IO{}).Flags()
		if f.Parse(line[2:]) == nil {
			defines, _ := f.GetStringArray("define") // it is there
			opt.Defines = luna.Defines(defines)
		}
	}
	prog, err := luna.Compile(opt)
	if err != nil {
		return nil, fmt.Errorf("%s does not compile any more: its locators cannot be written", file)
	}
	return prog, nil
}

// writePatch writes edits as a diff with names as seen from a folder, that of the program.
func writePatch(path string, edits []luna.Edit) (folder string, err error) {
	folder = filepath.Dir(edits[0].From.File)
	text, err := placement.Patch(edits, func(file string) ([]byte, error) { return files.Read(file, maxSource) },
		func(file string) string {
			if rel, err := filepath.Rel(folder, file); err == nil {
				file = rel
			}
			return filepath.ToSlash(file)
		})
	if err != nil {
		return "", badInput(err)
	}
	return folder, badInput(files.ReplaceText(path, []byte(text)))
}
