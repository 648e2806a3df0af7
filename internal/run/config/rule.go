package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/words"
)

// Points of rules other than "return X".
const (
	// the head of a block: after it is the first thing in the block, before it is before the block is called
	PointBlock   = "BlockRetStatus"
	PointForeign = "foreign call" // user code is called
	PointEntry   = "entry"        // a function, or a CF's very first block, starts
)

// Statuses are what a block can return: the X of "return X" that running LuNA programs know.
var Statuses = []string{"EXIT", "CONTINUE", "MIGRATE", "WAIT", "STEAL"}

// Rule says where calls of an event are inserted.
type Rule struct {
	Before bool   `json:"before"` // before Point, otherwise after it
	Point  string `json:"point"`  // "return X", PointBlock, PointForeign or PointEntry, with single spaces
}

// String is the rule as it is configured: "before return EXIT".
func (r Rule) String() string {
	if r.Before {
		return "before " + r.Point
	}
	return "after " + r.Point
}

// Return is the expression X of a rule at "return X".
func (r Rule) Return() (x string, ok bool) { return strings.CutPrefix(r.Point, "return ") }

// Known reports whether running LuNA programs have the point; C++ sources may return other values.
func (r Rule) Known() bool {
	x, ok := r.Return()
	return !ok || slices.Contains(Statuses, x)
}

// ParseRule reads before or after, and a point. The error says which part cannot be understood.
func ParseRule(text string) (Rule, error) {
	parts := strings.Fields(text)
	if len(parts) == 0 || parts[0] != "before" && parts[0] != "after" {
		first := "nothing"
		if len(parts) > 0 {
			first = fmt.Sprintf("%q", parts[0])
		}
		return Rule{}, fmt.Errorf("a rule begins with before or after, not with %s", first)
	}
	r := Rule{Before: parts[0] == "before", Point: strings.Join(parts[1:], " ")}
	switch x, ret := r.Return(); {
	case ret && strings.HasSuffix(x, ";"):
		return Rule{}, fmt.Errorf("leave out the ; of %q", r.Point)
	case ret, r.Point == PointBlock, r.Point == PointForeign, r.Point == PointEntry:
		return r, nil
	case r.Point == "return":
		return Rule{}, fmt.Errorf("return what? Write \"return %s\" or another value", Statuses[0])
	case r.Point == "":
		return Rule{}, fmt.Errorf("%s what? %s", parts[0], pointsText)
	}
	for _, p := range []string{PointBlock, PointForeign, PointEntry} {
		if words.Nearest(r.Point, []string{p}) != "" {
			return Rule{}, fmt.Errorf("there is no point %q%s", r.Point, words.DidYouMean(r.Point, []string{p}))
		}
	}
	return Rule{}, fmt.Errorf("there is no point %q; %s", r.Point, pointsText)
}

const pointsText = "points are return X, " + PointBlock + ", " + PointForeign + " and " + PointEntry
