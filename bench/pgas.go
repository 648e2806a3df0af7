package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/testkit/upctest"
)

// sorted runs the sort without recording and returns the seconds that it took by its own clock, without its
// start and end.
func sorted(ctx context.Context, o upctest.Options) (seconds float64, err error) {
	bin, err := upctest.Build(ctx, "is", o.Backend, upctest.None)
	if err != nil {
		return 0, err
	}
	o.Env = append([]string{"UPC_SEGMENT=256", "SHMEM_SYMMETRIC_SIZE=512M"}, o.Env...)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := upctest.Command(ctx, bin, o)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("is: %w\n%s", err, bytes.TrimSpace(said.Bytes()))
	}
	f := strings.Fields(string(out)) // its name, a checksum, seconds
	if len(f) != 5 {
		return 0, fmt.Errorf("is printed %q", out)
	}
	return strconv.ParseFloat(f[4], 64)
}

// benchPGAS compares the sort as it was with one that allocates once and has its transfers under way at once:
// a small program after a kernel of the NAS Parallel Benchmarks (examples/upc).
func benchPGAS(ctx context.Context, b *bench) error {
	if err := upctest.Missing(upctest.Threads); err != nil {
		b.table("IS, original and optimised", "", "threads", "original, s").missing("IS", err.Error())
		return nil
	}
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
				seconds, err := sorted(ctx, upctest.Options{Threads: p.threads, Backend: p.backend, Env: p.env,
					Args: append(args[:3:3], how)})
				if err != nil {
					return err
				}
				times[i][k] = append(times[i][k], seconds)
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
