package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// benchBuffers runs the same program with synchronous and asynchronous writing over the sizes of buffers.
func benchBuffers(ctx context.Context, b *bench) error {
	cfs := b.pick(300_000, 2_000)
	type setting struct {
		asked, given int
		sync         bool
	}
	var settings []setting
	var limit int
	top := 32 << 20
	if b.quick {
		top = 256 << 10
	}
	for size := 64 << 10; size <= top; size *= 2 {
		given, err := b.bufferSize(size)
		if err != nil {
			return err
		}
		if given < size*3/4 {
			limit = given
			break
		}
		for _, sync := range []bool{true, false} {
			settings = append(settings, setting{size, given, sync})
		}
	}
	file, args := "programs/independent.fa", []string{strconv.Itoa(cfs)}
	var off [2][]float64
	wall := make([][]float64, len(settings))
	cpu := make([][]float64, len(settings))
	for range b.pick(7, 2) {
		out, err := once(ctx, spec{File: file, Nodes: 1, Workers: 1, Args: args})
		if err != nil {
			return err
		}
		off[0], off[1] = append(off[0], float64(out.AllNS)), append(off[1], float64(out.CPUNS))
		for i, s := range settings {
			out, err := once(ctx, spec{File: file, Nodes: 1, Workers: 1, Args: args, Recording: everything,
				BufferBytes: s.asked, Sync: s.sync})
			if err != nil {
				return err
			}
			wall[i], cpu[i] = append(wall[i], float64(out.AllNS)), append(cpu[i], float64(out.CPUNS))
		}
	}
	t := b.table("Synchronous and asynchronous writing",
		fmt.Sprintf("%d empty CFs, one node of one worker, everything recorded: the highest event rate possible. "+
			"Wall and CPU time from creating the trace "+
			"to closing it, as ratios to the same run without recording.", cfs), "buffer", "wall, synchronous",
		"wall, asynchronous", "CPU, synchronous", "CPU, asynchronous", "ms, synchronous", "ms, asynchronous")
	wallOff, cpuOff := median(off[0]), median(off[1])
	for i := 0; i < len(settings); i += 2 {
		t.row(fmt.Sprintf("%d KiB", settings[i].asked>>10), ratio(median(wall[i])/wallOff),
			ratio(median(wall[i+1])/wallOff),
			ratio(median(cpu[i])/cpuOff), ratio(median(cpu[i+1])/cpuOff), median(wall[i])/1e6, median(wall[i+1])/1e6)
	}
	t.row("nothing recorded", ratio(1), ratio(1), ratio(1), ratio(1), wallOff/1e6, wallOff/1e6)
	if limit > 0 {
		t.note("Buffers of over %d KiB are not made: asked for more, the writer takes %d KiB", limit>>10, limit>>10)
	}
	return nil
}

// bufferSize finds out how large a buffer of the writer is that was asked for so many bytes: what goes into
// it before the file grows.
func (b *bench) bufferSize(bytes int) (int, error) {
	dir, err := b.temp()
	if err != nil {
		return 0, err
	}
	w, err := trace.Create(dir, 0, trace.Options{BufferBytes: bytes, Sync: true, Level: -1})
	if err != nil {
		return 0, err
	}
	defer func() { _ = w.Close() }() // the file is not looked at any more
	path := filepath.Join(dir, tracefile.FileName(0))
	length := func() int64 {
		st, serr := os.Stat(path)
		if serr != nil {
			err = serr
			return 0
		}
		return st.Size()
	}
	s, before := w.Stream(0), length()
	const step = 512
	for n := 0; n <= 2*bytes && err == nil; {
		for range step {
			s.Emit(int64(n), trace.KindReadyQueue, 1)
			n += 16
		}
		if length() > before {
			return n, err
		}
	}
	if err != nil {
		return 0, err
	}
	return bytes, nil
}
