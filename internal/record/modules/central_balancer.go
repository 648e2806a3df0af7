//go:build !no_central_balancer_module

package modules

import "github.com/whyslow/whyslow/prof"

func init() {
	prof.RegisterModule(balancer{decide: (*balancer).central}.info(CentralName,
		"moves CFs from the nodes with most work ahead to those with least, while the program runs"))
}

// central moves a CF from the node with most work ahead to the one with least, until nothing can be gained.
func (b *balancer) central() {
	for range most * len(b.nodes) {
		high, low := -1, 0
		for i := range b.nodes {
			if n := &b.nodes[i]; n.left > 0 && (high < 0 || n.AheadNS > b.nodes[high].AheadNS) {
				high = i
			}
			if b.nodes[i].AheadNS < b.nodes[low].AheadNS {
				low = i
			}
		}
		if high < 0 || !b.moveOne(high, low) {
			break
		}
	}
	busy, idle := 0, 0
	for i := range b.nodes {
		if b.nodes[i].idle < b.nodes[busy].idle {
			busy = i
		}
		if b.nodes[i].idle > b.nodes[idle].idle {
			idle = i
		}
	}
	b.shift(busy, idle)
}
