package division

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/trace"
)

// TestGoldens divides the hand-written traces of slou block by block, whatever the order of the streams.
func TestGoldens(t *testing.T) {
	paths, err := filepath.Glob("../../../analysis/slou/testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			dir := t.TempDir()
			golden(t, path, dir)
			m := sloutest.Load(t, dir, model.Options{Interpolated: true})
			info, list := blocks(t, dir)
			for _, backwards := range []bool{false, true} {
				for _, dataOnly := range []bool{false, true} {
					opt := Options{Info: info, DataInputsOnly: dataOnly}
					same(t, m, divided(opt, list, backwards), slou.Options{DataInputsOnly: dataOnly})
				}
			}
		})
	}
}

// golden writes the trace of a hand-written test.
func golden(t *testing.T, path, dir string) {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		if f.Name == "trace" {
			if err := trace.Parse(strings.NewReader(string(f.Data)), dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func divided(opt Options, list []block, backwards bool) *Division {
	d := New(opt)
	for i := range list {
		b := list[i]
		if backwards {
			b = list[len(list)-1-i]
		}
		for k := 0; k < b.N; k += 3 {
			d.Add(b.defs, part(b.Batch, k, min(k+3, b.N)))
			if k%7 == 0 {
				d.Windows(0, 100, 1, nil)
			}
		}
	}
	return d
}

// same compares a division with what slou says of a model.
func same(t failer, m *model.Model, d *Division, opt slou.Options) {
	t.Helper()
	wall := m.Wall()
	if got := d.Span(); got != (trace.Span{From: m.Start, To: m.End}) {
		t.Errorf("the run is from %d to %d, not %d to %d", got.From, got.To, m.Start, m.End)
	}
	for _, n := range []int{1, 97} {
		if diff := cmp.Diff(cutPieces(t, m, opt, 0, wall, n, nil), d.Windows(0, wall, n, nil)); diff != "" {
			t.Errorf("%d windows (-slou +division):\n%s", n, diff)
		}
	}
	lanes := []int{0, 2, 1 << 20, -1}
	if diff := cmp.Diff(cutPieces(t, m, opt, wall/3, wall/2, 11, lanes), d.Windows(wall/3, wall/2, 11, lanes)); diff != "" {
		t.Errorf("some lanes (-slou +division):\n%s", diff)
	}
}

// TestNoInfo finds out by itself which streams are workers.
func TestNoInfo(t *testing.T) {
	paths, err := filepath.Glob("../../../analysis/slou/testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		dir := t.TempDir()
		golden(t, path, dir)
		if err := os.Remove(filepath.Join(dir, "run.json")); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		_, list := blocks(t, dir)
		d := divided(Options{}, list, true)
		same(t, sloutest.Load(t, dir, model.Options{Interpolated: true}), d, slou.Options{})
	}
}

// TestGrowing follows a trace that is written by and by: definitions come just before what uses them, blocks are cut off at any
// place, some are lost. What is known is compared with a model of the very bytes.
func TestGrowing(t *testing.T) {
	whole := os.Getenv("WHYSLOW_TRACE")
	if whole == "" {
		whole = t.TempDir()
		pipeline(t, whole, 700)
	}
	for _, lose := range []int{0, 7} {
		dir := t.TempDir()
		info, err := trace.ReadRunInfo(whole)
		if err != nil {
			t.Fatal(err)
		}
		var parts []trace.RawBlock
		f := trace.NewFollower(whole)
		if _, err := f.Poll(context.Background(), func(b *trace.RawBlock) error {
			c := *b
			c.Bytes = append([]byte{}, b.Bytes...)
			parts = append(parts, c)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		appenders := map[int]*trace.Appender{}
		if err := trace.WriteRunInfo(dir, info); err != nil {
			t.Fatal(err)
		}
		g := trace.NewFollower(dir)
		d := New(Options{})
		poll := func() {
			version := g.InfoVersion()
			var batch trace.Batch
			if _, err := g.Poll(context.Background(), func(b *trace.RawBlock) error {
				if b.Defs {
					return nil
				}
				if err := b.Read(&batch); err != nil {
					return err
				}
				d.Add(g.Defs(b.Node), &batch)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if g.InfoVersion() != version {
				d.SetInfo(g.Info())
			}
			d.SetProblems(g.Problems())
		}
		at := map[int]int{} // nodes take turns
		nodes := f.Nodes()
		left, data := len(parts), 0
		for i := 0; left > 0; i++ {
			node := nodes[i%len(nodes)]
			for ; at[node] < len(parts); at[node]++ {
				p := &parts[at[node]]
				if p.Node != node {
					continue
				}
				left--
				at[node]++
				if !p.Defs {
					if data++; lose > 0 && data%lose == 3 {
						break
					}
				}
				if appenders[node] == nil {
					if appenders[node], err = trace.OpenAppend(dir, node); err != nil {
						t.Fatal(err)
					}
				}
				if err := appenders[node].Append(p.Bytes); err != nil {
					t.Fatal(err)
				}
				break
			}
			if i == len(parts)/3 || i == len(parts)/2 {
				poll()
				same(t, sloutest.Load(t, dir, model.Options{Interpolated: true}), d, slou.Options{})
			}
		}
		for _, a := range appenders {
			if err := a.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		poll()
		same(t, sloutest.Load(t, dir, model.Options{Interpolated: true}), d, slou.Options{})
	}
}
