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

// order is in what turns the recordings are compared: those with a goal are made more often.
var order = []recording{functions, memory, everything, nothing, both, functions, memory, everything,
	lockedFunctions, lockedMemory,
	functions, memory, everything, lockedBoth, nothing}

// benchOverhead measures what profiling costs the block matrix product: CPU time, user and system, of all
// threads, those of the trace writer included.
func benchOverhead(ctx context.Context, b *bench) error {
	turns := []blocks{{20, 20}, {5, 200}, {8, 100}}
	processes := []blocks{{8, 200}, {16, 100}}
	switch {
	case b.quick:
		turns, processes = []blocks{{4, 10}, {3, 20}}, []blocks{{3, 20}}
	case b.full:
		turns, processes = []blocks{{20, 20}, {20, 200}, {40, 100}}, []blocks{{20, 200}, {40, 100}}
	}
	tables, plot := len(b.tables), &overheadPlot{}
	perEvent := map[recording]float64{}
	for i, size := range turns {
		if err := b.overheadTurns(ctx, size, i == 0, perEvent, plot); err != nil {
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
	b.tables[tables].figure = &figure{"overhead.svg",
		"More CPU time of the block matrix product by what is recorded", svg}
	return nil
}

// overheadTurns compares recordings within processes. The first size has blocks so small that what an event
// costs can be told exactly; it is noted in perEvent, in ns, and for the sizes of the papers it gives what is
// to be expected.
func (b *bench) overheadTurns(ctx context.Context, size blocks, first bool, perEvent map[recording]float64,
	plot *overheadPlot) error {
	processes, rounds := 5, 5
	switch {
	case b.quick:
		processes, rounds = 1, 1
	case first: // these are short
		rounds = 10
	case b.full:
		rounds = 1
	}
	c := newCompared()
	var counts map[string]uint64
	for range processes {
		fmt.Fprint(b.log, ".")
		out, err := once(ctx, spec{File: matrices, Nodes: 1, Workers: 2, Args: size.args(), Turns: order,
			Rounds: rounds})
		if err != nil {
			return err
		}
		// Each round is a sequence of its own.
		for n := 2*len(order) + 1; len(out.Turns) >= n; out.Turns = out.Turns[n:] {
			c.add(out.Turns[:n])
		}
		counts = out.Counts
	}
	seconds := median(c.plain) / 1e9
	about := fmt.Sprintf("%s, one node of two workers; %.3f s CPU time without events. ", size, seconds)
	if first {
		about += fmt.Sprintf("Within each of %d processes the product is computed repeatedly: no events, a mode, "+
			"no events, the next mode, and so on. Each run is compared with the two next to it; figures are "+
			"medians of all pairs with their 95 %% confidence intervals (order statistics). The modules and the "+
			"trace stay open; opening and closing is measured below. The row without events is the control: it "+
			"shows the noise of the machine. The blocks are much smaller than in the papers, so that the cost of an "+
			"event and the differences between designs are visible.", processes)
	} else {
		about += "As above, with blocks of the papers' size. The expected cost is the number of events times the " +
			"cost of one above; it is far below the noise of the machine."
	}
	last := "ns/event"
	if !first {
		last = "expected"
	}
	t := b.table(fmt.Sprintf("Profiling the block matrix product, blocks of %d x %d", size.size, size.size),
		about,
		"mode", "more CPU time", "95 % interval", "goal", "the papers", last, "more wall time", "pairs",
		"events per CPU s")
	for _, rec := range []recording{nothing, functions, memory, both, everything, lockedFunctions, lockedMemory,
		lockedBoth} {
		m, more := &modes[rec], c.cpu[rec]
		low, high := interval(more)
		goal := m.goal
		if first { // it is for the sizes of the papers
			goal = ""
		}
		row := []any{m.name, percent(median(more)), percents(low, high), goal, m.papers, "",
			percent(median(c.wall[rec])), len(more), ""}
		if rec != nothing {
			perSecond := float64(m.count(counts)) / seconds
			if first {
				perEvent[rec] = median(more) / 100 * 1e9 / perSecond
				row[5] = perEvent[rec]
			} else {
				row[5] = fmt.Sprintf("%+.3f %%", perEvent[rec]*perSecond/1e9*100)
			}
			row[8] = perSecond
		}
		t.row(row...)
		plot.add(size, rec, more)
	}
	switch {
	case first:
		t.note("The papers' figures are wall times of LuNA on another machine: 2-3 %%, 8-11 %% and 9-13 %% with " +
			"modules that lock, 154.6 %% for another prototype that records all events. Here the papers' design is " +
			"reimplemented in Go for the same engine: events looked up by name in a locked table, and maps of " +
			"times and sums of sizes behind a mutex each")
	case !b.full && !b.quick:
		t.note("The papers multiply 20 x 20 blocks of 200 x 200 and 40 x 40 of 100 x 100, which takes over 10 s " +
			"a run here. Fewer blocks mean slightly more events per second of work, so this flatters nobody " +
			"(`-full` takes all blocks)")
	}
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
	if _, err := run(byKind); err != nil { // compiles the C++, fills the caches, counts the events
		return err
	}
	rounds := b.pick(18, 2)
	for round := range rounds {
		fmt.Fprint(b.log, ".")
		recs := []recording{everything}
		if round%3 == 0 {
			recs = append(recs, nothing, standard, naive)
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
	t := b.table(fmt.Sprintf("Recording everything, a process for each run, blocks of %d x %d", size.size,
		size.size), fmt.Sprintf(
		"%s, one node of two workers. Runs with and without recording take turns, %d times, each in its own "+
			"process, including opening and closing the modules and the trace. "+
			"The other modes run %d times. %.2f s CPU time without events.", size, rounds, (rounds+2)/3, seconds),
		"mode", "more CPU time", "95 % interval", "goal", "the papers", "more wall time", "events per CPU s")
	for _, rec := range []recording{nothing, everything, standard, naive} {
		m := &modes[rec]
		low, high := interval(c.cpu[rec])
		row := []any{m.name, percent(median(c.cpu[rec])), percents(low, high), m.goal, m.papers,
			percent(median(c.wall[rec])), ""}
		if rec != nothing {
			row[6] = float64(events) / seconds
		}
		t.row(row...)
		if rec == standard || rec == naive {
			plot.add(size, rec, c.cpu[rec])
		}
	}
	t.note("The naive logging opens a file, writes a line of text and closes the file for each event, in a " +
		"handler (prof); each worker has its own file, so workers do not wait for each other. \"All standard " +
		"modules\" includes several that write the events as text")
	return nil
}

func percent(v float64) string { return fmt.Sprintf("%+.2f %%", v) }

func percents(low, high float64) string {
	if low < -1e9 {
		return "too few pairs"
	}
	return fmt.Sprintf("%+.2f to %+.2f", low, high)
}
