package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

func (p *Plan) resolveEvents(in Input) (err error) {
	ev, source := in.Events, ""
	if p.DefaultOn = ev == nil; ev == nil {
		ev, source = everything(), "the built-in configuration"
	} else {
		p.EventsFile, source = ev.File, ev.File
	}
	preset, _, err := presetChoices(in.Flags.Presets)
	if err != nil {
		return err
	}
	if p.choice, err = choose("--events", preset, in.Flags.Events); err != nil {
		return err
	}
	if p.choice.exact && len(in.Flags.Groups) > 0 {
		return fmt.Errorf("--group %s has no effect: %s says exactly what is on; leave out one of the two",
			in.Flags.Groups[0], p.choice.exactly)
	}
	switches, err := groupSwitches(in.Flags.Groups, ev.Groups, source)
	if err != nil {
		return err
	}
	p.groups, p.switches = ev.Groups, switches
	entries := ev.verdicts(switches, p.DefaultOn)
	p.states = map[string]int{}
	for _, k := range trace.Kinds() {
		p.state(EventState{Namespace: k.Namespace, Name: k.Name, Standard: true, verdict: p.notListed(false)})
	}
	for i := range ev.List {
		p.entry(&ev.List[i], entries[i])
	}
	if err := p.checkEvents(in, ev); err != nil {
		return err
	}
	for i := range p.Events {
		e := &p.Events[i]
		e.verdict = p.choice.event(e.verdict, e.names()...)
	}
	p.DefaultOn = p.DefaultOn && !p.choice.exact
	for _, c := range p.choice.names {
		if c.name == "*" {
			p.DefaultOn = c.on
		}
	}
	return nil
}

// notListed is the verdict on an event that the configuration does not mention.
func (p *Plan) notListed(on bool) verdict { return verdict{on, "not listed", Pos{File: p.EventsFile}} }

// state adds an event.
func (p *Plan) state(e EventState) {
	p.states[e.String()] = len(p.Events)
	p.Events = append(p.Events, e)
}

// entry enters what is listed. An event that is listed under two names is on when either is.
func (p *Plan) entry(e *Event, v verdict) {
	i, listed := p.states[canonical(e.Namespace, e.Name)]
	if !listed {
		p.state(EventState{Namespace: e.Namespace, Name: e.Name, verdict: v, Rule: e.Rule, Args: e.Args,
			Functions: e.Functions, argPos: e.ArgPos})
		return
	}
	s := &p.Events[i]
	if s.Why != "not listed" && (s.On || !v.On) {
		switch {
		case !v.On || e.Rule == nil:
			return
		case s.Rule != nil:
			p.warn(e.Pos, "%s is the same event as %s, which has a rule already; this one is skipped", e, s)
			return
		}
	}
	s.verdict, s.Rule, s.Args, s.Functions, s.argPos = v, e.Rule, e.Args, e.Functions, e.ArgPos
}

// everything is the configuration where there is no file: all events, and the standard groups.
func everything() *Events {
	ev := &Events{Groups: standardGroups()}
	for _, k := range trace.Kinds() {
		ev.List = append(ev.List, Event{Namespace: k.Namespace, Name: k.Name, Enabled: true})
	}
	return ev
}

// verdicts applies the rule of activity to every entry of List.
func (ev *Events) verdicts(switches map[string]Switch, builtIn bool) []verdict {
	list := make([]verdict, len(ev.List))
	in := make([][]int, len(ev.List)) // groups
	named := ev.index()
	for g := range ev.Groups {
		group := &ev.Groups[g]
		for _, r := range group.Events {
			for _, i := range named(r) {
				if n := len(in[i]); n == 0 || in[i][n-1] != g {
					in[i] = append(in[i], g)
				}
			}
		}
	}
	for i, e := range ev.List {
		switch {
		case !e.Enabled:
			list[i] = verdict{false, "disabled", e.EnabledPos}
			continue
		case builtIn:
			list[i] = verdict{true, "no events file: everything is on", Pos{}}
		case len(in[i]) == 0:
			list[i] = verdict{true, "enabled, in no group", e.EnabledPos}
			continue
		}
		var off []string
		var offPos Pos
		for _, g := range in[i] {
			group := &ev.Groups[g]
			on, pos := group.Enabled, group.EnabledPos
			s, changed := switches[group.Name]
			if changed {
				on, pos = s.On, s.Pos
			}
			if on {
				off = nil
				if !builtIn || changed {
					list[i] = verdict{true, "group " + group.Name + " is on", pos}
				}
				break
			}
			if off = append(off, group.Name); offPos == (Pos{}) {
				offPos = pos
			}
		}
		if len(off) == 1 {
			list[i] = verdict{false, "group " + off[0] + " is off", offPos}
		} else if len(off) > 1 {
			list[i] = verdict{false, "groups " + strings.Join(off, ", ") + " are off", offPos}
		}
	}
	return list
}

// names are all the names of an event, "Namespace.onName".
func (e *EventState) names() []string {
	list := []string{e.String()}
	if k, ok := trace.KindByName(e.Namespace, e.Name); ok {
		for _, a := range k.Spec().Alias {
			list = append(list, e.Namespace+"."+a)
		}
	}
	return list
}

// event applies the choices of the command line to an event with these names.
func (c *choice) event(v verdict, names ...string) verdict {
	if c.exact {
		v = verdict{false, "not among those named", c.exactly}
	}
	for _, e := range c.names {
		if slices.ContainsFunc(names, func(n string) bool { return Match(e.name, n) }) {
			v = switched(e.on, e.pos)
		}
	}
	return v
}

// switched is the verdict of the command line.
func switched(on bool, pos Pos) verdict { return verdict{on, "switched " + onOff(on), pos} }

// checkEvents refuses names of --events that mean nothing, and adds events of the user's own that are named.
func (p *Plan) checkEvents(in Input, ev *Events) error {
	spaces := slices.Clone(namespaces())
	for _, m := range in.Known {
		for _, e := range m.Emits {
			ns, _, _ := strings.Cut(e, ".")
			spaces = append(spaces, ns)
		}
	}
	for i := range p.Events {
		spaces = append(spaces, p.Events[i].Namespace)
	}
	for _, c := range p.choice.names {
		if p.matches(c.name) {
			continue
		}
		text := strings.ReplaceAll(c.name, "::", ".")
		ns, name, dot := strings.Cut(text, ".")
		switch {
		case !dot:
			return fmt.Errorf("%s: %s", c.pos, p.noNamespace(text, ev))
		case isPattern(ns):
			continue // perhaps of events that are defined later
		case standardNamespace(ns) && isPattern(name):
			return fmt.Errorf("%s: no event is called %s; %s has %s", c.pos, text, ns,
				strings.Join(eventNames(ns), ", "))
		case standardNamespace(ns):
			return fmt.Errorf("%s: %s", c.pos, noEvent(ns, name))
		case !slices.Contains(spaces, ns) && words.Nearest(ns, spaces) != "":
			return fmt.Errorf("%s: there is no namespace %s%s", c.pos, ns, words.DidYouMean(ns, spaces))
		case isPattern(name):
			continue
		}
		if _, _, err := splitName(text); err != nil {
			return fmt.Errorf("%s: %w", c.pos, err)
		}
		p.state(EventState{Namespace: ns, Name: name, verdict: p.notListed(p.DefaultOn)})
	}
	return nil
}

// matches reports whether a pattern fits an event of the plan.
func (p *Plan) matches(pattern string) bool {
	return slices.ContainsFunc(p.Events, func(e EventState) bool {
		return slices.ContainsFunc(e.names(), func(n string) bool { return Match(pattern, n) })
	})
}

// noNamespace says what is wrong with a name that has none.
func (p *Plan) noNamespace(text string, ev *Events) string {
	var full []string
	for _, ns := range namespaces() {
		for _, n := range eventNames(ns) {
			if Match(text, n) {
				full = append(full, ns+"."+n)
			}
		}
	}
	switch {
	case slices.ContainsFunc(p.Events, func(e EventState) bool { return e.Namespace == text }):
		return fmt.Sprintf("%s is a namespace: write \"%s.*\"", text, text)
	case slices.Contains(groupNames(ev.Groups), text):
		return fmt.Sprintf("%s is a group: write --group %s=on", text, text)
	case len(full) > 0 && !isPattern(text):
		return fmt.Sprintf("%s has no namespace: write %s", text, strings.Join(full, " or "))
	case len(full) > 0:
		return fmt.Sprintf("no event is called %s: write \"*.%s\"", text, text)
	}
	return fmt.Sprintf("there is no event %s: write Namespace.onName, with a namespace %s or one of your own",
		text, strings.Join(namespaces(), ", "))
}
