package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/prof"
)

// TraceModule is the module that writes the trace. It is on unless it is switched off itself.
const TraceModule = "trace_writer_module"

// Modules is what a modules_settings.json says.
type Modules struct {
	File   string
	Global *Switch  // globalSettings.enabled, nil if not given
	List   []Module // in the order of the file
}

// Switch is a true or false that was configured.
type Switch struct {
	On  bool
	Pos Pos
}

// Module is the settings of one module.
type Module struct {
	Name     string // as modules are called here: no alias, no lib in front
	Given    string // as it stands in the file
	Enabled  *Switch
	Override *Switch // overrideEnabled
	Priority *int
	Library  string // path of the shared library the module is in, "" if not given
	Params   map[string]Value
	Pos      Pos // of the name
}

// Value is a parameter's value: string, int, float64, bool or []string, as the module wants it.
type Value struct {
	Value any
	Pos   Pos
}

// ReadModules reads the text of a modules_settings.json, name in positions. known modules are compiled in.
// Warnings say what was skipped; the error, in one line: the text is no JSON object.
func ReadModules(name string, text []byte, known []prof.ModuleInfo) (*Modules, []Warning, error) {
	f, root, err := open(name, text)
	if err != nil {
		return nil, nil, err
	}
	mods := &Modules{File: name}
	for _, m := range f.members(root) {
		switch m.key {
		case "globalSettings":
			if o, ok := f.object(m); ok {
				mods.Global = f.global(o)
			}
		case "$schema":
		default:
			s, ok := f.module(m, known)
			if !ok {
				continue
			}
			if i := slices.IndexFunc(mods.List, func(o Module) bool { return o.Name == s.Name }); i >= 0 {
				f.warn(m.at, "%q is module %s, which is already listed, at %s; skipped", m.key, s.Name, mods.List[i].Pos)
				continue
			}
			mods.List = append(mods.List, s)
		}
	}
	return mods, sortWarnings(f.warnings), nil
}

// named returns the settings of a module, nil if it is not listed.
func (m *Modules) named(name string) *Module {
	if m == nil {
		return nil
	}
	for i := range m.List {
		if m.List[i].Name == name {
			return &m.List[i]
		}
	}
	return nil
}

func (f *file) global(o *hujson.Object) (s *Switch) {
	for _, m := range f.members(o) {
		if m.key != "enabled" {
			f.unknown(m, "globalSettings", []string{"enabled"})
		} else {
			s = f.boolean(m)
		}
	}
	return s
}

// module reads the settings of one module.
func (f *file) module(m member, known []prof.ModuleInfo) (s Module, ok bool) {
	if words.Nearest(m.key, []string{"globalSettings"}) != "" {
		f.warn(m.at, "unknown key %q; did you mean \"globalSettings\"?", m.key)
		return s, false
	}
	if !moduleName(m.key) {
		f.warn(m.at, "%q is not a valid module name: letters, digits, _ and - only; skipped", m.key)
		return s, false
	}
	o, ok := f.object(m)
	if !ok {
		return s, false
	}
	name, info := find(m.key, known)
	s = Module{Name: name, Given: m.key, Pos: f.pos(m.at)}
	for _, k := range f.members(o) {
		switch k.key {
		case "enabled":
			s.Enabled = f.boolean(k)
		case "overrideEnabled":
			s.Override = f.boolean(k)
		case "priority":
			if n, ok := get[int](f, k); ok {
				s.Priority = &n
			}
		case "library":
			if path, ok := get[string](f, k); !ok {
				continue
			} else if info != nil {
				f.warn(k.at, "%s is built in and not loaded from a library; \"library\" skipped", name)
			} else {
				s.Library = path
			}
		case "params":
			if in, ok := f.object(k); ok {
				s.Params = f.params(in, name, info)
			}
		default:
			if info != nil && info.Param(k.key) != nil {
				f.warn(k.at, "%q belongs inside \"params\"; skipped", k.key)
				continue
			}
			f.unknown(k, m.key, []string{"enabled", "overrideEnabled", "priority", "params", "library"})
		}
	}
	if n := nearModule(name, moduleNames(known)); info == nil && s.Library == "" && n != "" {
		f.warn(m.at, "%s is taken for a module of your own, in lib%s.so; did you mean %s?", m.key, name, n)
	}
	return s, true
}

// params reads the parameters of a module. Those of a module that is not built in are taken as they are.
func (f *file) params(o *hujson.Object, name string, info *prof.ModuleInfo) map[string]Value {
	values := map[string]Value{}
	for _, m := range f.members(o) {
		if info == nil && !moduleName(m.key) {
			f.warn(m.at, "%q is not a valid parameter name: letters, digits, _ and - only; skipped", m.key)
			continue
		}
		raw := plain(m.value)
		if raw == nil {
			f.wrong(m, "a string, a number, true, false or a list of strings")
			continue
		}
		if info != nil {
			p := info.Param(m.key)
			if p == nil {
				f.warn(m.at, "%s", noParam(m.key, info))
				continue
			}
			var problem string
			if raw, problem = typed(p, raw); problem != "" {
				f.warn(m.value.StartOffset, "%q of %s must be %s, not %s; skipped", m.key, name, problem, found(m.value))
				continue
			}
		}
		values[m.key] = Value{raw, f.pos(m.value.StartOffset)}
	}
	return values
}

// found is a value in a message: a short string as it is, else its type.
func found(v hujson.Value) string {
	if lit, ok := v.Value.(hujson.Literal); ok && lit.Kind() == '"' && len(lit) < 40 {
		return string(lit)
	}
	return what(v)
}

// typed gives a value the type of a parameter, or says what it must be.
func typed(p *prof.Param, raw any) (value any, problem string) {
	switch p.Default.(type) {
	case string:
		s, ok := raw.(string)
		if ok && (p.Choices == nil || slices.Contains(p.Choices, s)) {
			return s, ""
		}
	case int:
		if n, ok := raw.(int); ok {
			return n, ""
		}
	case float64:
		switch x := raw.(type) {
		case int:
			return float64(x), ""
		case float64:
			return x, ""
		}
	case bool:
		if b, ok := raw.(bool); ok {
			return b, ""
		}
	case []string:
		if l, ok := raw.([]string); ok {
			return l, ""
		}
	}
	return nil, wanted(p)
}

// wanted says what the values of a parameter are.
func wanted(p *prof.Param) string {
	switch p.Default.(type) {
	case string:
		if p.Choices != nil {
			return "one of " + strings.Join(p.Choices, ", ")
		}
		return "a string"
	case int:
		return "a whole number"
	case float64:
		return "a number"
	case bool:
		return "true or false"
	}
	return "a list of strings"
}

// noParam says that a module has no such parameter, and which it has.
func noParam(name string, info *prof.ModuleInfo) string {
	names := namesOf(info.Params, func(p prof.Param) string { return p.Name })
	text := fmt.Sprintf("%s has no parameter %q", info.Name, name)
	switch n := words.Nearest(name, names); {
	case n != "":
		return fmt.Sprintf("%s; did you mean %q?", text, n)
	case len(names) == 0:
		return text + ", and no other"
	}
	return text + "; it has " + strings.Join(names, ", ")
}

// find returns the name of a module without lib in front, and its description if it is built in.
func find(given string, known []prof.ModuleInfo) (string, *prof.ModuleInfo) {
	short := strings.TrimPrefix(given, "lib")
	for _, n := range []string{given, short} {
		for i := range known {
			if m := &known[i]; m.Name == n || slices.Contains(m.Aliases, n) {
				return m.Name, m
			}
		}
	}
	if !moduleName(short) {
		short = given
	}
	return short, nil
}

// moduleName reports what can be a module's name: part of a file's name, and no part of a path.
func moduleName(s string) bool { return identifier(strings.ReplaceAll(s, "-", "_")) }

// moduleNames are the names of the modules that are built in.
func moduleNames(known []prof.ModuleInfo) []string {
	return namesOf(known, func(m prof.ModuleInfo) string { return m.Name })
}

// nearModule returns the module that name was probably meant to be, "" if none is near.
func nearModule(name string, modules []string) string {
	if n := strings.TrimPrefix(name, "lib") + "_module"; slices.Contains(modules, n) {
		return n
	}
	return words.Nearest(name, modules)
}
