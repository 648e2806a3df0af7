package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Preset is a choice of events and modules for a purpose: --preset.
type Preset struct {
	Name, Doc string
	Events    []string // patterns
	Modules   []string // the trace not included
	Trace     bool     // it is written
}

// Presets are all of them. The first two are those of LuNA's profiling subsystem.
var Presets = []Preset{
	{"Basic", "how long user code takes: start and end of executions and calls, without a trace",
		[]string{"CFEvents.onStarted", "CFEvents.onFinished", "GlobalEvents.onForeign*"},
		[]string{"foreign_block_timer_module"}, false},
	{"Extended", "Basic, all other events in a trace, and sums of CFs and memory", []string{"*"},
		[]string{"foreign_block_timer_module", "cf_counter_events_module", "df_sizer_events_module"}, true},
	{"timing", "times of executions with quantiles, by code fragment, without a trace",
		[]string{"CFEvents.*", "DFEvents.onCreate", "GlobalEvents.onForeign*"},
		[]string{"profile_module", "foreign_block_timer_module"}, false},
	{"memory", "how much memory DFs take, without a trace",
		[]string{"DFEvents.onCreate", "DFEvents.onStored", "DFEvents.onDropped", "DFEvents.onDestroy"},
		[]string{"df_sizer_events_module"}, false},
	{"messages", "what goes from node to node, a line for each, without a trace",
		[]string{"DFEvents.onRequest*", "DFEvents.onSent", "DFEvents.onReceived", "CFEvents.onMigrated",
			"CFEvents.onStolen", "CFEvents.onReceived", "GlobalEvents.onSendQueue"},
		[]string{"logger_module"}, false},
	{"all", "every event, in a trace: the default without configuration files", []string{"*"}, nil, true},
}

// PresetNames are their names.
func PresetNames() []string { return namesOf(Presets, func(p Preset) string { return p.Name }) }

// FindPreset finds a preset by its name.
func FindPreset(name string) (*Preset, error) {
	for i := range Presets {
		if Presets[i].Name == name {
			return &Presets[i], nil
		}
	}
	names := PresetNames()
	return nil, fmt.Errorf("--preset %s: there is no such preset%s", name,
		cmp.Or(words.DidYouMean(name, names), "; there are "+strings.Join(names, ", ")))
}

// presetChoices turn --preset into what --events and --modules say.
func presetChoices(names []string) (events, modules choice, err error) {
	traced := false
	for _, name := range names {
		p, err := FindPreset(name)
		if err != nil {
			return events, modules, err
		}
		pos := Pos{File: "--preset " + name}
		add := func(c *choice, names []string) {
			if !c.exact {
				c.exact, c.exactly = true, pos
			}
			for _, n := range names {
				c.names = append(c.names, entry{name: n, on: true, pos: pos})
			}
		}
		add(&events, p.Events)
		add(&modules, p.Modules)
		traced = traced || p.Trace
	}
	if len(names) > 0 {
		pos := Pos{File: "--preset " + names[len(names)-1]}
		modules.names = append(modules.names, entry{name: TraceModule, on: traced, sign: true, pos: pos})
	}
	return events, modules, nil
}

// Files are the configuration files that say the same as the preset.
func (p *Preset) Files(known []prof.ModuleInfo) (events, modules []byte) {
	spaces := map[string]map[string]bool{}
	for _, k := range trace.Kinds() {
		if slices.ContainsFunc(p.Events, func(x string) bool { return Match(x, k.String()) }) {
			if spaces[k.Namespace] == nil {
				spaces[k.Namespace] = map[string]bool{}
			}
			spaces[k.Namespace][k.Name] = true
		}
	}
	settings := map[string]map[string]bool{}
	for _, m := range known {
		if m.Name == TraceModule {
			settings[m.Name] = map[string]bool{"enabled": p.Trace}
		} else if slices.Contains(p.Modules, m.Name) {
			settings[m.Name] = map[string]bool{"enabled": true}
		}
	}
	events, _ = json.MarshalIndent(map[string]any{"eventsSettings": spaces}, "", "  ") // maps of bool
	modules, _ = json.MarshalIndent(settings, "", "  ")
	return append(events, '\n'), append(modules, '\n')
}
