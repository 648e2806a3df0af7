//go:build cgo && linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/modules/native"
	"github.com/whyslow/whyslow/internal/record/recording"
	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/trace"
)

// Programs that luna starts are profiled as the configuration files beside them say. What the user is to see
// of that must not get into what the program prints, nor wait until the program fails: luna hands over its
// own standard error.

// words are where modules write, and where warnings go.
func (r *rtsRun) words() console.IO {
	io := r.io
	if r.wordsFD != 0 && r.crew.Speaks() {
		io.Err = os.NewFile(uintptr(r.wordsFD), "words")
	}
	return io
}

// plan reads the configuration, nil if there is none to read.
func (r *rtsRun) plan() (*config.Plan, error) {
	if r.configDir == "" {
		return nil, nil
	}
	if r.wordsFD != 0 {
		r.voice.IO = r.words()
		if !r.crew.Many() {
			r.voice.Terminal = r.voice.IO.Err
		}
	}
	if err := r.crew.Meet(); err != nil {
		return nil, err
	}
	var o profileOptions
	plan, err := o.load("rts", r.configDir)
	if err != nil {
		return nil, err
	}
	// LuNA's start writes what the modules write that the file lists, and no trace beside it.
	if m := plan.Module(config.TraceModule); m != nil && m.Pos.Line == 0 {
		m.On = false
	}
	if err := checkRules(plan); err != nil {
		return nil, err
	}
	if r.crew.Speaks() {
		warn(r.voice.IO, plan.Warnings)
	}
	return plan, nil
}

// profile starts the modules.
func (r *rtsRun) profile(ctx context.Context, plan *config.Plan, cfg *engine.Config) (*recording.Recording,
	error) {
	rec, err := recording.Start(r.voice, r.crew, &recording.Options{
		Program: r.file, Args: r.args, Nodes: r.nodes, Workers: r.workers, Asked: ctx.Done(),
		Describe: func(info *trace.RunInfo) {
			info.ThreadClock = "auto"
			info.Versions["whyslow"] = readVersion().Version
		},
	}, plan)
	if err != nil {
		return nil, err
	}
	cfg.Session, cfg.Writers, cfg.DescribeDFs = rec.Session, rec.Writers(), rec.WantsDFs()
	cfg.Balancer = rec.Balancer()
	if cfg.Session != nil {
		cfg.ThreadClock, cfg.Rules = engine.ClockAuto, engineRules(plan)
	}
	return rec, nil
}

// endProfile lets the modules finish, and says where the trace is if there is one. What fails in that is
// told; the exit code stays that of the program.
func (r *rtsRun) endProfile(rec *recording.Recording, runErr error, stuck *engine.StuckError) {
	var outcome error
	switch {
	case errors.Is(runErr, engine.ErrInterrupted):
		outcome = console.Exit(console.Interrupted, nil)
	case stuck != nil:
		outcome = console.Exit(console.Stuck, nil)
	case runErr != nil:
		outcome = console.Exit(console.Failed, nil)
	}
	io := r.voice.IO
	_ = io.Tell(rec.End(runErr, outcome))
	if err := native.Close(); err != nil {
		io.Say("warning: %v", err)
	}
	if dir := rec.Folder(); dir != "" && r.crew.Speaks() {
		fmt.Fprintln(io.Err, dir)
	}
}
