package main

import (
	"context"
	"fmt"
	"strconv"
)

// benchOverhead measures what recording everything costs the block matrix product: CPU time, user and system, of all
// threads, the writer's included. Runs with and without recording take turns, each in a process of its own.
func benchOverhead(ctx context.Context, b *bench) error {
	type size struct{ blocks, block int }
	sizes := []size{{11, 200}, {22, 100}}
	about := "The sources multiply 20 x 20 blocks of 200 x 200 and 40 x 40 of 100 x 100, which takes over 10 s a run here: fewer blocks of the same sizes are " +
		"multiplied, so there are as many events in a second of work (`-full` takes all blocks)."
	switch {
	case b.quick:
		sizes = []size{{3, 20}}
	case b.full:
		sizes, about = []size{{20, 200}, {40, 100}}, ""
	}
	pairs := b.pick(15, 2)
	t := b.table("What recording costs the block matrix product", "CPU time (user and system, of all threads, opening and closing the trace included), one node of two workers, everything recorded. "+
		fmt.Sprintf("%d pairs of runs in turns; median of the differences with its 95 %% interval (order statistics). ", pairs)+about,
		"", "more CPU time", "95 % interval", "goal", "CPU s, nothing recorded", "events", "events per CPU s")
	for _, s := range sizes {
		run := func(rec recording) (outcome, error) {
			return once(ctx, spec{File: "../examples/mxm/mxm.fa", Nodes: 1, Workers: 2, Args: []string{strconv.Itoa(s.blocks), strconv.Itoa(s.block)}, Recording: rec})
		}
		if _, err := run(nothing); err != nil { // compiles the C++, fills the caches
			return err
		}
		var more, log, plain []float64
		var events uint64
		for i := range pairs {
			// Every other pair the other way round, so that what drifts cancels out.
			order := []recording{nothing, everything}
			if i%2 == 1 {
				order = []recording{everything, nothing}
			}
			var cpu [naive + 1]float64
			if i%3 == 0 {
				order = append(order, naive)
			}
			for _, rec := range order {
				out, err := run(rec)
				if err != nil {
					return err
				}
				cpu[rec] = float64(out.CPUNS)
				if rec == naive {
					events = out.Events
				}
			}
			plain = append(plain, cpu[nothing])
			more = append(more, (cpu[everything]-cpu[nothing])/cpu[nothing]*100)
			if i%3 == 0 {
				log = append(log, (cpu[naive]-cpu[nothing])/cpu[nothing]*100)
			}
		}
		name := fmt.Sprintf("%d x %d blocks of %d x %d", s.blocks, s.blocks, s.block, s.block)
		seconds := median(plain) / 1e9
		t.row(name+", whyslow", percent(median(more)), percents(interval(more)), "1 %", seconds, events, float64(events)/seconds)
		t.row(name+", a file opened, written and closed per event", percent(median(log)), percents(interval(log)), "", seconds, events, float64(events)/seconds)
	}
	t.note("The logging is done by handlers of the same events (prof), a line of text for each; it runs in every third pair")
	return nil
}

func percent(v float64) string { return fmt.Sprintf("%+.2f %%", v) }

func percents(low, high float64) string {
	if low < -1e9 {
		return "too few pairs"
	}
	return fmt.Sprintf("%+.2f to %+.2f", low, high)
}
