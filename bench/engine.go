package main

import (
	"context"
	"path/filepath"
	"runtime"
	"strconv"
)

// benchEngine measures an empty atomic CF: wall time of a run with one worker over its number of CFs.
func benchEngine(ctx context.Context, b *bench) error {
	t := b.table("An empty CF through the engine",
		"One node of one worker: wall time of the run over its CFs, each an empty C++ routine. In chain.fa each "+
			"CF reads the DF of the one before it.",
		"program", "CFs", "CF and DF events, ratio to --no-trace", "everything, ratio", "ns/CF, CF and DF events",
		"goal", "ns/CF, everything", "ns/CF, --no-trace")
	for _, c := range []struct {
		file string
		n    int
	}{
		{"programs/chain.fa", b.pick(100_000, 1_000)}, {"programs/chain.fa", b.pick(1_000_000, 2_000)},
		{"programs/independent.fa", b.pick(100_000, 1_000)}, {"programs/independent.fa", b.pick(1_000_000, 2_000)},
	} {
		p, err := load(ctx, c.file)
		if err != nil {
			return err
		}
		var ns [3][]float64
		rounds := b.pick(15, 2)
		if c.n > 500_000 {
			rounds = 5
		}
		for range rounds {
			for rec := range ns {
				runtime.GC()
				out, err := p.run(ctx, &spec{Nodes: 1, Workers: 1, Args: []string{strconv.Itoa(c.n)},
					Recording: recording(rec)})
				if err != nil {
					return err
				}
				ns[rec] = append(ns[rec], float64(out.WallNS)/float64(c.n))
			}
		}
		off, frag, all := median(ns[nothing]), median(ns[fragments]), median(ns[everything])
		t.row(filepath.Base(c.file), c.n, ratio(frag/off), ratio(all/off), frag, "1000", all, off)
	}
	return nil
}
