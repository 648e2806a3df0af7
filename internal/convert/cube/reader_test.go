package cube

import (
	"archive/tar"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Readers of both formats, written from their descriptions and sharing nothing with the writers.

// read is what they find.
type read struct {
	Metrics []readMetric // by id
	Calls   []readCall   // by id
	Values  map[[3]string]float64
}

type readMetric struct {
	Unique, Name, Unit, Doc string
	Parent                  int
}

type readCall struct {
	Region string
	Parent int
}

type xmlMetric struct {
	ID       int         `xml:"id,attr"`
	Type     string      `xml:"type,attr"`
	Disp     string      `xml:"disp_name"`
	Unique   string      `xml:"uniq_name"`
	DType    string      `xml:"dtype"`
	UOM      string      `xml:"uom"`
	URL      string      `xml:"url"`
	Descr    string      `xml:"descr"`
	Children []xmlMetric `xml:"metric"`
}

type xmlCnode struct {
	ID       int        `xml:"id,attr"`
	Callee   int        `xml:"calleeId,attr"`
	Children []xmlCnode `xml:"cnode"`
}

type xmlRegion struct {
	ID   int    `xml:"id,attr"`
	Name string `xml:"name"`
}

type xmlThread struct {
	ID   int    `xml:"Id,attr"`
	Name string `xml:"name"`
	Rank *int   `xml:"rank"`
}

type xmlTree struct {
	Class  string      `xml:"class"`
	Name   string      `xml:"name"`
	Trees  []xmlTree   `xml:"systemtreenode"`
	Groups []xmlGroup  `xml:"locationgroup"`
	Nodes  []xmlNode   `xml:"node"` // Cube 3
	Extra  []xmlThread `xml:"location"`
}

type xmlNode struct {
	Name      string     `xml:"name"`
	Processes []xmlGroup `xml:"process"`
}

type xmlGroup struct {
	Name      string      `xml:"name"`
	Rank      *int        `xml:"rank"`
	Locations []xmlThread `xml:"location"`
	Threads   []xmlThread `xml:"thread"` // Cube 3
}

type xmlCube struct {
	XMLName xml.Name `xml:"cube"`
	Version string   `xml:"version,attr"`
	Doc     struct {
		Mirrors []string `xml:"mirrors>murl"`
	} `xml:"doc"`
	Metrics []xmlMetric `xml:"metrics>metric"`
	Regions []xmlRegion `xml:"program>region"`
	Cnodes  []xmlCnode  `xml:"program>cnode"`
	Trees   []xmlTree   `xml:"system>systemtreenode"`
	Machine []xmlTree   `xml:"system>machine"`
	Matrix  []struct {
		Metric int `xml:"metricId,attr"`
		Rows   []struct {
			Cnode int    `xml:"cnodeId,attr"`
			Text  string `xml:",chardata"`
		} `xml:"row"`
	} `xml:"severity>matrix"`
}

// trees reads what both have.
func (x *xmlCube) trees() (r read, types map[int]string, threads []string, hosts map[string]string,
	err error) {
	if len(x.Doc.Mirrors) == 0 {
		return r, nil, nil, nil, errors.New("no murl")
	}
	types = map[int]string{}
	metrics, calls := map[int]readMetric{}, map[int]readCall{}
	regions := map[int]string{}
	for _, g := range x.Regions {
		if _, twice := regions[g.ID]; twice {
			return r, nil, nil, nil, fmt.Errorf("region %d twice", g.ID)
		}
		regions[g.ID] = g.Name
	}
	var walk func(m xmlMetric, parent int)
	walk = func(m xmlMetric, parent int) {
		metrics[m.ID], types[m.ID] = readMetric{m.Unique, m.Disp, m.UOM, m.Descr, parent}, m.DType
		if !strings.HasPrefix(m.URL, "@mirror@") {
			err = fmt.Errorf("url %q", m.URL)
		}
		for _, c := range m.Children {
			walk(c, m.ID)
		}
	}
	for _, m := range x.Metrics {
		walk(m, -1)
	}
	next := 0
	var call func(c xmlCnode, parent int)
	call = func(c xmlCnode, parent int) {
		name, ok := regions[c.Callee]
		if !ok || c.ID != next {
			err = fmt.Errorf("cnode %d calls region %d; it is number %d in depth-first order", c.ID, c.Callee, next)
		}
		next++
		calls[c.ID] = readCall{name, parent}
		for _, k := range c.Children {
			call(k, c.ID)
		}
	}
	for _, c := range x.Cnodes {
		call(c, -1)
	}
	hosts = map[string]string{}
	group := func(host string, list []xmlThread) {
		for _, t := range list {
			if t.ID != len(threads) || t.Rank == nil {
				err = fmt.Errorf("thread %d has no rank or is number %d", t.ID, len(threads))
			}
			threads = append(threads, t.Name)
			hosts[t.Name] = host
		}
	}
	for _, machine := range x.Trees {
		for _, node := range machine.Trees {
			if machine.Class != "machine" || node.Class != "node" {
				err = fmt.Errorf("classes %q, %q", machine.Class, node.Class)
			}
			for _, g := range node.Groups {
				group(node.Name, g.Locations)
			}
		}
	}
	for _, machine := range x.Machine {
		for _, node := range machine.Nodes {
			for _, g := range node.Processes {
				group(node.Name, g.Threads)
			}
		}
	}
	for i := range len(metrics) {
		r.Metrics = append(r.Metrics, metrics[i])
	}
	for i := range len(calls) {
		r.Calls = append(r.Calls, calls[i])
	}
	r.Values = map[[3]string]float64{}
	return r, types, threads, hosts, err
}

// read3 reads a Cube 3 document.
func read3(doc []byte) (read, map[string]string, error) {
	var x xmlCube
	if err := cmp.Or(accepts(3, string(doc)), xml.Unmarshal(doc, &x)); err != nil {
		return read{}, nil, err
	}
	if x.Version != "3.0" {
		return read{}, nil, fmt.Errorf("version %q", x.Version)
	}
	r, _, threads, hosts, err := x.trees()
	if err != nil {
		return r, hosts, err
	}
	for _, m := range x.Matrix {
		for _, row := range m.Rows {
			fields := strings.Fields(row.Text)
			if len(fields) != len(threads) {
				return r, hosts, fmt.Errorf("%d values in a row of %d threads", len(fields), len(threads))
			}
			for i, f := range fields {
				v, err := strconv.ParseFloat(f, 64)
				if err != nil {
					return r, hosts, err
				}
				if v != 0 {
					r.Values[key(m.Metric, row.Cnode, threads[i])] = v
				}
			}
		}
	}
	return r, hosts, nil
}

// readCubex reads a .cubex archive.
func readCubex(archive []byte) (read, map[string]string, error) {
	members := map[string][]byte{}
	t := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return read{}, nil, err
		}
		if members[h.Name], err = io.ReadAll(t); err != nil {
			return read{}, nil, err
		}
	}
	var x xmlCube
	anchor := members["anchor.xml"]
	if err := cmp.Or(accepts(4, string(anchor)), xml.Unmarshal(anchor, &x)); err != nil {
		return read{}, nil, err
	}
	r, types, threads, hosts, err := x.trees()
	if err != nil {
		return r, hosts, err
	}
	for id, kind := range types {
		index, ok := members[strconv.Itoa(id)+".index"]
		if !ok {
			continue
		}
		var head struct {
			Magic   [11]byte
			One     int32
			Version uint16
			Type    uint8
			N       uint32
		}
		in := bytes.NewReader(index)
		if err := binary.Read(in, binary.LittleEndian, &head); err != nil {
			return r, hosts, err
		}
		if string(head.Magic[:]) != "CUBEX.INDEX" || head.One != 1 || head.Version != 0 || head.Type != 1 ||
			in.Len() != int(head.N)*4 {
			return r, hosts, fmt.Errorf("index %+v, %d bytes left", head, in.Len())
		}
		calls := make([]uint32, head.N)
		if err := binary.Read(in, binary.LittleEndian, calls); err != nil {
			return r, hosts, err
		}
		data, ok := bytes.CutPrefix(members[strconv.Itoa(id)+".data"], []byte("CUBEX.DATA"))
		if !ok || len(data) != 8*len(calls)*len(threads) {
			return r, hosts, fmt.Errorf("data of metric %d has %d bytes", id, len(data))
		}
		for k, c := range calls {
			if k > 0 && calls[k-1] >= c {
				return r, hosts, errors.New("the index is not sorted")
			}
			for i, thread := range threads {
				bits := binary.LittleEndian.Uint64(data[8*(k*len(threads)+i):])
				v := float64(bits)
				if kind == "DOUBLE" {
					v = math.Float64frombits(bits)
				}
				if v != 0 {
					r.Values[key(id, int(c), thread)] = v
				}
			}
		}
	}
	return r, hosts, nil
}
