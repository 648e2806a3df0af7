package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// The names of a few events, two of them the same one, and of one's own.
var someEvents = []string{"CFEvents.onCreated", "CFEvents.onStarted", "DFEvents.onCreate",
	"DFEvents.onCreateSize", "SyncEvents.onWaitEnded", "Mine.onTick", "Mine.onTock"}

// drawnEvents is a random configuration of events, as a model has it.
type drawnEvents struct {
	listed map[string]bool
	groups []drawnGroup
}

type drawnGroup struct {
	name   string
	on     bool
	events []string
}

func drawEvents(t *rapid.T) (d drawnEvents) {
	d.listed = rapid.MapOf(rapid.SampledFrom(someEvents), rapid.Bool()).Draw(t, "listed")
	for i := range rapid.IntRange(0, 4).Draw(t, "groups") {
		d.groups = append(d.groups, drawnGroup{fmt.Sprintf("g%d", i), rapid.Bool().Draw(t, "on"),
			rapid.SliceOf(rapid.SampledFrom(someEvents)).Draw(t, "events")})
	}
	return d
}

// text is the configuration as a file, in one of the ways to write it.
func (d drawnEvents) text(t *rapid.T) []byte {
	settings, groups := map[string]map[string]any{}, map[string]any{}
	for _, e := range someEvents {
		on, ok := d.listed[e]
		if !ok {
			continue
		}
		ns, name, _ := strings.Cut(e, ".")
		if settings[ns] == nil {
			settings[ns] = map[string]any{}
		}
		settings[ns][name] = on
		if rapid.Bool().Draw(t, "extended") {
			settings[ns][name] = map[string]any{"enabled": on, "rule": "before entry"}
		}
	}
	for _, g := range d.groups {
		names := slices.Clone(g.events)
		for i := range names {
			if rapid.Bool().Draw(t, "colons") {
				names[i] = strings.Replace(names[i], ".", "::", 1)
			}
		}
		group := map[string]any{"events": names}
		if !g.on || rapid.Bool().Draw(t, "explicit") {
			group["enabled"] = g.on
		}
		groups[g.name] = group
	}
	text, err := json.MarshalIndent(map[string]any{"eventsSettings": settings, "groups": groups}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// entryActive is the rule of activity for one name that is listed.
func (d drawnEvents) entryActive(name string) bool {
	if !d.listed[name] {
		return false
	}
	grouped, active := false, false
	for _, g := range d.groups {
		for _, e := range g.events {
			_, exact := d.listed[e]
			if e == name || !exact && std(e) == std(name) {
				grouped, active = true, active || g.on
			}
		}
	}
	return active || !grouped
}

// std is a name without aliases.
func std(name string) string { return strings.Replace(name, "onCreateSize", "onCreate", 1) }

// active is the rule of activity: an event listed under two names is active when either is.
func (d drawnEvents) active(name string) bool {
	return slices.ContainsFunc(someEvents, func(e string) bool {
		return std(e) == std(name) && d.entryActive(e)
	})
}

func TestActivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawEvents(t)
		ev, _, err := ReadEvents("e.json", d.text(t))
		if err != nil {
			t.Fatal(err)
		}
		// Changes of the command line, last word first in the model.
		var flags Flags
		changed := d
		changed.groups = slices.Clone(d.groups)
		for range rapid.IntRange(0, 2).Draw(t, "switches") {
			if len(d.groups) == 0 {
				break
			}
			i, on := rapid.IntRange(0, len(d.groups)-1).Draw(t, "group"), rapid.Bool().Draw(t, "on")
			changed.groups[i].on = on
			flags.Groups = append(flags.Groups, d.groups[i].name+"="+map[bool]string{true: "on", false: "off"}[on])
		}
		signs := map[string]bool{}
		for _, e := range rapid.SliceOfN(rapid.SampledFrom(someEvents), 0, 3).Draw(t, "signs") {
			on := rapid.Bool().Draw(t, "on")
			signs[std(e)] = on
			flags.Events = append(flags.Events, map[bool]string{true: "+", false: "-"}[on]+e)
		}
		p, err := Resolve(Input{Events: ev, Flags: flags})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range someEvents {
			want, signed := signs[std(e)]
			if !signed {
				want = changed.active(e)
			}
			ns, name, _ := strings.Cut(e, ".")
			if got := p.On(ns, name); got != want {
				t.Errorf("%s is %v, not %v, with %v\n%s", e, got, want, flags, d.text(t))
			}
		}
		// Every standard event is there once, in the order of the table, and has a reason.
		for i, k := range trace.Kinds() {
			if e := p.Events[i]; e.String() != k.String() || !e.Standard || e.Why == "" {
				t.Errorf("%d: %+v", i, e)
			}
		}
		if p.DefaultOn || p.On("Later", "onSomething") {
			t.Error("an event that the file does not list is on")
		}
	})
}

func TestModuleActivity(t *testing.T) {
	var mods []prof.ModuleInfo
	for _, n := range []string{"a", "b", "c", TraceModule} {
		mods = append(mods, prof.ModuleInfo{Name: n, Events: []string{"*"}})
	}
	mods[0].Requires = []string{"b"}
	maybe := rapid.SampledFrom([]string{"", "true", "false"})
	rapid.Check(t, func(t *rapid.T) {
		global := maybe.Draw(t, "global")
		text := `{`
		if global != "" {
			text += `"globalSettings": {"enabled": ` + global + `},`
		}
		want, explicit := map[string]bool{TraceModule: true}, map[string]bool{}
		for _, m := range mods {
			if rapid.Bool().Draw(t, "unlisted") {
				continue
			}
			enabled, override := maybe.Draw(t, "enabled"), maybe.Draw(t, "override")
			text += fmt.Sprintf(`"%s%s": {`, rapid.SampledFrom([]string{"", "lib"}).Draw(t, "lib"), m.Name)
			if enabled != "" {
				text += `"enabled": ` + enabled + `,`
			}
			if override != "" {
				text += `"overrideEnabled": ` + override + `,`
			}
			text += `},`
			general := global != "false" || m.Name == TraceModule
			if override != "" {
				general = override == "true"
			}
			want[m.Name] = general && enabled != "false"
			explicit[m.Name] = enabled == "false" || override == "false"
		}
		file, ws, err := ReadModules("m.json", []byte(text+"}"), mods)
		if err != nil || len(ws) > 0 {
			t.Fatal(ws, err)
		}
		var flags Flags
		if rapid.Bool().Draw(t, "exact") {
			flags.Modules = []string{"c"}
			want = map[string]bool{"c": true, TraceModule: want[TraceModule]}
		}
		for _, m := range rapid.SliceOfN(rapid.SampledFrom(mods), 0, 3).Draw(t, "signs") {
			on := rapid.Bool().Draw(t, "on")
			want[m.Name], explicit[m.Name] = on, !on
			flags.Modules = append(flags.Modules, map[bool]string{true: "+", false: "-"}[on]+m.Name)
		}
		if flags.NoTrace = rapid.Bool().Draw(t, "no trace"); flags.NoTrace {
			want[TraceModule] = false
		}
		p, err := Resolve(Input{Modules: file, Flags: flags, Known: mods})
		exactly := len(flags.Modules) > 0 && flags.Modules[0] == "c"
		bOff := explicit["b"] &&
			(!exactly || slices.Contains(flags.Modules, "-b") || slices.Contains(flags.Modules, "+b"))
		if want["a"] && !want["b"] && bOff {
			if err == nil || !strings.Contains(err.Error(), "module a requires b, which is off") {
				t.Errorf("a without b: %v\n%s", err, text)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		want["b"] = want["b"] || want["a"]
		for _, m := range p.Modules {
			if m.On != want[m.Name] || m.Why == "" {
				t.Errorf("%s is %v (%s), with %v\n%s", m.Name, m.On, m.Why, flags, text)
			}
		}
		if p.Trace() != want[TraceModule] {
			t.Error("trace")
		}
	})
}
