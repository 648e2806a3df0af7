// Package foreigntest holds what tests of imported traces share.
package foreigntest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/consistency"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// Consistent fails the test unless the trace in a folder can be read and its events go together.
func Consistent(t testing.TB, dir string) {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if found, err := consistency.Check(context.Background(), r); err != nil || !found.Consistent {
		t.Errorf("%v, %+v", err, found)
	}
}

// UserEvents lists the events of user namespaces of an imported trace, a line each: the microsecond, the kind
// and its only field. The last line is what was not read.
func UserEvents(t testing.TB, dir string) string {
	t.Helper()
	r, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var lines []string
	if err := r.Each(1, func(b *trace.Batch) error {
		for i, k := range b.Kind {
			if spec := r.Defs(b.Node).Kind(k); k >= trace.FirstUserKind && spec != nil {
				v := fmt.Sprint(int64(b.Args(i)[0]))
				if spec.Fields[0].Type == trace.FieldFloat {
					v = fmt.Sprint(math.Float64frombits(b.Args(i)[0]))
				}
				lines = append(lines, fmt.Sprintf("%d %s %s", b.Time[i]/1000, spec.String(), v))
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines) // of the same moment
	return strings.Join(append(lines,
		strings.ReplaceAll(r.Run().Settings[model.NotReadSetting], "\n", ", ")), "\n")
}
