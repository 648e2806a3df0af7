// Package query reads what people and pages ask about a run: lists of nodes, links, CFs. What is wrong with a
// question is an error that is fs.ErrInvalid, what it asks for and is not there one that is fs.ErrNotExist;
// their texts say what and what would be right, and nothing else.
package query

import (
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/trace"
)

// problem is an error with a text of its own that is of a kind.
type problem struct {
	text string
	kind error
}

func (p *problem) Error() string        { return p.text }
func (p *problem) Is(target error) bool { return target == p.kind }

// Bad makes an error that is fs.ErrInvalid.
func Bad(format string, args ...any) error {
	return &problem{fmt.Sprintf(format, args...), fs.ErrInvalid}
}

// Missing makes an error that is fs.ErrNotExist.
func Missing(format string, args ...any) error {
	return &problem{fmt.Sprintf(format, args...), fs.ErrNotExist}
}

// Numbers reads a list such as "0-3,7": numbers from 0 and ranges of them, each below limit. The result is
// ascending and has no number twice. "" and "all" are nil: no restriction.
func Numbers(s, what string, limit int) ([]int, error) {
	if s == "" || s == "all" {
		return nil, nil
	}
	var list []int
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		a, err := strconv.ParseUint(first, 10, 31)
		b := a
		if err == nil && isRange {
			b, err = strconv.ParseUint(last, 10, 31)
		}
		switch {
		case err != nil || b < a:
			return nil, Bad("%q is not a list of %ss; write one like 0-3,7", s, what)
		case b >= uint64(max(limit, 0)):
			return nil, Missing("there is no %s %d; there are %d, from 0", what, b, limit)
		}
		// A range that is repeated adds nothing; so the list is never much longer than limit.
		for n := a; n <= b; n++ {
			list = append(list, int(n))
		}
		if len(list) > 2*limit {
			list = unique(list)
		}
	}
	return unique(list), nil
}

func unique(list []int) []int {
	slices.Sort(list)
	return slices.Compact(list)
}

// Link is an ordered pair of nodes.
type Link struct{ From, To int }

// ParseLink reads "0->1"; nodes are below limit.
func ParseLink(s string, limit int) (Link, error) {
	from, to, ok := strings.Cut(s, "->")
	a, err1 := strconv.ParseUint(from, 10, 31)
	b, err2 := strconv.ParseUint(to, 10, 31)
	if !ok || err1 != nil || err2 != nil {
		return Link{}, Bad("%q is not a link; write one like 0->1", s)
	}
	if n := max(a, b); n >= uint64(max(limit, 0)) {
		return Link{}, Missing("there is no node %d; there are %d, from 0", n, limit)
	}
	return Link{int(a), int(b)}, nil
}

// ParseCF reads "0.17", the form that CFs, messages and requests have in traces.
func ParseCF(s string) (trace.CF, error) {
	node, counter, ok := strings.Cut(s, ".")
	n, err1 := strconv.ParseUint(node, 10, 16)
	c, err2 := strconv.ParseUint(counter, 10, 48)
	if !ok || err1 != nil || err2 != nil || c == 0 {
		return 0, Bad("%q is not a CF; CFs are named like 0.17: node, counter", s)
	}
	return trace.MakeCF(int(n), c), nil
}

// Interval checks an interval: nanoseconds since the start of the run, from < to.
func Interval(from, to int64) error {
	if from >= to {
		return Bad("from=%d to=%d is not an interval: from must be less than to", from, to)
	}
	return nil
}

// Shift moves a time, keeping it within an int64.
func Shift(t, by int64) int64 {
	switch s := t + by; {
	case by > 0 && s < t:
		return math.MaxInt64
	case by < 0 && s > t:
		return math.MinInt64
	default:
		return s
	}
}
