package blame

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Write writes a result as text, a line for everything found, times in nanoseconds: what tests are written
// in, and what debugging needs.
func (r *Result) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	if s := r.S; s == nil {
		fmt.Fprintln(out, "S: null")
	} else {
		fmt.Fprintf(out, "S: %d\n", s.NS)
		writeBlamed(out, s.Chains, 1)
		for _, x := range s.Roots {
			fmt.Fprintf(out, "root %s %s %d\n", name(x.Place), x.Doing, x.NS)
		}
	}
	if l := r.L; l == nil {
		fmt.Fprintln(out, "L: null")
	} else {
		fmt.Fprintf(out, "L: %d\n", l.NS)
		for _, x := range l.Links {
			fmt.Fprintf(out, "  %s: waited %d, %d messages (%d DFs, %d CFs, %d requests), %d bytes, mean %d, flight "+
				"%d, mean %d, shortest %d, busy %d, %.4g B/s, peak %.4g B/s",
				x.Link, x.WaitNS, x.Messages, x.DFs, x.CFs, x.Requests, x.Bytes, x.MeanSize, x.FlightNS,
				x.MeanNS,
				x.ShortestNS, x.BusyNS, x.Bandwidth, x.Peak)
			if x.Half+x.Backwards > 0 {
				fmt.Fprintf(out, ", half %d, backwards %d", x.Half, x.Backwards)
			}
			fmt.Fprintln(out)
		}
		for _, x := range l.Names {
			n := x.Name
			if n == "" {
				n = "-"
			}
			fmt.Fprintf(out, "  %s by %s: waited %d in %d, %d messages, %d bytes, mean %d, flight %d\n", n,
				name(x.By),
				x.WaitNS, x.Waits, x.Messages, x.Bytes, x.MeanSize, x.FlightNS)
		}
		for _, x := range l.Worst {
			fmt.Fprintf(out, "  %s by %s: waited %d, size %d, %d messages, %d bytes, flight %d\n", x.DF,
				name(x.By),
				x.WaitNS, x.Size, x.Messages, x.Bytes, x.FlightNS)
		}
	}
	if o := r.O; o == nil {
		fmt.Fprintln(out, "O: null")
	} else {
		fmt.Fprintf(out, "O: %d, pre-empted %d, extra %d\n", o.NS, o.PreemptNS, o.ExtraNS)
		for _, x := range o.Fragments {
			fmt.Fprintf(out, "  %s: %d CFs, useful %d, mean %d, overhead %d, each %d, break-even %d",
				name(x.Place),
				x.CFs, x.UsefulNS, x.MeanNS, x.OverheadNS, x.EachNS, x.BreakEvenNS)
			if x.TooSmall {
				fmt.Fprintf(out, ": %d times larger leaves %d (few: %v), gain %d", x.Times, x.Left, x.Few,
					x.GainNS)
			}
			fmt.Fprintln(out)
		}
	}
	for i := range r.Waits {
		fmt.Fprintln(out, r.Waits[i].Text)
	}
	for _, m := range r.Missing {
		fmt.Fprintf(out, "missing %s: %s\n", m.Event, strings.Join(m.Factors, " "))
	}
	return out.Flush()
}

func writeBlamed(out io.Writer, list []Blamed, depth int) {
	for i := range list {
		b := &list[i]
		fmt.Fprintf(out, "%s<- %s %d in %d:", strings.Repeat("  ", depth), name(b.Place), b.NS, b.Count)
		for k, d := range b.Doing {
			if k > 0 {
				fmt.Fprint(out, ",")
			}
			fmt.Fprintf(out, " %s %d", d, d.NS)
		}
		fmt.Fprintln(out)
		writeBlamed(out, b.Behind, depth+1)
	}
}

func name(p Place) string {
	if p.Code == "" {
		return "?"
	}
	return p.Code
}

// String is "running", "queued behind solve", "link 0->1" or "waiting for lock".
func (d Doing) String() string {
	switch d.Activity {
	case Queued.String():
		return "queued behind " + d.With
	case Link.String():
		return "link " + d.With
	case Waiting.String():
		return "waiting for " + d.With
	}
	return d.Activity
}
