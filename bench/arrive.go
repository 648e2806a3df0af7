package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

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
	follower *follow.Follower // has run.json
	blocks   []tracefile.RawBlock
}

// readArrivals reads a trace.
func readArrivals(ctx context.Context, dir string) (*arrivals, error) {
	a := &arrivals{follower: follow.New(dir)}
	_, err := a.follower.Poll(ctx, func(r *tracefile.RawBlock) error {
		c := *r
		c.Bytes = slices.Clone(r.Bytes)
		a.blocks = append(a.blocks, c)
		return nil
	})
	if err == nil && len(a.follower.Problems()) > 0 {
		err = fmt.Errorf("the trace has a problem: %s", a.follower.Problems()[0])
	}
	return a, err
}

// grow appends blocks to the folder of a live run, which has no end yet.
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
