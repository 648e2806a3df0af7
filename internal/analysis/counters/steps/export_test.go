package steps

// Len is the number of changes kept.
func (s *Steps) Len() int { return s.n }

// Integral gives the sum of value times duration over [from, to), in value times nanoseconds: the exact
// integral, rounded to a float64. It is 0 where to is not after from.
func (s *Steps) Integral(from, to int64) float64 {
	if to <= from {
		return 0
	}
	return integral(s.upTo(from), s.upTo(to), from, to)
}
