// Package trace writes and reads traces: a table of event kinds (kinds.go), a Writer and a Reader.
//
// A trace is a folder: run.json (RunInfo) and a file per node, NNNNN.wst, of checksummed blocks of events and
// definitions. docs/trace-format.md gives every byte of them, for those who write a reader or writer in
// another language.
//
// # Compatibility
//
// Numbers of kinds and types never change their meaning. A kind may get further fields at its end (before a
// list); readers give them their defaults where a file lacks them and leave off those they do not know. What
// cannot be read like that gets another version in the file header.
package trace
