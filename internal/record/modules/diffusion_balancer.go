//go:build !no_diffusion_balancer_module

package modules

import (
	"math/bits"

	"github.com/whyslow/whyslow/prof"
)

func init() {
	prof.RegisterModule(balancer{decide: (*balancer).diffusion}.info(DiffusionName,
		"moves CFs between neighbouring nodes, while the program runs"))
}

// diffusion compares each node with its neighbours in a hypercube: those whose number differs in one bit.
func (b *balancer) diffusion() {
	for i := range b.nodes {
		for bit := range bits.Len(uint(len(b.nodes) - 1)) {
			if j := i ^ 1<<bit; j < len(b.nodes) {
				for n := 0; n < most && b.moveOne(i, j); n++ {
				}
				b.shift(i, j)
			}
		}
	}
}
