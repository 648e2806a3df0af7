package native

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// splitEvent takes "Namespace.onName" or "Namespace::onName" apart.
func splitEvent(text string) (ns, name string, err error) {
	ns, name, ok := strings.Cut(strings.Replace(text, "::", ".", 1), ".")
	if !ok || ns == "" || name == "" {
		return "", "", fmt.Errorf("event %q: events are named Namespace.onName", text)
	}
	return ns, name, nil
}

// parseSignature reads "Namespace.onName(field:Type field:Type)"; between fields there may be commas.
func parseSignature(text string) (*trace.KindSpec, error) {
	bad := func(what string) (*trace.KindSpec, error) {
		return nil, fmt.Errorf("event %q: %s; an event looks like LoadEvents.onLoad(node:Node load:Float)",
			text, what)
	}
	head, rest, ok := strings.Cut(text, "(")
	if !ok {
		return bad("there is no (")
	}
	ns, name, err := splitEvent(strings.TrimSpace(head))
	if err != nil {
		return nil, err
	}
	list, after, ok := strings.Cut(rest, ")")
	if !ok || strings.TrimSpace(after) != "" {
		return bad("it does not end with )")
	}
	spec := &trace.KindSpec{Namespace: ns, Name: name}
	for _, word := range strings.FieldsFunc(list, func(r rune) bool {
		return r == ' ' || r == ',' || r == '\t'
	}) {
		field, typ, ok := strings.Cut(word, ":")
		if !ok {
			return bad(fmt.Sprintf("%q has no type", word))
		}
		f := trace.Field{Name: field}
		for t := trace.FieldInt; t.Valid(); t++ {
			if t.String() == typ {
				f.Type = t
			}
		}
		if f.Type == 0 {
			return bad(fmt.Sprintf("there is no type %q", typ))
		}
		spec.Fields = append(spec.Fields, f)
	}
	return spec, spec.Check()
}

// Types of parameters, as in whyslow_module.h.
const (
	paramString = 1 + iota
	paramInt
	paramFloat
	paramBool
	paramStrings
)

// newParam makes a parameter of the type and the default that a library gives as text.
func newParam(name string, typ int, value, doc string) (prof.Param, error) {
	p := prof.Param{Name: name, Doc: doc}
	var err error
	switch typ {
	case paramString:
		p.Default = value
	case paramInt:
		p.Default, err = strconv.Atoi(value)
	case paramFloat:
		p.Default, err = strconv.ParseFloat(value, 64)
	case paramBool:
		p.Default, err = strconv.ParseBool(value)
	case paramStrings:
		list := []string{}
		if value != "" {
			list = strings.Split(value, ",")
		}
		p.Default = list
	default:
		return p, fmt.Errorf("parameter %q has an unknown type, %d", name, typ)
	}
	if err != nil {
		return p, fmt.Errorf("parameter %q has a default that does not fit its type: %q", name, value)
	}
	if name == "" {
		return p, fmt.Errorf("a parameter has no name")
	}
	return p, nil
}
