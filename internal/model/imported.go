package model

import (
	"slices"
	"strconv"
	"strings"
)

// Imported is the setting of run.json that traces of other programs have: the format, by its name in
// words.Imported.
const Imported = "imported"

// WasImported tells whether another program recorded the run.
func (m *Model) WasImported() bool { return m.Info.Settings[Imported] != "" }

// TellsDependences tells whether any CF is known to have waited for another one, or to have been created by one.
func (m *Model) TellsDependences() bool {
	known := func(cf CF) bool { return cf != 0 }
	return slices.ContainsFunc(m.MadeBy, known) || slices.ContainsFunc(m.Parent, known)
}

// SystemCall is the name of what a worker waits for in traces of Go programs while its goroutine is in a
// system call.
const SystemCall = "system call"

// ofGC begins the names of what workers do for the garbage collector in traces of Go programs.
const ofGC = "GC: "

// GCWait names a wait for the garbage collector: "GC: " and what it does.
func GCWait(what string) string { return ofGC + what }

// IsGCWait tells whether a wait has such a name.
func IsGCWait(name string) bool { return strings.HasPrefix(name, ofGC) }

// OwnStatesSetting is the setting of run.json that tells how long the workers of each node were in which
// state by the account of their own run-time system: lines "NODE NS NAME".
const OwnStatesSetting = "own states"

// OwnState is how long the workers of a node were in a state, by the account of their own run-time system.
type OwnState struct {
	Node int
	NS   int64
	Name string
}

// OwnStates gives the states that OwnStatesSetting tells of; what cannot be read is left out.
func (m *Model) OwnStates() (list []OwnState) {
	for line := range strings.SplitSeq(m.Info.Settings[OwnStatesSetting], "\n") {
		node, rest, _ := strings.Cut(line, " ")
		ns, name, _ := strings.Cut(rest, " ")
		s := OwnState{Name: name}
		var err, bad error
		s.Node, err = strconv.Atoi(node)
		s.NS, bad = strconv.ParseInt(ns, 10, 64)
		if err == nil && bad == nil && s.NS >= 0 && name != "" {
			list = append(list, s)
		}
	}
	return list
}

// NotReadSetting is the setting of run.json that tells what a reader of another program's trace has left out:
// lines "NUMBER WHAT", of which WHAT is a name in words.NotRead.
const NotReadSetting = "not read"

// NotRead is how many of a kind of things were left out.
type NotRead struct {
	N    int64
	What string
}

// NotRead gives what NotReadSetting tells; lines that cannot be read are left out.
func (m *Model) NotRead() (list []NotRead) {
	for line := range strings.SplitSeq(m.Info.Settings[NotReadSetting], "\n") {
		number, what, _ := strings.Cut(line, " ")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n > 0 && what != "" {
			list = append(list, NotRead{n, what})
		}
	}
	return list
}
