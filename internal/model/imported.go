package model

import "strings"

// Imported is the setting of run.json that traces of other programs have: the format, by its name in
// words.Imported.
const Imported = "imported"

// SystemCall is the name of what a worker waits for in traces of Go programs while its goroutine is in a
// system call.
const SystemCall = "system call"

// ofGC begins the names of what workers do for the garbage collector in traces of Go programs.
const ofGC = "GC: "

// GCWait names a wait for the garbage collector: "GC: " and what it does.
func GCWait(what string) string { return ofGC + what }

// IsGCWait tells whether a wait has such a name.
func IsGCWait(name string) bool { return strings.HasPrefix(name, ofGC) }
