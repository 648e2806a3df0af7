package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/testkit/upctest"
)

// Small programs after the kernels of the NAS Parallel Benchmarks (testdata/upc), which tell a tracer what a
// UPC compiler would let them tell: compiled without that, recorded by libwhyslow-gasp, and by a naive tracer
// that writes text. Tables are in the form of those of the paper.

// pgasKernel is a kernel and the size of its problem, some half a second for two threads.
type pgasKernel struct {
	name, file  string
	args, quick []string
}

var pgasKernels = []pgasKernel{
	{"CG", "cg", []string{"150000", "12", "25", "64", "8"}, []string{"1000", "4", "10", "50"}},
	{"EP", "ep", []string{"24000"}, []string{"50"}},
	{"FT", "ft", []string{"64", "80"}, []string{"16", "2"}},
	{"IS", "is", []string{"4000", "16", "50"}, []string{"20", "12", "3"}},
	{"MG", "mg", []string{"128", "8"}, []string{"16", "2"}},
}

// pgasWay is a way to run a kernel.
type pgasWay struct {
	name, tool string
	env        []string
}

const textTracer = "rivals/pgas_text.c"

var pgasWays = []pgasWay{
	{"nothing recorded", upctest.None, nil},
	{"naive text tracer", textTracer, nil},
	{"whyslow, not compressed", "", []string{"WHYSLOW_LEVEL=-1"}},
	{"whyslow, compressed", "", nil},
}

func benchPGAS(ctx context.Context, b *bench) error {
	if err := upctest.Missing(upctest.Threads); err != nil {
		b.table("Recording kernels", "", "tracer", "overhead").missing("recording kernels", err.Error())
		return nil
	}
	for _, part := range []func(context.Context, *bench) error{pgasOverhead, pgasWriting, pgasIS} {
		if err := part(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// pgasRun is what a run came to.
type pgasRun struct {
	wall     float64 // of the whole process, ns
	kernel   float64 // seconds by the program's own clock, without its start and end
	bytes    float64 // of the trace
	checksum string
}

// pgas runs a kernel. Everything that the program can tell is told: functions, too.
func (b *bench) pgas(ctx context.Context, w pgasWay, o upctest.Options, kernel string) (r pgasRun,
	err error) {
	tool := w.tool
	if tool == textTracer {
		if tool, err = filepath.Abs(tool); err != nil {
			return r, err
		}
	}
	if o.Backend == "" {
		o.Backend = upctest.Threads
	}
	bin, err := upctest.Build(ctx, kernel, o.Backend, tool)
	if err != nil {
		return r, err
	}
	dir, err := b.temp()
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	o.Env = append([]string{"UPC_SEGMENT=256", "SHMEM_SYMMETRIC_SIZE=512M", "UPC_INST=functions",
		"WHYSLOW_INSTRUMENT=functions", "WHYSLOW_TRACE=" + dir, "TEXT_TRACE=" + dir},
		append(o.Env, w.env...)...)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := upctest.Command(ctx, bin, o)
	var said bytes.Buffer
	cmd.Stderr = &said
	start := time.Now()
	out, err := cmd.Output()
	r.wall = float64(time.Since(start))
	if err != nil {
		return r, fmt.Errorf("%s, %s: %w\n%s", kernel, w.name, err, bytes.TrimSpace(said.Bytes()))
	}
	f := strings.Fields(string(out))
	if len(f) != 5 {
		return r, fmt.Errorf("%s printed %q", kernel, out)
	}
	r.checksum = f[2]
	if r.kernel, err = strconv.ParseFloat(f[4], 64); err != nil {
		return r, fmt.Errorf("%s printed %q", kernel, out)
	}
	size, err := diskBytes(dir)
	r.bytes = float64(size)
	if err == nil && w.tool != upctest.None && size == 0 {
		err = errors.New(w.name + " recorded nothing of " + kernel)
	}
	return r, err
}

func (b *bench) pgasArgs(k pgasKernel) []string {
	if b.quick {
		return k.quick
	}
	return k.args
}

// pgasOverhead compares what tracers cost, and what they leave behind.
func pgasOverhead(ctx context.Context, b *bench) error {
	rounds := b.pick(7, 1)
	head := []string{"tracer"}
	for _, what := range []string{"overhead, %", "trace, MB"} {
		for _, k := range pgasKernels {
			head = append(head, k.name+": "+what)
		}
	}
	t := b.table("Recording kernels of two UPC threads",
		fmt.Sprintf("Programs modelled on the NAS kernels, with two threads and everything recorded, including "+
			"functions; times are for the whole process. Overheads are medians of %d pairs: each round runs every "+
			"variant and compares it with the uninstrumented program of the same round.", rounds), head...)
	type cell struct{ ratios, sizes []float64 }
	cells := make([][]cell, len(pgasWays))
	for i := range cells {
		cells[i] = make([]cell, len(pgasKernels))
	}
	off := make([][]float64, len(pgasKernels))
	for k, kernel := range pgasKernels {
		for range rounds {
			var first pgasRun
			for i, w := range pgasWays {
				r, err := b.pgas(ctx, w, upctest.Options{Args: b.pgasArgs(kernel)}, kernel.file)
				if err != nil {
					return err
				}
				if i == 0 {
					first, off[k] = r, append(off[k], r.wall)
				}
				if r.checksum != first.checksum {
					return fmt.Errorf("%s computed something else with %s", kernel.name, w.name)
				}
				c := &cells[i][k]
				c.ratios, c.sizes = append(c.ratios, r.wall/first.wall), append(c.sizes, r.bytes)
			}
		}
	}
	for i, w := range pgasWays[1:] {
		row, spans := []any{w.name}, []string{}
		for k, kernel := range pgasKernels {
			c := cells[i+1][k]
			row = append(row, beyond(median(c.ratios)))
			if low, high := interval(c.ratios); rounds >= 6 {
				spans = append(spans, fmt.Sprintf("%s %s to %s", kernel.name, beyond(low), beyond(high)))
			}
		}
		for k := range pgasKernels {
			row = append(row, inMB(median(cells[i+1][k].sizes)))
		}
		t.row(row...)
		if len(spans) > 0 {
			t.note("95 %% intervals of the overheads, %s: %s", w.name, strings.Join(spans, ", "))
		}
	}
	for k, kernel := range pgasKernels {
		t.note("%s takes %.2f s without recording (arguments: %s)", kernel.name, median(off[k])/1e9,
			strings.Join(b.pgasArgs(kernel), " "))
	}
	return nil
}

func beyond(r float64) string          { return fmt.Sprintf("%.2f", (r-1)*100) }
func inMB(bytes float64) string        { return fmt.Sprintf("%.3g", bytes/1e6) }
func overheadOf(t, off float64) string { return fmt.Sprintf("%.1f", (t-off)/off*100) }

// pgasWriting compares synchronous and asynchronous writing over the sizes of buffers, on CG with transfers
// of a few elements.
func pgasWriting(ctx context.Context, b *bench) error {
	args := []string{"150000", "12", "25", "8", "6"}
	if b.quick {
		args = []string{"2000", "4", "10", "8"}
	}
	rounds := b.pick(4, 1)
	t := b.table("Synchronous and asynchronous writing of a UPC program",
		fmt.Sprintf("CG with two threads and transfers of 8 elements, which gives some 90 MB of events a thread, "+
			"compressed on writing. t is the time of the whole process, t_o the part due to recording, %% its share "+
			"of the time without recording. Medians of %d runs in turns.", rounds),
		"buffer", "t_o, s, synchronous", "t, s", "%", "t_o, s, asynchronous", "t, s ", "% ")
	sizes := []int{1, 2, 4, 8, 16, 32}
	var off []float64
	walls := make([][2][]float64, len(sizes))
	for range rounds {
		r, err := b.pgas(ctx, pgasWays[0], upctest.Options{Args: args}, "cg")
		if err != nil {
			return err
		}
		off = append(off, r.wall)
		for i, size := range sizes {
			for sync := range 2 {
				env := []string{fmt.Sprintf("WHYSLOW_BUFFER=%dm", size), fmt.Sprintf("WHYSLOW_SYNC=%d", 1-sync)}
				r, err := b.pgas(ctx, pgasWay{"whyslow", "", env}, upctest.Options{Args: args}, "cg")
				if err != nil {
					return err
				}
				walls[i][sync] = append(walls[i][sync], r.wall)
			}
		}
	}
	base := median(off)
	for i, size := range sizes {
		row := []any{fmt.Sprintf("%d MiB", size)}
		for sync := range 2 {
			w := median(walls[i][sync])
			row = append(row, fmt.Sprintf("%.3f", (w-base)/1e9), fmt.Sprintf("%.3f", w/1e9), overheadOf(w, base))
		}
		t.row(row...)
	}
	t.note("With nothing recorded it takes %.3f s", base/1e9)
	return nil
}

// pgasIS compares the sort as it was with one that allocates once and has its transfers under way at once.
func pgasIS(ctx context.Context, b *bench) error {
	rounds := b.pick(5, 1)
	args := []string{"4000", "16", "25"}
	if b.quick {
		args = []string{"20", "12", "3"}
	}
	t := b.table("IS, original and optimised",
		fmt.Sprintf("In each turn the original allocates memory collectively and fetches keys with blocking "+
			"transfers. The optimised version allocates once and counts keys while others are in flight. Seconds by "+
			"the "+
			"program's own clock, without recording, medians of %d alternating runs. The network is this computer's "+
			"memory; in the last rows the program emulates a cable for each transfer to another thread "+
			"(UPC_LATENCY, UPC_BANDWIDTH).", rounds),
		"threads", "original, s", "speedup", "efficiency", "optimised, s", "speedup ", "efficiency ",
		"difference, %")
	type place struct {
		what, backend string
		threads       int
		env           []string
	}
	cable := []string{"UPC_LATENCY=200", "UPC_BANDWIDTH=1000"}
	places := []place{
		{"1 thread", upctest.Threads, 1, nil}, {"2 threads", upctest.Threads, 2, nil},
		{"1 PE (OpenSHMEM)", upctest.Shmem, 1, nil}, {"2 PEs", upctest.Shmem, 2, nil},
		{"1 thread, 200 us, 1000 MB/s", upctest.Threads, 1, cable}, {"2 threads, 200 us, 1000 MB/s",
			upctest.Threads, 2, cable},
	}
	times := make([][2][]float64, len(places))
	for range rounds {
		for i, p := range places {
			if upctest.Missing(p.backend) != nil {
				continue
			}
			for k, how := range []string{"original", "optimised"} {
				r, err := b.pgas(ctx, pgasWays[0], upctest.Options{Threads: p.threads, Backend: p.backend, Env: p.env,
					Args: append(args[:3:3], how)}, "is")
				if err != nil {
					return err
				}
				times[i][k] = append(times[i][k], r.kernel)
			}
		}
	}
	for i, p := range places {
		if err := upctest.Missing(p.backend); err != nil {
			t.missing(p.what, err.Error())
			continue
		}
		row, one := []any{p.what}, i-i%2
		for k := range 2 {
			v := median(times[i][k])
			speedup := median(times[one][k]) / v
			row = append(row, fmt.Sprintf("%.3f", v), fmt.Sprintf("%.2f", speedup),
				fmt.Sprintf("%.2f", speedup/float64(p.threads)))
		}
		a, z := median(times[i][0]), median(times[i][1])
		t.row(append(row, fmt.Sprintf("%.1f", (a-z)/a*100))...)
	}
	return nil
}
