package config

import (
	"strings"
	"testing"
)

// Configurations in the form that the profiling system for LuNA has, fragments put in braces.
const (
	listing1 = `{ "eventsSettings": { "GlobalEvents": {

"onExited": {
    "enabled": true,
    "rule": "before return EXIT",
    "args": [ "__func__", "std::chrono::high_resolution_clock::now()" ]
},

} } }`
	listing3 = `{

"globalSettings": {
    "enabled": false
},
"libdf_sizer_events_module": {
    "enabled": true,
    "priority": 1
},
"libforeign_block_timer_module": {
    "overrideEnabled": true,
    "priority": 2
}

}`
	listing4 = `{
"eventsSettings": { "DFEvents": { "onCreate": true, "onDestroy": false } },
"groups": {

"Memory": {
    "enabled": true,
    "events": [
        "DFEvents::onCreate",
        "DFEvents::onDestroy"
    ]
}

} }`
	listing6 = `"groups": {
    "CFEvents": {
        "enabled": false,
        "events": [
            "CFEvents::onStarted", "CFEvents::onFinished"
        ]
    },
    "Memory": {
        "enabled": true,
        "events": [
            "DFEvents::onCreateSize", "DFEvents::onDestroySize"
        ]
    },
    "ForeignBlocks": {
        "enabled": true,
        "events": [
            "GlobalEvents::onForeignStarted", "GlobalEvents::onForeignEnded"
        ]
    },
    "Lifecycle": {
        "enabled": false,
        "events": [
            "GlobalEvents::onStarted", "GlobalEvents::onExited", "GlobalEvents::onMigrated"
        ]
    }
}`
	listing6Settings = `"eventsSettings": {
    "CFEvents": { "onStarted": true, "onFinished": true },
    "DFEvents": { "onCreateSize": true, "onDestroySize": true },
    "GlobalEvents": { "onForeignStarted": true, "onForeignEnded": true, "onStarted": true, "onExited": true, "onMigrated": true }
},
`
	listing7 = `{  
  "globalSettings": {  
    "enabled": false  
  },  
  "libdf_events_module": {  
    "enabled": true  
  },  
  "libdf_sizer_events_module": {  
    "overrideEnabled": true  
  },  
  "libforeign_block_timer_module": {  
    "overrideEnabled": true  
  },  
  "libglobal_events_module": {  
    "enabled": false  
  },  
  "libperfetto_module": {  
    "enabled": false  
  }  
}`
)

// on resolves and returns the names of the events and of the modules that are on.
func on(t *testing.T, in Input) (events, modules string) {
	t.Helper()
	in.Known = known()
	p, err := Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	if ws := lines(p.Warnings); ws != "" &&
		ws != "module trace_writer_module is on, but all events it listens to are off: *\n" {
		t.Error(ws)
	}
	var ev, mo []string
	for i := range p.Events {
		if e := &p.Events[i]; e.On {
			ev = append(ev, e.String())
		}
	}
	for _, m := range p.Modules {
		if m.On {
			mo = append(mo, m.Name)
		}
	}
	return strings.Join(ev, " "), strings.Join(mo, " ")
}

func TestListings(t *testing.T) {
	ev, ws := readEvents(t, listing1)
	if ws != "" || len(ev.List) != 1 || *ev.List[0].Rule != (Rule{true, "return EXIT"}) ||
		ev.List[0].Args[1] != "std::chrono::high_resolution_clock::now()" {
		t.Errorf("listing 1: %s %+v", ws, ev)
	}
	if got, _ := on(t, Input{Events: ev}); got != "GlobalEvents.onExited" {
		t.Errorf("listing 1: on are %s", got)
	}

	mods, ws := readModules(t, listing3)
	if _, got := on(t, Input{Modules: mods}); ws != "" ||
		got != "foreign_block_timer_module trace_writer_module" {
		t.Errorf("listing 3: on are %s %s", got, ws)
	}
	if m := mods.named("df_sizer_events_module"); *m.Priority != 1 || m.Pos != (Pos{"m.json", 6, 1}) {
		t.Errorf("listing 3: %+v", m)
	}

	ev, ws = readEvents(t, listing4)
	if got, _ := on(t, Input{Events: ev}); ws != "" || got != "DFEvents.onCreate" {
		t.Errorf("listing 4: on are %s %s", got, ws)
	}

	ev, ws = readEvents(t, "{\n"+listing6+"\n}")
	if got, _ := on(t,
		Input{Events: ev}); ws != "e.json:2:1: there is no \"eventsSettings\": every event is off\n" || got != "" {
		t.Errorf("listing 6: on are %s %s", got, ws)
	}
	ev, ws = readEvents(t, "{\n"+listing6Settings+listing6+"\n}")
	mods, ws2 := readModules(t, listing7)
	events, modules := on(t, Input{Events: ev, Modules: mods})
	if ws+ws2 != "" ||
		events != "DFEvents.onCreate DFEvents.onDestroy GlobalEvents.onForeignStarted GlobalEvents.onForeignEnded" {
		t.Errorf("listing 6: on are %s %s%s", events, ws, ws2)
	}
	if modules != "df_sizer_events_module foreign_block_timer_module trace_writer_module" {
		t.Errorf("listing 7: on are %s", modules)
	}
}
