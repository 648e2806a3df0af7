package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The network of many processes beside a plain C ping-pong, on two ranks of this computer. Programs measure
// themselves (rivals/pingpong_mpi.c and mpiping, which print alike); runs of the two take turns.

// pingSize is a size of messages, in bytes, how many go forth and back in a portion, some 10 ms, and the goal
// for the ratio to C.
type pingSize struct {
	bytes, times int
	tcp          int // likewise over TCP
	goal         string
}

var pingSizes = []pingSize{
	{8, 2_500, 250, "5x"}, {64, 2_500, 250, ""}, {1 << 10, 2_000, 250, ""}, {4 << 10, 1_000, 250, ""},
	{16 << 10, 800, 250, ""},
	{64 << 10, 400, 100, ""}, {256 << 10, 150, 50, ""}, {1 << 20, 40, 20, "1.2x"}, {4 << 20, 8, 3, ""},
	{16 << 20, 2, 1, ""},
}

// pingTime is how long a program makes portions of a size, ms: whatever else the computer does, the whole
// bench takes about two minutes.
const pingTime = 250

// benchMPI measures messages between two processes, transport to transport.
func benchMPI(ctx context.Context, b *bench) error {
	for _, way := range []struct {
		name  string
		args  []string
		times func(pingSize) int
	}{
		{"shared memory", nil, func(s pingSize) int { return s.times }},
		{"TCP", []string{"--mca", "btl", "tcp,self"}, func(s pingSize) int { return s.tcp }},
	} {
		rounds := b.pick(7, 1)
		t := b.table("A message to another process over "+way.name,
			fmt.Sprintf("Half a round trip between two ranks on this computer: Network.Send, then deliver, which "+
				"sends the answer; the payload is a DF of that size in a new buffer. Compared with MPI_Send and "+
				"MPI_Recv in C. "+
				"Medians of %d runs in turns, each the median of the portions of %d ms.", rounds, b.pick(pingTime, 1)),
			"bytes", "ratio to C", "95 % interval", "goal", "us", "us, C", "MB/s", "MB/s, C")
		c, ours, err := b.pingPrograms(ctx)
		if err != nil {
			t.missing("ping-pong", err.Error())
			continue
		}
		var args []string
		for _, s := range pingSizes {
			args = append(args, fmt.Sprintf("%d:%d:%d", s.bytes, b.pick(way.times(s), max(1, way.times(s)/100)),
				b.pick(pingTime, 1)))
		}
		ns := [2][][]float64{make([][]float64, len(pingSizes)), make([][]float64, len(pingSizes))}
		ratios := make([][]float64, len(pingSizes))
		for range rounds {
			var v [2][]float64
			for i, program := range []string{ours, c} {
				if v[i], err = ping(ctx, way.args, program, args...); err != nil {
					return err
				}
			}
			for k := range pingSizes {
				ns[0][k] = append(ns[0][k], v[0][k])
				ns[1][k] = append(ns[1][k], v[1][k])
				ratios[k] = append(ratios[k], v[0][k]/v[1][k])
			}
		}
		for k, s := range pingSizes {
			low, high := interval(ratios[k])
			span := ""
			if !math.IsInf(low, 0) && !math.IsInf(high, 0) { // too few runs have none
				span = number(low) + " ... " + number(high)
			}
			a, c := median(ns[0][k]), median(ns[1][k])
			goal := s.goal
			if way.args != nil {
				goal = ""
			}
			t.row(s.bytes, ratio(median(ratios[k])), span, goal, a/1000, c/1000, float64(s.bytes)/a*1e3,
				float64(s.bytes)/c*1e3)
		}
	}
	return nil
}

// pingPong is half a round trip of the plain C program with messages of that size, in ns.
func (b *bench) pingPong(ctx context.Context, size int) (float64, error) {
	c, _, err := b.pingPrograms(ctx)
	if err != nil {
		return 0, err
	}
	ns, err := ping(ctx, nil, c, fmt.Sprintf("%d:%d:%d", size, b.pick(2_500, 100), b.pick(2*pingTime, 1)))
	if err != nil {
		return 0, err
	}
	return ns[0], nil
}

// pingPrograms builds the two programs once and returns their paths.
func (b *bench) pingPrograms(ctx context.Context) (c, ours string, err error) {
	ours = filepath.Join(b.dir, "mpiping")
	for _, needed := range []string{"mpirun", "mpicc"} {
		if _, err := exec.LookPath(needed); err != nil {
			return "", "", fmt.Errorf("%s is not installed; Debian has it in openmpi-bin and libopenmpi-dev", needed)
		}
	}
	if c, err = compileRival(ctx, "mpicc", "pingpong_mpi"); err != nil {
		return "", "", err
	}
	if _, err := os.Stat(ours); err == nil {
		return c, ours, nil
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-tags", "mpi", "-o", ours,
		"./mpiping").CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("mpiping does not build here: %w: %s", err, bytes.TrimSpace(out))
	}
	return c, ours, nil
}

// ping runs one of the programs on two ranks and returns the times of its sizes, in ns.
func ping(ctx context.Context, mpiArgs []string, program string, sizes ...string) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	args := append([]string{"--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"},
		mpiArgs...)
	cmd := exec.CommandContext(ctx, "mpirun", append(append(args, program), sizes...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it ends the ranks
	cmd.WaitDelay = 10 * time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s on two ranks: %w\n%s", filepath.Base(program), err,
			bytes.TrimSpace(said.Bytes()))
	}
	var ns []float64
	for line := range strings.Lines(string(out)) {
		_, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("%s printed %q", filepath.Base(program), line)
		}
		ns = append(ns, v)
	}
	if len(ns) != len(sizes) {
		return nil, errors.New(filepath.Base(program) + " did not measure all sizes")
	}
	return ns, nil
}
