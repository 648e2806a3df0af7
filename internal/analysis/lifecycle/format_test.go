package lifecycle

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Write writes a result as text, a line for everything found: what tests are written in, and what debugging
// needs.
func (r *Result) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	if c := r.CFs; c == nil {
		fmt.Fprintln(out, "cfs: null")
	} else {
		fmt.Fprintf(out, "cfs: %d created, %d finished", c.Created, c.Finished)
		for _, s := range []State{Waiting, Ready, Running, Moving, Created} {
			if c.Left[s] > 0 {
				fmt.Fprintf(out, ", %d %s", c.Left[s], s)
			}
		}
		fmt.Fprintln(out)
		for i := range c.Groups {
			c.Groups[i].write(out)
		}
		if c.Circle {
			fmt.Fprintln(out, "  each waits for another one: a circle")
		}
		if c.More > 0 {
			fmt.Fprintf(out, "  %d more wait for what these would have made\n", c.More)
		}
	}
	for _, f := range []struct {
		name string
		*Finding
	}{{"never produced", r.NeverProduced}, {"produced twice", r.ProducedTwice}, {"never used", r.NeverUsed},
		{"held to the end", r.HeldToEnd},
		{"requested after destruction", r.LateRequests}, {"never answered", r.Unanswered}} {
		if f.Finding == nil {
			fmt.Fprintf(out, "%s: null\n", f.name)
			continue
		}
		if f.Count == 0 {
			continue
		}
		fmt.Fprintf(out, "%s: %d, %d bytes\n", f.name, f.Count, f.Bytes)
		for i := range f.Groups {
			f.Groups[i].write(out)
		}
		if f.More > 0 {
			fmt.Fprintf(out, "  %d more groups\n", f.More)
		}
	}
	for _, m := range r.Missing {
		fmt.Fprintf(out, "missing %s: %s\n", m.Event, strings.Join(m.Findings, " "))
	}
	return out.Flush()
}

func (g *Left) write(out io.Writer) {
	root, again := "", ""
	if g.Root {
		root = " (root)"
	}
	if g.Again {
		again = ", ran before"
	}
	fmt.Fprintf(out, "  %d %s%s%s: %s:", g.Count, g.State, again, root, g.Place)
	for _, x := range g.Examples {
		fmt.Fprintf(out, " %s n%d since %d", x.CF, x.Node, x.SinceNS)
		if len(x.Awaits) > 0 {
			fmt.Fprintf(out, " for %s", strings.Join(x.Awaits, " "))
		}
		fmt.Fprint(out, ";")
	}
	fmt.Fprintln(out)
	for _, f := range g.For {
		fmt.Fprintf(out, "    %d %s (%s): %s", f.Count, f.Name, strings.Join(f.DFs, " "), f.Why)
		if len(f.Examples) > 0 {
			fmt.Fprintf(out, ": %s", strings.Join(f.Examples, " "))
		}
		fmt.Fprintln(out)
	}
	if g.MoreFor > 0 {
		fmt.Fprintf(out, "    %d more reasons\n", g.MoreFor)
	}
}

func (g *Group) write(out io.Writer) {
	fmt.Fprintf(out, "  %d %s, %d bytes, by %s", g.Count, g.Name, g.Bytes, g.By)
	if g.Second != nil {
		fmt.Fprintf(out, ", again by %s", *g.Second)
	}
	if g.HeldNS > 0 {
		fmt.Fprintf(out, ", held %d, unused %d", g.HeldNS, g.UnusedNS)
	}
	if g.Why != "" {
		fmt.Fprintf(out, ": %s", g.Why)
	}
	fmt.Fprint(out, ":")
	for _, x := range g.Examples {
		fmt.Fprintf(out, " %s %s n%d", x.DF, x.CF, x.Node)
		if x.To != nil {
			fmt.Fprintf(out, "->%d", *x.To)
		}
		fmt.Fprintf(out, " at %d", x.AtNS)
		if x.Second != "" {
			fmt.Fprintf(out, " again %s at %d", x.Second, x.SecondNS)
		}
		if x.DestroyedNS != 0 {
			fmt.Fprintf(out, " destroyed %d", x.DestroyedNS)
		}
		fmt.Fprint(out, ";")
	}
	fmt.Fprintln(out)
}
