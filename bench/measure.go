package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/whyslow/whyslow/internal/clock"
)

// median of a sample, NaN for an empty one.
func median(s []float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	s = slices.Sorted(slices.Values(s))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}

// interval returns bounds of the median of what a sample was drawn from, right in at least 95 of 100 cases,
// whatever the distribution: the k-th smallest and k-th largest of the sample (the confidence interval that
// belongs to the sign test). Six values are needed; for fewer it is all the numbers there are.
func interval(s []float64) (low, high float64) {
	if len(s) < 6 {
		return math.Inf(-1), math.Inf(1)
	}
	s = slices.Sorted(slices.Values(s))
	n := len(s)
	// k is the largest with P(B < k) <= 0.025, B binomial (n, 1/2).
	p := math.Pow(0.5, float64(n))
	sum, k := 0.0, 0
	for k < n/2 {
		if sum+p > 0.025 {
			break
		}
		sum += p
		p *= float64(n-k) / float64(k+1)
		k++
	}
	return s[k-1], s[n-k]
}

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
