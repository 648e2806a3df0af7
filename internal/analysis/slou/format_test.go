package slou

import (
	"bufio"
	"fmt"
	"io"

	"github.com/whyslow/whyslow/internal/model"
)

// WritePieces writes pieces as text, one line each:
//
//	NODE.WORKER FROM TO FACTOR.PART CONSUMER <- DF from PRODUCER
//
// with times in nanoseconds since the start of the run and names of code fragments; in a run of regions @ and
// the number of the call path in their place. It is what the tests of the rule are written in.
func WritePieces(w io.Writer, m *model.Model, list []WorkerPieces) error {
	out := bufio.NewWriter(w)
	name := func(cf model.CF) string { return m.Codes[m.CodeOf(cf)].Name }
	for _, l := range list {
		for _, p := range l.Pieces {
			fmt.Fprintf(out, "%d.%d %d %d %s", l.Node, l.Worker, p.From-m.Start, p.To-m.Start, p.Factor)
			switch {
			case p.Waiting() != "":
				fmt.Fprintf(out, ".%s", p.Waiting())
			case p.Factor == FactorL:
				fmt.Fprintf(out, ".%s", p.Link)
			case p.Part != PartNone:
				fmt.Fprintf(out, ".%s", p.Part)
			}
			if p.Call > 0 {
				fmt.Fprintf(out, " @%d", p.Call-1)
			}
			if p.Consumer != 0 {
				fmt.Fprintf(out, " %s", name(p.Consumer))
			}
			if p.DF != 0 {
				fmt.Fprintf(out, " <- %s", m.DFString(p.DF))
			}
			if p.Producer != 0 {
				fmt.Fprintf(out, " from %s", name(p.Producer))
			}
			fmt.Fprintln(out)
		}
	}
	return out.Flush()
}
