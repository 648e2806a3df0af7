package shmemtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/whyslow/whyslow/internal/testkit/cctest"
)

// BenchmarkShmemTransfers tells what putting and getting 8 bytes costs: without the library, with it,
// and with a tracer that writes a line of text at the beginning and the end of each call. Run it with
// -benchtime=1x -count=5; each is a median in itself.
func BenchmarkShmemTransfers(b *testing.B) {
	program := compileShmem(b, "loop.c")
	text := cctest.Make(b, cctest.Program{Name: "text.so", Compiler: []string{"oshcc"},
		Flags: []string{"-O2", "-fPIC"}, Sources: []string{"testdata/text.c"}, Link: []string{"-shared"}})
	traces := b.TempDir()
	for _, c := range []struct {
		name string
		env  []string
	}{
		{"none", []string{"LD_PRELOAD="}},
		{"whyslow", nil},
		{"whyslow, stored", []string{"WHYSLOW_LEVEL=-1"}},
		{"whyslow, off", []string{"WHYSLOW_OFF=1"}},
		{"text", []string{"TEXT_TRACE=" + filepath.Join(traces, "text"), "LD_PRELOAD=" + text}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var put, get, size float64
			for range b.N {
				res := runShmem(b, 2, c.env, program)
				var p, g float64
				if _, err := fmt.Sscan(res.output, &p, &g); err != nil {
					b.Fatalf("%v: %s", err, res.output)
				}
				put, get = put+p, get+g
				for _, pattern := range []string{filepath.Join(res.trace, "*.wst"), filepath.Join(traces, "text.*")} {
					found, err := filepath.Glob(pattern)
					if err != nil {
						b.Fatal(err)
					}
					for _, path := range found {
						info, err := os.Stat(path)
						if err != nil {
							b.Fatal(err)
						}
						size += float64(info.Size())
					}
				}
			}
			n := float64(b.N)
			b.ReportMetric(put/n, "ns/put")
			b.ReportMetric(get/n, "ns/get")
			b.ReportMetric(size/n/400000, "B/call")
			b.ReportMetric(0, "ns/op")
		})
	}
}
