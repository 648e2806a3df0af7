package native

import (
	"reflect"
	"strings"

	"github.com/whyslow/whyslow/prof"
)

// Gauge is implemented by modules that tell numbers by name, at any time. Those of Open do, and can ask
// others.
type Gauge interface {
	// Gauge returns the number of that name for a node; false: there is none.
	Gauge(what string, node int) (float64, bool)
}

// ask asks any module for a number.
func ask(other prof.Module, what string, node int) (float64, bool) {
	switch o := other.(type) {
	case Gauge:
		return o.Gauge(what, node)
	case prof.State:
		s := reflect.ValueOf(o.Node(node))
		f := s.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, what) })
		switch {
		case !f.IsValid():
		case f.CanInt():
			return float64(f.Int()), true
		case f.CanFloat():
			return f.Float(), true
		}
	}
	return 0, false
}
