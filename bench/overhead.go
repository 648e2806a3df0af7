package main

import (
	"context"
	"fmt"
	"strconv"
)

// blocks is how the matrices are divided.
type blocks struct{ number, size int }

func (s blocks) args() []string { return []string{strconv.Itoa(s.number), strconv.Itoa(s.size)} }
func (s blocks) String() string {
	return fmt.Sprintf("%d x %d blocks of %d x %d", s.number, s.number, s.size, s.size)
}

const matrices = "../examples/mxm/mxm.fa"

// benchOverhead measures what profiling costs the block matrix product: CPU time, user and system, of all threads,
// those of the trace writer included.
func benchOverhead(ctx context.Context, b *bench) error {
	plot := &overheadPlot{}
	turns := []blocks{{6, 200}, {10, 100}, {20, 20}}
	processes := []blocks{{8, 200}, {16, 100}}
	switch {
	case b.quick:
		turns, processes = []blocks{{3, 20}}, []blocks{{3, 20}}
	case b.full:
		turns, processes = []blocks{{20, 200}, {40, 100}, {20, 20}}, []blocks{{20, 200}, {40, 100}}
	}
	for _, size := range turns {
		if err := b.overheadTurns(ctx, size, plot); err != nil {
			return err
		}
	}
	for _, size := range processes {
		if err := b.overheadProcesses(ctx, size, plot); err != nil {
			return err
		}
	}
	if err := b.overheadEvents(); err != nil {
		return err
	}
	svg, err := plot.svg()
	if err != nil {
		return err
	}
	b.tables[len(b.tables)-1].figure = &figure{"overhead.svg", "More CPU time of the block matrix product by what is recorded", svg}
	return nil
}

// overheadTurns compares recordings within processes.
func (b *bench) overheadTurns(ctx context.Context, size blocks, plot *overheadPlot) error {
	recs := []recording{nothing, functions, memory, both, everything, lockedFunctions, lockedMemory, lockedBoth}
	processes, rounds := b.pick(5, 1), b.pick(9, 3)
	switch {
	case size.size < 50:
		rounds = b.pick(30, 3)
	case b.full:
		rounds = 3
	}
	c := newCompared()
	var counts map[string]uint64
	for range processes {
		out, err := once(ctx, spec{File: matrices, Nodes: 1, Workers: 2, Args: size.args(), Turns: recs, Rounds: rounds})
		if err != nil {
			return err
		}
		// Each round is a sequence of its own.
		for n := 2*len(recs) + 1; len(out.Turns) >= n; out.Turns = out.Turns[n:] {
			c.add(out.Turns[:n])
		}
		counts = out.Counts
	}
	seconds := median(c.plain) / 1e9
	t := b.table(fmt.Sprintf("Profiling the block matrix product, blocks of %d x %d", size.size, size.size), fmt.Sprintf(
		"%s, one node of two workers. In each of %d processes the product is computed %d times for every mode, in turns: no events, a mode, no events, the next mode. "+
			"A run is compared to the two beside it; medians with their 95 %% intervals (order statistics). The modules and the trace stay open: see below for what opening "+
			"and closing cost. The row of no events is compared to no events: what the machine does to such figures. %.2f s CPU time without events.",
		size, processes, rounds, seconds),
		"mode", "more CPU time", "95 % interval", "goal", "the papers", "more wall time", "events per CPU s", "ns/event")
	for _, rec := range recs {
		m := &modes[rec]
		low, high := interval(c.cpu[rec])
		row := []any{m.name, percent(median(c.cpu[rec])), percents(low, high), m.goal, m.papers, percent(median(c.wall[rec])), "", ""}
		if rec != nothing {
			events := m.count(counts)
			row[6], row[7] = float64(events)/seconds, median(c.cpu[rec])/100*seconds*1e9/float64(events)
		}
		t.row(row...)
		plot.add(fmt.Sprintf("blocks of %d x %d", size.size, size.size), rec, c.cpu[rec])
	}
	switch {
	case size.size < 50:
		t.note("Much smaller blocks than the papers' (%.0f us a product), so that the difference between the designs can be seen", seconds*1e6/float64(size.number*size.number*size.number))
	case !b.full:
		t.note("The papers multiply 20 x 20 blocks of 200 x 200 and 40 x 40 of 100 x 100, which takes over 10 s a run here. Fewer blocks have somewhat more events in a second of work, " +
			"so nothing is made to look better (`-full` takes all blocks)")
	}
	t.note("The papers' figures are wall times of LuNA on another machine: 2-3 %%, 8-11 %% and 9-13 %% with modules that lock, 154.6 %% of another prototype that records all events. " +
		"\"With locks and look-ups by name\" is their design in Go, in the same engine: events found by name in a table behind a lock, times in a map by function, process and thread " +
		"and sums of sizes behind a mutex each")
	return nil
}

// overheadProcesses compares recordings whose runs have a process each.
func (b *bench) overheadProcesses(ctx context.Context, size blocks, plot *overheadPlot) error {
	c, events := newCompared(), uint64(0)
	run := func(rec recording) (turn, error) {
		out, err := once(ctx, spec{File: matrices, Nodes: 1, Workers: 2, Args: size.args(), Recording: rec})
		events = max(events, out.Events)
		return turn{rec, out.CPUNS, out.AllNS}, err
	}
	if _, err := run(nothing); err != nil { // compiles the C++, fills the caches
		return err
	}
	rounds := b.pick(18, 2)
	for round := range rounds {
		recs := []recording{everything, nothing}
		if round%3 == 0 {
			recs = append(recs, standard, naive)
		}
		var turns []turn
		for _, rec := range between(recs) {
			t, err := run(rec)
			if err != nil {
				return err
			}
			turns = append(turns, t)
		}
		c.add(turns)
	}
	seconds := median(c.plain) / 1e9
	t := b.table(fmt.Sprintf("Recording everything, a process for each run, blocks of %d x %d", size.size, size.size), fmt.Sprintf(
		"%s, one node of two workers. Runs with and without recording take turns, %d times, each in a process of its own; opening and closing the modules and the trace is included. "+
			"All standard modules at once and the naive logging run %d times. %.2f s CPU time without events.", size, rounds, (rounds+2)/3, seconds),
		"mode", "more CPU time", "95 % interval", "goal", "the papers", "more wall time", "events per CPU s")
	for _, rec := range []recording{nothing, everything, standard, naive} {
		m := &modes[rec]
		low, high := interval(c.cpu[rec])
		row := []any{m.name, percent(median(c.cpu[rec])), percents(low, high), m.goal, m.papers, percent(median(c.wall[rec])), ""}
		if rec != nothing {
			row[6] = float64(events) / seconds
		}
		t.row(row...)
		if rec == standard || rec == naive {
			plot.add(fmt.Sprintf("blocks of %d x %d", size.size, size.size), rec, c.cpu[rec])
		}
	}
	t.note("The naive logging is done by a handler of all events (prof) that writes a line of text; each worker has a file of its own, so that they do not wait for each other. All standard modules at once: " +
		"the events as text in several formats are among what they write")
	return nil
}

func percent(v float64) string { return fmt.Sprintf("%+.2f %%", v) }

func percents(low, high float64) string {
	if low < -1e9 {
		return "too few pairs"
	}
	return fmt.Sprintf("%+.2f to %+.2f", low, high)
}
