package cube

import (
	"archive/tar"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
)

// A .cubex is a tar archive:
//
//	anchor.xml   the three trees
//	N.index      of metric N: which call paths have values
//	             "CUBEX.INDEX" | int32 1 | uint16 version 0 | uint8 1 (sparse) |
//	             uint32 n | n x uint32 call path
//	N.data       "CUBEX.DATA" | n x L values, L being the number of threads
//
// all little-endian, which the 1 shows. Call paths are numbered in depth-first order, as their ids are here:
// for metrics that are exclusive along the call tree, which all of these are, position and id are then the
// same. What has no values has no files.

// Write writes a result in the format of Cube 4, as an archive. m is the model of the result; made is the
// date of the archive's members. It fails if the result has no call paths, or if writing fails.
func Write(w io.Writer, r *pattern.Result, m *model.Model, made time.Time) error {
	f, err := newFile(r, m)
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	member := func(name string, data []byte) error {
		err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644,
			ModTime: made.Truncate(time.Second), Format: tar.FormatUSTAR})
		if err == nil {
			_, err = t.Write(data)
		}
		return err
	}
	if err := member("anchor.xml", f.anchor()); err != nil {
		return err
	}
	for _, x := range f.all {
		if len(x.m.Rows) == 0 {
			continue
		}
		if size := 10 + 8*int64(len(x.m.Rows))*int64(len(f.columns)); size >= 8<<30 {
			return fmt.Errorf("%s: %d bytes of values are more than an archive's member may have", x.m.ID, size)
		}
		if err := member(strconv.Itoa(x.id)+".index", x.index()); err != nil {
			return err
		}
		if err := member(strconv.Itoa(x.id)+".data", x.data(f.columns)); err != nil {
			return err
		}
	}
	return t.Close()
}

func (m *metric) index() []byte {
	b := append(make([]byte, 0, 22+4*len(m.m.Rows)), "CUBEX.INDEX"...)
	b = binary.LittleEndian.AppendUint32(b, 1)
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = append(b, 1)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.m.Rows)))
	for _, row := range m.m.Rows {
		b = binary.LittleEndian.AppendUint32(b, uint32(row.Call))
	}
	return b
}

func (m *metric) data(columns []int) []byte {
	b := append(make([]byte, 0, 10+8*len(m.m.Rows)*len(columns)), "CUBEX.DATA"...)
	for _, row := range m.m.Rows {
		for _, t := range columns {
			if m.seconds() {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(m.value(row.Values[t])))
			} else {
				b = binary.LittleEndian.AppendUint64(b, uint64(row.Values[t]))
			}
		}
	}
	return b
}

// anchor is the document with the trees.
func (f *file) anchor() []byte {
	root := el("cube", "", attr{"version", "4.4"})
	for _, a := range f.attrs {
		root.add(el("attr", "", attr{"key", a.key}, attr{"value", a.value}))
	}
	metrics, program, system := el("metrics", ""), el("program", ""), el("system", "")
	for _, x := range f.metrics {
		metrics.add(x.xml("DOUBLE", "UINT64", attr{"type", "EXCLUSIVE"}))
	}
	for i, x := range f.regions {
		program.add(el("region", "", num("id", i), attr{"mod", x.file}, num("begin", x.line),
			num("end", -1)).add(el("name", x.name),
			el("mangled_name", x.name), el("paradigm", x.paradigm()), el("role", x.role4()), el("url", ""),
			el("descr", "")))
	}
	for _, x := range f.cnodes {
		program.add(x.xml(func(c *cnode) []attr { return []attr{num("calleeId", c.region)} }))
	}
	column, group := 0, 0
	for i, h := range f.hosts {
		node := el("systemtreenode", "", num("Id", 2*i+1)).add(el("name", h.name), el("class", "node"))
		for _, p := range h.processes {
			x := el("locationgroup", "", num("Id", group)).add(el("name", p.name), el("rank", strconv.Itoa(p.rank)),
				el("type", "process"))
			group++
			for _, t := range p.threads {
				x.add(el("location", "", num("Id", column)).add(el("name", t.name), el("rank", strconv.Itoa(t.rank)),
					el("type", "thread")))
				column++
			}
			node.add(x)
		}
		system.add(el("systemtreenode", "", num("Id", 2*i)).add(el("name", h.name), el("class", "machine"), node))
	}
	root.add(doc(), metrics, program, system)
	return root.append([]byte("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"), 0)
}

// paradigm and role4 describe a region in the words of Cube 4.
func (r *region) paradigm() string {
	if r.role == "function" {
		return "compiler"
	}
	return "pgas"
}

func (r *region) role4() string {
	return cmp.Or(roles4[r.role], "unknown")
}

var roles4 = map[string]string{"function": "function", "barrier": "barrier", "collective": "collective",
	"lock": "lock", "bulk": "point2point", "access": "point2point", "remote-atomic": "atomic",
	"memory": "allocate"}
