package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Defaults returns the text of configuration files that leave everything as it is without them: all events
// on, no module on but the trace. Comments say what each event, module that is compiled in, and parameter is.
func Defaults() (events, modules []byte) {
	return defaultEvents(), defaultModules(prof.Modules())
}

func defaultEvents() []byte {
	var b bytes.Buffer
	b.WriteString(`// Which events are recorded and reach the modules. Found beside the program or in config/ there.
// "whyslow run --explain-config" says what is on and why.
{
  // An event is on if it is true here and no group below names it, or at least one group that is enabled does.
  // What is not listed is off. Names in a namespace of your own belong here too.
  // An event can be inserted by a rule, also one of your own:
  //   "onLeft": { "enabled": true, "rule": "before return EXIT", "functions": ["mult*"], "args": ["__func__"] }
  // Rules: before or after, and return EXIT (CONTINUE, MIGRATE, WAIT, STEAL), BlockRetStatus, foreign call or entry.
  "eventsSettings": {
`)
	for _, ns := range namespaces() {
		fmt.Fprintf(&b, "    %q: {\n", ns)
		for _, k := range trace.Kinds() {
			if k.Namespace == ns {
				comment(&b, "      ", k.Doc)
				fmt.Fprintf(&b, "      %q: true,\n", k.Name)
			}
		}
		b.WriteString("    },\n")
	}
	b.WriteString(`  },
  // Groups switch several events at once. Every standard event is in one of these.
  "groups": {
`)
	for _, g := range standardGroups() {
		for _, d := range groupTable {
			if d.name == g.Name {
				comment(&b, "    ", d.doc)
			}
		}
		fmt.Fprintf(&b, "    %q: {\n      \"enabled\": true,\n      \"events\": [\n", g.Name)
		for _, e := range g.Events {
			fmt.Fprintf(&b, "        %q,\n", e.Namespace+"::"+e.Name)
		}
		b.WriteString("      ],\n    },\n")
	}
	b.WriteString("  },\n}\n")
	return b.Bytes()
}

func defaultModules(known []prof.ModuleInfo) []byte {
	var b bytes.Buffer
	b.WriteString(`// Which modules run with the program, and their parameters. Found beside the program or in config/ there.
// "whyslow run --explain-config" says what is on and why, "whyslow modules" what there is.
{
  // A module is on if this and its own "enabled" are true. Its own "overrideEnabled", if given, counts instead of this.
  "globalSettings": { "enabled": true },
`)
	for _, m := range known {
		b.WriteString("\n")
		for _, text := range []string{m.Doc, label("Writes", m.Output), label("Costs", m.Cost),
			label("Listens to", strings.Join(m.Events, ", ")), label("Requires", strings.Join(m.Requires, ", "))} {
			comment(&b, "  ", text)
		}
		entry := defaultModule(&m)
		if requiredBy(m.Name, known) {
			// With "enabled": false here it could not be switched on by those that require it.
			b.WriteString("  // It runs when a module that requires it does. To run it always, uncomment this:\n")
			entry = "  // " + strings.ReplaceAll(strings.TrimSuffix(entry, "\n"), "\n", "\n  // ") + "\n"
			entry = strings.Replace(entry, "\"enabled\": false", "\"enabled\": true", 1)
		}
		b.WriteString(entry)
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// defaultModule is the entry of a module.
func defaultModule(m *prof.ModuleInfo) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "  %q: {\n    \"enabled\": %v,\n", m.Name, m.Name == TraceModule)
	fmt.Fprintf(&b, "    \"priority\": %d, // lower handles events first\n", prof.DefaultPriority)
	if len(m.Params) > 0 {
		b.WriteString("    \"params\": {\n")
		for i := range m.Params {
			p := &m.Params[i]
			doc := p.Doc
			if p.Choices != nil {
				doc = strings.TrimPrefix(doc+"; "+wanted(p), "; ")
			}
			comment(&b, "      ", doc)
			fmt.Fprintf(&b, "      %q: %s,\n", p.Name, defaultLiteral(p))
		}
		b.WriteString("    },\n")
	}
	b.WriteString("  },\n")
	return b.String()
}

// requiredBy reports whether another module requires this one.
func requiredBy(name string, known []prof.ModuleInfo) bool {
	return slices.ContainsFunc(known, func(m prof.ModuleInfo) bool {
		return slices.Contains(m.Requires, name)
	})
}

// label puts what a text is in front of it.
func label(name, text string) string {
	if text == "" {
		return ""
	}
	return name + ": " + text
}

// comment writes a text as comment lines of a width that can be read; of an empty text nothing.
func comment(b *bytes.Buffer, indent, text string) {
	for _, line := range words.Fold(indent+"// ", indent+"// ", text, 110) {
		if text != "" {
			b.WriteString(line + "\n")
		}
	}
}

// defaultLiteral is the default of a parameter as JSON has it.
func defaultLiteral(p *prof.Param) string {
	if l, ok := p.Default.([]string); ok && l == nil {
		return "[]"
	}
	return literal(p.Default)
}
