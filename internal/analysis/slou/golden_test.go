package slou_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

var update = flag.Bool("update", false, "rewrite the expected pieces (then check them on paper)")

// sections splits a txtar file: the comment under "", then each file under its name.
func sections(text string) (map[string]string, []string) {
	files, order, name := map[string]string{}, []string{""}, ""
	for line := range strings.Lines(text) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(n, " --") {
			name = strings.TrimSuffix(n, " --")
			order = append(order, name)
			continue
		}
		files[name] += line
	}
	return files, order
}

// goldens are the hand-written traces. Those of regions stand apart, since what looks at runs while they are
// recorded knows CFs only.
func goldens() ([]string, error) {
	files, err := filepath.Glob("testdata/*.txtar")
	more, _ := filepath.Glob("testdata/regions/*.txtar")
	return append(files, more...), err
}

// TestGolden divides hand-written traces. Each file opens with its story and works out every piece on paper.
func TestGolden(t *testing.T) {
	files, err := goldens()
	if err != nil || len(files) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts, order := sections(string(text))
			m := sloutest.Build(t, parts["trace"])
			for _, name := range order {
				if opt, ok := goldenOptions(name); ok {
					got := computeText(t, m, opt)
					if diff := cmp.Diff(lines(parts[name]), lines(got)); diff != "" && !*update {
						t.Errorf("%s (-want +got):\n%s", name, diff)
					}
					parts[name] = got + "\n"
				}
				if !strings.HasPrefix(name, "pieces") {
					continue
				}
				opt := slou.Options{Rule: map[string]slou.Rule{"pieces --inputs=data": slou.RuleData,
					"pieces --rule=source": slou.RuleSource}[name]}
				pieces, err := slou.Pieces(context.Background(), m, opt, procs.Alone())
				if err != nil {
					t.Fatal(err)
				}
				var got bytes.Buffer
				slou.WritePieces(&got, m, pieces)
				if diff := cmp.Diff(lines(parts[name]), lines(got.String())); diff != "" && !*update {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				parts[name] = got.String() + "\n"
				agree(t, m, opt, pieces)
			}
			if *update {
				var out strings.Builder
				for _, name := range order {
					if name != "" {
						out.WriteString("-- " + name + " --\n")
					}
					out.WriteString(parts[name])
				}
				if err := os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"),
					0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// lines leaves out blank lines and comments.
func lines(s string) (out []string) {
	for line := range strings.Lines(s) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, strings.Join(strings.Fields(line), " "))
		}
	}
	return out
}

type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

// agree checks that Compute adds up what Pieces lists, and that every worker's pieces tile the run.
func agree(t failer, m *model.Model, opt slou.Options, workers []slou.WorkerPieces) {
	t.Helper()
	res, err := slou.Compute(context.Background(), m, opt, procs.Alone())
	if err != nil {
		t.Fatal(err)
	}
	var sums [slou.FactorLoss + 1]int64
	for _, w := range workers {
		at := m.Start
		for _, p := range w.Pieces {
			if p.From != at || p.From >= p.To {
				t.Fatalf("worker %d.%d: piece [%d, %d] after %d", w.Node, w.Worker, p.From, p.To, at)
			}
			at = p.To
			sums[p.Factor] += p.To - p.From
		}
		if at != m.End {
			t.Fatalf("worker %d.%d: pieces end at %d, the run at %d", w.Node, w.Worker, at, m.End)
		}
	}
	sums[slou.FactorO] += res.ExtraCoresNS
	var total int64
	for f, ns := range sums[:slou.FactorLoss] {
		total += ns
		share := [...]*slou.Share{nil, res.Factors.S, res.Factors.L, res.Factors.O, res.Factors.W}[f]
		if f == 0 && res.Factors.U != nil {
			share = &res.Factors.U.Share
		}
		if share == nil {
			continue
		}
		if share.NS != ns {
			t.Errorf("factor %v: Compute says %d, the pieces add up to %d", slou.Factor(f), share.NS, ns)
		}
		var parts int64
		for _, p := range share.Parts {
			parts += p
		}
		if f != 0 && parts != ns {
			t.Errorf("factor %v: the parts add up to %d, not %d", slou.Factor(f), parts, ns)
		}
	}
	if res.TotalNS != total || res.Loss.NS != sums[slou.FactorLoss] {
		t.Errorf("total %d and loss %d, the pieces add up to %d and %d", res.TotalNS, res.Loss.NS, total,
			sums[slou.FactorLoss])
	}
	if want := int64(m.Workers())*m.Wall() + res.ExtraCoresNS; total+sums[slou.FactorLoss] != want {
		t.Errorf("total and loss are %d, workers x wall + extra is %d", total+sums[slou.FactorLoss], want)
	}
}
