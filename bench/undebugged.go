package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// asksGate matches what the engine asks before it asks the gate, at places that every CF passes.
var asksGate = regexp.MustCompile(`\b(w\.n\.eng|e)\.cfg\.Gate != nil|\be\.left\.Load\(\)`)

// ungated builds a whyslow whose engine cannot be debugged: where it would ask whether it has a gate, it has
// none. It returns how many places there are.
func (b *bench) ungated(ctx context.Context) (path string, places int, err error) {
	files, err := filepath.Glob("../internal/run/engine/*.go")
	if err != nil {
		return "", 0, err
	}
	replace := map[string]string{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", 0, err
		}
		n := len(asksGate.FindAll(text, -1))
		if n == 0 || strings.HasSuffix(name, "_test.go") {
			continue
		}
		own := filepath.Join(b.dir, "ungated-"+filepath.Base(name))
		if name, err = filepath.Abs(name); err != nil {
			return "", 0, err
		}
		if err := os.WriteFile(own, asksGate.ReplaceAll(text, []byte("false")), 0o666); err != nil {
			return "", 0, err
		}
		replace[name] = own
		places += n
	}
	if places == 0 {
		return "", 0, errors.New("the engine asks for its gate nowhere: the bench does not know its code any more")
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", 0, err
	}
	overlay := filepath.Join(b.dir, "ungated.json")
	if err := os.WriteFile(overlay, text, 0o666); err != nil {
		return "", 0, err
	}
	path = filepath.Join(b.dir, "whyslow-ungated")
	if out, err := exec.CommandContext(ctx, "go", "build", "-C", "..", "-overlay", overlay, "-o", path,
		"./cmd/whyslow").CombinedOutput(); err != nil {
		return "", 0, fmt.Errorf("cannot build whyslow: %w\n%s", err, bytes.TrimSpace(out))
	}
	return path, places, nil
}

// benchUndebugged measures what programs that are not debugged pay for the debugger.
func benchUndebugged(ctx context.Context, b *bench) error {
	bin, err := b.whyslow(ctx)
	if err != nil {
		return err
	}
	without, places, err := b.ungated(ctx)
	if err != nil {
		return err
	}
	pairs := b.pick(24, 2)
	t := b.table("Not being debugged", fmt.Sprintf("The engine asks in %d places whether something decides when "+
		"CFs go on, as a debugger does. Here nothing does. CPU time, user and system, of `whyslow run --no-trace` "+
		"as it is, in turns with a whyslow without these places, and with itself as a control, %d times each; a "+
		"run is compared to the two beside it. Medians with 95 %% intervals (order statistics). One node of one worker; "+
		"CFs are empty C++ routines, and in chain.fa each reads the DF of the one before it.", places, pairs),
		"program", "CFs", "without the places", "95 % interval", "the same once more", "95 % interval", "ns/CF")
	for _, file := range []string{"programs/chain.fa", "programs/independent.fa"} {
		n := b.pick(2_000_000, 2_000)
		run := func(bin string) (float64, error) {
			cmd := exec.CommandContext(ctx, bin, "run", "-q", "--no-trace", "-n", "1", "-w", "1", file,
				strconv.Itoa(n))
			if out, err := cmd.CombinedOutput(); err != nil {
				return 0, fmt.Errorf("%v: %w\n%s", cmd.Args, err, bytes.TrimSpace(out))
			}
			s := cmd.ProcessState
			return float64((s.UserTime() + s.SystemTime()).Nanoseconds()), nil
		}
		others := []string{without, bin}
		var plain, turns []float64
		for i := range 1 + len(others)*pairs {
			if i > 0 {
				cpu, err := run(others[i%len(others)])
				if err != nil {
					return err
				}
				turns = append(turns, cpu)
			} else if _, err := run(bin); err != nil { // compiles the C++, fills the caches
				return err
			}
			cpu, err := run(bin)
			if err != nil {
				return err
			}
			plain = append(plain, cpu)
		}
		row := []any{filepath.Base(file), n}
		more := make([][]float64, len(others))
		for i, v := range pairedCPU(plain, turns) {
			k := (i + 1) % len(others)
			more[k] = append(more[k], v)
		}
		for _, m := range more {
			low, high := interval(m)
			row = append(row, percent(median(m)), percents(low, high))
		}
		t.row(append(row, median(plain)/float64(n))...)
	}
	return nil
}
