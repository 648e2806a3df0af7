package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whyslow/whyslow/prof"
)

func (p *Plan) resolveModules(in Input) error {
	if in.Modules != nil {
		p.ModulesFile = in.Modules.File
	}
	for _, m := range in.Known {
		p.Modules = append(p.Modules, p.module(m.Name, m, in.Modules))
	}
	if in.Modules != nil {
		for _, m := range in.Modules.List {
			if p.Module(m.Name) == nil {
				p.Modules = append(p.Modules, p.module(m.Name, prof.ModuleInfo{}, in.Modules))
			}
		}
	}
	p.groupModules(in)
	if err := p.chooseModules(in); err != nil {
		return err
	}
	sets, err := p.settings()
	if err != nil {
		return err
	}
	for _, s := range sets {
		p.set(s)
	}
	if m := p.Module(TraceModule); m != nil && in.Flags.NoTrace {
		m.set(false, Pos{File: "--no-trace"})
	}
	if err := p.require(); err != nil {
		return err
	}
	p.sets = sets
	if !slices.ContainsFunc(p.Modules, func(m ModuleState) bool { return m.On && m.Info.Name == "" }) {
		p.useless() // otherwise libraries may require what is off
	}
	for i := range p.Modules {
		if err := p.Modules[i].findLibrary(in); err != nil {
			return err
		}
	}
	slices.SortStableFunc(p.Modules, func(a, b ModuleState) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// useless warns of parameters of modules that are off.
func (p *Plan) useless() {
	for _, s := range p.sets {
		if m := p.Module(s.module); !m.On && s.key != "enabled" {
			p.warn(s.pos, "has no effect: %s is off (%s); --modules=+%s switches it on", m.Name, m.because(), m.Name)
		}
	}
	p.sets = nil
}

// module is the state of a module by its file alone.
func (p *Plan) module(name string, info prof.ModuleInfo, file *Modules) ModuleState {
	s := ModuleState{Info: info, Name: name, verdict: verdict{false, "not listed", Pos{File: p.ModulesFile}},
		Priority: prof.DefaultPriority, Params: map[string]any{}, paramPos: map[string]Pos{}}
	if name == TraceModule {
		s.On, s.Why = true, "the trace is written unless switched off"
	}
	m := file.named(name)
	if m == nil {
		return s
	}
	if m.Priority != nil {
		s.Priority = *m.Priority
	}
	for k, v := range m.Params {
		s.Params[k], s.paramPos[k] = v.Value, v.Pos
	}
	s.Library = m.Library
	switch global := file.Global; {
	case m.Enabled != nil && !m.Enabled.On:
		s.off, s.verdict = true, verdict{false, "\"enabled\" is false", m.Enabled.Pos}
	case m.Override != nil && !m.Override.On:
		s.off, s.verdict = true, verdict{false, "\"overrideEnabled\" is false", m.Override.Pos}
	case m.Override != nil:
		s.verdict = verdict{true, "\"overrideEnabled\" is true", m.Override.Pos}
	case global != nil && !global.On && name != TraceModule:
		s.Why, s.Pos = "\"enabled\" of globalSettings is false", global.Pos
	case m.Enabled != nil:
		s.verdict = verdict{true, "\"enabled\" is true", m.Enabled.Pos}
	default:
		s.verdict = verdict{true, "listed", m.Pos}
	}
	return s
}

// groupModules applies the groups: one that is on has its modules run, if nothing else is said of them. A
// module whose groups are all off does not run.
func (p *Plan) groupModules(in Input) {
	type of struct{ on, off *verdict }
	all := map[string]*of{}
	for _, g := range p.groups {
		on, pos := g.Enabled, g.EnabledPos
		if s, changed := p.switches[g.Name]; changed {
			on, pos = s.On, s.Pos
		}
		for _, r := range g.Modules {
			name, _ := find(r.Name, in.Known)
			if p.Module(name) == nil {
				p.warn(r.Pos, "%v", p.noModule(r.Name))
				continue
			}
			if all[name] == nil {
				all[name] = &of{}
			}
			if v := (verdict{on, "group " + g.Name + " is " + onOff(on), pos}); on {
				all[name].on = &v
			} else {
				all[name].off = &v
			}
		}
	}
	for i := range p.Modules {
		m := &p.Modules[i]
		switch groups := all[m.Name]; {
		case groups == nil:
		case groups.on == nil:
			if m.On {
				m.verdict = *groups.off
			}
		case m.Why == "not listed" && (in.Modules == nil || in.Modules.Global == nil || in.Modules.Global.On):
			m.verdict = *groups.on
		}
	}
}

// chooseModules applies --modules.
func (p *Plan) chooseModules(in Input) error {
	_, preset, err := presetChoices(in.Flags.Presets)
	if err != nil {
		return err
	}
	c, err := choose("--modules", preset, in.Flags.Modules)
	if err != nil {
		return err
	}
	for i := range p.Modules {
		if m := &p.Modules[i]; c.exact && m.Name != TraceModule {
			m.off, m.verdict = false, verdict{false, "not among those named", c.exactly}
		}
	}
	for _, e := range c.names {
		if e.name == "*" && !e.sign {
			for i := range p.Modules {
				p.Modules[i].set(e.on, e.pos)
			}
			continue
		}
		name, _ := find(e.name, in.Known)
		m := p.Module(name)
		if m == nil {
			// A module of the user's that only the command line names.
			if !moduleName(name) || !e.on || lookFor("", name, in.dirs()) == "" {
				err := p.noModule(e.name)
				if e.on && moduleName(name) && nearModule(name, moduleNames(in.Known)) == "" {
					err = fmt.Errorf("%w%s", err, notIn(name, in))
				}
				return fmt.Errorf("%s: %w", e.pos, err)
			}
			p.Modules = append(p.Modules, p.module(name, prof.ModuleInfo{}, nil))
			m = &p.Modules[len(p.Modules)-1]
		}
		m.set(e.on, e.pos)
	}
	return nil
}

// set switches a module by the command line.
func (m *ModuleState) set(on bool, pos Pos) {
	m.off, m.verdict = !on, switched(on, pos)
}

// set applies a --set.
func (p *Plan) set(s setting) {
	m := p.Module(s.module)
	switch s.key {
	case "enabled":
		m.set(s.value.(bool), s.pos)
	case "priority":
		m.Priority = s.value.(int)
	default:
		m.Params[s.key], m.paramPos[s.key] = s.value, s.pos
		if s.info == nil {
			m.untyped = append(m.untyped, s)
		}
	}
}

// require switches on what the modules that are on require; that may be in libraries that nothing else
// names.
func (p *Plan) require() error {
	for again := true; again; {
		again = false
		for i := range p.Modules {
			m := &p.Modules[i]
			if !m.On {
				continue
			}
			for _, name := range m.Info.Requires {
				r := p.Module(name)
				if r == nil {
					if lookFor("", name, p.input.dirs()) == "" {
						return fmt.Errorf("module %s (%s) requires %s, which does not exist%s", m.Name,
							m.because(), name, notIn(name, p.input))
					}
					p.Modules = append(p.Modules, p.module(name, prof.ModuleInfo{}, nil))
					m, r = &p.Modules[i], &p.Modules[len(p.Modules)-1]
				}
				switch {
				case r.off:
					return fmt.Errorf("module %s requires %s, which is off (%s): switch that on, or %s"+
						" off (%s)", m.Name, name, r.because(), m.Name, m.because())
				case !r.On:
					r.verdict = verdict{true, "required by " + m.Name, m.Pos}
					again = true
				}
			}
		}
	}
	return nil
}
