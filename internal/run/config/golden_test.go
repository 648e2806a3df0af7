package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// Each archive in testdata is a configuration: events.json, modules.json and flags (one per line), all of
// which may be missing. What comes of it is in messages: the error, or else the warnings; and, where
// it is there, in explain.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			messages, explain := golden(a)
			changed := false
			for i, f := range a.Files {
				got := messages
				switch f.Name {
				case "explain":
					got = explain
				case "messages":
				default:
					continue
				}
				if d := cmp.Diff(string(f.Data), got); d != "" && *Update {
					a.Files[i].Data, changed = []byte(got), true
				} else if d != "" {
					t.Errorf("%s:\n%s", f.Name, d)
				}
			}
			if changed {
				if err := os.WriteFile(file, txtar.Format(a), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// golden returns what comes of a configuration.
func golden(a *txtar.Archive) (messages, explain string) {
	in := Input{Known: known()}
	var warnings []Warning
	for _, f := range a.Files {
		var ws []Warning
		var err error
		switch f.Name {
		case "events.json":
			in.Events, ws, err = ReadEvents(f.Name, f.Data)
		case "modules.json":
			in.Modules, ws, err = ReadModules(f.Name, f.Data, known())
		case "flags":
			in.Flags = parseFlags(string(f.Data))
		}
		if err != nil {
			return err.Error() + "\n", ""
		}
		warnings = append(warnings, ws...)
	}
	p, err := Resolve(in)
	if err != nil {
		return err.Error() + "\n", ""
	}
	p.Warnings = append(warnings, p.Warnings...)
	var b strings.Builder
	if err := p.Explain(&b); err != nil {
		return err.Error(), ""
	}
	return lines(p.Warnings), b.String()
}

// parseFlags reads flags as they stand on a command line, one per line.
func parseFlags(text string) (f Flags) {
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		switch flag, value, _ := strings.Cut(strings.Replace(l, " ", "=", 1), "="); flag {
		case "--events":
			f.Events = append(f.Events, value)
		case "--modules":
			f.Modules = append(f.Modules, value)
		case "--group":
			f.Groups = append(f.Groups, value)
		case "--set":
			f.Sets = append(f.Sets, value)
		case "--no-trace":
			f.NoTrace = true
		}
	}
	return f
}

// TestMistakes has a line per mistake on the command line, and what is said of it.
func TestMistakes(t *testing.T) {
	const file = "testdata/mistakes.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Known: known()}
	if in.Events, _, err = ReadEvents("e.json", []byte("{"+listing6Settings+listing6+"}")); err != nil {
		t.Fatal(err)
	}
	if in.Modules, _, err = ReadModules("m.json", []byte(listing3), known()); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, l := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(l, "  ") {
			continue
		}
		in.Flags = parseFlags(strings.ReplaceAll(l, " --", "\n--"))
		message := "nothing"
		if _, _, err := in.Flags.Files(); err != nil {
			message = err.Error()
		} else if _, err := Resolve(in); err != nil {
			message = err.Error()
		}
		b.WriteString(l + "\n  " + message + "\n")
	}
	if *Update {
		err = os.WriteFile(file, []byte(b.String()), 0o666)
	}
	if d := cmp.Diff(string(text), b.String()); d != "" && !*Update || err != nil {
		t.Error(d, err)
	}
}
