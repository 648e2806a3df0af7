package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/whyslow/whyslow/internal/cpp"
	"github.com/whyslow/whyslow/internal/engine"
	"github.com/whyslow/whyslow/internal/luna"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// program is a LuNA program ready to run many times.
type program struct {
	prog *luna.Program
	lib  *cpp.Library
}

func load(ctx context.Context, file string) (*program, error) {
	p, err := luna.Compile(luna.Options{File: file})
	if err != nil {
		return nil, err
	}
	b, err := cpp.Build(ctx, cpp.Spec{Prog: p, Dir: filepath.Dir(file)})
	if err != nil {
		return nil, err
	}
	l, err := cpp.Open(b.Path, p)
	return &program{p, l}, err
}

// recording is what of a run is recorded.
type recording int

const (
	nothing   recording = iota
	fragments           // CFEvents and DFEvents
	everything
)

// run executes the program on one node with one worker and returns the wall time of the run in ns, and the number of
// events recorded.
func (p *program) run(ctx context.Context, rec recording, args ...string) (wall int64, err error) {
	cfg := engine.Config{Program: p.prog, Library: p.lib, Nodes: 1, Workers: 1, Args: args}
	if rec != nothing {
		dir, err := os.MkdirTemp("", "bench")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		w, err := trace.Create(dir, 0, trace.Options{})
		if err != nil {
			return 0, err
		}
		cfg.Session, cfg.Writers = prof.New(), []*trace.Writer{w}
		cfg.Session.EnableAll(rec == everything)
		for _, k := range trace.Kinds() {
			if k.Namespace == "CFEvents" || k.Namespace == "DFEvents" || k.Name == "onProgramStarted" || k.Name == "onProgramFinished" {
				if err := cfg.Session.Enable(k.Namespace, k.Name, true); err != nil {
					return 0, err
				}
			}
		}
		defer w.Close()
	}
	res, err := engine.Run(ctx, cfg)
	if err != nil {
		return 0, err
	}
	return res.WallNS, nil
}

// benchEngine measures an empty atomic CF: wall time of a run with one worker over its number of CFs.
func benchEngine(ctx context.Context) error {
	fmt.Println("\nAn empty CF through the engine, 1 node x 1 worker, ns from creation to end (median)")
	fmt.Printf("%-28s %10s %14s %12s %8s %8s\n", "", "no trace", "CF+DF events", "everything", "ratio", "ratio")
	for _, c := range []struct {
		file string
		n    int
	}{{"programs/chain.fa", 100_000}, {"programs/chain.fa", 1_000_000}, {"programs/independent.fa", 100_000}, {"programs/independent.fa", 1_000_000}} {
		p, err := load(ctx, c.file)
		if err != nil {
			return err
		}
		var ns [3][]float64
		rounds := 15
		if c.n > 500_000 {
			rounds = 7
		}
		for range rounds {
			for rec := range ns {
				runtime.GC()
				wall, err := p.run(ctx, recording(rec), strconv.Itoa(c.n))
				if err != nil {
					return err
				}
				ns[rec] = append(ns[rec], float64(wall)/float64(c.n))
			}
		}
		off, frag, all := median(ns[0]), median(ns[1]), median(ns[2])
		fmt.Printf("%-18s %9d %10.0f %14.0f %12.0f %8.2f %8.2f\n", filepath.Base(c.file), c.n, off, frag, all, frag/off, all/off)
	}
	return nil
}
