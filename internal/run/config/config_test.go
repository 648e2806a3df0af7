package config

import (
	"slices"
	"testing"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// known are modules as they might be compiled in.
func known() []prof.ModuleInfo {
	newer := func() prof.Module { return nil }
	return []prof.ModuleInfo{
		{Name: "cf_counter_module", Doc: "Counts CFs.", Events: []string{"CFEvents.*"}, New: newer},
		{Name: "df_events_module", Doc: "Prints events of DFs.", Events: []string{"DFEvents.*"}, New: newer},
		{Name: "df_sizer_events_module", Doc: "Memory taken by DFs.", Output: "a table at the end",
			Cost:   "an addition per event",
			Events: []string{"DFEvents.onCreate", "DFEvents.onDestroy"}, New: newer,
			Params: []prof.Param{{Name: "file", Default: "", Doc: "where to write"},
				{Name: "top", Default: 10, Doc: "rows of the table"}}},
		{Name: "foreign_block_timer_module", Doc: "Times user code.",
			Events: []string{"GlobalEvents.onForeignStarted", "GlobalEvents.onForeignEnded"}, New: newer},
		{Name: "global_events_module", Doc: "Prints events of blocks.", Events: []string{"GlobalEvents.*"},
			New: newer},
		{Name: "logger_module", Doc: "Prints events.", Events: []string{"*"}, New: newer, Params: []prof.Param{
			{Name: "file", Default: "", Doc: "where to write"},
			{Name: "format", Default: "text", Choices: []string{"text", "json"}, Doc: "form of a line"},
			{Name: "limit", Default: 0, Doc: "lines at most, 0: any number"},
			{Name: "seconds", Default: 0.5, Doc: "time between flushes"},
			{Name: "colour", Default: false, Doc: "whether to colour"},
			{Name: "events", Default: []string(nil), Doc: "patterns of what to print"},
		}},
		{Name: "perfetto_module", Aliases: []string{"prefetto_module"}, Doc: "Writes a Perfetto trace.",
			Requires: []string{"state_module"}, Events: []string{"*"}, New: newer},
		{Name: "state_module", Doc: "Knows what each worker does.", Events: []string{"*"}, New: newer},
		{Name: TraceModule, Doc: "Writes the trace.", Events: []string{"*"}, New: newer,
			Params: []prof.Param{{Name: "level", Default: 1, Doc: "of compression"}}},
	}
}

func readModules(t *testing.T, text string) (*Modules, string) {
	t.Helper()
	mods, ws, err := ReadModules("m.json", []byte(text), known())
	if err != nil {
		t.Fatal(err)
	}
	return mods, lines(ws)
}

func TestDefaults(t *testing.T) {
	events, modules := defaultEvents(), defaultModules(known())
	ev, ws := readEvents(t, string(events))
	mods, ws2 := readModules(t, string(modules))
	if ws+ws2 != "" {
		t.Error(ws, ws2)
	}
	p, err := Resolve(Input{Events: ev, Modules: mods, Known: known()})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range p.Events {
		if !e.On || !e.Standard {
			t.Errorf("%+v", e)
		}
	}
	for _, m := range p.Modules {
		if m.On != (m.Name == TraceModule) {
			t.Errorf("%+v", m)
		}
	}
	if len(p.Warnings) > 0 {
		t.Error(p.Warnings)
	}
}

func TestLater(t *testing.T) {
	ev, _ := readEvents(t, `{"eventsSettings": {"Mine": {"onTick": true}}}`)
	for _, c := range []struct {
		file                  *Events
		flags                 string
		tick, tock, defaultOn bool // Mine.onTick, Mine.onTock, what others are
	}{
		{nil, "", true, true, true},
		{ev, "", true, false, false},
		{nil, "--events=CFEvents.*", false, false, false},
		{nil, "--events=CFEvents.*,Mine.on*", true, true, false},
		{nil, "--events=-Mine.onTock", true, false, true},
		{nil, "--events=none", false, false, false},
		{ev, "--events=none\n--events=+Mine::onTock", false, true, false},
		{ev, "--events=all", true, true, true},
		{ev, "--events=+*,-Mine.onTick", false, true, true},
		{nil, "--events=-*,+*.onTock", false, true, false},
	} {
		p, err := Resolve(Input{Events: c.file, Flags: parseFlags(c.flags), Known: known()})
		if err != nil {
			t.Fatal(err)
		}
		if tick, tock := p.On("Mine", "onTick"),
			p.On("Mine", "onTock"); tick != c.tick || tock != c.tock || p.DefaultOn != c.defaultOn ||
			p.On("Theirs", "onX") != c.defaultOn {
			t.Errorf("%q: onTick %v, onTock %v, others %v", c.flags, tick, tock, p.DefaultOn)
		}
	}
}

// The standard groups hold every event once, so that a group that is switched off takes its events off.
func TestStandardGroups(t *testing.T) {
	seen := map[string]string{}
	for _, g := range standardGroups() {
		if len(g.Events) == 0 {
			t.Errorf("group %s is empty", g.Name)
		}
		for _, e := range g.Events {
			if in, twice := seen[e.String()]; twice {
				t.Errorf("%s is in %s and %s", e, in, g.Name)
			}
			seen[e.String()] = g.Name
		}
	}
	for _, k := range trace.Kinds() {
		if seen[k.String()] == "" {
			t.Errorf("%s is in no group", k.String())
		}
	}
}

// --set has settings and parameters in one place.
func TestParamsAreNoSettings(t *testing.T) {
	for _, m := range slices.Concat(prof.Modules(), known()) {
		if m.Param("enabled") != nil || m.Param("priority") != nil {
			t.Errorf("a parameter of %s is called like a setting of all modules", m.Name)
		}
	}
}
