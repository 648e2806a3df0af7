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

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/slou"
	"github.com/whyslow/whyslow/trace"
)

// command is the line that repeats a run, as a user would type it.
func (p *Point) command() string {
	return strings.Join(append([]string{"whyslow"}, p.arguments("examples", "--inputs=data")...), " ")
}

func (p *Point) arguments(programs string, more ...string) []string {
	args := append([]string{"run", "-n", strconv.Itoa(p.Nodes), "-w", strconv.Itoa(p.Workers)}, p.Flags...)
	args = append(append(args, more...), filepath.Join(programs, p.Program))
	return append(args, p.Args...)
}

// grace is how long an interrupted run may take to end.
const grace = 5 * time.Second

// run executes the program once. The trace goes to a folder that does not exist, and is gone afterwards.
func (p *Point) run(ctx context.Context, whyslow, programs, folder string) (*Run, error) {
	defer os.RemoveAll(folder)
	args := p.arguments(programs, "-q", "-o", folder)
	cmd := exec.CommandContext(ctx, whyslow, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", whyslow, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	r, err := divide(ctx, folder)
	if err != nil {
		return nil, fmt.Errorf("the trace of %s %s: %w", whyslow, strings.Join(args, " "), err)
	}
	r.Output = stdout.String()
	return r, nil
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
	res, err := slou.Compute(ctx, m, slou.Options{DataInputsOnly: true})
	if err != nil {
		return nil, err
	}
	f := &res.Factors
	if f.U == nil || f.S == nil || f.L == nil || f.O == nil || f.W == nil {
		return nil, fmt.Errorf("events are missing: %v", res.Missing)
	}
	r := &Run{WallNS: res.WallNS, TotalNS: res.TotalNS, ExtraNS: res.ExtraCoresNS,
		UNS: f.U.NS, SNS: f.S.NS, LNS: f.L.NS, ONS: f.O.NS, WNS: f.W.NS, PreemptNS: f.O.Parts["preempt"], MessageBytes: res.Messages.Bytes}
	for i := range res.Nodes {
		r.CFs += res.Nodes[i].CFs
	}
	return r, nil
}
