package main

import (
	"context"
	"fmt"
	"strconv"
)

// benchOverhead measures what recording everything costs the block matrix product: CPU time, user and system, of all
// threads, the writer's included. Runs with and without recording take turns, each in a process of its own.
func benchOverhead(ctx context.Context, b *bench) error {
	type size struct {
		blocks, block int
		events        uint64
	}
	sizes := []size{{8, 200, 0}, {16, 100, 0}}
	about := "The papers that measured this before multiply 20 x 20 blocks of 200 x 200 and 40 x 40 of 100 x 100, which takes over 10 s a run here: fewer blocks of the same sizes are " +
		"multiplied, so there are as many events in a second of work (`-full` takes all blocks)."
	switch {
	case b.quick:
		sizes = []size{{3, 20, 0}}
	case b.full:
		sizes, about = []size{{20, 200, 0}, {40, 100, 0}}, ""
	}
	rounds := b.pick(30, 2)
	t := b.table("What recording costs the block matrix product", "CPU time (user and system, of all threads, opening and closing the trace included), one node of two workers, everything recorded. "+
		fmt.Sprintf("%d times in turns: nothing recorded, everything, nothing. The difference is that to the mean of the two around it; medians with their 95 %% intervals (order statistics). "+
			"The difference of the two that recorded nothing tells what the machine does to such figures. ", rounds)+about,
		"", "more CPU time", "95 % interval", "goal", "CPU s, nothing recorded", "events", "events per CPU s")
	for _, s := range sizes {
		run := func(rec recording) (float64, error) {
			out, err := once(ctx, spec{File: "../examples/mxm/mxm.fa", Nodes: 1, Workers: 2, Args: []string{strconv.Itoa(s.blocks), strconv.Itoa(s.block)}, Recording: rec})
			s.events = max(s.events, out.Events)
			return float64(out.CPUNS), err
		}
		if _, err := run(nothing); err != nil { // compiles the C++, fills the caches
			return err
		}
		var more, log, same, plain []float64
		for i := range rounds {
			order := []recording{nothing, everything, nothing}
			if i%4 == 0 && len(log) < 6 {
				order = append(order, naive)
			}
			var cpu []float64
			for _, rec := range order {
				ns, err := run(rec)
				if err != nil {
					return err
				}
				cpu = append(cpu, ns)
			}
			off := (cpu[0] + cpu[2]) / 2
			plain = append(plain, off)
			more = append(more, (cpu[1]-off)/off*100)
			same = append(same, (cpu[2]-cpu[0])/off*100)
			if len(cpu) > 3 {
				log = append(log, (cpu[3]-off)/off*100)
			}
		}
		name := fmt.Sprintf("%d x %d blocks of %d x %d", s.blocks, s.blocks, s.block, s.block)
		seconds := median(plain) / 1e9
		t.row(name+", whyslow", percent(median(more)), percents(interval(more)), "1 %", seconds, s.events, float64(s.events)/seconds)
		t.row(name+", nothing against nothing", percent(median(same)), percents(interval(same)), "", seconds, "", "")
		t.row(name+", a file opened, written and closed per event", percent(median(log)), percents(interval(log)), "", seconds, s.events, float64(s.events)/seconds)
	}
	t.note("The logging is done by handlers of the same events (prof), a line of text for each; it runs six times")
	return nil
}

func percent(v float64) string { return fmt.Sprintf("%+.2f %%", v) }

func percents(low, high float64) string {
	if low < -1e9 {
		return "too few pairs"
	}
	return fmt.Sprintf("%+.2f to %+.2f", low, high)
}
