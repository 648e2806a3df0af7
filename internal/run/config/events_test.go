package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// readEvents reads a file that must be readable, and returns its warnings as text.
func readEvents(t *testing.T, text string) (*Events, string) {
	t.Helper()
	ev, ws, err := ReadEvents("e.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ev, lines(ws)
}

func lines(ws []Warning) string {
	var b strings.Builder
	for _, w := range ws {
		b.WriteString(w.String() + "\n")
	}
	return b.String()
}

func TestReadEvents(t *testing.T) {
	ev, ws := readEvents(t, `{ // what we look at
  "eventsSettings": {
    "CFEvents": { "onCreated": true, "onStarted": false },
    "GlobalEvents": { "onExited": {
      "enabled": true, "rule": "before return EXIT", "functions": "mult*",
      "args": [ "__func__", "std::chrono::high_resolution_clock::now()" ],
    } },
    "Mine": { "onTick": {"rule": "after  foreign\tcall", "functions": ["a", "b?"]} },
  },
  "groups": { "Memory": { "events": [ "CFEvents::onCreated", "Mine.onTick" ] }, },
} // the end`)
	if ws != "" {
		t.Error(ws)
	}
	at := func(line, col int) Pos { return Pos{"e.json", line, col} }
	want := &Events{
		File: "e.json",
		List: []Event{
			{Namespace: "CFEvents", Name: "onCreated", Enabled: true, Pos: at(3, 19), EnabledPos: at(3, 32)},
			{Namespace: "CFEvents", Name: "onStarted", Pos: at(3, 38), EnabledPos: at(3, 51)},
			{Namespace: "GlobalEvents", Name: "onExited", Enabled: true, Rule: &Rule{true, "return EXIT"},
				Functions: []string{"mult*"},
				Args:      []string{"__func__", "std::chrono::high_resolution_clock::now()"}, Pos: at(4, 23),
				EnabledPos: at(5, 18)},
			{Namespace: "Mine", Name: "onTick", Enabled: true, Rule: &Rule{false, "foreign call"},
				Functions: []string{"a", "b?"}, Pos: at(8, 15), EnabledPos: at(8, 15)},
		},
		Groups: []Group{{Name: "Memory", Enabled: true, Pos: at(10, 15), EnabledPos: at(10, 15),
			Events: []Ref{{"CFEvents", "onCreated", at(10, 39)}, {"Mine", "onTick", at(10, 62)}}}},
	}
	var places []string
	for _, e := range ev.List {
		for i := range e.ArgPos {
			places = append(places, e.ArgPos[i].String(), e.ArgPos[i].at(2).String())
		}
	}
	if d := cmp.Diff(want, ev, cmpopts.IgnoreFields(Event{}, "ArgPos")); d != "" {
		t.Error(d)
	}
	if got := strings.Join(places, " "); got != "e.json:6:17 e.json:6:20 e.json:6:29 e.json:6:32" {
		t.Errorf("arguments at %s", got)
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "DFEvents.onCreate", true},
		{"*", "", true},
		{"", "", true},
		{"", "a", false},
		{"DFEvents.*", "DFEvents::onCreate", true},
		{"DFEvents::on*", "DFEvents.onCreate", true},
		{"DFEvents::on*", "CFEvents.onCreated", false},
		{"*.onSt?rted", "CFEvents.onStarted", true},
		{"*.onSt??rted", "CFEvents.onStarted", false},
		{"a*b*c", "a1b2b3c", true},
		{"a*b*c", "a1b2b3", false},
		{"a?c", "aéc", true},
		{"*é", "aaé", true},
		{"a**", "a", true},
		{"A", "a", false},
	} {
		if got := Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.name, got)
		}
	}
}

func TestParseRule(t *testing.T) {
	for _, c := range []struct {
		text, rule string
		known      bool
	}{
		{"before return EXIT", "before return EXIT", true},
		{"  after\treturn   STEAL\n", "after return STEAL", true},
		{"before return a  +  b", "before return a + b", false},
		{"before return exit", "before return exit", false},
		{"after BlockRetStatus", "after BlockRetStatus", true},
		{"before foreign  call", "before foreign call", true},
		{"after entry", "after entry", true},
	} {
		r, err := ParseRule(c.text)
		if err != nil || r.String() != c.rule || r.Known() != c.known {
			t.Errorf("%q is %q, known %v, %v", c.text, r, r.Known(), err)
		}
	}
	for text, want := range map[string]string{
		"":                     "a rule begins with before or after, not with nothing",
		"Before entry":         `a rule begins with before or after, not with "Before"`,
		"before":               "before what? points are return X, BlockRetStatus, foreign call and entry",
		"after return":         `return what? Write "return EXIT" or another value`,
		"before return x;":     `leave out the ; of "return x;"`,
		"before foreign calls": `there is no point "foreign calls"; did you mean foreign call?`,
		"before Return " +
			"EXIT": `there is no point "Return EXIT"; points are return X, BlockRetStatus, foreign call and entry`,
	} {
		if _, err := ParseRule(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
