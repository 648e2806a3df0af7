package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/cpp"
	"github.com/whyslow/whyslow/internal/engine"
	"github.com/whyslow/whyslow/internal/luna"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Runs whose CPU time is compared have a process each: this program starts itself, the specification of the run in an
// environment variable, and reads the result from a pipe. So every run begins with an empty heap, and what the LuNA
// program prints does not get between the tables.

const onceVariable = "WHYSLOW_BENCH_ONCE"

// recording is what of a run is recorded.
type recording int

const (
	nothing   recording = iota
	fragments           // CFEvents and DFEvents
	everything
	naive // everything, as text, by a file opened, written and closed for each event
)

// spec is a run to be made.
type spec struct {
	File           string
	Nodes, Workers int
	Args           []string
	Recording      recording
	Dir            string // for the trace; "" makes a temporary one
	BufferBytes    int    // of the trace writer; 0: its default
	Sync           bool   // synchronous writing
}

// outcome is what a run took.
type outcome struct {
	WallNS int64  // of the program
	CPUNS  int64  // user and system time, from before the trace is created until it is closed
	AllNS  int64  // wall time of the same stretch
	Bytes  int64  // of the trace
	Events uint64 // recorded; 0 if that was not counted
	Error  string
}

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

// run executes the program in this process.
func (p *program) run(ctx context.Context, s *spec) (out outcome, err error) {
	cfg := engine.Config{Program: p.prog, Library: p.lib, Nodes: s.Nodes, Workers: s.Workers, Args: s.Args}
	dir := s.Dir
	if dir == "" && s.Recording != nothing {
		if dir, err = os.MkdirTemp("", "bench"); err != nil {
			return out, err
		}
		defer os.RemoveAll(dir)
	}
	watch := start()
	var text *naiveLog
	if s.Recording != nothing {
		cfg.Session = prof.New()
	}
	switch s.Recording {
	case naive:
		if text, err = connectNaive(cfg.Session, dir); err != nil {
			return out, err
		}
	case fragments, everything:
		cfg.Session.EnableAll(s.Recording != fragments)
		for _, k := range trace.Kinds() {
			if k.Namespace == "CFEvents" || k.Namespace == "DFEvents" || k.Name == "onProgramStarted" || k.Name == "onProgramFinished" {
				if err := cfg.Session.Enable(k.Namespace, k.Name, true); err != nil {
					return out, err
				}
			}
		}
		for node := range s.Nodes {
			w, err := trace.Create(dir, node, trace.Options{BufferBytes: s.BufferBytes, Sync: s.Sync})
			if err != nil {
				return out, err
			}
			defer func() { _ = w.Close() }() // after an error; otherwise it is closed, and looked at, below
			cfg.Writers = append(cfg.Writers, w)
		}
	}
	res, err := engine.Run(ctx, cfg)
	if err != nil {
		return out, err
	}
	for _, w := range cfg.Writers {
		if err := w.Close(); err != nil {
			return out, err
		}
		if n := w.Lost(); n > 0 {
			return out, fmt.Errorf("%d events were lost", n)
		}
	}
	wall, cpu := watch.stop()
	out = outcome{WallNS: res.WallNS, AllNS: int64(wall), CPUNS: int64(cpu)}
	if text != nil {
		out.Events, err = text.events.Load(), text.failed()
	}
	if err == nil && dir != "" {
		out.Bytes, err = diskBytes(dir)
	}
	return out, err
}

// once runs a program in a process of its own.
func once(ctx context.Context, s spec) (out outcome, err error) {
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return out, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return out, err
	}
	defer r.Close()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), onceVariable+"="+string(text))
	cmd.ExtraFiles = []*os.File{w}
	var said strings.Builder
	cmd.Stderr = &said
	err = cmd.Start()
	w.Close()
	if err != nil {
		return out, err
	}
	derr := json.NewDecoder(r).Decode(&out)
	if err := cmd.Wait(); err != nil || derr != nil || out.Error != "" {
		return out, fmt.Errorf("%s %s: %s%s", s.File, strings.Join(s.Args, " "), out.Error, strings.TrimSpace(said.String()))
	}
	return out, nil
}

// runOnce does what once asked this process for, and reports whether it was asked.
func runOnce() bool {
	text := os.Getenv(onceVariable)
	if text == "" {
		return false
	}
	var s spec
	var out outcome
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		clock.Now() // calibrated before anything is measured
		var p *program
		if p, err = load(context.Background(), s.File); err == nil {
			out, err = p.run(context.Background(), &s)
		}
	}
	if err != nil {
		out.Error = err.Error()
	}
	_ = json.NewEncoder(os.NewFile(3, "result")).Encode(out) // nobody else could be told
	return true
}
