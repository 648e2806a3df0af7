package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/prof"
)

// Flags are the choices of the command line.
//
// A value of Events or Modules that ends in .json or .jsonc or has a slash is the file to read. Any other is
// a comma-separated list: names alone mean that exactly these are on; +NAME and -NAME change what the
// configuration says; all and none stand alone. Lists without signs are taken together, those with signs
// follow in their order. Events may be patterns. The trace is kept by a list of modules that does not name
// it; -trace_writer_module or NoTrace switches it off.
type Flags struct {
	Events  []string // --events
	Modules []string // --modules
	Groups  []string // --group NAME=on or NAME=off
	Sets    []string // --set MODULE.PARAM=VALUE, also MODULE.priority=N and MODULE.enabled=true or false
	NoTrace bool     // --no-trace
	Presets []string // --preset: as if Events and Modules named what these have
	// Written says which flag of its own an entry of Sets stands for: "-o x" for "trace_writer_module.dir=x".
	Written map[string]string
}

// Files returns the files named by Events and Modules, "" if none is.
func (f Flags) Files() (events, modules string, err error) {
	if events, err = oneFile("--events", f.Events); err != nil {
		return "", "", err
	}
	modules, err = oneFile("--modules", f.Modules)
	return events, modules, err
}

func oneFile(flag string, values []string) (string, error) {
	file := ""
	for _, v := range values {
		if !isFile(v) {
			continue
		}
		if file != "" {
			return "", fmt.Errorf("%s names two files, %s and %s: give one", flag, file, v)
		}
		file = v
	}
	return file, nil
}

func isFile(value string) bool {
	return strings.HasSuffix(value, ".json") || strings.HasSuffix(value, ".jsonc") ||
		strings.ContainsAny(value, "/"+string(filepath.Separator))
}

// choice is what --events or --modules say.
type choice struct {
	exact   bool    // there is a list without signs: what it does not name is off
	exactly Pos     // the first such list
	names   []entry // those without signs, then those with signs in their order
}

type entry struct {
	name string
	on   bool
	sign bool
	pos  Pos
}

// choose reads the lists of a flag.
func choose(flag string, preset choice, values []string) (c choice, err error) {
	c = preset
	var signed []entry
	for _, v := range values {
		if isFile(v) {
			continue
		}
		pos := Pos{File: flag + "=" + v}
		words := strings.Split(v, ",")
		plain := 0
		for _, w := range words {
			w = strings.TrimSpace(w)
			e := entry{name: strings.TrimLeft(w, "+-"), on: !strings.HasPrefix(w, "-"), pos: Pos{File: flag + "=" + w}}
			switch e.sign = e.name != w; {
			case e.name == "":
				return c, fmt.Errorf("%s: a name is missing; write all or none to mean that", pos)
			case len(w)-len(e.name) > 1:
				return c, fmt.Errorf("%s: %q has more than one sign", pos, w)
			case (w == "all" || w == "none") && len(words) > 1:
				return c, fmt.Errorf("%s: %s stands alone, not among names", pos, w)
			case e.sign:
				signed = append(signed, e)
				continue
			case w == "all":
				e.name = "*"
			}
			if plain++; !c.exact {
				c.exact, c.exactly = true, pos
			}
			if w != "none" {
				c.names = append(c.names, e)
			}
		}
		if plain > 0 && plain < len(words) {
			return c, fmt.Errorf("%s: names with + or - change the configuration, names without replace it;"+
				" give them in two %s", pos, flag)
		}
	}
	c.names = append(c.names, signed...)
	return c, nil
}

// groupSwitches reads the --group flags: for each group the last word on it.
func groupSwitches(flags []string, groups []Group, source string) (map[string]Switch, error) {
	if len(flags) == 0 {
		return nil, nil
	}
	names := groupNames(groups)
	switches := map[string]Switch{}
	for _, f := range flags {
		pos := Pos{File: "--group " + f}
		i := strings.LastIndexByte(f, '=')
		if i < 0 {
			return nil, fmt.Errorf("%s: write --group NAME=on or --group NAME=off", pos)
		}
		name, on := f[:i], f[i+1:] == "on"
		if !on && f[i+1:] != "off" {
			return nil, fmt.Errorf("%s: %q is neither on nor off", pos, f[i+1:])
		}
		if !slices.Contains(names, name) {
			hint := cmp.Or(words.DidYouMean(name, names), "; there are "+strings.Join(names, ", "))
			if len(names) == 0 {
				hint = "; it has no groups"
			}
			return nil, fmt.Errorf("%s: there is no group %s in %s%s", pos, name, source, hint)
		}
		switches[name] = Switch{on, pos}
	}
	return switches, nil
}

// setting is one --set.
type setting struct {
	module string
	info   *prof.ModuleInfo
	key    string // "enabled", "priority" or a parameter
	value  any    // bool, int, or the parameter's value
	text   string // as it was given
	pos    Pos
}

// settings reads the --set flags.
func (p *Plan) settings() (list []setting, err error) {
	for _, f := range p.input.Flags.Sets {
		s := setting{pos: Pos{File: "--set " + f}}
		if written, ok := p.input.Flags.Written[f]; ok {
			s.pos.File = written
		}
		name, text, found := strings.Cut(f, "=")
		given, key, dot := strings.Cut(name, ".")
		if !found || !dot || key == "" {
			return nil, fmt.Errorf("%s: write --set MODULE.PARAM=VALUE", s.pos)
		}
		if s.module, s.info = find(given, p.input.Known); p.Module(s.module) == nil {
			// Perhaps one that another module requires.
			if !moduleName(s.module) || lookFor("", s.module, p.input.dirs()) == "" {
				return nil, fmt.Errorf("%s: %w", s.pos, p.noModule(given))
			}
			p.Modules = append(p.Modules, p.module(s.module, prof.ModuleInfo{}, nil))
		}
		s.text = text
		s.key = key
		if err := s.read(s.info); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// read sets the value to what the text says to a module of this description; nil: it is not known yet.
func (s *setting) read(info *prof.ModuleInfo) error {
	param := &prof.Param{Name: s.key}
	switch {
	case s.key == "enabled":
		param.Default = false
	case s.key == "priority":
		param.Default = prof.DefaultPriority
	case info != nil:
		if param = info.Param(s.key); param == nil {
			return fmt.Errorf("%s: %s", s.pos, noParam(s.key, info))
		}
	}
	var ok bool
	if s.value, ok = fromText(param, s.text); !ok {
		return fmt.Errorf("%s: %s of %s must be %s, not %q", s.pos, s.key, s.module, wanted(param), s.text)
	}
	return nil
}

// fromText reads a parameter's value from the command line. Without a type it is what it looks like.
func fromText(p *prof.Param, text string) (any, bool) {
	switch p.Default.(type) {
	case string:
		v, problem := typed(p, text)
		return v, problem == ""
	case int:
		n, err := strconv.Atoi(text)
		return n, err == nil
	case float64:
		x, err := strconv.ParseFloat(text, 64)
		return x, err == nil && x-x == 0 // finite
	case bool:
		return text == "true", text == "true" || text == "false"
	case []string:
		if text == "" {
			return []string{}, true
		}
		return strings.Split(text, ","), true
	}
	for _, d := range []any{false, 0, 0.0} {
		if v, ok := fromText(&prof.Param{Default: d}, text); ok {
			return v, true
		}
	}
	return text, true
}

// noModule says that there is no such module, and which there are.
func (p *Plan) noModule(given string) error {
	names := namesOf(p.Modules, func(m ModuleState) string { return m.Name })
	return fmt.Errorf("there is no module %s%s", given,
		cmp.Or(words.Meant(nearModule(given, names)), "; there are "+strings.Join(names, ", ")))
}
