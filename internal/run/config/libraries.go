package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/prof"
)

// OpenLibraries loads libraries of modules that are on, completes Info, types parameters, and switches on
// what they require. open loads one; errors say what asked for the module.
func (p *Plan) OpenLibraries(open func(path string) (prof.ModuleInfo, error)) error {
	for i := 0; i < len(p.Modules); i++ {
		m := &p.Modules[i]
		if !m.On || m.Info.Name != "" {
			continue
		}
		if err := m.findLibrary(p.input); err != nil {
			return err
		}
		info, err := open(m.Library)
		if err != nil {
			return fmt.Errorf("module %s is on (%s): %w", m.Name, m.because(), err)
		}
		if name, _ := find(info.Name, nil); name != m.Name {
			return fmt.Errorf("module %s is on (%s), but its library %s holds the module %s", m.Name,
				m.because(), m.Library, name)
		}
		m.Info = info
		if err := p.typeParams(m); err != nil {
			return err
		}
		if err := p.require(); err != nil {
			return err
		}
		i = -1 // what it requires may be in a library, too
	}
	slices.SortStableFunc(p.Modules, func(a, b ModuleState) int { return cmp.Compare(a.Name, b.Name) })
	p.useless()
	p.deaf()
	return nil
}

// typeParams checks the parameters of a module whose description has become known.
func (p *Plan) typeParams(m *ModuleState) error {
	for _, s := range m.untyped {
		if err := s.read(&m.Info); err != nil {
			return err
		}
		m.Params[s.key] = s.value
	}
	for _, k := range slices.Sorted(maps.Keys(m.Params)) {
		param, problem := m.Info.Param(k), ""
		if param != nil {
			if m.Params[k], problem = typed(param, m.Params[k]); problem == "" {
				continue
			}
			problem = fmt.Sprintf("%q of %s must be %s; skipped", k, m.Name, problem)
		} else {
			problem = noParam(k, &m.Info)
		}
		p.warn(m.paramPos[k], "%s", problem)
		delete(m.Params, k)
	}
	return nil
}

// dirs are where libraries are looked for.
func (in *Input) dirs() []string {
	var list []string
	if in.Modules != nil {
		list = append(list, filepath.Dir(in.Modules.File))
	}
	for _, d := range in.LibraryDirs {
		if d != "" && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}

// lookFor returns a module's library or program: path, or libNAME.so or NAME in one of the folders, "" if
// there is none.
func lookFor(path, name string, dirs []string) string {
	if filepath.IsAbs(path) {
		dirs = []string{""}
	}
	for _, d := range dirs {
		p := filepath.Join(d, path)
		if path == "" {
			p = filepath.Join(d, "lib"+name+".so")
			if program := filepath.Join(d, name); !isRegular(p) && isProgram(program) {
				p = program
			}
		}
		if isRegular(p) {
			if abs, err := filepath.Abs(p); err == nil {
				return abs
			}
			return p
		}
	}
	return ""
}

// isProgram tells whether a path names an executable file.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// findLibrary finds the library of a module that is on and not built in.
func (m *ModuleState) findLibrary(in Input) error {
	if m.Info.Name != "" {
		return nil
	}
	path := lookFor(m.Library, m.Name, in.dirs())
	if path == "" && m.On {
		library := cmp.Or(m.Library, "lib"+m.Name+".so")
		where := "there is no such file"
		if !filepath.IsAbs(library) {
			where = "it is not in " + strings.Join(in.dirs(), ", ")
		}
		return fmt.Errorf("module %s is on (%s), but its library %s is not found: %s%s", m.Name, m.because(),
			library, where, words.Meant(nearModule(m.Name, moduleNames(in.Known))))
	}
	if path != "" {
		m.Library = path
	}
	return nil
}

// notIn says where the library of a module was looked for in vain.
func notIn(name string, in Input) string {
	return fmt.Sprintf("; lib%s.so is not in %s", name, strings.Join(in.dirs(), ", "))
}
