package cube

import (
	"bufio"
	"io"
	"strconv"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
)

// Write3 writes a result in the format of Cube 3, one XML document. m is the model of the result. It fails if
// the result has no call paths, or if writing fails.
func Write3(w io.Writer, r *pattern.Result, m *model.Model) error {
	f, err := newFile(r, m)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	metrics, program, system := el("metrics", ""), el("program", ""), el("system", "")
	for _, x := range f.metrics {
		metrics.add(x.xml("FLOAT", "INTEGER"))
	}
	for i, x := range f.regions {
		// Numbers begin with 1: the schema has it so.
		program.add(el("region", "", num("id", i+1), attr{"mod", x.file}, num("begin", x.line),
			num("end", -1)).add(el("name", x.name), el("url", ""), el("descr", x.role)))
	}
	for _, x := range f.cnodes {
		program.add(x.xml(func(c *cnode) []attr {
			return []attr{num("calleeId", c.region+1), num("line", c.line), {"mod", c.file}}
		}))
	}
	column, number := 0, 0
	for i, h := range f.hosts {
		machine := el("node", "", num("Id", i)).add(el("name", h.name), el("descr", ""))
		for _, p := range h.processes {
			x := el("process", "", num("Id", number)).add(el("name", p.name), el("rank", strconv.Itoa(p.rank)))
			number++
			for _, t := range p.threads {
				x.add(el("thread", "", num("Id", column)).add(el("name", t.name), el("rank", strconv.Itoa(t.rank))))
				column++
			}
			machine.add(x)
		}
		system.add(el("machine", "", num("Id", i)).add(el("name", h.name), el("descr", ""), machine))
	}
	b := []byte("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<cube version=\"3.0\">\n")
	// the schema has at most one
	b = el("attr", "", attr{"key", "Creator"}, attr{"value", "whyslow"}).append(b, 1)
	for _, x := range []*element{doc(), metrics, program, system} {
		b = x.append(b, 1)
	}
	b = append(b, " <severity>\n"...)
	for _, x := range f.all {
		if len(x.m.Rows) == 0 {
			continue
		}
		b = append(b, "  <matrix metricId=\""...)
		b = append(strconv.AppendInt(b, int64(x.id), 10), "\">\n"...)
		for _, row := range x.m.Rows {
			b = append(b, "   <row cnodeId=\""...)
			b = append(strconv.AppendInt(b, int64(row.Call), 10), "\">\n"...)
			for _, t := range f.columns {
				if x.seconds() {
					b = strconv.AppendFloat(b, x.value(row.Values[t]), 'f', 9, 64)
				} else {
					b = strconv.AppendInt(b, row.Values[t], 10)
				}
				b = append(b, '\n')
			}
			b = append(b, "   </row>\n"...)
			if _, err := out.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
		b = append(b, "  </matrix>\n"...)
	}
	if _, err := out.Write(append(b, " </severity>\n</cube>\n"...)); err != nil {
		return err
	}
	return out.Flush()
}
