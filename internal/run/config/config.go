// Package config reads what is to be profiled: events_config.json, modules_settings.json and choices of the
// command line, and resolves them into a Plan that says of every event and module whether it is on, and why.
//
// The files are JSON; comments and trailing commas are allowed. What is wrong in a file but does not keep
// the rest from being understood is skipped with a Warning. Choices of the command line have to
// be right: what is wrong there is an error.
//
// An event is active when eventsSettings enables it and it is in no group or in at least one enabled group. A
// module is on when its overrideEnabled, or globalSettings.enabled if it has none, is true and its enabled
// (true if not given) is true too. Without a file all events and no module but the trace are on.
//
// docs/events_config.schema.json and docs/modules_settings.schema.json tell editors what the files may hold.
package config

//go:generate go test . -run TestSchemasAreCurrent -update

import (
	"cmp"
	"fmt"
	"slices"
)

// Names of the configuration files.
const (
	EventsFile  = "events_config.json"
	ModulesFile = "modules_settings.json"
)

// Pos is where something was configured: in a file, or by an argument such as "--group Memory=off" (no Line).
type Pos struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"` // from 1
	Col  int    `json:"col,omitempty"`  // from 1, in characters
}

// String is "file:line:col", or File alone if there is no line.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Warning is something in a configuration that was skipped, or that does nothing.
type Warning struct {
	Pos  Pos    `json:"pos"`
	Text string `json:"text"`
}

// String is "file:line:col: text".
func (w Warning) String() string {
	if w.Pos == (Pos{}) {
		return w.Text
	}
	return w.Pos.String() + ": " + w.Text
}

// sortWarnings puts the warnings of one file in the order of their places.
func sortWarnings(ws []Warning) []Warning {
	slices.SortStableFunc(ws, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return ws
}
