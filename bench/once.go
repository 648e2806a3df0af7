package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/internal/run/cpp"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
)

// Runs whose CPU time is compared have a process each: this program starts itself, the specification of the
// run in an environment variable, and reads the result from a pipe. So every run begins with an empty heap,
// and what the LuNA program prints does not get between the tables.

const onceVariable = "WHYSLOW_BENCH_ONCE"

// spec is a run to be made.
type spec struct {
	File           string
	Nodes, Workers int
	Args           []string
	Recording      recording
	Dir            string // for the trace; "" makes a temporary one
	BufferBytes    int    // of the trace writer; 0: its default
	Sync           bool   // synchronous writing
	// Turns are recordings to be compared within one process, see turns.go; Recording is not looked at.
	Turns  []recording
	Rounds int
}

// outcome is what a run took.
type outcome struct {
	WallNS int64  // of the program
	CPUNS  int64  // user and system time, from before the trace is created until it is closed
	AllNS  int64  // wall time of the same stretch
	Bytes  int64  // of the trace
	Events uint64 // counted by the recording byKind; 0 of others
	Turns  []turn
	Counts map[string]uint64 // events of a run, by name; counted before the turns
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

// sites are the names of the code fragments that statements call, by the numbers that the statements have in
// events.
func (p *program) sites() []string {
	names := make([]string, len(p.prog.Stmts)+1)
	for _, st := range p.prog.Stmts {
		names[st.ID+1] = p.prog.Codes[st.Code].Name
	}
	return names
}

// record sets up a session for a run.
func (p *program) record(s *spec, rec recording, dir string) (*profiled, error) {
	return newProfiled(&setup{recording: rec, dir: dir, program: s.File, nodes: s.Nodes, workers: s.Workers,
		sites: p.sites(), bufferBytes: s.BufferBytes, sync: s.Sync})
}

// engine runs the program with that session.
func (p *program) engine(ctx context.Context, s *spec, r *profiled) (*engine.Result, error) {
	return engine.Run(ctx, engine.Config{Program: p.prog, Library: p.lib, Nodes: s.Nodes, Workers: s.Workers,
		Args: s.Args, Session: r.ses, Writers: r.writers, DescribeDFs: r.run.WantsDFs()})
}

// run executes the program in this process.
func (p *program) run(ctx context.Context, s *spec) (out outcome, err error) {
	dir := s.Dir
	if dir == "" && s.Recording != nothing {
		if dir, err = os.MkdirTemp("", "bench"); err != nil {
			return out, err
		}
		defer os.RemoveAll(dir)
	}
	watch := start()
	r, err := p.record(s, s.Recording, dir)
	if err != nil {
		return out, err
	}
	res, err := p.engine(ctx, s, r)
	if err = errors.Join(err, r.close()); err != nil {
		return out, err
	}
	wall, cpu := watch.stop()
	out = outcome{WallNS: res.WallNS, AllNS: int64(wall), CPUNS: int64(cpu)}
	if r.counts != nil {
		for i := range r.counts {
			out.Events += r.counts[i].Load()
		}
	}
	if dir != "" {
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
		return out, fmt.Errorf("%s %s: %s%s", s.File, strings.Join(s.Args, " "), out.Error,
			strings.TrimSpace(said.String()))
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
			if len(s.Turns) > 0 {
				out, err = p.turns(context.Background(), &s)
			} else {
				out, err = p.run(context.Background(), &s)
			}
		}
	}
	if err != nil {
		out.Error = err.Error()
	}
	_ = json.NewEncoder(os.NewFile(3, "result")).Encode(out) // nobody else could be told
	return true
}
