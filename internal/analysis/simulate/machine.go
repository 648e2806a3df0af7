package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Uneven is what differs between the nodes and links of a machine.
type Uneven struct {
	Speed []float64 // by node: how many times as fast as those of the recorded machine
	Group []int     // by node; links between groups are others than those inside
	// Latency in ns and Bandwidth in bytes per second of the links between groups; 0: no limit.
	Latency, Bandwidth float64
}

// GroupOf is the number of a node's group, from 0; links inside a group are alike, and those between groups.
func (m *Machine) GroupOf(node int) int {
	if m.Uneven == nil {
		return 0
	}
	return m.Uneven.Group[node]
}

// Groups is how many numbers of groups there are.
func (m *Machine) Groups() int {
	if m.Uneven == nil {
		return 1
	}
	return slices.Max(m.Uneven.Group) + 1
}

// Link gives the latency, in ns, and the bandwidth, in bytes per second or 0, of a link.
func (m *Machine) Link(from, to int) (latency, bandwidth float64) {
	if u := m.Uneven; m.GroupOf(from) != m.GroupOf(to) {
		return u.Latency, u.Bandwidth
	}
	return m.Latency, m.Bandwidth
}

// SpeedOf is how many times as fast as recorded a node is.
func (m *Machine) SpeedOf(node int) float64 {
	if m.Uneven == nil {
		return 1
	}
	return m.Uneven.Speed[node]
}

// power is the speed of all workers together, and that of the fastest.
func (m *Machine) power() (all, fastest float64) {
	for n := range m.Nodes {
		all, fastest = all+m.SpeedOf(n)*float64(m.Workers), max(fastest, m.SpeedOf(n))
	}
	return all, fastest
}

// most workers of a node
const mostWorkers = 1 << 12

// ParseMachine reads the description of a machine, as in docs/predicting.md. Errors are for people.
func ParseMachine(text []byte) (m Machine, err error) {
	type link struct {
		Latency   string `json:"latency"`
		Bandwidth string `json:"bandwidth"`
	}
	var file struct {
		Nodes   int   `json:"nodes"`
		Workers int   `json:"workers"`
		Cores   int   `json:"cores"`
		Link    *link `json:"link"`
		Speeds  []struct {
			Nodes string  `json:"nodes"`
			Speed float64 `json:"speed"`
		} `json:"speeds"`
		Groups  []string `json:"groups"`
		Between *link    `json:"between"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return m, errors.New("it ends too early")
		}
		return m, fmt.Errorf("%s%w", lineOf(text, err), err)
	}
	if d.More() {
		return m, errors.New("more than one value")
	}
	if file.Nodes < 1 || file.Nodes > trace.MaxNode+1 {
		return m, fmt.Errorf("nodes: %d: give a number from 1 to %d", file.Nodes, trace.MaxNode+1)
	}
	if file.Workers < 1 || file.Workers > mostWorkers {
		return m, fmt.Errorf("workers: %d: give a number from 1 to %d", file.Workers, mostWorkers)
	}
	if file.Cores < 0 {
		return m, fmt.Errorf("cores: %d: cannot be negative", file.Cores)
	}
	m = Machine{Nodes: file.Nodes, Workers: file.Workers, Cores: file.Cores, Latency: -1, Bandwidth: -1}
	read := func(name string, l *link, latency, bandwidth *float64) error {
		if l.Latency != "" {
			d, err := time.ParseDuration(l.Latency)
			if err != nil || d < 0 {
				return fmt.Errorf("%s: latency: %q: give a time such as 50us", name, l.Latency)
			}
			*latency = float64(d)
		}
		if l.Bandwidth == "none" {
			*bandwidth = 0
		} else if l.Bandwidth != "" {
			b, err := words.ParseBytes(l.Bandwidth)
			if err != nil {
				return fmt.Errorf("%s: bandwidth: %q: give bytes per second, such as 1G, or none", name, l.Bandwidth)
			}
			*bandwidth = b
		}
		return nil
	}
	if file.Link != nil {
		if err := read("link", file.Link, &m.Latency, &m.Bandwidth); err != nil {
			return m, err
		}
	}
	if len(file.Speeds) == 0 && len(file.Groups) == 0 && file.Between == nil {
		return m, nil
	}
	u := &Uneven{Speed: slices.Repeat([]float64{1}, m.Nodes), Group: make([]int, m.Nodes)}
	m.Uneven = u
	for _, s := range file.Speeds {
		if !(s.Speed > 0 && s.Speed < 1e6) {
			return m, fmt.Errorf("speeds: %v: give a factor over 0, such as 0.5", s.Speed)
		}
		list, err := nodeList("speeds", s.Nodes, m.Nodes)
		if err != nil {
			return m, err
		}
		for _, n := range list {
			u.Speed[n] = s.Speed
		}
	}
	if (len(file.Groups) > 0) != (file.Between != nil) {
		return m, errors.New("groups and between, the links between groups, belong together")
	}
	for g, nodes := range file.Groups {
		list, err := nodeList("groups", nodes, m.Nodes)
		if err != nil {
			return m, err
		}
		for _, n := range list {
			if u.Group[n] != 0 {
				return m, fmt.Errorf("groups: node %d is in two groups", n)
			}
			u.Group[n] = g + 1
		}
	}
	if file.Between != nil {
		return m, read("between", file.Between, &u.Latency, &u.Bandwidth)
	}
	return m, nil
}

// lineOf tells the line of a fault in a file, "line 2: ", where that is known.
func lineOf(text []byte, err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(0)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	default:
		return ""
	}
	return fmt.Sprintf("line %d: ", 1+bytes.Count(text[:min(int(offset), len(text))], []byte{'\n'}))
}

// nodeList reads nodes such as 0-3,7.
func nodeList(name, text string, nodes int) (list []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		first, err := strconv.Atoi(from)
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(to)
		}
		if err != nil || first < 0 || last < first || last >= nodes {
			return nil, fmt.Errorf("%s: nodes: %q: give nodes from 0 to %d, such as 0-3,7", name, text, nodes-1)
		}
		for n := first; n <= last; n++ {
			list = append(list, n)
		}
	}
	return list, nil
}
