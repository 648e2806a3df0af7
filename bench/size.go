package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/trace"
)

// Bytes per event of real runs. The files are divided by blocks as they are drawn in the package comment of
// trace. What a single column costs cannot be read off, since columns are compressed together: it is what the
// file shrinks by when the column is all zeros, and of a kind what the file shrinks by without its events.

type sizeRun struct {
	name string
	args []string
}

func (b *bench) sizeRuns() []sizeRun {
	if b.quick {
		return []sizeRun{{"mxm", []string{"4", "20"}}, {"cholesky", []string{"8", "8"}},
			{"heat", []string{"20", "4", "0.1", "2"}}}
	}
	return []sizeRun{{"mxm", []string{"20", "50"}}, {"cholesky", []string{"60", "16"}},
		{"heat", []string{"200", "8", "0.01", "2"}}}
}

// benchSize runs the examples and weighs their traces.
func benchSize(ctx context.Context, b *bench) error {
	bin, err := b.whyslow(ctx)
	if err != nil {
		return err
	}
	t := b.table("Bytes per event on disk", "Complete files of `whyslow run -n 2 -w 1` with all events, "+
		"definitions and index, but without run.json.",
		"program", "bytes/event", "goal", "events", "columns of events", "definitions", "headers and index",
		"events per block")
	type column struct {
		name  string
		bytes float64
	}
	parts := b.table("Where the bytes go", "Bytes per event of the whole trace that the file would shrink by: "+
		"without the events of the kind; with the column all zeros. "+
		"Columns are compressed together, so the parts need not add up. The table has the six most expensive "+
		"kinds and columns of each program.", "program", "kind or column", "bytes/event", "events of the kind")
	for _, r := range b.sizeRuns() {
		dir, err := b.temp()
		if err != nil {
			return err
		}
		out := filepath.Join(dir, "trace")
		cmd := exec.CommandContext(ctx, bin,
			append([]string{"run", "-q", "-n", "2", "-w", "1", "-o", out, "../examples/" + r.name + "/" + r.name +
				".fa"}, r.args...)...)
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w\n%s", r.name, err, bytes.TrimSpace(said.Bytes()))
		}
		w, err := weigh(out)
		if err != nil {
			return err
		}
		per := func(bytes int) float64 { return float64(bytes) / float64(w.events) }
		name := r.name + " " + strings.Join(r.args, " ")
		t.row(name, per(w.total), "3", w.events, per(w.data), per(w.defs), per(w.total-w.data-w.defs),
			w.events/max(1, w.blocks))
		all, err := rewrite(out, dir, nil)
		if err != nil {
			return err
		}
		count := map[trace.Kind]int{}
		if _, err := rewrite(out, dir, func(k trace.Kind, words []uint64) bool { count[k]++; return true }); err !=
			nil {
			return err
		}
		var kinds, columns []column
		number := map[string]int{}
		shrunk := func(list *[]column, name string, keep func(trace.Kind, []uint64) bool) error {
			rest, err := rewrite(out, dir, keep)
			*list = append(*list, column{name, per(all - rest)})
			return err
		}
		for k, n := range count {
			spec := k.Spec()
			if spec == nil {
				continue
			}
			number[k.String()] = n
			if err := shrunk(&kinds, k.String(), func(other trace.Kind, _ []uint64) bool { return other != k }); err !=
				nil {
				return err
			}
			fixed, list := spec.List()
			for i, f := range spec.Fields {
				number[k.String()+" "+f.Name] = n
				if err := shrunk(&columns, k.String()+" "+f.Name, func(other trace.Kind, words []uint64) bool {
					if other == k && list && i == fixed {
						clear(words[i+1:])
					} else if other == k {
						words[i] = 0
					}
					return true
				}); err != nil {
					return err
				}
			}
		}
		number["all times"] = w.events
		still, err := rewriteTimes(out, dir)
		if err != nil {
			return err
		}
		columns = append(columns, column{"all times", per(all - still)})
		for _, list := range [][]column{kinds, columns} {
			slices.SortFunc(list, func(x,
				y column) int {
				return cmp.Or(cmp.Compare(y.bytes, x.bytes), cmp.Compare(x.name, y.name))
			})
			for _, c := range list[:min(6, len(list))] {
				parts.row(name, c.name, fmt.Sprintf("%.3f", c.bytes), number[c.name])
			}
		}
	}
	return nil
}

// weight is what the parts of a trace take, in bytes.
type weight struct{ total, data, defs, events, blocks int }

// weigh follows the block headers of all files, see the package comment of trace.
func weigh(dir string) (w weight, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.wst"))
	if err != nil {
		return w, err
	}
	const fileHeader, blockHeader = 32, 64
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return w, err
		}
		w.total += len(text)
		for at := fileHeader; at+blockHeader <= len(text) && string(text[at:at+4]) == "\xabWSB"; {
			kind, count := text[at+4], binary.LittleEndian.Uint32(text[at+12:])
			packed := int(binary.LittleEndian.Uint32(text[at+48:]))
			switch kind {
			case 1:
				w.defs += packed
			case 2:
				w.data += packed
				w.events += int(count)
				w.blocks++
			}
			at += blockHeader + packed
		}
	}
	if w.events == 0 {
		return w, fmt.Errorf("%s: no events were found", dir)
	}
	return w, nil
}

// rewrite writes the events of a trace again, without definitions, and returns the bytes of their columns.
// keep may change the words of an event and says whether it is to be written; nil keeps all.
func rewrite(from, dir string, keep func(k trace.Kind, words []uint64) bool) (int, error) {
	return rewriteAll(from, dir, func(t int64, k trace.Kind, words []uint64) (int64, bool) {
		return t, keep == nil || keep(k, words)
	})
}

// rewriteTimes gives every event of a stream the same time.
func rewriteTimes(from, dir string) (int, error) {
	return rewriteAll(from, dir, func(_ int64, _ trace.Kind, _ []uint64) (int64, bool) { return 1, true })
}

func rewriteAll(from, dir string, f func(t int64, k trace.Kind, words []uint64) (int64, bool)) (int, error) {
	r, err := trace.Open(from)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	to, err := os.MkdirTemp(dir, "rewritten")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(to)
	var batch trace.Batch
	for _, node := range r.Nodes() {
		w, err := trace.Create(to, node, trace.Options{})
		if err != nil {
			return 0, err
		}
		for _, s := range r.Streams() {
			if s.Node != node {
				continue
			}
			c, stream := r.Stream(node, s.Stream), w.Stream(s.Stream)
			for c.Next(&batch) {
				for i := range batch.N {
					if t, ok := f(batch.Time[i], batch.Kind[i], batch.Args(i)); ok {
						stream.Emit(t, batch.Kind[i], batch.Args(i)...)
					}
				}
			}
		}
		if err := w.Close(); err != nil {
			return 0, err
		}
	}
	w, err := weigh(to)
	return w.data, err
}
