package instrument

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Conditional compilation. `#if` makes one file several programs, and a statement may look different in each:
//
//	if (failed)
//	#ifdef VERBOSE
//	    print(why);
//	#endif
//	    return EXIT;          without VERBOSE this belongs to the if and needs braces
//
// So a file is read as often as it takes to have every branch in at least one reading (a variant), and what
// is inserted is what all of them ask for together. A condition is true or false for the whole file: the two
// halves of an `#ifdef __cplusplus extern "C" {` are taken together. What no variant has, `#if 0`, is not
// looked at.

// maxVariants bounds the work on a file with very many branches.
const maxVariants = 256

// maxNested bounds how deep one #if is in others.
const maxNested = 256

// branch is what one condition switches on.
type branch struct {
	when    *condition
	toks    []item
	groups  []*conditional // those among toks
	parent  *conditional
	covered bool // in a variant, or never wanted
	tried   bool
	dead    bool // has an #error
}

// item is a token or a nested group.
type item struct {
	tok   token
	group *conditional
}

// conditional is one #if ... #endif; it always ends with a branch for "none of them".
type conditional struct {
	branches []*branch
	in       *branch // nil at the top
}

// conditionals arranges tokens by the #if groups they are in. Directives are left out.
func conditionals(src []byte, toks []token) (top *branch, all []*branch, err *problem) {
	top = &branch{when: always}
	cur := top
	held := noPragma
	depth := 0
	for _, t := range toks {
		if t.kind != directive {
			t.pragma, held = held, noPragma
			cur.toks = append(cur.toks, item{tok: t})
			continue
		}
		line := directiveTokens(src, t)
		if len(line) == 0 {
			continue
		}
		open := func(g *conditional, c *condition) {
			b := &branch{when: c, parent: g}
			g.branches = append(g.branches, b)
			all = append(all, b)
			cur = b
		}
		switch name := line[0].spelling; name {
		case "if", "ifdef", "ifndef":
			if depth++; depth > maxNested {
				return nil, nil, &problem{t.start, "#if is nested too deep"}
			}
			g := &conditional{in: cur}
			cur.toks = append(cur.toks, item{group: g})
			cur.groups = append(cur.groups, g)
			open(g, readCondition(name, line[1:]))
		case "elif", "elifdef", "elifndef", "else":
			if cur.parent == nil {
				return nil, nil, &problem{t.start, "#" + name + " without #if"}
			}
			if last := cur.when; last == always {
				return nil, nil, &problem{t.start, "#" + name + " after #else"}
			}
			if name == "else" {
				open(cur.parent, always)
			} else {
				open(cur.parent, readCondition(strings.TrimPrefix(name, "el"), line[1:]))
			}
		case "endif":
			if cur.parent == nil {
				return nil, nil, &problem{t.start, "#endif without #if"}
			}
			g := cur.parent
			if cur.when != always {
				open(g, always)
			}
			cur = g.in
			depth--
		case "pragma":
			held = max(held, pragmaOf(line[1:]))
		case "error":
			if cur.parent != nil {
				cur.dead = true
			}
		}
	}
	if cur.parent != nil {
		return nil, nil, &problem{len(src), "#endif is missing"}
	}
	return top, all, nil
}

// pragmaOf tells what a #pragma does to the statement after it.
func pragmaOf(line []token) pragma {
	if len(line) < 2 || line[0].spelling != "omp" && line[0].spelling != "acc" {
		return noPragma
	}
	switch line[1].spelling {
	case "barrier", "taskwait", "taskyield", "flush", "cancel", "cancellation", "threadprivate", "declare",
		"end", "begin", "requires", "error", "nothing", "allocate", "depobj", "interop", "scan", "wait", "update",
		"enter", "exit", "init", "shutdown", "set", "routine", "cache":
		return noPragma // stand alone
	case "atomic":
		return pragmaSingle
	}
	return pragmaBlock
}

// directiveTokens are the tokens of a directive after its #.
func directiveTokens(src []byte, t token) []token {
	line := lex(src, t.start+1, t.end)
	if src[t.start] == '%' && len(line) > 0 { // %: is a #
		line = line[1:]
	}
	return line
}

// assignment gives conditions their truth in one variant.
type assignment map[string]bool

// reach assigns what leads to b; false: nothing does.
func (a assignment) reach(b *branch) bool {
	for ; b != nil && b.parent != nil; b = b.parent.in {
		for _, other := range b.parent.branches {
			if !a.force(other.when, other == b) {
				return false
			}
			if other == b {
				break
			}
		}
	}
	return true
}

// variants calls f with the tokens of each variant, until it returns false.
func variants(top *branch, all []*branch, f func(toks []token, where string) bool) (complete bool) {
	n := 0
	run := func(a assignment) bool {
		n++
		return f(a.take(nil, top), a.String())
	}
	if !run(assignment{}) {
		return true
	}
	for _, b := range all {
		if b.covered || b.tried || b.dead {
			continue
		}
		b.tried = true
		if n >= maxVariants {
			return false
		}
		if a := (assignment{}); a.reach(b) && !run(a) {
			return true
		}
	}
	return true
}

// take appends b's tokens, choosing in every group a branch that was not taken before where there is a
// choice.
func (a assignment) take(dst []token, b *branch) []token {
	b.covered = true
	for _, it := range b.toks {
		if it.group == nil {
			dst = append(dst, it.tok)
			continue
		}
		g := it.group
		for i, c := range g.branches {
			v, known := a.value(c.when)
			if !known {
				v = !c.dead && (c.open() || !anyOpen(g.branches[i+1:]))
				a.force(c.when, v)
			}
			if v {
				dst = a.take(dst, c)
				break
			}
		}
	}
	return dst
}

// open tells whether b or something in it was not taken yet.
func (b *branch) open() bool {
	if b.dead {
		return false
	}
	return !b.covered || slices.ContainsFunc(b.groups, func(g *conditional) bool { return anyOpen(g.branches) })
}

func anyOpen(bs []*branch) bool { return slices.ContainsFunc(bs, (*branch).open) }

// String names the variant for a message: " (where X is true, Y is false)", or nothing where there is only
// one.
func (a assignment) String() string {
	if len(a) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(a))
	if len(names) > 4 {
		names = names[:4]
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s is %t", name, a[name])
	}
	return " (where " + strings.Join(names, ", ") + ")"
}
