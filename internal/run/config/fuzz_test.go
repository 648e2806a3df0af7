package config

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// inside reports a position that is in the text.
func inside(p Pos, text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	all := bytes.Split(text, []byte("\n"))
	return p.File == "f.json" && p.Line >= 1 && p.Line <= len(all) && p.Col >= 1 &&
		p.Col <= utf8.RuneCount(all[p.Line-1])+1
}

// oneLine reports a message for users.
func oneLine(s string) bool { return s != "" && !strings.Contains(s, "\n") }

func FuzzReadEvents(f *testing.F) {
	text := defaultEvents()
	for _, s := range []string{string(text), listing1, listing4, listing6,
		"{" + listing6Settings + listing6 + "}", "\ufeff{}", "{", `{"a`, "{/*", "// x", "é[",
		`{"groups":{"A":{"events":["a::b"]}},}//`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		ev, ws, err := ReadEvents("f.json", text)
		if err != nil {
			if ev != nil || !oneLine(err.Error()) || !strings.HasPrefix(err.Error(), "f.json:") {
				t.Fatalf("%q", err)
			}
			return
		}
		for _, w := range ws {
			if !inside(w.Pos, text) || !oneLine(w.Text) {
				t.Fatalf("%q", w)
			}
		}
		names := map[string]bool{}
		for _, e := range ev.List {
			if !inside(e.Pos, text) || !inside(e.EnabledPos, text) || names[e.String()] {
				t.Fatalf("%+v", e)
			}
			names[e.String()] = true
		}
		for _, g := range ev.Groups {
			if !inside(g.Pos, text) || !inside(g.EnabledPos, text) || names["group "+g.Name] {
				t.Fatalf("%+v", g)
			}
			names["group "+g.Name] = true
		}
		check(t, Input{Events: ev})
	})
}

// check resolves what could be read, and writes it out.
func check(t *testing.T, in Input) {
	in.Known = known()
	p, err := Resolve(in)
	if err != nil {
		if !oneLine(err.Error()) {
			t.Fatalf("%q", err)
		}
		return
	}
	if err := p.Explain(&bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(p); err != nil {
		t.Fatal(err)
	}
}

func FuzzReadModules(f *testing.F) {
	for _, s := range []string{string(defaultModules(known())), listing3, listing7,
		`{"x":{"params":{"a":[1e99,"\ud800"],"b":-0.0}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		mods, ws, err := ReadModules("f.json", text, known())
		if err != nil {
			if mods != nil || !oneLine(err.Error()) || !strings.HasPrefix(err.Error(), "f.json:") {
				t.Fatalf("%q", err)
			}
			return
		}
		for _, w := range ws {
			if !inside(w.Pos, text) || !oneLine(w.Text) {
				t.Fatalf("%q", w)
			}
		}
		for _, m := range mods.List {
			if !inside(m.Pos, text) || mods.named(m.Name).Pos != m.Pos {
				t.Fatalf("%+v", m)
			}
			for _, v := range m.Params {
				if !inside(v.Pos, text) {
					t.Fatalf("%+v", v)
				}
			}
		}
		check(t, Input{Modules: mods})
	})
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"before return EXIT", "after\tforeign  call", "before BlockRetStatus",
		"after entry", "before return a ? b : c", "return EXIT", "before", "before return", "after return;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRule(text)
		if err != nil {
			if r != (Rule{}) || !oneLine(err.Error()) {
				t.Fatalf("%q", err)
			}
			return
		}
		if again, err := ParseRule(r.String()); err != nil || again != r {
			t.Fatalf("%q is %q, which is %q, %v", text, r, again, err)
		}
		if x, ret := r.Return(); ret && (x == "" || strings.TrimSpace(x) != x) {
			t.Fatalf("%q returns %q", text, x)
		}
	})
}

func FuzzMatch(f *testing.F) {
	f.Add("DFEvents::on*", "DFEvents.onCreate")
	f.Add("*.on?", "a.onb")
	f.Add("**a*", "\xffa")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		got := Match(pattern, name)
		if !Match("*", name) ||
			!isPattern(pattern) &&
				got != (strings.ReplaceAll(pattern, "::", ".") == strings.ReplaceAll(name, "::", ".")) {
			t.Fatal(pattern, name)
		}
		if got && (!Match("*"+pattern, name) || !Match(pattern+"*", name+"x") || !Match("*"+pattern+"*",
			"::"+name+"::")) {
			t.Fatal(pattern, name)
		}
	})
}

// path.Match does the same where there are no characters that only it or Match treats in its own way.
func TestMatchModel(t *testing.T) {
	pattern, name := rapid.StringMatching(`[ab*?é]{0,8}`), rapid.StringMatching(`[abé]{0,10}`)
	rapid.Check(t, func(t *rapid.T) {
		p, n := pattern.Draw(t, "pattern"), name.Draw(t, "name")
		want, err := path.Match(p, n)
		if err != nil {
			t.Fatal(err)
		}
		if got := Match(p, n); got != want {
			t.Errorf("Match(%q, %q) = %v", p, n, got)
		}
	})
}
