package config

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Events is what an events_config.json says.
type Events struct {
	File   string
	List   []Event // in the order of the file
	Groups []Group
}

// Event is an entry of eventsSettings.
type Event struct {
	Namespace string
	Name      string // as it stands there, perhaps an alias
	Enabled   bool
	// where calls are inserted; nil: the event is emitted by the run-time system or by hand
	Rule       *Rule
	Args       []string // expressions passed to the inserted calls
	ArgPos     []Place  // where they stand
	Functions  []string // patterns of the functions in which the rule holds; nil: all
	Pos        Pos      // of the name
	EnabledPos Pos      // of the word that enables or disables it, or of the name
}

// String is "Namespace.onName".
func (e *Event) String() string { return e.Namespace + "." + e.Name }

// Standard reports an event of the table of standard events, also under an alias.
func (e *Event) Standard() bool {
	_, ok := trace.KindByName(e.Namespace, e.Name)
	return ok
}

// Group is a group of events that is switched as a whole.
type Group struct {
	Name       string
	Enabled    bool
	Events     []Ref
	Modules    []Ref // with a Name only
	Pos        Pos   // of the name
	EnabledPos Pos   // of the word that enables or disables it, or of the name
}

// ReadEvents reads the text of an events_config.json; name is the file's name in positions. The
// warnings say what was skipped. An error, one line with the position, means that the text is no JSON object.
func ReadEvents(name string, text []byte) (*Events, []Warning, error) {
	f, root, err := open(name, text)
	if err != nil {
		return nil, nil, err
	}
	ev := &Events{File: name}
	groups, settings := -1, false
	for _, m := range f.members(root) {
		switch m.key {
		case "eventsSettings":
			settings = true
			if o, ok := f.object(m); ok {
				ev.List = f.namespaces(o)
			}
		case "groups":
			groups = m.at
			if o, ok := f.object(m); ok {
				ev.Groups = f.groups(o)
			}
		case "$schema":
		default:
			if standardNamespace(m.key) {
				f.warn(m.at, "%q belongs inside \"eventsSettings\"; skipped", m.key)
				continue
			}
			f.unknown(m, "the file", []string{"eventsSettings", "groups"})
		}
	}
	if !settings {
		at := max(groups, 0)
		f.warn(at, "there is no \"eventsSettings\": every event is off")
	} else {
		f.unlisted(ev)
	}
	return ev, sortWarnings(f.warnings), nil
}

// namespaces reads eventsSettings.
func (f *file) namespaces(o *hujson.Object) (list []Event) {
	for _, m := range f.members(o) {
		in, ok := f.object(m)
		if !ok {
			continue
		}
		if !identifier(m.key) {
			f.warn(m.at, "%q is not a valid namespace name: letters, digits and _ only; skipped", m.key)
			continue
		}
		if !standardNamespace(m.key) {
			if n := words.Nearest(m.key, namespaces()); n != "" {
				f.warn(m.at, "%s is taken for a namespace of your own; did you mean %s?", m.key, n)
			}
		}
		for _, e := range f.members(in) {
			if ev, ok := f.event(m.key, e); ok {
				list = append(list, ev)
			}
		}
	}
	return list
}

// event reads an entry of a namespace.
func (f *file) event(ns string, m member) (e Event, ok bool) {
	if !identifier(m.key) {
		f.warn(m.at, "%q is not a valid event name: letters, digits and _ only; skipped", m.key)
		return e, false
	}
	e = Event{Namespace: ns, Name: m.key, Enabled: true, Pos: f.pos(m.at), EnabledPos: f.pos(m.at)}
	badRule := false
	switch v := m.value.Value.(type) {
	case *hujson.Object:
		badRule = f.extended(&e, m.key, v)
	default:
		if k := v.Kind(); k != 't' && k != 'f' {
			f.wrong(m, "true, false or an object, { ... }")
			return e, false
		}
		e.Enabled, e.EnabledPos = v.Kind() == 't', f.pos(m.value.StartOffset)
	}
	if e.Rule == nil && standardNamespace(ns) && !e.Standard() {
		if !badRule {
			own := "; an event of your own here needs a \"rule\""
			if text := noEvent(ns, m.key); strings.HasSuffix(text, "?") {
				f.warn(m.at, "%s Skipped%s", text, own)
			} else {
				f.warn(m.at, "%s; skipped%s", text, own)
			}
		}
		return e, false
	}
	return e, true
}

// extended reads the settings of an event, and reports a rule that cannot be understood.
func (f *file) extended(e *Event, where string, o *hujson.Object) (badRule bool) {
	var needRule []member
	for _, m := range f.members(o) {
		switch m.key {
		case "enabled":
			if b := f.boolean(m); b != nil {
				e.Enabled, e.EnabledPos = b.On, b.Pos
			}
		case "rule":
			text, ok := get[string](f, m)
			if !ok {
				badRule = true
				continue
			}
			r, err := ParseRule(text)
			if err != nil {
				f.warn(m.value.StartOffset, "\"rule\": %v; skipped", err)
				badRule = true
				continue
			}
			e.Rule = &r
		case "args":
			e.Args, _ = f.strs(m, false)
			e.ArgPos = f.places(m)
			needRule = append(needRule, m)
		case "functions":
			e.Functions, _ = f.strs(m, true)
			needRule = append(needRule, m)
		default:
			f.unknown(m, where, []string{"enabled", "rule", "args", "functions"})
		}
	}
	if e.Rule == nil && !badRule {
		for _, m := range needRule {
			f.warn(m.at, "%q has no effect without \"rule\"", m.key)
		}
	}
	return badRule
}

// groups reads the groups.
func (f *file) groups(o *hujson.Object) (list []Group) {
	for _, m := range f.members(o) {
		in, ok := f.object(m)
		if !ok {
			continue
		}
		if shown(m.key) != m.key {
			f.warn(m.at, "%q cannot be the name of a group; skipped", m.key)
			continue
		}
		g := Group{Name: m.key, Enabled: true, Pos: f.pos(m.at), EnabledPos: f.pos(m.at)}
		for _, s := range f.members(in) {
			switch s.key {
			case "enabled":
				if b := f.boolean(s); b != nil {
					g.Enabled, g.EnabledPos = b.On, b.Pos
				}
			case "events":
				g.Events = f.refs(s, "events", func(name string) (r Ref, err error) {
					r.Namespace, r.Name, err = splitName(name)
					return r, err
				})
			case "modules":
				g.Modules = f.refs(s, "modules", func(name string) (Ref, error) { return Ref{Name: name}, nil })
			default:
				f.unknown(s, "group "+m.key, []string{"enabled", "events", "modules"})
			}
		}
		list = append(list, g)
	}
	return list
}

// refs reads a list of what a group has; parse tells what a name is of, and what is wrong with it.
func (f *file) refs(m member, what string, parse func(name string) (Ref, error)) (list []Ref) {
	a, ok := m.value.Value.(*hujson.Array)
	if !ok {
		f.wrong(m, "a list of "+what)
		return nil
	}
	for _, v := range a.Elements {
		s, ok := get[string](f, member{m.key, m.at, v})
		if !ok {
			continue
		}
		r, err := parse(s)
		if err != nil {
			f.warn(v.StartOffset, "%v; skipped", err)
			continue
		}
		r.Pos = f.pos(v.StartOffset)
		list = append(list, r)
	}
	return list
}

// unlisted warns of events that groups name and eventsSettings does not.
func (f *file) unlisted(ev *Events) {
	named := ev.index()
	for _, g := range ev.Groups {
		for _, r := range g.Events {
			if len(named(r)) > 0 {
				continue
			}
			text := r.String() + " is not listed in \"eventsSettings\": it stays off"
			if n := words.Nearest(r.Namespace, namespaces()); n != "" && !standardNamespace(r.Namespace) {
				text = fmt.Sprintf("there is no namespace %s; did you mean %s?", r.Namespace, n)
			}
			if _, known := trace.KindByName(r.Namespace, r.Name); standardNamespace(r.Namespace) && !known {
				text = noEvent(r.Namespace, r.Name)
			}
			f.warnings = append(f.warnings, Warning{r.Pos, text})
		}
	}
}

// index returns what finds entries of List by reference: that of exactly this name, or else its aliases.
func (ev *Events) index() func(Ref) []int {
	exact, same := map[string][]int{}, map[string][]int{}
	for i, e := range ev.List {
		exact[e.String()] = append(exact[e.String()], i)
		c := canonical(e.Namespace, e.Name)
		same[c] = append(same[c], i)
	}
	return func(r Ref) []int {
		if l := exact[r.String()]; l != nil {
			return l
		}
		return same[canonical(r.Namespace, r.Name)]
	}
}
