//go:build cgo && linux

package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	stdio "io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/recording"
	"github.com/whyslow/whyslow/internal/run/order"
)

// Several runs of a program whose results are compared. Each is a process of its own, because global
// variables of C++ code must begin anew. A result is how the run ended, which lines it printed, in whatever
// order, and what each CF made of its inputs.

// maxInput is how much of standard input each run gets.
const maxInput = 256 << 20

// repetitions runs a program repeatedly.
type repetitions struct {
	io    console.IO
	opt   *runOptions
	flags []string // of each run
	args  []string // the program and its arguments
	self  string
	input []byte
	dir   string // for what is thrown away
}

// oneResult is what a run did.
type oneResult struct {
	exit    int
	message string   // how it failed
	details []string // of that, further lines
	lines   []string
	out     []byte
	said    []byte
	results []order.Result
	trace   string
}

// repeatRun runs the program up to --repeat times.
func repeatRun(ctx context.Context, io console.IO, f *pflag.FlagSet, o *runOptions, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return badInput(err)
	}
	own := []string{"repeat", "repeat-ignore", "fuzz-order", "output", "quiet"}
	r := &repetitions{io: io, opt: o, args: args, self: self,
		flags: childFlags(f, func(flag string) bool { return !slices.Contains(own, flag) })}
	if file, ok := io.In.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		if r.input, err = stdio.ReadAll(stdio.LimitReader(io.In, maxInput)); err != nil {
			return badInput(err)
		}
	}
	beside := "." // the trace that may be kept, so that it can be renamed
	if kept := o.out; kept != "" {
		beside = filepath.Dir(kept)
		if _, err := os.Stat(kept); errors.Is(err, fs.ErrNotExist) {
			defer os.Remove(kept) // if it stays empty
		}
		if err := recording.MakeFolder(kept); err != nil {
			return badInput(err)
		}
	}
	if r.dir, err = os.MkdirTemp(beside, ".repeat-*"); err != nil {
		return badInput(console.FileError(err))
	}
	defer os.RemoveAll(r.dir)
	line := console.StartProgress(io)
	v, err := r.compare(ctx, line)
	line.End()
	if err != nil {
		return err
	}
	for _, text := range v.said {
		io.Say("%s", text)
	}
	if v.differs == nil {
		return v.exit
	}
	kept := o.out
	if kept == "" {
		if kept, err = recording.NewFolder(o.source.file); err != nil {
			return badInput(err)
		}
	}
	if err = os.Remove(kept); err == nil { // the empty folder
		err = os.Rename(v.differs.trace, kept)
	}
	if err != nil {
		return badInput(console.FileError(err))
	}
	fmt.Fprintln(io.Err, kept)
	return console.Exit(console.Failed, nil)
}

// verdict is what comparing runs comes to.
type verdict struct {
	differs *oneResult // nil: none does
	said    []string
	exit    error // where none does
}

// compare runs the program until a result differs from the first one.
func (r *repetitions) compare(ctx context.Context, line *console.Progress) (*verdict, error) {
	n := r.opt.order.repeat
	var first *oneResult
	for i := range n {
		line.Set("%d of %d runs done", i, n)
		this, err := r.run(ctx, i)
		if err != nil {
			return nil, err
		}
		s := r.suspect(first, this)
		why := ""
		if first != nil {
			why = this.differs(first)
		} else if _, err := r.io.Out.Write(this.out); err != nil {
			return nil, badInput(err)
		}
		switch {
		case this.exit == console.BadUsage || this.exit == console.Interrupted:
			_, err := r.io.Err.Write(this.said)
			return nil, cmp.Or(err, console.Exit(this.exit, nil))
		case s != nil && why == "":
			why = "its CFs make something else"
		}
		if first == nil {
			first, why = this, ""
			if s == nil {
				continue
			}
		}
		if why == "" && s == nil {
			if err := os.RemoveAll(this.trace); err != nil {
				return nil, badInput(err)
			}
			continue
		}
		v := &verdict{differs: this}
		if why == "" {
			v.said = append(v.said, fmt.Sprintf("run 1 of %d: %v", n, s))
		} else {
			v.said = append(v.said, fmt.Sprintf("run %d of %d differs from run 1: %s", i+1, n, why))
			if this.message != first.message {
				v.said = append(v.said, this.details...)
			}
			if s != nil {
				v.said = append(v.said, s.String())
			} else {
				v.said = append(v.said, "each CF made the same of the same inputs: what it did besides depends on the"+
					" order")
			}
		}
		again := "--order with this trace"
		if r.opt.order.fuzz != "" {
			again = fmt.Sprintf("--fuzz-order=%d", r.opt.order.seed+uint64(i))
		}
		v.said = append(v.said, "the same order again: "+again)
		return v, nil
	}
	v := &verdict{said: []string{fmt.Sprintf("%d runs with the same result", n)}}
	if first.exit != 0 {
		v.said = slices.Concat(strings.Split(first.message, "\n"), v.said)
		v.exit = console.Exit(first.exit, nil)
	}
	return v, nil
}

// suspect is what explains why a run differs from the first one, nil for nothing.
func (r *repetitions) suspect(first, this *oneResult) *order.Suspect {
	var before []order.Result
	if first != nil {
		before = first.results
	}
	return order.Compare(before, this.results, func(code string) bool {
		return slices.Contains(r.opt.order.ignore, code)
	})
}

// run makes run i, counted from 0.
func (r *repetitions) run(ctx context.Context, i int) (*oneResult, error) {
	this := &oneResult{trace: filepath.Join(r.dir, strconv.Itoa(i))}
	results := this.trace + ".results"
	line := slices.Concat([]string{"whyslow", "run"}, r.flags, []string{"--quiet", "--output=" + this.trace,
		"--results=" + results})
	if r.opt.order.fuzz != "" {
		line = append(line, fmt.Sprintf("--fuzz-order=%d", r.opt.order.seed+uint64(i)))
	}
	cmd := exec.CommandContext(ctx, r.self)
	cmd.Args = append(append(line, "--"), r.args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(r.input), &out, &said
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, interrupted(ctx)
	case errors.As(err, &exit):
		if this.exit = exit.ExitCode(); this.exit < 0 {
			return nil, console.Exit(console.Failed, fmt.Errorf("run %d: %w", i+1, err))
		}
	case err != nil:
		return nil, badInput(err)
	}
	this.out, this.said = out.Bytes(), said.Bytes()
	this.lines = strings.Split(out.String(), "\n")
	slices.Sort(this.lines)
	for text := range strings.Lines(said.String()) {
		text, ours := strings.CutPrefix(strings.TrimRight(text, "\n"), "whyslow: ")
		switch {
		case this.exit == 0 || strings.HasPrefix(text, "warning: "):
		case ours && this.message == "":
			this.message = text
		case this.message != "" && strings.HasPrefix(text, "  "):
			this.details = append(this.details, text)
		}
	}
	if file, err := os.Open(results); err == nil {
		defer file.Close()
		if this.results, err = order.ReadResults(file); err != nil {
			return nil, badInput(fmt.Errorf("%s: %w", results, err))
		}
	}
	return this, nil
}

// differs says how a result differs from another one, "" for not at all.
func (r *oneResult) differs(o *oneResult) string {
	if r.exit != o.exit || r.message != o.message {
		if r.message == "" {
			return fmt.Sprintf("it ended with exit code %d, run 1 with %d", r.exit, o.exit)
		}
		return r.message
	}
	for i, l := range r.lines {
		switch {
		case i >= len(o.lines) || l < o.lines[i]:
			return fmt.Sprintf("it printed %q, run 1 did not", l)
		case l > o.lines[i]:
			return fmt.Sprintf("it did not print %q, run 1 did", o.lines[i])
		}
	}
	if len(o.lines) > len(r.lines) {
		return fmt.Sprintf("it did not print %q, run 1 did", o.lines[len(r.lines)])
	}
	return ""
}
