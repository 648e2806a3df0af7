package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/whyslow/whyslow/prof"
)

// Input is what a plan is made of.
type Input struct {
	Events  *Events  // nil: there is no file, and all events are on
	Modules *Modules // nil: there is no file, and no module but the trace is on
	Flags   Flags
	Known   []prof.ModuleInfo // the modules that are compiled in: prof.Modules()
	// LibraryDirs are where shared libraries of modules are looked for after the folder of the modules' file.
	LibraryDirs []string
}

// Plan says of every event and module whether it is on, and why.
type Plan struct {
	EventsFile  string `json:"events_file,omitempty"`  // "" if there is none
	ModulesFile string `json:"modules_file,omitempty"` // "" if there is none
	// the standard ones in the order of their table, then others that were named
	Events   []EventState  `json:"events"`
	Modules  []ModuleState `json:"modules"` // by name
	Warnings []Warning     `json:"warnings"`
	// DefaultOn is whether events that are not in Events, because the program or a module
	// defines them later, are on, unless --events says something of them: see On.
	DefaultOn bool `json:"default_on"`

	input  Input
	choice choice
	groups []Group
	sets   []setting // those that useless has not looked at
	// switches are those of --group
	switches map[string]Switch
	states   map[string]int // index in Events by "Namespace.onName"
}

// verdict is whether something is on, and why.
type verdict struct {
	On  bool   `json:"on"`
	Why string `json:"why"`
	Pos Pos    `json:"pos"` // what decided; zero if nothing was configured
}

// because is why something is on or off, and where that was said.
func (v *verdict) because() string {
	if v.Pos == (Pos{}) {
		return v.Why
	}
	return v.Why + ", " + v.Pos.String()
}

// EventState is what was decided on an event.
type EventState struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Standard  bool   `json:"standard"` // in the table of standard events
	verdict
	Rule      *Rule    `json:"rule,omitempty"`
	Args      []string `json:"args,omitempty"`
	Functions []string `json:"functions,omitempty"`
	argPos    []Place
}

// ArgAt is where a byte of the text of an argument stands in the file.
func (e *EventState) ArgAt(arg, offset int) Pos {
	if arg >= len(e.argPos) {
		return e.Pos
	}
	return e.argPos[arg].at(offset)
}

// String is "Namespace.onName".
func (e *EventState) String() string { return e.Namespace + "." + e.Name }

// ModuleState is what was decided on a module.
type ModuleState struct {
	Info prof.ModuleInfo `json:"-"` // zero if it is in a library that was not opened
	Name string          `json:"name"`
	verdict
	Priority int `json:"priority"`
	// Params are the values configured, typed as Info says; those of unopened libraries as they were written.
	Params map[string]any `json:"params,omitempty"`
	// Library is the library of a module that is not built in; if that is on, it exists. See OpenLibraries.
	Library string `json:"library,omitempty"`

	paramPos map[string]Pos
	untyped  []setting // --set parameters of a module whose description is not known yet
	checked  bool      // deaf has looked at it
	off      bool      // switched off itself, not only by being unlisted or by globalSettings
}

// Load finds and reads the configuration of a program and makes the plan. programDir is the folder of
// the program. Its warnings are those of the files and of the plan. An error is one line, with the place.
func Load(programDir string, flags Flags, known []prof.ModuleInfo) (*Plan, error) {
	in := Input{Flags: flags, Known: known, LibraryDirs: append([]string{programDir},
		filepath.SplitList(os.Getenv("WHYSLOW_MODULES"))...)}
	events, modules, err := flags.Files()
	if err != nil {
		return nil, err
	}
	foundEvents, foundModules := Find(programDir)
	if events == "" {
		events = foundEvents
	}
	if modules == "" {
		modules = foundModules
	}
	var ofEvents, ofModules []Warning
	if in.Events, ofEvents, err = readFile(events, "events", ReadEvents); err != nil {
		return nil, err
	}
	read := func(name string, text []byte) (*Modules, []Warning, error) { return ReadModules(name, text, known) }
	if in.Modules, ofModules, err = readFile(modules, "modules", read); err != nil {
		return nil, err
	}
	plan, err := Resolve(in)
	if err != nil {
		return nil, err
	}
	plan.Warnings = slices.Concat(ofEvents, ofModules, plan.Warnings)
	return plan, nil
}

// readFile reads a file, if named, just far enough to know that it is too long, as /dev/zero is.
func readFile[T any](path, of string, parse func(name string, text []byte) (*T, []Warning, error)) (*T,
	[]Warning, error) {
	if path == "" {
		return nil, nil, nil
	}
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(f, maxText+1)); err == nil {
			return parse(path, text)
		}
	}
	return nil, nil, fmt.Errorf("cannot read the configuration of %s: %w", of, err)
}

// Find returns the configuration files beside the programs in a folder, or else in its folder config.
func Find(programDir string) (events, modules string) {
	for _, dir := range []string{programDir, filepath.Join(programDir, "config")} {
		if p := filepath.Join(dir, EventsFile); events == "" && isRegular(p) {
			events = p
		}
		if p := filepath.Join(dir, ModulesFile); modules == "" && isRegular(p) {
			modules = p
		}
	}
	return events, modules
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Resolve makes the plan. Warnings say what has no effect; an error, in one line, what is wrong.
func Resolve(in Input) (*Plan, error) {
	p := &Plan{Warnings: []Warning{}, input: in}
	if err := p.resolveEvents(in); err != nil {
		return nil, err
	}
	if err := p.resolveModules(in); err != nil {
		return nil, err
	}
	p.deaf()
	return p, nil
}

// On reports whether an event is to be on, also one that is defined after the plan was made.
func (p *Plan) On(ns, name string) bool {
	if i, ok := p.states[canonical(ns, name)]; ok {
		return p.Events[i].On
	}
	return p.choice.event(verdict{On: p.DefaultOn}, ns+"."+name).On
}

// Groups returns the names of the groups of events.
func (p *Plan) Groups() []string {
	if ev := p.input.Events; ev != nil {
		return groupNames(ev.Groups)
	}
	return groupNames(standardGroups())
}

// Module returns the state of a module, nil if the plan has none of that name.
func (p *Plan) Module(name string) *ModuleState {
	for i := range p.Modules {
		if p.Modules[i].Name == name {
			return &p.Modules[i]
		}
	}
	return nil
}

// Trace reports whether the trace is to be written.
func (p *Plan) Trace() bool {
	m := p.Module(TraceModule)
	return m != nil && m.On
}
