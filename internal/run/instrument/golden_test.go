package instrument

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/whyslow/whyslow/internal/run/config"
)

var update = flag.Bool("update", false, "write the results into the golden files")

// readRules gives the rules of a configuration that has to be right.
func readRules(t *testing.T, text []byte) []Rule {
	t.Helper()
	events, warnings, err := config.ReadEvents("events_config.json", text)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := config.Resolve(config.Input{Events: events})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range append(warnings, plan.Warnings...) {
		t.Error(w)
	}
	return Rules(plan)
}

// TestGolden instruments the .cpp files of each testdata/golden/*.txtar by its events_config.json. The
// comment on top tells what it is about.
func TestGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			golden, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			var rules []Rule
			var inputs []txtar.File
			var files []string
			for _, f := range golden.Files {
				switch {
				case f.Name == "events_config.json":
					rules = readRules(t, f.Data)
					inputs = append(inputs, f)
				case strings.HasPrefix(f.Name, "out/"), f.Name == "warnings":
				default:
					inputs = append(inputs, f)
					path := filepath.Join(dir, f.Name)
					if err := os.WriteFile(path, f.Data, 0o666); err != nil {
						t.Fatal(err)
					}
					files = append(files, path)
				}
			}
			out := filepath.Join(dir, "out")
			res, err := Run(files, rules, Options{OutDir: out})
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{Comment: golden.Comment, Files: inputs}
			var warnings bytes.Buffer
			for _, w := range res.Warnings {
				warnings.WriteString(w.String() + "\n")
			}
			for _, f := range res.Files {
				text, err := os.ReadFile(f.Target)
				if err != nil {
					t.Fatal(err)
				}
				rel, err := filepath.Rel(dir, f.Target)
				if err != nil {
					t.Fatal(err)
				}
				got.Files = append(got.Files, txtar.File{Name: filepath.ToSlash(rel), Data: text})
				for _, w := range f.Warnings {
					warnings.WriteString(strings.ReplaceAll(w.String(), dir+string(filepath.Separator), "") + "\n")
				}
			}
			got.Files = append(got.Files, txtar.File{Name: "warnings", Data: warnings.Bytes()})
			if *update {
				if err := os.WriteFile(name, txtar.Format(got), 0o666); err != nil {
					t.Fatal(err)
				}
			} else if d := cmp.Diff(string(txtar.Format(golden)), string(txtar.Format(got))); d != "" {
				t.Errorf("%s differs (-want +got; -update writes it):\n%s", name, d)
			}
			for _, f := range res.Files {
				checkReversible(t, f.Name, rules)
			}
		})
	}
}

// checkReversible checks what holds for every text: lines stay, doing it again changes nothing, and
// what was inserted can be taken out.
func checkReversible(t interface {
	Helper()
	Fatalf(string, ...any)
}, name string, rules []Rule) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	reversible(t, text, rules)
}

func reversible(t interface {
	Helper()
	Fatalf(string, ...any)
}, text []byte, rules []Rule) {
	t.Helper()
	original, _, _ := Source("original", text, nil)
	out, insertions, _ := Source("x.cpp", text, rules)
	if bytes.Count(out, []byte("\n")) != bytes.Count(text, []byte("\n")) && bytes.Equal(original, text) {
		t.Fatalf("lines are added to:\n%s\n%s", text, out)
	}
	again, insertionsAgain, _ := Source("x.cpp", out, rules)
	if !bytes.Equal(again, out) {
		t.Fatalf("instrumented again:\n%s\nbecomes:\n%s", out, again)
	}
	if d := cmp.Diff(insertions, insertionsAgain); d != "" {
		t.Fatalf("insertions of the second time: %s", d)
	}
	if back, _, _ := Source("x.cpp", out, nil); !bytes.Equal(back, original) {
		t.Fatalf("what was inserted into:\n%q\ngiving:\n%q\nis not taken out:\n%q", original, out, back)
	}
}

// goldenSources are the inputs and results of all golden files.
func goldenSources(t testing.TB) (list [][]byte) {
	names, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		golden, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range golden.Files {
			list = append(list, f.Data)
		}
	}
	return list
}
