package series_test

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/whyslow/whyslow/internal/series"
	"github.com/whyslow/whyslow/internal/slou/sloutest"
)

var update = flag.Bool("update", false, "rewrite the expected results (then check them on paper)")

// TestGolden follows hand-written traces. Each file opens with its story; the file options names the number of windows and
// of holders and, after them, the only series wanted.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			for _, f := range a.Files {
				parts[f.Name] = string(f.Data)
			}
			opt := strings.Fields(parts["options"])
			windows, err := strconv.Atoi(opt[0])
			if err != nil {
				t.Fatal(err)
			}
			holders, err := strconv.Atoi(opt[1])
			if err != nil {
				t.Fatal(err)
			}
			r := compute(t, sloutest.Build(t, parts["trace"]), series.Options{Windows: windows, Holders: holders, Only: opt[2:]})
			for i := range a.Files {
				f := &a.Files[i]
				got := ""
				switch f.Name {
				case "result":
					got = text(r)
				case "csv":
					var s strings.Builder
					if err := series.WriteCSV(&s, r); err != nil {
						t.Fatal(err)
					}
					got = s.String()
				default:
					continue
				}
				if d := cmp.Diff(string(f.Data), got); d != "" && !*update {
					t.Errorf("%s (-want +got):\n%s", f.Name, d)
				}
				f.Data = []byte(got)
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(a), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
