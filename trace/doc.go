// Package trace is the format of traces: one table of event kinds, a Writer, a
// Reader and a text twin.
package trace
