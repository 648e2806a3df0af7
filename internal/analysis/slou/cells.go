package slou

// cells holds an amount of time for every factor and part. S and O are stored by part; the other factors,
// whose parts have names of their own, as a whole.
type cells [cellCount]int64

const cellCount = int(FactorLoss) + int(PartCount)

// cell gives the place of a factor and part.
func cell(f Factor, p Part) int {
	if p != PartNone {
		return int(FactorLoss) + int(p)
	}
	return int(f)
}

func (c *cells) part(p Part) int64 { return c[int(FactorLoss)+int(p)] }

// factor gives the time of a factor with all its parts.
func (c *cells) factor(f Factor) int64 {
	ns := c[f]
	for _, p := range partsOf[f] {
		ns += c.part(p)
	}
	return ns
}

// times gives the time of each factor.
func (c *cells) times() (t Times) {
	for f := range t {
		t[f] = c.factor(Factor(f))
	}
	return t
}

// total is the time the factors add up to.
func (c *cells) total() (ns int64) {
	for i, v := range c {
		if i != int(FactorLoss) {
			ns += v
		}
	}
	return ns
}

// undivided is the time of the factors that cannot be computed.
func (c *cells) undivided(null map[Factor]bool) (ns int64) {
	for f := range FactorLoss {
		if null[f] {
			ns += c.factor(f)
		}
	}
	return ns
}

func (c *cells) join(o *cells) {
	for i, v := range o {
		c[i] += v
	}
}
