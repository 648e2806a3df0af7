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

// ask asks any module for a number. Those of the state module have the names of its JSON.
func ask(other prof.Module, what string, node int) (float64, bool) {
	switch o := other.(type) {
	case Gauge:
		return o.Gauge(what, node)
	case prof.State:
		s := reflect.ValueOf(o.Node(node))
		for i := range s.NumField() {
			f := s.Field(i)
			switch {
			case !strings.EqualFold(s.Type().Field(i).Tag.Get("json"), what):
			case f.CanInt():
				return float64(f.Int()), true
			case f.CanFloat():
				return f.Float(), true
			}
		}
	}
	return 0, false
}
