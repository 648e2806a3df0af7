package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	spilling "github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/index"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/trace"
)

// benchLarge measures what a trace costs that does not fit into memory, against reading it and doing nothing
// else: a model whose columns are on disk, the index of its first picture, and opening that.
func benchLarge(ctx context.Context, b *bench) error {
	dir, err := b.temp()
	if err != nil {
		return err
	}
	if _, err := once(ctx, spec{File: "../examples/cholesky/cholesky.fa", Nodes: 4, Workers: 2,
		Args: []string{strconv.Itoa(b.pick(140, 10)), "4"}, Recording: everything, Dir: dir}); err != nil {
		return err
	}
	if err := trace.WriteRunInfo(dir, &trace.RunInfo{Program: "cholesky.fa", Ended: trace.EndedDone,
		Nodes: []trace.NodeInfo{{Node: 0, Workers: 2}, {Node: 1, Workers: 2}, {Node: 2, Workers: 2},
			{Node: 3, Workers: 2}},
		Processes: []trace.ProcessInfo{{}}}); err != nil {
		return err
	}
	r, err := trace.Open(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	events := float64(r.Events())

	key, err := index.KeyOf(dir)
	if err != nil {
		return err
	}
	onDisk := func(use func(*model.Model) error) error {
		s, err := spilling.NewSpill(1<<20, 64<<20, spilling.SpillDirs(dir)...)
		if err != nil {
			return err
		}
		defer s.Close()
		m, err := model.Build(ctx, r, model.Options{Parallel: 1, Spill: s})
		if err != nil {
			return err
		}
		return use(m)
	}
	indexBytes := int64(0)
	jobs := []struct {
		name string
		run  func() error
	}{
		{"reading only", func() error { return r.Each(1, func(*trace.Batch) error { return nil }) }},
		{"a model in memory", func() error {
			m, err := model.Build(ctx, r, model.Options{Parallel: 1})
			runtime.KeepAlive(m)
			return err
		}},
		{"a model on disk, 64 MiB of it in memory", func() error {
			return onDisk(func(*model.Model) error { return nil })
		}},
		{"the same, its time divided, and the index written", func() error {
			return onDisk(func(m *model.Model) error {
				t, err := timeline.Build(ctx, m, timeline.Options{Parallel: 1})
				if err == nil {
					_, indexBytes, err = index.Write(dir, key, &index.Index{Timeline: t})
				}
				return err
			})
		}},
		{"opening the index", func() error {
			_, err := index.Read(dir, key)
			return err
		}},
	}
	walls := make([][]float64, len(jobs)) // ns
	for range b.pick(5, 2) {
		for i, j := range jobs {
			runtime.GC()
			watch := start()
			if err := j.run(); err != nil {
				return fmt.Errorf("%s: %w", j.name, err)
			}
			wall, _ := watch.stop()
			walls[i] = append(walls[i], wall)
		}
	}
	traceBytes := int64(0)
	files, err := filepath.Glob(filepath.Join(dir, "*.wst"))
	if err != nil {
		return err
	}
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil {
			return err
		}
		traceBytes += st.Size()
	}
	t := b.table("A trace too large for memory", fmt.Sprintf("%.2g million events of the Cholesky example, one "+
		"core, wall time, beside reading the same trace in the same run. The index takes %.1f %% of the size of "+
		"the trace, without the answers kept beside it (a few hundred KB).", events/1e6,
		100*float64(indexBytes)/float64(max(traceBytes, 1))),
		"", "times reading", "goal", "M events/s")
	reading := median(walls[0])
	for i, j := range jobs {
		goal := ""
		if i == len(jobs)-2 {
			goal = "3 M events/s"
		}
		t.row(j.name, ratio(median(walls[i])/reading), goal, events*1e3/median(walls[i]))
	}
	return nil
}
