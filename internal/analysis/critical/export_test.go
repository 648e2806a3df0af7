package critical

// WithBudget lets Compute look at no more than about n edges to find out how much longer all CFs of code
// fragments could take.
func (o Options) WithBudget(n int) Options {
	o.budget = n
	return o
}
