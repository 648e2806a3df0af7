package cube

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Cube's own libraries do not parse XML: they have a grammar of these files, and refuse, misread or crash on
// what an XML parser takes. accepts fails on what they fail on:
//
//   - <attr> is one tag, <attr/>: a pair of tags is a syntax error in both libraries. Every other element is
//     a pair of tags: <mirrors/> is a syntax error.
//   - Only five entities are decoded. Others appear literally: &#34; in the name of a region.
//   - Text and attributes are on one line, but for the numbers of a <row>.
//   - Elements have their order, and no others are between: Cube 3 refuses a <descr> in a <node>.
//   - Regions and call paths are indices: tools crash if regions begin with 1. Call paths are in depth-first
//     order, as the rows of .index files are.
//   - The system tree has one root: pyCubexR takes no other.

// shape is what an element has: the names of attributes, in order, and a regular expression of the names of
// its children, each followed by a space; an element without one has text.
type shape struct{ attrs, inner string }

var shapes = map[string]shape{ // of both formats
	"attr": {attrs: "key value"}, "doc": {"", "mirrors "}, "mirrors": {"", "(murl )+"},
	"metrics": {"", "(metric )+"}, "program": {"", "(region )+(cnode )+"},
}

var shapesOf = map[int]map[string]shape{
	3: {
		"cube":   {"version", "(attr )?doc metrics program system severity "},
		"metric": {"id", "disp_name uniq_name dtype uom url descr (metric )*"},
		"region": {"id mod begin end", "name url descr "}, "cnode": {"id calleeId line mod", "(cnode )*"},
		"system": {"", "machine "}, "machine": {"Id", "name descr (node )+"},
		"node": {"Id", "name (process )+"}, "process": {"Id", "name rank (thread )+"},
		"thread": {"Id", "name rank "}, "severity": {"", "(matrix )+"}, "matrix": {"metricId", "(row )*"},
		"row": {attrs: "cnodeId"},
	},
	4: {
		"cube":   {"version", "(attr )*doc metrics program system "},
		"metric": {"id type", "disp_name uniq_name dtype uom url descr (metric )*"},
		"region": {"id mod begin end", "name mangled_name paradigm role url descr "},
		"cnode":  {"id calleeId", "(cnode )*"}, "system": {"", "systemtreenode "},
		"systemtreenode": {"Id", "name class ((systemtreenode )+|(locationgroup )+)"},
		"locationgroup":  {"Id", "name rank type (location )+"}, "location": {"Id", "name rank type "},
	},
}

// strict reads a document of a format.
type strict struct {
	format int
	rest   string
	next   map[string]int // by element: the number it must have
}

// accepts fails if real readers of a format do not read a document as it was meant.
func accepts(format int, doc string) (err error) {
	body, ok := strings.CutPrefix(doc, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
	if !ok {
		return fmt.Errorf("it begins with %q", doc[:min(40, len(doc))])
	}
	s := &strict{format, body, map[string]int{}}
	if name, err := s.element(); err != nil {
		return fmt.Errorf("line %d: %w", 1+strings.Count(doc[:len(doc)-len(s.rest)], "\n"), err)
	} else if name != "cube" || s.rest != "\n" {
		return fmt.Errorf("%q after </%s>", s.rest, name)
	}
	return nil
}

var (
	startTag  = regexp.MustCompile(`^<([A-Za-z_]+)((?: [A-Za-z_]+="[^"]*")*)(/?)>`)
	attribute = regexp.MustCompile(`([A-Za-z_]+)="([^"]*)"`)
	entities  = regexp.MustCompile(`&(lt|gt|amp|quot|apos);`)
)

// plainText fails on text that is not read as it was meant.
func plainText(s string, lines bool) error {
	switch {
	case strings.ContainsAny(entities.ReplaceAllString(s, ""), "&<"):
		return fmt.Errorf("%q has an entity that is not decoded", s)
	case !lines && strings.ContainsAny(s, "\n\r\t"):
		return fmt.Errorf("%q is not on one line", s)
	}
	return nil
}

// element reads an element and returns its name.
func (s *strict) element() (name string, err error) {
	tag := startTag.FindStringSubmatch(s.rest)
	if tag == nil {
		return "", fmt.Errorf("%.40q is no tag", s.rest)
	}
	name = tag[1]
	s.rest = s.rest[len(tag[0]):]
	like, known := shapesOf[s.format][name]
	if !known {
		like = shapes[name]
	}
	var attrs []string
	for _, a := range attribute.FindAllStringSubmatch(tag[2], -1) {
		attrs = append(attrs, a[1])
		if err := plainText(a[2], false); err != nil {
			return name, err
		}
		counted := strings.EqualFold(a[1], "id") &&
			slices.Contains([]string{"region", "cnode", "thread", "location"}, name)
		if n, _ := strconv.Atoi(a[2]); counted {
			if n != s.next[name] {
				return name, fmt.Errorf("%s %s should be number %d", name, a[2], s.next[name])
			}
			s.next[name]++
		} else if a[1] == "calleeId" && n >= s.next["region"] {
			return name, fmt.Errorf("there is no region %d", n)
		}
	}
	if strings.Join(attrs, " ") != like.attrs {
		return name, fmt.Errorf("<%s> has %v, not %s", name, attrs, like.attrs)
	}
	if one := tag[3] != ""; one != (name == "attr") {
		return name, fmt.Errorf("<%s> in one tag: %v", name, one)
	} else if one {
		return name, nil
	}
	var inner string
	for {
		text, rest, _ := strings.Cut(s.rest, "<")
		s.rest = "<" + rest
		if like.inner == "" {
			err = plainText(text, name == "row")
		} else if strings.TrimSpace(text) != "" {
			err = fmt.Errorf("%q between elements", text)
		}
		if err != nil {
			return name, err
		}
		if after, ok := strings.CutPrefix(s.rest, "</"+name+">"); ok {
			s.rest = after
			break
		}
		child, err := s.element()
		if err != nil {
			return name, err
		}
		inner += child + " "
	}
	if !regexp.MustCompile("^" + like.inner + "$").MatchString(inner) {
		return name, fmt.Errorf("<%s> has %s: want %s", name, inner, like.inner)
	}
	return name, nil
}

// The strict reader refuses what Cube's libraries refuse. Each case is a golden with a change.
func TestStrictReader(t *testing.T) {
	three, four := goldens(t)
	cases := []struct {
		name     string
		format   int
		from, to string
	}{
		{"attr in two tags", 3, `"whyslow"/>`, `"whyslow"></attr>`},
		{"attr in two tags", 4, `"whyslow"/>`, `"whyslow"></attr>`},
		{"another element in one tag", 4, "<descr></descr>", "<descr/>"},
		{"no mirror", 3, "   <murl>" + mirror + "</murl>\n", ""},
		{"a numeric entity", 4, "&quot;", "&#34;"},
		{"a line end in a name", 3, "<name>main", "<name>ma\nin"},
		{"a description of a node", 3, "    <process Id=\"0\"", "    <descr></descr><process Id=\"0\""},
		{"regions from 1", 3, `<region id="0"`, `<region id="1"`},
		{"a call path out of order", 4, `<cnode id="1"`, `<cnode id="2"`},
		{"a region that is missing", 4, `calleeId="2"`, `calleeId="9"`},
		{"two roots", 3, " </system>", "  <machine Id=\"1\"><name></name><descr></descr><node Id=\"9\">" +
			"<name></name><process Id=\"9\"><name></name><rank>0</rank><thread Id=\"3\"><name></name><rank>0</rank>" +
			"</thread></process></node></machine>\n </system>"},
	}
	for _, c := range cases {
		doc := string([][]byte{3: three, 4: four}[c.format])
		changed := strings.Replace(doc, c.from, c.to, 1)
		if changed == doc {
			t.Errorf("%s: there is no %s", c.name, c.from)
		} else if accepts(c.format, changed) == nil {
			t.Errorf("Cube %d: %s is accepted", c.format, c.name)
		}
	}
}
