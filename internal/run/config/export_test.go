package config

import "flag"

// Update makes tests write what they would compare with.
var Update = flag.Bool("update", false, "write the schemas in docs and the golden files anew")

// For tests outside of the package, which may import packages that import this one.
const (
	Listing1         = listing1
	Listing3         = listing3
	Listing4         = listing4
	Listing6         = listing6
	Listing6Settings = listing6Settings
	Listing7         = listing7
)
