package lunalog

import (
	"bufio"
	"io"

	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Print prints a whole trace, all nodes merged by time. The run starts with its first event.
func Print(w io.Writer, r *trace.Reader) error {
	nodes := 1
	for _, s := range r.Streams() {
		nodes = max(nodes, s.Node+1)
	}
	var d Describer = recorded{r}
	var log *Log
	out := bufio.NewWriterSize(w, 1<<16)
	if err := twin.EachEvent(r, nil, func(_ *trace.Defs, b *trace.Batch, i int) error {
		if log == nil {
			log = New(b.Time[i], nodes, func() Describer { return d })
		}
		_, err := out.Write(log.Append(out.AvailableBuffer(), b.Node, b.Time[i], b.Kind[i], b.Args(i)))
		return err
	}); err != nil {
		return err
	}
	return out.Flush()
}

// recorded describes by what a trace defines.
type recorded struct{ r *trace.Reader }

func (d recorded) Site(node int, s trace.Site) prof.Site {
	defs := d.r.Defs(node)
	def, ok := defs.Site(s)
	if !ok || def.File == 0 {
		return prof.Site{}
	}
	return prof.Site{File: defs.Name(def.File), Line: def.Line}
}

func (d recorded) DF(node int, df trace.DF) (string, []int64) {
	_, identity, _ := d.r.Defs(node).DF(df, nil)
	return "", identity
}
