package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/trace"
)

// cholesky records a run of that example with the command, and returns the folder of the trace.
func (b *bench) cholesky(ctx context.Context, tiles, nodes, workers int) (string, error) {
	bin, err := b.whyslow(ctx)
	if err != nil {
		return "", err
	}
	dir, err := b.temp()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "cholesky.trace")
	out, err := exec.CommandContext(ctx, bin, "run", "-q", "-n", strconv.Itoa(nodes), "-w",
		strconv.Itoa(workers), "-o", dir,
		"../examples/cholesky/cholesky.fa", strconv.Itoa(tiles), "4").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cholesky: %w\n%s", err, bytes.TrimSpace(out))
	}
	return dir, nil
}

// arrivals is a trace in memory, block by block, in the order in which it arrives.
type arrivals struct {
	follower *follow.Follower // has the definitions
	dir      string
	blocks   []tracefile.RawBlock // of events
	all      []tracefile.RawBlock // those of definitions too, in the order of the files
	events   int
	early    float64 // share of the events that were recorded before something that arrives before them
	lateNS   float64 // median, of those, of the time between
}

// readArrivals reads a trace. Blocks of a stream arrive in order, each between 0 and delay after it was full:
// those of different streams, and nodes, out of order. What delays them are flushes, networks and collectors.
func readArrivals(ctx context.Context, dir string, delay time.Duration) (*arrivals, error) {
	a := &arrivals{follower: follow.New(dir), dir: dir}
	_, err := a.follower.Poll(ctx, func(r *tracefile.RawBlock) error {
		c := *r
		c.Bytes = slices.Clone(r.Bytes)
		a.all = append(a.all, c)
		return nil
	})
	if err == nil && len(a.follower.Problems()) > 0 {
		err = fmt.Errorf("the trace has a problem: %s", a.follower.Problems()[0])
	}
	if err != nil {
		return nil, err
	}
	for _, r := range a.all {
		if !r.Defs {
			a.blocks = append(a.blocks, r)
			a.events += r.Count
		}
	}
	delayed(a.blocks, delay, rand.New(rand.NewPCG(1, 2)))
	if a.early, a.lateNS, err = disorder(a.follower, a.blocks); err != nil {
		return nil, err
	}
	return a, nil
}

// delayed puts blocks in the order in which they arrive if each is held up to so long after its last event,
// and does not overtake those before it of its stream.
func delayed(blocks []tracefile.RawBlock, delay time.Duration, rnd *rand.Rand) {
	type stream struct{ node, id int }
	at := make(map[stream]int64)
	type timed struct {
		block tracefile.RawBlock
		at    int64
	}
	list := make([]timed, len(blocks))
	for i, r := range blocks {
		k := stream{r.Node, r.Stream}
		t := r.Last + rnd.Int64N(int64(delay)+1)
		if before, ok := at[k]; ok {
			t = max(t, before)
		}
		at[k] = t
		list[i] = timed{r, t}
	}
	slices.SortStableFunc(list, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	for i := range list {
		blocks[i] = list[i].block
	}
}

// disorder tells how far an order of blocks is from that of time.
func disorder(f *follow.Follower, blocks []tracefile.RawBlock) (early, lateNS float64, err error) {
	var batch trace.Batch
	var late []float64
	events := 0
	newest := int64(0)
	for i := range blocks {
		if err := f.Read(&blocks[i], &batch); err != nil {
			return 0, 0, err
		}
		events += batch.N
		for _, t := range batch.Time {
			if i > 0 && t < newest {
				late = append(late, float64(newest-t))
			}
		}
		if i == 0 {
			newest = batch.Last
		}
		newest = max(newest, batch.Last)
	}
	if len(late) == 0 {
		return 0, 0, nil
	}
	return float64(len(late)) / float64(events), median(late), nil
}

// growing writes the trace to a folder as a live run has it: without the end of the files and of run.json.
func (a *arrivals) growing(dir string) error { return a.grow(dir, a.all) }

// grow appends blocks to the folder of a live run.
func (a *arrivals) grow(dir string, blocks []tracefile.RawBlock) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	info := *a.follower.Info()
	info.Ended = ""
	if err := trace.WriteRunInfo(dir, &info); err != nil {
		return err
	}
	files := map[int]*tracefile.Appender{}
	var err error
	for _, r := range blocks {
		f := files[r.Node]
		if f == nil {
			if f, err = tracefile.OpenAppend(context.Background(), dir, r.Node, ""); err != nil {
				break
			}
			files[r.Node] = f
		}
		if err = f.Append(r.Bytes); err != nil {
			break
		}
	}
	return err
}
