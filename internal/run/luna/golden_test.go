package luna

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the expected parts of testdata")

// TestSection14_Examples and the error goldens: the first file of an archive is compiled, the others can be
// included. "dump" is the lowered program; "messages" what a person sees, "luna" what scripts see.
func TestSection14_Examples(t *testing.T) { goldens(t, "testdata/14_*.txtar") }

func TestSection10_2_And_11_Messages(t *testing.T) { goldens(t, "testdata/errors_*.txtar") }

func goldens(t *testing.T, pattern string) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatal(pattern, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{}
			for _, f := range a.Files {
				files[f.Name] = string(f.Data)
			}
			o := opts("", files)
			o.File, o.Source = a.Files[0].Name, nil
			p, err := Compile(o)
			got := map[string]string{}
			if err == nil {
				got["dump"] = dump(p)
			} else {
				got["messages"] = formatted(diags(err))
				var e *Error
				errors.As(err, &e)
				got["luna"] = LunaText(e.First()) + "\n"
			}
			changed := false
			for _, name := range []string{"dump", "messages", "luna"} {
				if files[name] == got[name] {
					continue
				}
				if !*update {
					t.Errorf("%s:\n%s\nwant:\n%s", name, got[name], files[name])
				}
				changed = true
			}
			if changed && *update {
				var kept []txtar.File
				for _, f := range a.Files {
					if f.Name != "dump" && f.Name != "messages" && f.Name != "luna" {
						kept = append(kept, f)
					}
				}
				for _, name := range []string{"dump", "messages", "luna"} {
					if got[name] != "" {
						kept = append(kept, txtar.File{Name: name, Data: []byte(got[name])})
					}
				}
				a.Files = kept
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
