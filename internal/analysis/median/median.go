// Package median says what a sample of measurements tells: their median, and bounds of the median of what
// they were drawn from. Nothing is assumed about how measurements are spread.
package median

import (
	"math"
	"slices"
)

// Of is the median of a sample, NaN of an empty one.
func Of(s []float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	s = slices.Sorted(slices.Values(s))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}

// Least is how many measurements an interval needs.
const Least = 6

// Interval returns bounds of the median of what a sample was drawn from, right in at least 95 of 100 cases,
// whatever the distribution: the k-th smallest and k-th largest of the sample (the confidence interval that
// belongs to the sign test). Of fewer than Least values nothing is known: the bounds are infinite.
func Interval(s []float64) (low, high float64) {
	if len(s) < Least {
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
