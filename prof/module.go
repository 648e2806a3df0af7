package prof

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// Module is a consumer of events with a state of its own. It lives from before the
// program starts until after it has ended.
type Module interface {
	// Start connects the module's handlers. An error keeps the program from starting.
	Start(h *Host) error
	// Finish is called once, after the last event: the time to write results. Modules
	// finish in the order in which they were started.
	Finish() error
}

// DefaultPriority is the priority of a module whose configuration gives none.
const DefaultPriority = 100

// ModuleInfo tells users what a module is, and makes it.
type ModuleInfo struct {
	Name     string   // "logger_module"; a leading "lib" in configuration is left out
	Aliases  []string // other names in configuration
	Doc      string   // one line: what it does
	Output   string   // one line: what it writes and where
	Cost     string   // one line: what it costs
	Events   []string // what it listens to: "CFEvents.onStarted", "DFEvents.*", "*"
	Emits    []string // its own events: "LoadEvents.onLoad(node:Node load:Float)"
	Params   []Param
	Requires []string // modules it uses: they run whenever it does, and handle each event before it
	New      func() Module
}

// Param is a parameter of a module.
type Param struct {
	Name string
	// Default is its value when it is not configured. Its type is the parameter's: string,
	// int, float64, bool or []string.
	Default any
	Choices []string // allowed values of a string; nil: any
	Doc     string
}

// Param returns the parameter of that name, nil if there is none.
func (m *ModuleInfo) Param(name string) *Param {
	for i := range m.Params {
		if m.Params[i].Name == name {
			return &m.Params[i]
		}
	}
	return nil
}

var registry struct {
	sync.Mutex
	list []ModuleInfo
}

// RegisterModule makes a module known by name to all that is configured later. It is
// for init functions; a name that is taken, or no New, is a fault of the program and panics.
func RegisterModule(info ModuleInfo) {
	registry.Lock()
	defer registry.Unlock()
	if info.Name == "" || info.New == nil {
		panic("prof: a module needs a name and New")
	}
	for _, n := range append([]string{info.Name}, info.Aliases...) {
		for _, m := range registry.list {
			if m.Name == n || slices.Contains(m.Aliases, n) {
				panic("prof: module " + n + " is registered twice")
			}
		}
	}
	registry.list = append(registry.list, info)
}

// Modules returns the modules that are compiled in, by name.
func Modules() []ModuleInfo {
	registry.Lock()
	defer registry.Unlock()
	list := slices.Clone(registry.list)
	slices.SortFunc(list, func(a, b ModuleInfo) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Use is a module that is to run, with its configuration.
type Use struct {
	Info     ModuleInfo
	Priority int            // among modules that do not depend on each other, lower handles events first
	Params   map[string]any // values of Info.Params; those missing have their defaults
}

// order sorts modules so that each comes after those it requires, and by priority and
// name where that leaves a choice.
func order(uses []Use) ([]Use, error) {
	at := map[string]int{}
	for i, u := range uses {
		if _, twice := at[u.Info.Name]; twice {
			return nil, fmt.Errorf("module %s is to run twice", u.Info.Name)
		}
		at[u.Info.Name] = i
	}
	sorted := slices.Clone(uses)
	slices.SortFunc(sorted, func(a, b Use) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Info.Name, b.Info.Name))
	})
	var out []Use
	done := map[string]bool{}
	for len(out) < len(sorted) {
		next := slices.IndexFunc(sorted, func(u Use) bool {
			return !done[u.Info.Name] && !slices.ContainsFunc(u.Info.Requires, func(r string) bool { return !done[r] })
		})
		if next < 0 {
			return nil, unordered(sorted, at, uses, done)
		}
		done[sorted[next].Info.Name] = true
		out = append(out, sorted[next])
	}
	return out, nil
}

// unordered says why none of the modules left can be the next one.
func unordered(sorted []Use, at map[string]int, uses []Use, done map[string]bool) error {
	var path []string
	i := slices.IndexFunc(sorted, func(u Use) bool { return !done[u.Info.Name] })
	name := sorted[i].Info.Name
	for !slices.Contains(path, name) {
		path = append(path, name)
		for _, r := range uses[at[name]].Info.Requires {
			if _, known := at[r]; !known {
				return fmt.Errorf("module %s requires %s, which does not run", name, r)
			}
		}
		for _, r := range uses[at[name]].Info.Requires {
			if !done[r] {
				name = r
				break
			}
		}
	}
	circle := ""
	for _, n := range path[slices.Index(path, name):] {
		circle += n + " -> "
	}
	return fmt.Errorf("modules require each other in a circle: %s%s", circle, name)
}
