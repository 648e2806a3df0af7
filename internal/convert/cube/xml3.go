package cube

import (
	"bufio"
	"io"
	"strconv"

	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/model"
)

// dialect3 is that of Cube 3.
var dialect3 = dialect{times: "FLOAT", others: "INTEGER",
	region: func(r *pattern.Region) []*element { return []*element{el("url", ""), el("descr", r.Kind)} },
	call:   func(c *pattern.Call) []attr { return []attr{num("line", lineOf(c.Line)), {"mod", c.File}} },
	levels: [4]level{{"machine", []*element{el("descr", "")}}, {name: "node"}, {name: "process"},
		{name: "thread"}},
}

// Write3 writes a result in the format of Cube 3, one XML document. m is the model of the result. It fails if
// the result has no call paths, or if writing fails.
func Write3(w io.Writer, r *pattern.Result, m *model.Model) error {
	f, err := newFile(r, m)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	b := []byte("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<cube version=\"3.0\">\n")
	// the schema has at most one
	b = el("attr", "", attr{"key", "Creator"}, attr{"value", "whyslow"}).append(b, 1)
	for _, x := range f.trees(&dialect3) {
		b = x.append(b, 1)
	}
	b = append(b, " <severity>\n"...)
	for i := range f.Metrics {
		x := &f.Metrics[i]
		if len(x.Rows) == 0 {
			continue
		}
		b = append(b, "  <matrix metricId=\""...)
		b = append(strconv.AppendInt(b, int64(i), 10), "\">\n"...)
		for _, row := range x.Rows {
			b = append(b, "   <row cnodeId=\""...)
			b = append(strconv.AppendInt(b, int64(row.Call), 10), "\">\n"...)
			for _, s := range f.seats {
				if seconds(x) {
					b = strconv.AppendFloat(b, inSeconds(row.Values[s.thread]), 'f', 9, 64)
				} else {
					b = strconv.AppendInt(b, row.Values[s.thread], 10)
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
