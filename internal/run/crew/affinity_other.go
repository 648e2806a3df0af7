//go:build !linux

package crew

// Affinity is "": only Linux tells which cores a process may use.
func Affinity() string { return "" }
