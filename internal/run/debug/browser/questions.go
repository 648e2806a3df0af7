package browser

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/debug"
	"github.com/whyslow/whyslow/internal/run/engine"
)

// Limits of answers.
const (
	mostCFs   = 5000
	mostDFs   = 5000
	mostText  = 200 // bytes of a value in a list
	hexRows   = 32  // of 16 bytes
	valueRows = 32  // of an array
	valueCols = 16
	mostSide  = 200 // of a picture
)

// cfs are the CFs that exist.
type cfs struct {
	CFs    []cf           `json:"cfs"`
	Counts map[string]int `json:"counts"` // by state
	More   bool           `json:"more"`   // queues have more of them
}

// cf is a CF that exists.
type cf struct {
	CF     string   `json:"cf"`
	Name   string   `json:"name"` // label or code fragment, with indices
	Code   string   `json:"code"` // its statement
	File   string   `json:"file"`
	Line   int      `json:"line"`
	Node   int      `json:"node"`
	Worker int      `json:"worker"` // where it runs, or was about to go on; -1: nowhere
	State  string   `json:"state"`  // waiting, queued, running, requests, ready, held
	Awaits []string `json:"awaits"`
}

// States of kept CFs.
const (
	stateRequests = "requests" // about to request its inputs
	stateReady    = "ready"    // about to execute
	stateHeld     = "held"     // likewise, and a hold keeps it
)

func describe(s *debug.CFState) cf {
	c := cf{CF: s.CF.String(), Name: s.Name, Code: s.Stmt.Text, File: s.Stmt.Pos.File, Line: s.Stmt.Pos.Line,
		Node: s.Node, Worker: s.Worker, State: s.State, Awaits: append([]string{}, s.Awaits...)}
	if s.State == engine.StateKept {
		switch {
		case s.Held:
			c.State = stateHeld
		case s.Ready:
			c.State = stateReady
		default:
			c.State = stateRequests
		}
	}
	return c
}

// story is all about a CF.
type story struct {
	cf
	Above  []frame `json:"above"`  // those that created it, the nearest first
	Inputs []value `json:"inputs"` // null: it is not kept
	Sees   []value `json:"sees"`   // counters and parameters; likewise
	// GDB is what to type to have gdb stop in its C++ function; "": it is not about to execute one.
	GDB string `json:"gdb"`
}

// frame is a structured CF.
type frame struct {
	Name string `json:"name"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// value is a named value.
type value struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Size int64  `json:"size"` // bytes
	Text string `json:"text"`
}

func show(v debug.Shown) value { return value{v.Name, v.Type, v.Size, short(v.Text)} }

// short is the text of a value in a list.
func short(text string) string {
	if len(text) > mostText {
		text = strings.ToValidUTF8(text[:mostText], "") + "..."
	}
	return text
}

// dfs are the DFs that nodes hold or that are awaited.
type dfs struct {
	DFs  []*df `json:"dfs"`
	More bool  `json:"more"`
}

// df is a DF, on all nodes.
type df struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Type   string   `json:"type"` // "": it is not made yet
	Size   int64    `json:"size"`
	Text   string   `json:"text"`
	Nodes  []int    `json:"nodes"` // where copies are
	MadeBy string   `json:"made_by"`
	Maker  string   `json:"maker"` // CF; "": not known
	Left   int      `json:"left"`  // requests that are still to be served; -1: any number
	Users  []string `json:"users"` // CFs that wait for it
	Next   []string `json:"next"`  // kept CFs that have it, or are about to request it
}

// content is the content of a DF.
type content struct {
	df
	Hex   []string `json:"hex"`  // rows of 16 bytes of raw data, from byte At on
	From  int      `json:"from"` // the first byte, or the first row of an array
	Array *array   `json:"array"`
}

// difference says how two DFs differ.
type difference struct {
	Text string `json:"text"`
}

// array is raw data as an array of a type.
type array struct {
	Dims    []int      `json:"dims"`
	Column  int        `json:"column"` // the first
	Rows    [][]string `json:"rows"`
	Least   string     `json:"least"`
	Most    string     `json:"most"`
	Mean    string     `json:"mean"`
	NaNs    int        `json:"nans"`
	Picture *picture   `json:"picture"` // null: it has one row
}

// picture is an array with two dimensions or more, made smaller.
type picture struct {
	Width  int `json:"width"`
	Height int `json:"height"`
	// Shades are 0 for the least to 254 for the greatest; 255: no number.
	Shades []byte `json:"shades"` // base64
}

// Ask answers a question about what is there now; nil where it has not begun or is over, or is not there.
func (p *Page) Ask(what string, q url.Values) (any, error) {
	v, err := p.ask(what, q)
	if errors.Is(err, debug.ErrEnded) || errors.Is(err, errStarting) || errors.Is(err, errGone) {
		return nil, nil
	}
	return v, err
}

func (p *Page) ask(what string, q url.Values) (any, error) {
	d, _, err := p.debugger()
	if err != nil {
		return nil, err
	}
	switch what {
	case "cfs":
		return askCFs(d, q.Get("state"))
	case "cf":
		return askCF(d, q.Get("cf"))
	case "dfs":
		return askDFs(d, q.Get("name"))
	case "df":
		return askDF(d, q)
	case "diff":
		text, err := d.Difference(q.Get("a"), q.Get("b"), q.Get("type"))
		return difference{text}, err
	}
	return nil, fmt.Errorf("%s: there is no such question", what)
}

func askCFs(d *debug.Debugger, state string) (any, error) {
	list, err := d.States(mostCFs)
	if err != nil {
		return nil, err
	}
	a := cfs{CFs: []cf{}, Counts: map[string]int{}, More: len(list) >= mostCFs}
	for i := range list {
		c := describe(&list[i])
		a.Counts[c.State]++
		if state == "" || state == c.State {
			a.CFs = append(a.CFs, c)
		}
	}
	return a, nil
}

func askCF(d *debug.Debugger, name string) (any, error) {
	c, err := find(d, name)
	if err != nil {
		return nil, err
	}
	s := story{cf: describe(c), Above: []frame{}}
	if c.State == engine.StateKept {
		s.Inputs, s.Sees = []value{}, []value{}
		x, err := d.Look(c.CF)
		if err != nil {
			return nil, err
		}
		for _, v := range x.Inputs {
			s.Inputs = append(s.Inputs, show(v))
		}
		for _, v := range x.Scalars {
			s.Sees = append(s.Sees, show(v))
		}
		s.GDB = x.GDB
	}
	above, err := d.Above(c.Parent)
	for _, f := range above {
		s.Above = append(s.Above, frame{f.Name, f.Stmt.Pos.File, f.Stmt.Pos.Line})
	}
	return s, err
}

// gather gives DFs by their ID, with all that nodes know of them.
func gather(d *debug.Debugger, name string) (list []*df, more bool, err error) {
	at := map[string]*df{}
	err = d.DFs(name, func(f *debug.DFState) bool {
		x := at[f.ID]
		if x == nil {
			if len(list) == mostDFs {
				more = true
				return false
			}
			x = &df{ID: f.ID, Name: f.Name, Nodes: []int{}, Users: []string{}, Next: append([]string{}, f.Next...)}
			at[f.ID], list = x, append(list, x)
		}
		if f.Stored && f.Keeper < 0 {
			x.Nodes = append(x.Nodes, f.Node)
			x.Type, x.Size, x.Text = f.Shown.Type, f.Shown.Size, short(f.Shown.Text)
			x.Left = f.Left
		}
		if f.MadeBy != "" {
			x.MadeBy = f.MadeBy
		}
		if f.Maker != 0 {
			x.Maker = f.Maker.String()
		}
		x.Users = append(x.Users, f.Waiting...)
		return true
	})
	slices.SortFunc(list, func(a, b *df) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	return list, more, err
}

func askDFs(d *debug.Debugger, name string) (any, error) {
	list, more, err := gather(d, name)
	return dfs{append([]*df{}, list...), more}, err
}

func askDF(d *debug.Debugger, q url.Values) (any, error) {
	number := func(name string) (n int, err error) {
		if text := q.Get(name); text != "" {
			if n, err = strconv.Atoi(text); err != nil || n < 0 {
				return 0, fmt.Errorf("%s=%s: a number from 0 is needed", name, text)
			}
		}
		return n, nil
	}
	from, err := number("from")
	column, failed := number("column")
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	c := content{From: from}
	list, _, err := gather(d, q.Get("df"))
	if err == nil && len(list) == 0 {
		err = errGone
	}
	if err != nil {
		return nil, err
	}
	err = d.Value(list[0].ID, func(v cpp.Value) error { return c.fill(v, q.Get("type"), column) })
	if err != nil && !errors.Is(err, engine.ErrNoDF) {
		return nil, err
	}
	c.df = *list[0]
	return c, nil
}

// fill shows raw data, as an array of a type or, for "", as hex.
func (c *content) fill(v cpp.Value, typ string, column int) error {
	switch {
	case v.Type != cpp.Block:
		return nil
	case typ == "":
		b := v.Bytes()
		c.From = min(c.From, len(b)) / 16 * 16
		for at := c.From; at < len(b) && len(c.Hex) < hexRows; at += 16 {
			c.Hex = append(c.Hex, hex.EncodeToString(b[at:min(at+16, len(b))]))
		}
		return nil
	}
	a, err := debug.ArrayOf(v, typ)
	if err != nil {
		return err
	}
	st := a.Statistics()
	x := &array{Dims: a.Dims, Column: min(column, max(0, a.Width()-1)), Rows: [][]string{},
		Least: number(st.Least), Most: number(st.Most), Mean: number(st.Mean), NaNs: st.NaNs}
	c.From = min(c.From, max(0, a.Rows()-1))
	for row := c.From; row < min(a.Rows(), c.From+valueRows); row++ {
		line := []string{}
		for i := x.Column; i < min(a.Width(), x.Column+valueCols); i++ {
			line = append(line, number(a.At(row*a.Width()+i)))
		}
		x.Rows = append(x.Rows, line)
	}
	if len(a.Dims) > 1 {
		x.Picture = draw(a)
	}
	c.Array = x
	return nil
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// draw makes a picture whose pixels are means of blocks of the array.
func draw(a *debug.Array) *picture {
	rows, width := a.Rows(), a.Width()
	p := &picture{Width: min(width, mostSide), Height: min(rows, mostSide)}
	means := make([]float64, p.Width*p.Height)
	least, most := math.Inf(1), math.Inf(-1)
	for y := range p.Height {
		for x := range p.Width {
			sum, n := 0.0, 0
			for r := y * rows / p.Height; r < (y+1)*rows/p.Height; r++ {
				for c := x * width / p.Width; c < (x+1)*width/p.Width; c++ {
					if v := a.At(r*width + c); !math.IsNaN(v) && !math.IsInf(v, 0) {
						sum, n = sum+v, n+1
					}
				}
			}
			mean := sum / float64(n) // NaN where there is no number
			means[y*p.Width+x] = mean
			if n > 0 {
				least, most = min(least, mean), max(most, mean)
			}
		}
	}
	for _, m := range means {
		switch {
		case math.IsNaN(m) || math.IsInf(m, 0):
			p.Shades = append(p.Shades, 255)
		case most > least:
			p.Shades = append(p.Shades, byte(254*((m-least)/(most-least))))
		default:
			p.Shades = append(p.Shades, 127)
		}
	}
	return p
}
