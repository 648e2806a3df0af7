package experiment

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/trace"
)

// command is the line that repeats a run, as a user would type it.
func (p *Point) command() string {
	return strings.Join(p.line("whyslow", "examples", "--rule=source"), " ")
}

// line is the command of a run and its arguments; more are flags of whyslow run.
func (p *Point) line(whyslow, programs string, more ...string) []string {
	line := []string{whyslow, "run", "-n", strconv.Itoa(p.Nodes)}
	if p.Ranks { // a node each
		line = append(append([]string{"mpirun", "-n", strconv.Itoa(p.Nodes)}, p.MPI...), whyslow, "run")
	}
	line = append(append(line, "-w", strconv.Itoa(p.Workers)), p.Flags...)
	line = append(append(line, more...), filepath.Join(programs, p.Program))
	return append(line, p.Args...)
}

// mpiEnvironment lets mpirun start any number of ranks, as root, and more than there are cores. Ranks are not
// bound to cores, since their threads share the cores with those of other ranks.
var mpiEnvironment = []string{
	"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
	"OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_hwloc_base_binding_policy=none",
}

// grace is how long an interrupted run may take to end.
const grace = 5 * time.Second

// run executes the program once, beside the folder of programs, so that what is compiled is found again
// wherever that is. The trace goes to a folder in scratch that does not exist, and is gone afterwards.
func (p *Point) run(ctx context.Context, whyslow, programs, scratch string) (*Run, error) {
	folder := filepath.Join(scratch, "trace")
	defer os.RemoveAll(folder)
	line := p.line(whyslow, filepath.Base(programs), "-q", "-o", folder)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = filepath.Dir(programs)
	if !p.Ranks {
		cmd.Args[0] = "whyslow" // whatever its file is called
	} else {
		// What mpirun keeps while it runs goes with the rest.
		cmd.Env = append(append(os.Environ(), mpiEnvironment...), "OMPI_MCA_orte_tmpdir_base="+scratch)
	}
	stdout, _, err := finish(ctx, cmd)
	if err != nil {
		return nil, err
	}
	r, err := divide(ctx, folder)
	if err != nil {
		return nil, fmt.Errorf("the trace of %s: %w", strings.Join(line, " "), err)
	}
	r.Output = stdout
	return r, nil
}

// finish runs a command and returns what it printed. It is interrupted if ctx ends.
func finish(ctx context.Context, cmd *exec.Cmd) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil:
		err = fmt.Errorf("%s: %w\n%s", strings.Join(append([]string{cmd.Path}, cmd.Args[1:]...), " "), err,
			strings.TrimSpace(errs.String()))
	}
	return out.String(), errs.String(), err
}

// divide divides the time of a trace.
func divide(ctx context.Context, folder string) (*Run, error) {
	reader, err := trace.Open(folder)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	m, err := model.Build(ctx, reader, model.Options{})
	if err != nil {
		return nil, err
	}
	res, err := slou.Compute(ctx, m, slou.Options{Rule: slou.RuleSource}, procs.Alone())
	if err != nil {
		return nil, err
	}
	r := &Run{WallNS: res.WallNS, TotalNS: res.TotalNS, ExtraNS: res.ExtraCoresNS,
		MessageBytes: res.Messages.Bytes}
	for f, ns := range r.factors() {
		s := res.Factors.Of(slou.Factor(f))
		if s == nil {
			return nil, fmt.Errorf("events are missing: %v", res.Missing)
		}
		*ns = s.NS
	}
	r.TakenNS = res.Factors.InsideNS()
	for i := range res.Nodes {
		r.CFs += res.Nodes[i].CFs
	}
	return r, nil
}
