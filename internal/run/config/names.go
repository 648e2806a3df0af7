package config

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Match reports whether a name fits a pattern: * stands for any characters, ? for one; "::" is ".".
func Match(pattern, name string) bool {
	p, s := strings.ReplaceAll(pattern, "::", "."), strings.ReplaceAll(name, "::", ".")
	// Where the text after the last * does not fit, that * takes one character more.
	star, from := -1, 0
	i, j := 0, 0
	for j < len(s) {
		_, size := utf8.DecodeRuneInString(s[j:])
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
		case i < len(p) && p[i] == '?':
			i++
			j += size
		case i < len(p) && p[i] == s[j]:
			i++
			j++
		case star >= 0:
			_, size = utf8.DecodeRuneInString(s[from:])
			from += size
			i, j = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(p[i:], "*") == ""
}

// isPattern reports whether a pattern can fit more than one name.
func isPattern(s string) bool { return strings.ContainsAny(s, "*?") }

// Ref names an event.
type Ref struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Pos       Pos    `json:"pos"`
}

// String is "Namespace.onName".
func (r Ref) String() string { return r.Namespace + "." + r.Name }

// splitName parts "Namespace::onName" or "Namespace.onName".
func splitName(text string) (ns, name string, err error) {
	t := strings.ReplaceAll(text, "::", ".")
	ns, name, found := strings.Cut(t, ".")
	if !found || !identifier(ns) || !identifier(name) {
		return "", "", fmt.Errorf("%q is not a valid event name: write Namespace::onName", text)
	}
	return ns, name, nil
}

// identifier reports a name that C++ and Go allow too.
func identifier(s string) bool {
	for i, c := range s {
		switch {
		case c == '_', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case '0' <= c && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return s != ""
}

// canonical gives a standard event its name in the table, and leaves others as they are.
func canonical(ns, name string) string {
	if k, ok := trace.KindByName(ns, name); ok {
		return k.String()
	}
	return ns + "." + name
}

// standard has the names of the standard events.
var standard = sync.OnceValue(func() (s struct {
	namespaces []string            // in the order of the table
	events     map[string][]string // names and aliases by namespace
}) {
	s.events = map[string][]string{}
	for _, k := range trace.Kinds() {
		if s.events[k.Namespace] == nil {
			s.namespaces = append(s.namespaces, k.Namespace)
		}
		s.events[k.Namespace] = append(append(s.events[k.Namespace], k.Name), k.Alias...)
	}
	return s
})

func namespaces() []string { return standard().namespaces }

func standardNamespace(ns string) bool { return eventNames(ns) != nil }

func eventNames(ns string) []string { return standard().events[ns] }

// noEvent says that a standard namespace has no such event, and what was probably meant.
func noEvent(ns, name string) string {
	text := fmt.Sprintf("there is no event %s.%s", ns, name)
	if n := words.Nearest(name, eventNames(ns)); n != "" {
		return text + words.Meant(ns+"."+n)
	}
	for _, other := range namespaces() {
		if slices.Contains(eventNames(other), name) {
			return text + words.Meant(other+"."+name)
		}
	}
	return text
}

// namesOf are the names of things.
func namesOf[T any](list []T, name func(T) string) []string {
	var names []string
	for _, x := range list {
		names = append(names, name(x))
	}
	return names
}
