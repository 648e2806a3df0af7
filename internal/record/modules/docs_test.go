package modules

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/prof"
)

const modulesPage = "../../../docs/modules.md"

// TestDocs: docs/modules.md has a part for each module with what its registration says, and for some what
// they print. Run with -update to bring it up to date; the prose between is written by hand.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile(modulesPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	overview := "| module | |\n|---|---|\n"
	for _, m := range prof.Modules() {
		row := fmt.Sprintf("| [`%s`](#%s) | %s |\n", m.Name, m.Name, cell(m.Doc))
		if overview += row; !*update && !strings.Contains(page, row) {
			t.Errorf("docs/modules.md lacks %s; run go test ./internal/record/modules -update", row)
		}
		if *update && !strings.Contains(page, beginMark(m.Name)) {
			page += "\n## " + m.Name + "\n\n" + beginMark(m.Name) + endMark
		}
		page = part(t, page, m.Name, facts(m))
	}
	if *update {
		page = part(t, page, "modules", overview)
	}
	for _, e := range examples {
		page = part(t, page, e.name, "```text\n"+e.run(t)+"```\n")
	}
	if *update {
		if err := os.WriteFile(modulesPage, []byte(page), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

const endMark = "<!-- end -->\n"

func beginMark(name string) string { return "<!-- " + name + ": made by go test -update -->\n" }

// part replaces a part of the page, or checks it.
func part(t *testing.T, page, name, want string) string {
	t.Helper()
	before, rest, ok := strings.Cut(page, beginMark(name))
	got, after, ended := strings.Cut(rest, endMark)
	if !ok || !ended {
		t.Errorf("docs/modules.md has no part %q; run go test ./internal/record/modules -update", name)
		return page
	}
	if diff := cmp.Diff(got, want); diff != "" && !*update {
		t.Errorf("docs/modules.md: %s is out of date; run go test ./internal/record/modules -update\n%s", name,
			diff)
	}
	return before + beginMark(name) + want + endMark + after
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// facts is what a registration says, as tables.
func facts(m prof.ModuleInfo) string {
	code := func(list []string) string {
		if len(list) == 0 {
			return ""
		}
		return "`" + strings.Join(list, "`, `") + "`"
	}
	var b strings.Builder
	b.WriteString("| | |\n|---|---|\n")
	for _, row := range [][2]string{
		{"also called", code(m.Aliases)}, {"does", m.Doc}, {"events", code(m.Events)}, {"emits", code(m.Emits)},
		{"runs after", code(m.Requires)},
		{"output", m.Output}, {"cost", m.Cost},
	} {
		if row[1] != "" {
			fmt.Fprintf(&b, "| %s | %s |\n", row[0], cell(row[1]))
		}
	}
	if len(m.Params) > 0 {
		b.WriteString("\n| parameter | default | |\n|---|---|---|\n")
	}
	for _, p := range m.Params {
		doc := p.Doc
		if len(p.Choices) > 0 {
			doc += ": " + code(p.Choices)
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", p.Name, value(p.Default), cell(doc))
	}
	return b.String()
}

// value is a default as it would stand in the file.
func value(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case []string:
		var words []string
		for _, s := range v {
			words = append(words, strconv.Quote(s))
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	return fmt.Sprint(reflect.ValueOf(v))
}

// examples are runs of modules on a small program.
var examples []example

type example struct {
	name string
	run  func(t *testing.T) string
}

// printed is what a module prints about the story.
func printed(name string, params map[string]any) func(t *testing.T) string {
	return func(t *testing.T) string {
		r := startRun(t, 2, 1, use(t, name, params))
		story(r.ses)
		return r.finish(t)
	}
}

// some keeps the lines that have one of the words.
func some(run func(t *testing.T) string, words ...string) func(t *testing.T) string {
	return func(t *testing.T) string {
		var kept strings.Builder
		for _, line := range lines(run(t)) {
			for _, w := range words {
				if strings.Contains(line, w) {
					kept.WriteString(line + "\n")
					break
				}
			}
		}
		return kept.String()
	}
}

// TestEachFileCanBeLeftOut: whoever registers a module does it in a file that a tag of its name leaves out.
func TestEachFileCanBeLeftOut(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range prof.Modules() {
		name := strings.TrimSuffix(m.Name, "_module")
		if name == "trace_writer" {
			continue // the trace is what whyslow is for; --no-trace does without
		}
		found := false
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "func init()") && strings.HasPrefix(string(text),
				"//go:build !no_"+m.Name+"\n") {
				found = true
			}
		}
		if !found {
			t.Errorf("no file that registers a module begins with //go:build !no_%s", m.Name)
		}
	}
}

// TestBuildsWithout builds the package without any of the modules.
func TestBuildsWithout(t *testing.T) {
	tags := ""
	for _, m := range prof.Modules() {
		tags += ",no_" + m.Name
	}
	if out, err := exec.Command("go", "vet", "-tags", tags[1:], ".").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
