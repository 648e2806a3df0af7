package api_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page trusts that answers are as web/src/api.ts says. Here its interfaces are read, as far as they go,
// and answers held against them: every member that is there must be declared, every declared one must be
// there unless it may be missing.

// shape is a type of the page.
type shape struct {
	any    bool
	null   bool
	base   string           // "string", "number", "boolean"
	object map[string]field // of an object
	dict   *shape           // of a Record<string, ...>
	array  *shape           // of an array
	open   bool             // an object that may have members that are not declared
	named  string           // a reference
	member string           // and to a member of it
}

type field struct {
	optional bool
	shape    *shape
}

type reader struct {
	s string
	t *testing.T
}

func readContract(t *testing.T) map[string]*shape {
	t.Helper()
	text, err := os.ReadFile("../../../web/src/api.ts")
	if err != nil {
		t.Fatal(err)
	}
	s := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(string(text), "")
	s = regexp.MustCompile(`//[^\n]*`).ReplaceAllString(s, "")
	types := map[string]*shape{}
	declared := regexp.MustCompile(`export (interface|type) (\w+)( extends (\w+))?( =)? `)
	for _, m := range declared.FindAllStringSubmatchIndex(s, -1) {
		r := &reader{s: s[m[1]:], t: t}
		sh := r.union()
		if m[8] >= 0 {
			for name, f := range types[s[m[8]:m[9]]].object {
				sh.object[name] = f
			}
		}
		types[s[m[4]:m[5]]] = sh
	}
	return types
}

func (r *reader) space() { r.s = strings.TrimLeft(r.s, " \t\r\n") }

func (r *reader) eat(word string) bool {
	r.space()
	if strings.HasPrefix(r.s, word) {
		r.s = r.s[len(word):]
		return true
	}
	return false
}

func (r *reader) union() *shape {
	sh := r.one()
	for r.eat("|") {
		other := r.one()
		switch {
		case other.null:
			sh.null = true
		case sh.null && sh.base == "" && sh.object == nil:
			other.null = true
			sh = other
		case other.base != sh.base:
			sh = &shape{any: true}
		}
	}
	return sh
}

var word = regexp.MustCompile(`^[A-Za-z_]\w*`)

func (r *reader) one() *shape {
	sh := &shape{}
	switch {
	case r.eat("("):
		sh = r.union()
		r.eat(")")
	case r.eat("{"):
		sh.object = map[string]field{}
		for !r.eat("}") {
			r.space()
			if r.eat("[") { // an index signature
				r.s = r.s[strings.IndexByte(r.s, ']')+1:]
				r.eat(":")
				r.union()
				sh.open = true
			} else {
				name := word.FindString(r.s)
				if name == "" {
					r.t.Fatalf("api.ts: cannot read %.60q", r.s)
				}
				r.eat(name)
				optional := r.eat("?")
				r.eat(":")
				sh.object[name] = field{optional, r.union()}
			}
			r.eat(";")
		}
	case r.eat("["): // a tuple
		sh.array = r.union()
		for r.eat(",") {
			r.union()
		}
		r.eat("]")
	case r.eat(`"`):
		sh.base = "string"
		r.s = r.s[strings.IndexByte(r.s, '"')+1:]
	default:
		name := word.FindString(strings.TrimLeft(r.s, " \t\r\n"))
		r.eat(name)
		switch name {
		case "string", "number", "boolean":
			sh.base = name
		case "null":
			sh.null = true
		case "unknown":
			sh.any = true
		case "Record":
			r.eat("<")
			r.union()
			r.eat(",")
			sh.dict = r.union()
			r.eat(">")
		case "":
			r.t.Fatalf("api.ts: cannot read %.60q", r.s)
		default:
			sh.named = name
			if r.eat(`["`) { // CFStory["lines"]
				sh.member = word.FindString(r.s)
				r.eat(sh.member)
				r.eat(`"]`)
			}
		}
	}
	for r.eat("[]") {
		sh = &shape{array: sh}
	}
	return sh
}

// loosen lets objects have members that are not declared.
func (s *shape) loosen() {
	if s == nil {
		return
	}
	s.open = s.object != nil
	s.array.loosen()
	s.dict.loosen()
	for _, f := range s.object {
		f.shape.loosen()
	}
}

// conforms tells what is wrong with a value, "" if nothing.
func conforms(types map[string]*shape, sh *shape, v any, at string) string {
	if sh.named != "" {
		def := types[sh.named]
		if def == nil {
			return at + ": api.ts has no " + sh.named
		}
		if v == nil && sh.null {
			return ""
		}
		if sh.member != "" {
			def = def.object[sh.member].shape
		}
		return conforms(types, def, v, at)
	}
	if sh.any || v == nil && sh.null {
		return ""
	}
	switch v := v.(type) {
	case nil:
		return at + ": is null"
	case map[string]any:
		if sh.dict != nil {
			for k, e := range v {
				if why := conforms(types, sh.dict, e, at+"."+k); why != "" {
					return why
				}
			}
			return ""
		}
		if sh.object == nil {
			return at + ": is an object"
		}
		for name, f := range sh.object {
			e, ok := v[name]
			if !ok {
				if f.optional {
					continue
				}
				return fmt.Sprintf("%s: has no %s", at, name)
			}
			if why := conforms(types, f.shape, e, at+"."+name); why != "" {
				return why
			}
		}
		for name := range v {
			if _, ok := sh.object[name]; !ok && !sh.open {
				return fmt.Sprintf("%s: api.ts does not know %s", at, name)
			}
		}
	case []any:
		if sh.array == nil {
			return at + ": is a list"
		}
		for i, e := range v {
			if why := conforms(types, sh.array, e, fmt.Sprintf("%s[%d]", at, i)); why != "" {
				return why
			}
		}
	case string:
		if sh.base != "string" {
			return at + ": is a string"
		}
	case float64:
		if sh.base != "number" {
			return at + ": is a number"
		}
	case bool:
		if sh.base != "boolean" {
			return at + ": is a boolean"
		}
	}
	return ""
}

// mustConform holds an answer against a type, "Run" or "Found[]".
func mustConform(t *testing.T, types map[string]*shape, name string, answer []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		t.Errorf("%v in %.200s", err, answer)
		return
	}
	if name == "Report" { // it is the report's, and only what the page uses is declared
		for _, part := range []string{"Report", "Share", "Advice"} {
			types[part].loosen()
		}
	}
	r := &reader{s: name, t: t}
	if why := conforms(types, r.union(), v, name); why != "" {
		t.Error(why)
	}
}
