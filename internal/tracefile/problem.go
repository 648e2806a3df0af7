package tracefile

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
)

// ProblemKind says what is wrong with a trace.
type ProblemKind uint8

// Kinds of problems; package trace says what they mean.
const (
	Damaged ProblemKind = iota
	Truncated
	Unfinished
	Missing
	Unwritten
	Foreign
)

func (k ProblemKind) String() string {
	names := [...]string{"damaged", "truncated", "unfinished", "missing", "unwritten", "foreign"}
	if int(k) < len(names) {
		return names[k]
	}
	return strconv.Itoa(int(k))
}

// Problem is something wrong with a trace.
type Problem struct {
	Kind   ProblemKind
	File   string // name of the file within the trace
	Offset int64  // where in the file
	What   string
	Node   int // -1: none in particular
	Stream int // -1: none in particular
	// Timed: events of the stream between From and To are missing. From is math.MinInt64 where nothing of the
	// stream comes before, To math.MaxInt64 where nothing comes after.
	Timed    bool
	From, To int64
	Events   uint64 // how many are missing; 0: unknown
}

// String is one line: file, offset, what.
func (p Problem) String() string {
	s := p.File + ": "
	if p.Kind != Missing && p.Kind != Unwritten && p.Kind != Foreign && p.File != RunFile {
		s += fmt.Sprintf("offset %d: ", p.Offset)
	}
	s += p.What
	if p.Events > 0 {
		s += fmt.Sprintf("; %d events lost", p.Events)
	}
	if p.Timed && p.Kind != Unfinished {
		s += fmt.Sprintf("; stream %d lacks %s to %s", p.Stream, timeText(p.From), timeText(p.To))
	}
	return s
}

func timeText(t int64) string {
	switch t {
	case math.MinInt64:
		return "its start"
	case math.MaxInt64:
		return "its end"
	}
	return fmt.Sprintf("%d ns", t)
}

// NotWritten is the problem that the writer of a node's file could not write some events, and why, if so.
func NotWritten(node int, events uint64, why string) []Problem {
	if events == 0 && why == "" || node < 0 || node > MaxNode {
		return nil
	}
	return []Problem{{Kind: Unwritten, File: FileName(node),
		What: cmp.Or(why, "not everything could be written"),
		Node: node, Stream: -1, Events: events}}
}
