package config

import (
	"fmt"
	"slices"
	"strings"
)

// deaf warns of modules that are on and listen to events that are off or do not exist; of each module once.
func (p *Plan) deaf() {
	for i := range p.Modules {
		m := &p.Modules[i]
		if !m.On || m.checked || len(m.Info.Events) == 0 {
			continue
		}
		m.checked = true
		var off []*EventState
		hears := false
		patterns, place := m.Info.Events, m.Pos
		if chosen, ok := m.Params["events"].([]string); ok { // as the loggers have it
			patterns, place = chosen, m.paramPos["events"]
		}
		if len(patterns) == 0 {
			p.warn(place, "module %s is on, but listens to no events", m.Name)
			continue
		}
		for _, pattern := range patterns {
			if problem := p.nothing(pattern); problem != "" {
				p.warn(place, "module %s listens to %s: %s", m.Name, shown(pattern), problem)
				hears = true // said enough
			}
			hears = hears || !p.matches(pattern) // events of others, defined later
			for j := range p.Events {
				e := &p.Events[j]
				if !slices.ContainsFunc(e.names(), func(n string) bool { return Match(pattern, n) }) {
					continue
				}
				if hears = hears || e.On; !e.On && !isPattern(pattern) {
					off = append(off, e)
				}
			}
		}
		switch {
		case !hears:
			p.warn(m.Pos, "module %s is on, but all events it listens to are off: %s", m.Name,
				strings.Join(patterns, ", "))
		case len(off) > 0:
			p.warn(off[0].Pos, "module %s listens to events that are off: %s", m.Name, several(off))
		}
	}
}

// nothing says why a pattern fits no event, "" if it can. Own namespaces may get events at any time.
func (p *Plan) nothing(pattern string) string {
	ns, name, found := strings.Cut(strings.ReplaceAll(pattern, "::", "."), ".")
	switch {
	case !found && !isPattern(pattern):
		return "that is not an event name such as CFEvents.onStarted"
	case !standardNamespace(ns) || p.matches(pattern):
		return ""
	case isPattern(name):
		return "there is no such event"
	}
	return noEvent(ns, name)
}

func (p *Plan) warn(pos Pos, format string, args ...any) {
	p.Warnings = append(p.Warnings, Warning{pos, fmt.Sprintf(format, args...)})
}

// several names the first of some events.
func several(list []*EventState) string {
	const most = 4
	var names []string
	for _, e := range list[:min(most, len(list))] {
		names = append(names, e.String())
	}
	if more := len(list) - len(names); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}
