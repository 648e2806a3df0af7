package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Explain writes what is on and off, why, and where that was configured, then rules, parameters and warnings.
func (p *Plan) Explain(w io.Writer) error {
	var b bytes.Buffer
	var events, modules []line
	eventsOn, modulesOn := 0, 0
	for i := range p.Events {
		e := &p.Events[i]
		l := line{e.verdict, e.String(), nil}
		if e.Rule != nil {
			text := "inserted " + shown(e.Rule.String())
			if e.Functions != nil {
				text += ", in " + shown(strings.Join(e.Functions, ", "))
			}
			l.more = append(l.more, text)
			if len(e.Args) > 0 {
				l.more = append(l.more, "with "+shown(strings.Join(e.Args, ", ")))
			}
		}
		if events = append(events, l); e.On {
			eventsOn++
		}
	}
	for i := range p.Modules {
		m := &p.Modules[i]
		l := line{m.verdict, m.Name, nil}
		if m.On {
			modulesOn++
			l.more = append(l.more, fmt.Sprintf("priority %d", m.Priority))
		}
		if m.Library != "" {
			l.more = append(l.more, "library "+shown(m.Library))
		}
		for _, k := range slices.Sorted(maps.Keys(m.Params)) {
			l.more = append(l.more, strings.TrimSuffix(fmt.Sprintf("%s = %s  %s", k, literal(m.Params[k]),
				m.paramPos[k]), "  "))
		}
		modules = append(modules, l)
	}
	fmt.Fprintf(&b, "Events: %d of %d on; %s\n", eventsOn, len(events), fileText(p.EventsFile, EventsFile))
	table(&b, events)
	fmt.Fprintf(&b, "  Other events, which the program or a module defines: %s", onOff(p.DefaultOn))
	if slices.ContainsFunc(p.choice.names, func(e entry) bool {
		ns, _, _ := strings.Cut(strings.ReplaceAll(e.name, "::", "."), ".")
		return isPattern(e.name) && e.name != "*" && !standardNamespace(ns)
	}) {
		b.WriteString(", if no pattern of --events fits them")
	}
	fmt.Fprintf(&b, "\nModules: %d of %d on; %s\n", modulesOn, len(modules),
		fileText(p.ModulesFile, ModulesFile))
	table(&b, modules)
	if len(p.Warnings) > 0 {
		b.WriteString("Warnings:\n")
		for _, x := range p.Warnings {
			fmt.Fprintf(&b, "  %s\n", x)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// line is a row of a table, with what is written below it.
type line struct {
	verdict
	name string
	more []string
}

// table writes aligned rows.
func table(b *bytes.Buffer, rows []line) {
	name, why := 0, 0
	for _, l := range rows {
		name, why = max(name, utf8.RuneCountInString(l.name)), max(why, utf8.RuneCountInString(l.Why))
	}
	for _, l := range rows {
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %-3s  %-*s  %-*s  %s", onOff(l.On), name, l.name, why, l.Why,
			l.Pos), " ") + "\n")
		for _, m := range l.more {
			b.WriteString("         " + m + "\n")
		}
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func fileText(file, name string) string {
	if file == "" {
		return "there is no " + name
	}
	return file
}

// literal is a value as JSON has it.
func literal(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
