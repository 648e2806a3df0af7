// Package sharetest tests analyses that several processes do together.
package sharetest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// Analysis is done by one of several processes; that of rank 0 gets the result, the others nil.
type Analysis[R any] func(ctx context.Context, m *model.Model, g procs.Group) (*R, error)

// Same fails where two, three or four processes find something else in a trace than one, and returns what
// they find. show makes a text of all of that; nil stands for JSON.
func Same[R any](t sloutest.TB, dir string, show func(*R) string, analyse Analysis[R]) (found *R) {
	t.Helper()
	if show == nil {
		show = func(r *R) string { return JSON(t, r) }
	}
	var one string
	for processes := 1; processes <= 4; processes++ {
		result, err := sloutest.Share(dir, processes, model.Options{}, func(m *model.Model, g procs.Group) (*R,
			error) {
			return analyse(context.Background(), m, g)
		})
		if err != nil {
			t.Fatal(processes, "processes:", err)
		}
		text := show(result)
		if processes == 1 {
			one, found = text, result
		} else if text != one {
			t.Fatal(processes, "processes (-one +several):\n", cmp.Diff(one, text))
		}
	}
	return found
}

// JSON is a value as JSON.
func JSON(t sloutest.TB, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Interrupted fails where one of three processes is interrupted in an analysis of a trace, and another one is
// not.
func Interrupted[R any](t *testing.T, dir string, analyse Analysis[R]) {
	t.Helper()
	ended, end := context.WithCancel(context.Background())
	end()
	_, err := sloutest.Share(dir, 3, model.Options{}, func(m *model.Model, g procs.Group) (*R, error) {
		ctx := context.Background()
		if g.Rank() == 1 {
			ctx = ended
		}
		if r, err := analyse(ctx, m, g); err == nil || r != nil {
			t.Errorf("process %d was not interrupted", g.Rank())
		}
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}
