package gasptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkOperation prints what recording an operation costs: CPU time of the thread and, beyond it,
// of the writer thread, and bytes in the file.
func BenchmarkOperation(b *testing.B) {
	path := compile(b, "bench", "plain")
	for _, env := range []string{"", "WHYSLOW_LEVEL=-1", "WHYSLOW_SYNC=1", "WHYSLOW_BUFFER=128k",
		"WHYSLOW_BUFFER=16m", "WHYSLOW_OFF=1"} {
		b.Run(strings.TrimPrefix(env, "WHYSLOW_"), func(b *testing.B) {
			dir := b.TempDir()
			cmd := exec.Command(path, fmt.Sprint(b.N), "0")
			cmd.Env = append(os.Environ(), "WHYSLOW_TRACE="+dir, env)
			out, err := cmd.Output()
			var mine, all, wall float64
			if _, scan := fmt.Sscan(string(out), &mine, &all, &wall); err != nil || scan != nil {
				b.Fatal(err, scan, string(out))
			}
			b.ReportMetric(mine, "thread-ns/op")
			b.ReportMetric(all-mine, "writer-ns/op")
			if file, err := os.Stat(filepath.Join(dir, "00000.wst")); err == nil {
				b.ReportMetric(float64(file.Size())/float64(b.N), "file-B/op")
			}
		})
	}
}
