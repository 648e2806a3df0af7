package cube

import (
	"archive/tar"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
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
	if err := member("anchor.xml", f.anchor(m)); err != nil {
		return err
	}
	for i := range f.Metrics {
		x, name := &f.Metrics[i], strconv.Itoa(i)
		if len(x.Rows) == 0 {
			continue
		}
		if size := 10 + 8*int64(len(x.Rows))*int64(len(f.seats)); size >= 8<<30 {
			return fmt.Errorf("%s: %d bytes of values are more than an archive's member may have", x.ID, size)
		}
		if err := cmp.Or(member(name+".index", index(x)), member(name+".data", f.data(x))); err != nil {
			return err
		}
	}
	return t.Close()
}

func index(m *pattern.Metric) []byte {
	b := append(make([]byte, 0, 22+4*len(m.Rows)), "CUBEX.INDEX"...)
	b = binary.LittleEndian.AppendUint32(b, 1)
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = append(b, 1)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.Rows)))
	for _, row := range m.Rows {
		b = binary.LittleEndian.AppendUint32(b, uint32(row.Call))
	}
	return b
}

func (f *file) data(m *pattern.Metric) []byte {
	b := append(make([]byte, 0, 10+8*len(m.Rows)*len(f.seats)), "CUBEX.DATA"...)
	for _, row := range m.Rows {
		for _, s := range f.seats {
			v := uint64(row.Values[s.thread])
			if seconds(m) {
				v = math.Float64bits(inSeconds(row.Values[s.thread]))
			}
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	return b
}

// dialect4 is that of Cube 4.
var dialect4 = dialect{times: "DOUBLE", others: "UINT64", metric: []attr{{"type", "EXCLUSIVE"}},
	region: func(r *pattern.Region) []*element {
		paradigm := "pgas"
		if r.Kind == "function" {
			paradigm = "compiler"
		}
		return []*element{el("mangled_name", r.Name), el("paradigm", paradigm),
			el("role", cmp.Or(roles4[r.Kind], "unknown")), el("url", ""), el("descr", "")}
	},
	call: func(*pattern.Call) []attr { return nil },
	levels: [4]level{{"systemtreenode", []*element{el("class", "machine")}},
		{"systemtreenode", []*element{el("class", "node")}}, {"locationgroup", []*element{el("type", "process")}},
		{"location", []*element{el("type", "thread")}}},
	firstNode: 1,
}

// anchor is the document with the trees.
func (f *file) anchor(m *model.Model) []byte {
	root := el("cube", "", attr{"version", "4.4"})
	for _, a := range []attr{{"Creator", "whyslow"}, {"CUBE_CT_AGGR", "SUM"}, {"Program", m.Info.Program},
		{"Command line", strings.Join(m.Info.CommandLine, " ")}, {"Ended", m.Info.Ended}} {
		if a.value != "" {
			root.add(el("attr", "", attr{"key", a.key}, attr{"value", a.value}))
		}
	}
	root.add(f.trees(&dialect4)...)
	return root.append([]byte("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"), 0)
}

// roles4 are the kinds of regions in the words of Cube 4.
var roles4 = map[string]string{"function": "function", "barrier": "barrier", "collective": "collective",
	"lock": "lock", "bulk": "point2point", "access": "point2point", "remote-atomic": "atomic",
	"memory": "allocate"}
