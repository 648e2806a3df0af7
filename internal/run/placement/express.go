package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// variable is an index, or the number of an iteration, as it is written in a program.
type variable struct {
	name  string // "" where it cannot be used
	first int32  // to be added to the number in a placement
	minus string // or, what is to be taken from the variable to get that number; ""
}

// text is the variable less a number, as in "s - 1"; where it is part of a product it stands in brackets.
func (v *variable) text(less int32, product bool) string {
	text := v.name
	if v.minus != "" {
		text += " - (" + v.minus + ")"
	}
	switch {
	case less > 0:
		text += fmt.Sprintf(" - %d", less)
	case less < 0:
		text += fmt.Sprintf(" + %d", -less)
	}
	if product && text != v.name {
		text = "(" + text + ")"
	}
	return text
}

// Limits of what is written: steps of a table, and tables in tables.
const (
	maxSteps  = 32
	maxTables = 2
	maxText   = 2000
)

// express finds an expression for the nodes of points, whose numbers are those of variables; "" where there
// is none. LuNA takes it modulo the nodes. Expressions are tried from the simplest on: a number; one
// variable, as blocks and strides; several variables, linear; tables of those.
func express(points []Point, vars []variable, nodes int) string {
	shifted := make([]Point, len(points))
	for i, p := range points {
		shifted[i] = Point{slices.Clone(p.At), p.Node}
		if len(p.At) != len(vars) {
			return ""
		}
		for k := range p.At {
			shifted[i].At[k] += vars[k].first
		}
	}
	if text := search(shifted, vars, int32(nodes), maxTables); len(text) <= maxText {
		return text
	}
	return ""
}

func search(points []Point, vars []variable, nodes int32, tables int) string {
	if node := points[0].Node; !slices.ContainsFunc(points, func(p Point) bool { return p.Node != node }) {
		return fmt.Sprint(node)
	}
	for k := len(vars) - 1; k >= 0; k-- {
		if text := single(points, k, &vars[k], nodes); text != "" {
			return text
		}
	}
	if text := linear(points, vars, nodes); text != "" {
		return text
	}
	if tables == 0 {
		return ""
	}
	shortest := ""
	for k := range vars {
		text := tabled(points, vars, k, nodes, tables)
		if text != "" && (shortest == "" || len(text) < len(shortest)) {
			shortest = text
		}
	}
	return shortest
}

// mod is the node that LuNA takes a number for.
func mod(v, nodes int32) uint16 { return uint16((v%nodes + nodes) % nodes) }

// single finds an expression of one variable: a * v + c, v / b + c, v * a / b + c.
func single(points []Point, k int, v *variable, nodes int32) string {
	if v.name == "" {
		return ""
	}
	low, high := points[0].At[k], points[0].At[k]
	for _, p := range points {
		low, high = min(low, p.At[k]), max(high, p.At[k])
	}
	// Most expressions are wrong at most points. The points are tried far from each other, since neighbours are
	// often right and wrong together.
	far := max(1, len(points)*5/8)
	for gcd(far, len(points)) > 1 {
		far--
	}
	holds := func(f func(x int32) int32) (c int32, ok bool) {
		c = int32(mod(int32(points[0].Node)-f(points[0].At[k]), nodes))
		at := 0
		for range points {
			if p := points[at]; mod(f(p.At[k])+c, nodes) != p.Node {
				return 0, false
			}
			at = (at + far) % len(points)
		}
		return c, true
	}
	for a := int32(1); a < nodes; a++ {
		if c, ok := holds(func(x int32) int32 { return a * x }); ok {
			return sum(product(a, v.text(0, a > 1)), c)
		}
	}
	if low < -1<<20 || high > 1<<20 {
		return ""
	}
	less := min(low, 0) // division is toward zero
	if low > 0 && low <= 2 {
		less = low
	}
	for b := int32(2); b <= high-low; b++ {
		if c, ok := holds(func(x int32) int32 { return (x - less) / b }); ok {
			return sum(fmt.Sprintf("%s / %d", v.text(less, true), b), c)
		}
	}
	for _, a := range []int32{nodes, nodes - 1} {
		for b := max(high-low, a+1); b <= high-low+2 && a > 1; b++ {
			if c, ok := holds(func(x int32) int32 { return (x - less) * a / b }); ok && c == 0 {
				return fmt.Sprintf("%s * %d / %d", v.text(less, true), a, b)
			}
		}
	}
	return ""
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func product(a int32, text string) string {
	if a == 1 {
		return text
	}
	return fmt.Sprintf("%d * %s", a, text)
}

func sum(text string, c int32) string {
	if c == 0 {
		return text
	}
	return fmt.Sprintf("%s + %d", text, c)
}

// linear finds a sum of two variables, times small numbers.
func linear(points []Point, vars []variable, nodes int32) string {
	for i := range vars {
		for j := i + 1; j < len(vars); j++ {
			if vars[i].name == "" || vars[j].name == "" {
				continue
			}
			for a := int32(1); a < min(nodes, 8); a++ {
				for b := int32(1); b < min(nodes, 8); b++ {
					c := int32(mod(int32(points[0].Node)-a*points[0].At[i]-b*points[0].At[j], nodes))
					if !slices.ContainsFunc(points, func(p Point) bool {
						return mod(a*p.At[i]+b*p.At[j]+c, nodes) != p.Node
					}) {
						return sum(product(a, vars[i].text(0, a > 1))+" + "+product(b, vars[j].text(0, b > 1)), c)
					}
				}
			}
		}
	}
	return ""
}

// tabled finds a table by the values of one variable, of expressions of the others: neighbouring values that
// have the same nodes share an entry.
func tabled(points []Point, vars []variable, k int, nodes int32, tables int) string {
	if vars[k].name == "" {
		return ""
	}
	rest := func(p Point) string { return fmt.Sprint(slices.Delete(slices.Clone(p.At), k, k+1)) }
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, func(a, b Point) int { return cmp.Compare(a.At[k], b.At[k]) })
	type entry struct {
		from   int32
		nodes  map[string]uint16 // by the other numbers
		points []Point
	}
	var list []entry
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].At[k] == sorted[0].At[k] {
			n++
		}
		these := sorted[:n]
		sorted = sorted[n:]
		last := len(list) - 1
		if last < 0 || slices.ContainsFunc(these, func(p Point) bool {
			node, known := list[last].nodes[rest(p)]
			return known && node != p.Node
		}) {
			if len(list) == maxSteps {
				return ""
			}
			last++
			list = append(list, entry{from: these[0].At[k], nodes: map[string]uint16{}})
		}
		for _, p := range these {
			list[last].nodes[rest(p)] = p.Node
		}
		list[last].points = append(list[last].points, these...)
	}
	if len(list) < 2 {
		return ""
	}
	inner := slices.Clone(vars)
	inner[k].name = ""
	var b strings.Builder
	for i, e := range list {
		text := search(e.points, inner, nodes, tables-1)
		if text == "" {
			return ""
		}
		if i == len(list)-1 {
			b.WriteString(text + strings.Repeat(")", i))
			break
		}
		fmt.Fprintf(&b, "(%s < %d ? %s : ", vars[k].text(0, false), list[i+1].from, text)
	}
	return b.String()
}
