package sloutest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// Goldens looks at the hand-written traces in testdata/*.txtar. Each opens with its story; the file "trace"
// in it is the trace as text. show is given all files of one and returns what some of them must be; update
// writes that, to be checked on paper.
func Goldens(t *testing.T, update bool, show func(t *testing.T, files map[string]string) map[string]string) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := show(t, contents(a))
			for i := range a.Files {
				f := &a.Files[i]
				text, shown := got[f.Name]
				if !shown {
					continue
				}
				delete(got, f.Name)
				if d := cmp.Diff(string(f.Data), text); d != "" && !update {
					t.Errorf("%s (-want +got):\n%s", f.Name, d)
				}
				f.Data = []byte(text)
			}
			for name := range got {
				t.Errorf("there is no file %s in %s", name, path)
			}
			if update {
				if err := os.WriteFile(path, txtar.Format(a), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Golden returns the trace of one of them as text.
func Golden(t TB, name string) string {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return contents(a)["trace"]
}

func contents(a *txtar.Archive) map[string]string {
	files := map[string]string{}
	for _, f := range a.Files {
		files[f.Name] = string(f.Data)
	}
	return files
}
