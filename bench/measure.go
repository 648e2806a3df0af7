package main

import (
	"os"
	"path/filepath"
	"time"

	measured "github.com/whyslow/whyslow/internal/analysis/median"
	"github.com/whyslow/whyslow/internal/clock"
)

func median(s []float64) float64 { return measured.Of(s) }

// interval is the 95 % interval of a median.
func interval(s []float64) (low, high float64) { return measured.Interval(s) }

// stopwatch measures wall and CPU time of this process, in nanoseconds.
type stopwatch struct {
	wall time.Time
	cpu  int64
}

func start() stopwatch { return stopwatch{time.Now(), clock.ProcessCPU()} }

func (s stopwatch) stop() (wall, cpu float64) {
	return float64(time.Since(s.wall).Nanoseconds()), float64(clock.ProcessCPU() - s.cpu)
}

// diskBytes adds up the sizes of the files in a folder, subfolders included.
func diskBytes(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
