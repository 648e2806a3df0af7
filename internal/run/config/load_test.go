package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/prof"
)

// folder makes a folder with files of these texts.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSyntax(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "e.json:1:1: the file is empty; it must be a JSON object, { ... }"},
		{" \n ", "e.json:2:2: the file is empty; it must be a JSON object, { ... }"},
		{"[]", "e.json:1:1: the file must be a JSON object, { ... }, not a list"},
		{"// é\n  true", "e.json:2:3: the file must be a JSON object, { ... }, not true"},
		{"\n " + `"groups": {}`, "e.json:2:2: the file must be a JSON object: put { before this and } at the end"},
		{"{\n \"é\": \"x\" \"y\": 1}",
			`e.json:2:11: invalid character '"' after object value (expecting ',' or '}')`},
		{"{\n", "e.json:2:1: the file ends too early: an object or list is not closed"},
		{`{"a": [1, `, "e.json:1:11: the file ends too early: an object or list is not closed"},
		{`{"a`, "e.json:1:4: the file ends too early: a string is not closed"},
		{"{} /* x", "e.json:1:4: the file ends too early: a comment is not closed"},
		{`{"a": True}`,
			`e.json:1:7: "True" is no value: there are true, false, null, numbers, "strings", [lists] and {objects}`},
		{"{\"a\": \"x\ny\"}",
			`e.json:1:7: this string is not valid: line breaks and tabs in it are written as \n and \t, and a \ as \\`},
		{`{"a": "C:\data"}`,
			`e.json:1:7: this string is not valid: line breaks and tabs in it are written as \n and \t, and a \ as \\`},
		{"{} x", "e.json:1:4: invalid character 'x' after top-level value"},
		{strings.Repeat("[", 2000), "e.json:1:1001: objects or lists are nested more than 1000 deep"},
		{strings.Repeat(" ", 1<<20+1),
			"e.json:1:1: the file is too long for a configuration: it has more than 1048576 bytes"},
		{"\xff\xfe{\x00}\x00", "e.json:1:1: the file is UTF-16: save it as UTF-8"},
		{"\xfe\xff\x00{\x00}", "e.json:1:1: the file is UTF-16: save it as UTF-8"},
		{"\x00{\x00}", "e.json:1:1: the file is UTF-16: save it as UTF-8"},
		{"{\r\n} // caf\xe9 x", "e.json:2:9: the file is not UTF-8: save it as UTF-8"},
		{"{\"caf\xe9\": 1}", "e.json:1:6: the file is not UTF-8: save it as UTF-8"},
		{"\ufeff{} // with a byte order mark, and no line end", ""},
	} {
		_, _, err := ReadEvents("e.json", []byte(c.text))
		_, _, err2 := ReadModules("e.json", []byte(c.text), known())
		for _, err := range []error{err, err2} {
			if err == nil && c.want != "" || err != nil && err.Error() != c.want {
				t.Errorf("%.30q: %v\n      want %s", c.text, err, c.want)
			}
		}
	}
}

func TestFind(t *testing.T) {
	dir := folder(t, map[string]string{"config/" + EventsFile: "{}", "config/" + ModulesFile: "{}"})
	events, modules := Find(dir)
	if events != filepath.Join(dir, "config", EventsFile) ||
		modules != filepath.Join(dir, "config", ModulesFile) {
		t.Error(events, modules)
	}
	// Beside the program comes first; a folder of that name is no file.
	if err := os.WriteFile(filepath.Join(dir, EventsFile), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ModulesFile), 0o777); err != nil {
		t.Fatal(err)
	}
	events, modules = Find(dir)
	if events != filepath.Join(dir, EventsFile) || modules != filepath.Join(dir, "config", ModulesFile) {
		t.Error(events, modules)
	}
	if events, modules = Find(t.TempDir()); events+modules != "" {
		t.Error(events, modules)
	}
}

func TestLoad(t *testing.T) {
	dir := folder(t, map[string]string{
		EventsFile:               `{"eventsSettings": {"CFEvents": {"onStarted": true}}, "x": 1}`,
		"config/" + ModulesFile:  `{"logger_module": {}, "y": 1}`,
		"other/my.json":          `{"eventsSettings": {"CFEvents": {"onReady": true}}}`,
		"other/mine.json":        `{"cf_counter_module": {}}`,
		"broken.json":            `{`,
		"libs/libown_module.so":  "",
		"libs2/libfar_module.so": "",
	})
	in := func(name string) string { return filepath.Join(dir, name) }
	t.Setenv("WHYSLOW_MODULES", in("libs")+string(os.PathListSeparator)+in("libs2"))
	p, err := Load(dir, Flags{Modules: []string{"+own_module,+libfar_module"},
		Sets: []string{"own_module.depth=3"}}, known())
	if err != nil {
		t.Fatal(err)
	}
	if !p.On("CFEvents", "onStarted") || p.On("CFEvents", "onReady") || !p.Module("logger_module").On ||
		p.EventsFile != in(EventsFile) {
		t.Error(p)
	}
	if m := p.Module("own_module"); !m.On || m.Library != in("libs/libown_module.so") || m.Params["depth"] != 3 {
		t.Errorf("%+v", m)
	}
	if m := p.Module("far_module"); !m.On || m.Library != in("libs2/libfar_module.so") {
		t.Errorf("%+v", m)
	}
	want := in(EventsFile) + ":1:55: unknown key \"x\" in the file; it can have eventsSettings, groups\n" +
		in("config/"+ModulesFile) + ":1:28: \"y\" must be an object, { ... }, not 1; skipped\n"
	if d := cmp.Diff(want, lines(p.Warnings)); d != "" {
		t.Error(d)
	}

	p, err = Load(dir, Flags{Events: []string{"+DFEvents.onCreate", in("other/my.json")},
		Modules: []string{in("other/mine.json"), "+logger_module"}}, known())
	if err != nil {
		t.Fatal(err)
	}
	if p.On("CFEvents", "onStarted") || !p.On("CFEvents", "onReady") || !p.On("DFEvents", "onCreateSize") ||
		!p.Module("logger_module").On || !p.Module("cf_counter_module").On {
		t.Error(p)
	}

	for _, c := range []struct {
		flags Flags
		want  string
	}{
		{Flags{Events: []string{in("none.json")}},
			"cannot read the configuration of events: open " + in("none.json") + ": no such file or directory"},
		{Flags{Modules: []string{in("none.json")}},
			"cannot read the configuration of modules: open " + in("none.json") + ": no such file or directory"},
		{Flags{Events: []string{in("broken.json")}},
			in("broken.json") + ":1:2: the file ends too early: an object or list is not closed"},
		{Flags{Modules: []string{in("broken.json")}},
			in("broken.json") + ":1:2: the file ends too early: an object or list is not closed"},
		{Flags{Modules: []string{"/dev/zero"}},
			"/dev/zero:1:1: the file is too long for a configuration: it has more than 1048576 bytes"},
		{Flags{Events: []string{in("none.jsonc")}},
			"cannot read the configuration of events: open " + in("none.jsonc") + ": no such file or directory"},
		{Flags{Modules: []string{"a.json", "b.json"}}, "--modules names two files, a.json and b.json: give one"},
	} {
		if _, err := Load(dir, c.flags, known()); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v", c.flags, err)
		}
	}
}

func TestOpenLibraries(t *testing.T) {
	dir := folder(t, map[string]string{"libown_module.so": "", "sub/other.so": "", ModulesFile: `{
  "own_module": { "params": { "depth": "3", "name": "x", "extra": 1 } },
  "other_module": { "library": "sub/other.so", "enabled": false, "params": { "scale": 2 } },
}`})
	infos := map[string]prof.ModuleInfo{
		"libown_module.so": {Name: "own_module", Requires: []string{"third_module", "state_module"},
			Events: []string{"CFEvents.onReady"},
			Params: []prof.Param{{Name: "depth", Default: 1}, {Name: "name", Default: ""},
				{Name: "rate", Default: 1.0}, {Name: "list", Default: []string{}}}},
		"other.so": {Name: "libother_module", Params: []prof.Param{{Name: "scale", Default: 1.0}}},
	}
	var opened []string
	open := func(path string) (prof.ModuleInfo, error) {
		name := filepath.Base(path)
		opened = append(opened, name)
		if info, ok := infos[name]; ok {
			return info, nil
		}
		return prof.ModuleInfo{}, errors.New("not a library")
	}
	load := func(flags Flags) (*Plan, error) {
		p, err := Load(dir, flags, known())
		if err != nil {
			t.Fatal(err)
		}
		opened = nil
		return p, p.OpenLibraries(open)
	}

	_, err := load(Flags{})
	if err == nil ||
		err.Error() != "module own_module (listed, "+filepath.Join(dir, ModulesFile)+":2:3) requires "+
			"third_module, which does not exist; libthird_module.so is not in "+dir {
		t.Error(err)
	}
	own := infos["libown_module.so"]
	own.Requires = []string{"other_module"}
	infos["libown_module.so"] = own
	file := filepath.Join(dir, ModulesFile)
	if _, err = load(Flags{}); err == nil ||
		err.Error() !=
			"module own_module requires other_module, which is off (\"enabled\" is false, "+file+":3:59): switch "+
				"that on, or own_module off (listed, "+file+":2:3)" {
		t.Error(err)
	}
	// What only its library knows: types of parameters, and what it requires.
	own.Requires = []string{"state_module"}
	infos["libown_module.so"] = own
	p, err := load(Flags{Modules: []string{"+other_module"}, Events: []string{"-CFEvents.onReady"},
		Sets: []string{"own_module.rate=2", "own_module.list=a,b", "own_module.name=7"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]any{"rate": 2.0, "list": []string{"a", "b"}, "name": "7"},
		p.Module("own_module").Params); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]any{"scale": 2.0}, p.Module("other_module").Params); d != "" {
		t.Error(d)
	}
	if s := p.Module("state_module"); !s.On || s.Why != "required by own_module" ||
		p.Module("own_module").Info.Name != "own_module" || len(opened) != 2 {
		t.Error(s, opened)
	}
	want := file + ":2:40: \"depth\" of own_module must be a whole number; skipped\n" +
		file + ":2:67: own_module has no parameter \"extra\"; it has depth, name, rate, list\n" +
		file + ":2:3: module own_module is on, but all events it listens to are off: CFEvents.onReady\n"
	if d := cmp.Diff(want, lines(p.Warnings)); d != "" {
		t.Error(d)
	}

	if _, err = load(Flags{Sets: []string{"own_module.rate=fast"}}); err == nil ||
		err.Error() != "--set own_module.rate=fast: rate of own_module must be a number, not \"fast\"" {
		t.Error(err)
	}
	if _, err = load(Flags{Sets: []string{"own_module.rat=1"}}); err == nil ||
		err.Error() != "--set own_module.rat=1: own_module has no parameter \"rat\"; did you mean \"rate\"?" {
		t.Error(err)
	}
	// It may be in a library that nothing else names.
	own.Requires = []string{"far_module"}
	infos["libown_module.so"], infos["libfar_module.so"] = own, prof.ModuleInfo{Name: "far_module"}
	if err := os.WriteFile(filepath.Join(dir, "libfar_module.so"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if p, err = load(Flags{}); err != nil {
		t.Error(err)
	} else if m := p.Module("far_module"); m == nil || !m.On || m.Why != "required by own_module" ||
		m.Info.Name == "" || p.Modules[len(p.Modules)-1].Name != "trace_writer_module" {
		t.Error(m)
	}
	// It takes parameters.
	infos["libfar_module.so"] = prof.ModuleInfo{Name: "far_module",
		Params: []prof.Param{{Name: "n", Default: 1}}}
	if p, err = load(Flags{Sets: []string{"far_module.n=3"}}); err != nil ||
		p.Module("far_module").Params["n"] != 3 ||
		slices.ContainsFunc(p.Warnings, func(w Warning) bool { return strings.Contains(w.Text, "far_module") }) {
		t.Error(p, err)
	}
	delete(infos, "libown_module.so")
	if _, err = load(Flags{}); err == nil ||
		err.Error() != "module own_module is on (listed, "+file+":2:3): not a library" {
		t.Error(err)
	}
	infos["libown_module.so"] = prof.ModuleInfo{Name: "another"}
	if _, err = load(Flags{}); err == nil ||
		err.Error() != "module own_module is on (listed, "+file+":2:3), but its library "+filepath.Join(dir,
			"libown_module.so")+" holds the module another" {
		t.Error(err)
	}
}

// What modules listen to exists and is on; if not, the user is told before the run.
func TestDeaf(t *testing.T) {
	listens := append(known(), prof.ModuleInfo{Name: "odd_module", Events: []string{"CFEvents.onStartd",
		"Mine.onX", "DFEvents::onCreateSize"}})
	ev, _ := readEvents(t,
		`{"eventsSettings": {"DFEvents": {"onCreate": true}, "GlobalEvents": {"onLeft": {"rule": "before return EXIT"}}}}`)
	for _, c := range []struct{ sets, want string }{
		{"", ""},
		{"logger_module.events=DFEvents.onCreate,GlobalEvents.onLeft,Mine.*,*", ""},
		{"logger_module.events=DFEvents.onCreat",
			"listens to DFEvents.onCreat: there is no event DFEvents.onCreat; did you mean DFEvents.onCreate?"},
		{"logger_module.events=DFEvents.onCrate*", "listens to DFEvents.onCrate*: there is no such event"},
		{"logger_module.events=onCreate",
			"listens to onCreate: that is not an event name such as CFEvents.onStarted"},
		{"logger_module.events=", "is on, but listens to no events"},
		{"logger_module.events=CFEvents.onReady", "is on, but all events it listens to are off: CFEvents.onReady"},
	} {
		in := Input{Events: ev, Known: known(), Flags: Flags{Modules: []string{"logger_module"}}}
		want, place := "", "--set "+c.sets
		if c.sets != "" {
			in.Flags.Sets = []string{c.sets}
		}
		if strings.Contains(c.want, "are off") {
			place = "--modules=logger_module"
		}
		if c.want != "" {
			want = place + ": module logger_module " + c.want + "\n"
		}
		if p, err := Resolve(in); err != nil || lines(p.Warnings) != want {
			t.Errorf("%s: %v\n%swant %s", c.sets, err, lines(p.Warnings), want)
		}
	}
	p, err := Resolve(Input{Known: listens, Flags: Flags{Modules: []string{"odd_module"}}})
	if want := "--modules=odd_module: module odd_module listens to CFEvents.onStartd: there is no event " +
		"CFEvents.onStartd; did you mean CFEvents.onStarted?\n"; err != nil || lines(p.Warnings) != want {
		t.Error(err, lines(p.Warnings))
	}
}

func TestPlanAsJSON(t *testing.T) {
	ev, _ := readEvents(t, listing1)
	p, err := Resolve(Input{Events: ev, Known: known()})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"events_file":"e.json"`, `"default_on":false`, `"warnings":[]`,
		`{"namespace":"GlobalEvents","name":"onExited","standard":true,"on":true,"why":"enabled, in no group","pos":{"file":"e.json","line":4,"col":16},` +
			`"rule":{"before":true,"point":"return EXIT"},"args":["__func__","std::chrono::high_resolution_clock::now()"]}`,
		`{"name":"trace_writer_module","on":true,"why":"the trace is written unless switched off","pos":{"file":""},"priority":100}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}
