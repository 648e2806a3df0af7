package sloutest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/grouptest"
	"github.com/whyslow/whyslow/internal/testkit/replicate"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// Share has some processes, which are goroutines here, analyse a trace together, and gives the result of rank
// 0. It fails where any fails, or another one has a result.
func Share[R any](dir string, processes int, opt model.Options, do func(m *model.Model, g procs.Group) (*R,
	error)) (*R, error) {
	results, errs := make([]*R, processes), make([]error, processes)
	var wg sync.WaitGroup
	for rank, g := range grouptest.Local(processes) {
		wg.Go(func() {
			defer g.Leave()
			r, err := trace.OpenShare(dir, rank, processes)
			if err != nil {
				errs[rank] = err
				return
			}
			defer r.Close()
			m, err := model.BuildShare(context.Background(), r, opt, g)
			if err == nil {
				results[rank], err = do(m, g)
			}
			if err == nil && rank > 0 && results[rank] != nil {
				err = fmt.Errorf("process %d has a result", rank)
			}
			errs[rank] = err
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return results[0], nil
}

// Recorded writes a recorded run of internal/testkit/replicate, repeated so many times on more nodes, into a
// folder.
func Recorded(t interface {
	TB
	TempDir() string
}, name string, copies int,
) string {
	t.Helper()
	text, err := replicate.Recording(name)
	if err != nil {
		t.Fatal(err)
	}
	one := t.TempDir()
	if err := twin.Parse(bytes.NewReader(text), one); err != nil {
		t.Fatal(err)
	}
	if copies == 1 {
		return one
	}
	r, err := trace.Open(one)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	many := t.TempDir()
	if _, err := replicate.Write(context.Background(), many, r, replicate.Options{Copies: copies,
		Crossing: 0.5}); err != nil {
		t.Fatal(err)
	}
	return many
}

// RandomFolder draws a run, of which some are killed or stuck, writes it into a folder, and hands it over.
func RandomFolder(t *rapid.T, use func(r *Run, dir string)) {
	r := Random(t)
	switch rapid.IntRange(0, 3).Draw(t, "fate") {
	case 1:
		r.Kill(t)
	case 2:
		r.Stick(t)
	}
	Folder(t, r.Text(), func(dir string) { use(r, dir) })
}

// AnyFolder is RandomFolder of runs that may also make no sense, whose nodes may have clocks that differ, and
// whose files may be damaged.
func AnyFolder(t *rapid.T, use func(r *Run, dir string)) {
	r := Random(t)
	if rapid.Bool().Draw(t, "waits") {
		r.AddWaits(t)
	}
	switch rapid.IntRange(0, 4).Draw(t, "fate") {
	case 1:
		r.Kill(t)
	case 2:
		r.Stick(t)
	case 3:
		r.Harm(t)
	}
	text := r.Text()
	if rapid.IntRange(0, 3).Draw(t, "clocks") == 0 {
		for n := range r.Nodes {
			text = strings.Replace(text, fmt.Sprintf(`{"node":%d,"process":0`, n),
				fmt.Sprintf(`{"node":%d,"process":%d`, n, n), 1)
			text += fmt.Sprintf("50 n%d s%d GlobalEvents.onClockSync offset=%d error=3\n", n, System,
				rapid.Int64Range(-40, 40).Draw(t, "offset"))
		}
	}
	Folder(t, text, func(dir string) {
		if rapid.IntRange(0, 3).Draw(t, "damaged") == 0 {
			damage(t, dir)
			opened, err := trace.Open(dir)
			if err != nil {
				return // nothing of it can be read
			}
			opened.Close()
		}
		use(r, dir)
	})
}

// damage cuts the file of a node, or changes a bit in it.
func damage(t *rapid.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.wst"))
	if err != nil {
		t.Fatal(err)
	}
	path := rapid.SampledFrom(files).Draw(t, "file")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := rapid.IntRange(len(b)/4, len(b)-1).Draw(t, "at")
	if rapid.Bool().Draw(t, "cut") {
		b = b[:at]
	} else {
		b[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Folder writes a trace, which is given as text, into a folder and hands it over.
func Folder(t *rapid.T, text string, use func(dir string)) {
	dir, err := os.MkdirTemp("", "share")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	use(dir)
}
