//go:build !linux

package crew

import "errors"

// Affinity is "": only Linux tells which cores a process may use.
func Affinity() string { return "" }

// CanBind is an error: only Linux keeps threads on cores.
func CanBind() error { return errors.ErrUnsupported }
