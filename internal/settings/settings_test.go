package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/settings"
)

func TestParse(t *testing.T) {
	got, err := settings.Parse("f", []byte(`# mine
lang = "ru"
report.full = true

[run]
workers = 2
link-latency = '50us' # slow
set = ["a.b=1",
  # two
  "c.d=2"]
`))
	want := []settings.Setting{
		{Flag: "lang", Values: []string{"ru"}, From: "f:2"},
		{Verb: "report", Flag: "full", Values: []string{"true"}, From: "f:3"},
		{Verb: "run", Flag: "workers", Values: []string{"2"}, From: "f:6"},
		{Verb: "run", Flag: "link-latency", Values: []string{"50us"}, From: "f:7"},
		{Verb: "run", Flag: "set", Values: []string{"a.b=1", "c.d=2"}, From: "f:8"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestParseFaults(t *testing.T) {
	for text, want := range map[string]string{
		"a = 1\nb":                   "f:2: ",
		"a = 1\na = 2":               "f:2: ",
		"\n[run.deep]\na = 1":        "f:2: run.deep: give a verb",
		"[[run]]\na = 1":             "f:1: run: give a verb",
		"[run]\na.b = 1":             "f:2: a.b: give a verb",
		"a = {b = 1}":                "f:1: a: give a text",
		"a = [[1]]":                  "f:1: a: a list holds",
		"\n\nwhen = 2026-01-01":      "f:3: when: give a text",
		"a = [2026-01-01]":           "f:1: a: a list holds",
		"x = \"not\nclosed\"\n[run]": "f:1: ",
	} {
		_, err := settings.Parse("f", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// The project's file may stand above the current folder if that is in a repository; otherwise only beside.
func TestFiles(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "home"))
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(dir, "a", "b"))
	user := filepath.Join(dir, "home", "whyslow", settings.Name)
	in := func(folders ...string) string { return filepath.Join(append(folders, settings.Name)...) }
	if diff := cmp.Diff([]string{in(dir, "a", "b"), user}, settings.Files()); diff != "" {
		t.Error(diff)
	}
	if err := os.Mkdir(filepath.Join(dir, "a", ".git"), 0o777); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{in(dir, "a", "b"), in(dir, "a"), user}, settings.Files()); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a = 1", "[run]\nset = [\"x\", 'y']", "a.b.c = {x = [1, {y = 2}]}", "[[x]]", "a = [",
		"a = \"\\u00", "# only"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := settings.Parse("f", text)
		for _, s := range list {
			if err == nil && (s.Flag == "" && !strings.Contains(string(text), `""`) &&
				!strings.Contains(string(text), "''") || s.From == "f:0") {
				t.Errorf("%+v of %q", s, text)
			}
		}
	})
}
