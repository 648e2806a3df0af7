package cli

import (
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/whyslow/whyslow/trace"
)

// statistics are what dump --stats tells, beside what is in trace.Stats.
type statistics struct {
	*trace.Stats
	Clock    string      `json:"clock,omitempty"`
	Gaps     []trace.Gap `json:"gaps"`
	Problems []string    `json:"problems"`
}

func readStatistics(r *trace.Reader) *statistics {
	s := &statistics{Stats: r.Stats(runtime.GOMAXPROCS(0)), Gaps: append([]trace.Gap{}, r.Gaps()...),
		Problems: append([]string{}, missing(r)...)}
	if info := r.Run(); info != nil {
		s.Clock = info.Clock
	}
	return s
}

// print writes the table.
func (s *statistics) print(out io.Writer) error {
	events := float64(max(s.Events, 1))
	fmt.Fprintf(out, "%d events on %d streams, %s from the first to the last\n", s.Events, len(s.Streams),
		time.Duration(s.Span.To-s.Span.From))
	fmt.Fprintf(out, "%d bytes, %.2f per event: events %d in %d blocks (%d before compression), definitions"+
		" %d in %d blocks\n",
		s.Bytes, float64(s.Bytes)/events, s.BlockBytes, s.Blocks, s.RawBytes, s.DefBytes, s.DefBlocks)
	d := s.Definitions
	fmt.Fprintf(out, "defined: %d strings, %d code fragments, %d statements, %d DFs, %d kinds of user"+
		" events\n", d.Strings, d.Codes, d.Sites, d.DFs, d.Kinds)
	clock := s.Clock
	if clock == "" {
		clock = "unknown"
	}
	fmt.Fprintf(out, "clock: %s, compared between nodes %d times\n", clock, s.ClockSyncs)
	ns := int64(0)
	for _, g := range s.Gaps {
		ns += g.NS()
	}
	fmt.Fprintf(out, "lost: %d events (%d dropped because buffers were full), %s of the streams' time\n\n",
		s.LostEvents, s.Dropped, time.Duration(ns))

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, events string, bytes int64, raw int64) {
		per := float64(bytes) / float64(max(s.BlockBytes, 1)) * 100
		fmt.Fprintf(w, "%s\t%d\t%.1f %%\t%d\t  %s\n", events, bytes, per, raw, name)
	}
	fmt.Fprintf(w, "events\tbytes\tshare\traw\t  what\n")
	for _, k := range s.Kinds {
		raw := int64(0)
		for _, c := range k.Columns {
			raw += c.Raw
		}
		row(k.Event, fmt.Sprint(k.Events), k.Bytes, raw)
		for _, c := range k.Columns {
			row("  "+c.Column, "", c.Bytes, c.Raw)
		}
	}
	for _, c := range s.Columns {
		row(c.Column, "", c.Bytes, c.Raw)
	}
	return w.Flush()
}
