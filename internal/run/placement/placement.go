// Package placement reads and writes files that say on which nodes the CFs and DFs of a LuNA program go, in
// place of its locators.
//
// A CF is named by its statement and its path: which iterations of loops, and which calls of subs, it is in,
// outermost first, counted from 0. A while itself has its own iteration as the last number. A DF is named as
// in the source, with its indices. What cannot be told apart by that, such as the DFs that each call of a sub
// declares, shares a node.
//
//	for s = 0 .. 7 {               path of a step: t s
//	    while ..., t = 0 .. {      file: {"statement": "step(u[t][s], u[t + 1][s])", "line": 3,
//	        step(u[t][s], ...);           "places": [{"node": 2, "at": [[0, 99], [4, 5]]}]}
//	    }
//	}
//
// Nodes are grouped into boxes: for each number of the path, or each index, a range from a first to a last
// value with a step.
package placement

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Version is that of the format.
const Version = 1

// MaxNode is the largest node that a file may name.
const MaxNode = 1<<16 - 1

// maxPlaces bounds how many CFs and DFs a file may place, so that a short file cannot fill the memory.
const maxPlaces = 1 << 24

// File is the content of a file.
type File struct {
	Version int    `json:"version"`
	Program string `json:"program"` // the file name of the program, for messages
	Nodes   int    `json:"nodes"`   // that it is made for
	CFs     []CFs  `json:"cfs"`
	DFs     []DFs  `json:"dfs"`
}

// CFs places those of a statement, which is known by its text; lines tell several of one text apart.
type CFs struct {
	Statement string `json:"statement"`
	Line      int    `json:"line"`
	Label     string `json:"label,omitempty"`
	Places    []Box  `json:"places"`
}

// DFs places those of a name.
type DFs struct {
	Name   string `json:"name"`
	Places []Box  `json:"places"`
}

// Box is a node, and the paths or indices that it is for: all combinations of the ranges.
type Box struct {
	Node int     `json:"node"`
	At   []Range `json:"at"`
}

// Range is First, First+Step and so on up to Last. In JSON it is [First, Last, Step], without a Step of 1,
// and without a Last that is First.
type Range struct{ First, Last, Step int32 }

// MarshalJSON writes a range.
func (r Range) MarshalJSON() ([]byte, error) {
	switch {
	case r.First == r.Last:
		return json.Marshal([]int32{r.First})
	case r.Step == 1:
		return json.Marshal([]int32{r.First, r.Last})
	}
	return json.Marshal([]int32{r.First, r.Last, r.Step})
}

// UnmarshalJSON reads a range.
func (r *Range) UnmarshalJSON(text []byte) error {
	var list []int32
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	switch len(list) {
	case 1:
		*r = Range{list[0], list[0], 1}
	case 2:
		*r = Range{list[0], list[1], 1}
	case 3:
		*r = Range{list[0], list[1], list[2]}
	}
	if len(list) == 0 || len(list) > 3 || r.Step < 1 || r.Last < r.First {
		return fmt.Errorf("%s is not a range: write [first], [first, last] or [first, last, step]", text)
	}
	return nil
}

func (r Range) count() int64 { return (int64(r.Last)-int64(r.First))/int64(r.Step) + 1 }

// Parse reads a file.
func Parse(text []byte) (*File, error) {
	var f File
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("not a placement: %w", syntax(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not a placement: something follows its end")
	}
	if f.Version != Version {
		return nil, fmt.Errorf("its version is %d, this whyslow reads version %d", f.Version, Version)
	}
	n := int64(0)
	for box := range f.boxes {
		if box.Node < 0 || box.Node > MaxNode {
			return nil, fmt.Errorf("it names node %d: nodes are 0 to %d", box.Node, MaxNode)
		}
		count := int64(1)
		for _, r := range box.At {
			if count *= min(r.count(), maxPlaces+1); count > maxPlaces {
				break
			}
		}
		if n += count; n > maxPlaces {
			return nil, fmt.Errorf("it places more than %d CFs and DFs", maxPlaces)
		}
	}
	return &f, nil
}

// syntax says where JSON is wrong.
func syntax(err error) error {
	var bad *json.SyntaxError
	if errors.As(err, &bad) {
		return fmt.Errorf("byte %d: %w", bad.Offset, err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("it ends too early")
	}
	return err
}

// boxes gives all boxes of a file.
func (f *File) boxes(yield func(*Box) bool) {
	for _, g := range f.CFs {
		for i := range g.Places {
			if !yield(&g.Places[i]) {
				return
			}
		}
	}
	for _, g := range f.DFs {
		for i := range g.Places {
			if !yield(&g.Places[i]) {
				return
			}
		}
	}
}

// LastNode is the largest node that the file names, -1 for none.
func (f *File) LastNode() int {
	last := -1
	for b := range f.boxes {
		last = max(last, b.Node)
	}
	return last
}

// Write writes a file: a line for each box, so that people can read and compare them.
func (f *File) Write(w io.Writer) error {
	var b bytes.Buffer
	quoted := func(v any) string { t, _ := json.Marshal(v); return string(t) }
	fmt.Fprintf(&b, "{\"version\": %d, \"program\": %s, \"nodes\": %d,\n\"cfs\": [", Version, quoted(f.Program),
		f.Nodes)
	places := func(list []Box) {
		b.WriteString("\"places\": [")
		for i := range list {
			if i > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, "\n    %s", quoted(list[i]))
		}
		b.WriteString("]}")
	}
	for i, g := range f.CFs {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n  {\"statement\": %s, \"line\": %d, ", quoted(g.Statement), g.Line)
		if g.Label != "" {
			fmt.Fprintf(&b, "\"label\": %s, ", quoted(g.Label))
		}
		places(g.Places)
	}
	b.WriteString("],\n\"dfs\": [")
	for i, g := range f.DFs {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n  {\"name\": %s, ", quoted(g.Name))
		places(g.Places)
	}
	b.WriteString("]}\n")
	_, err := w.Write(b.Bytes())
	return err
}

// Point is one path, or the indices of one DF, and its node.
type Point struct {
	At   []int32
	Node uint16
}

// Boxes groups points into boxes: number by number from the last, those that differ in that one only and are
// equally far apart.
func Boxes(points []Point) []Box {
	list := make([]Box, 0, len(points))
	dims := 0
	for _, p := range points {
		b := Box{Node: int(p.Node), At: []Range{}}
		for _, v := range p.At {
			b.At = append(b.At, Range{v, v, 1})
		}
		dims = max(dims, len(p.At))
		list = append(list, b)
	}
	for dim := dims - 1; dim >= 0; dim-- {
		slices.SortFunc(list, func(a, b Box) int {
			return cmp.Or(a.others(&b, dim), a.start(dim, b.At))
		})
		list = join(list, dim)
	}
	slices.SortFunc(list, func(a, b Box) int {
		return cmp.Or(slices.CompareFunc(a.At, b.At, Range.compare), cmp.Compare(a.Node, b.Node))
	})
	return list
}

func (r Range) compare(o Range) int {
	return cmp.Or(cmp.Compare(r.First, o.First), cmp.Compare(r.Last, o.Last), cmp.Compare(r.Step, o.Step))
}

// others compares two boxes in all but one number.
func (b *Box) others(o *Box, dim int) int {
	c := cmp.Or(cmp.Compare(b.Node, o.Node), cmp.Compare(len(b.At), len(o.At)))
	for i := 0; c == 0 && i < len(b.At); i++ {
		if i != dim {
			c = b.At[i].compare(o.At[i])
		}
	}
	return c
}

func (b *Box) start(dim int, o []Range) int {
	if dim >= len(b.At) || dim >= len(o) {
		return 0
	}
	return cmp.Compare(b.At[dim].First, o[dim].First)
}

// join joins sorted boxes that differ in one number, which is single in each.
func join(list []Box, dim int) (out []Box) {
	for i := 0; i < len(list); {
		b := list[i]
		j := i + 1
		if dim < len(b.At) {
			r := &b.At[dim]
			for ; j < len(list) && b.others(&list[j], dim) == 0; j++ {
				next := int64(list[j].At[dim].First)
				step := next - int64(r.Last)
				if step <= 0 || step > 1<<30 || j > i+1 && step != int64(r.Step) {
					break
				}
				r.Last, r.Step = int32(next), int32(step)
			}
		}
		out = append(out, b)
		i = j
	}
	return out
}
