package main

import (
	"bufio"
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
	"time"
)

// What CFs pay for being in different processes: `mpirun -n 2 whyslow run`, beside a plain ping-pong in C
// that takes turns with it. Programs time themselves, in portions of CFs in a row, so that neither the start
// of the processes nor the creation of the CFs counts; rates are those of the whole run as whyslow tells it.

// ranksLimit ends a run of several processes that does not end by itself.
const ranksLimit = 5 * time.Minute

// runRanks runs a command on some ranks, by whomever, on however few cores. It returns what the command
// prints.
func runRanks(ctx context.Context, ranks int, command ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, ranksLimit)
	defer cancel()
	args := append([]string{"--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n",
		strconv.Itoa(ranks)}, command...)
	cmd := exec.CommandContext(ctx, "mpirun", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it ends the ranks
	cmd.WaitDelay = 5 * time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", "", fmt.Errorf("mpirun -n %d %s: %w\n%s", ranks, strings.Join(command, " "), err,
			bytes.TrimSpace(said.Bytes()))
	}
	return out.String(), said.String(), nil
}

// whyslowMPI builds the command with MPI and returns its path.
func (b *bench) whyslowMPI(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("mpirun"); err != nil {
		return "", errors.New("mpirun is not here; Debian has it in openmpi-bin")
	}
	path := filepath.Join(b.dir, "whyslow-mpi")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if out, err := exec.CommandContext(ctx, "go", "build", "-C", "..", "-tags", "mpi", "-o", path,
		"./cmd/whyslow").CombinedOutput(); err != nil {
		first, _, _ := strings.Cut(string(bytes.TrimSpace(out)), "\n")
		return "", fmt.Errorf("whyslow with MPI does not build here: %w: %s", err, first)
	}
	return path, nil
}

// hops runs a program that prints the times of its portions, and returns those of its second half, ns for
// each CF: by then all CFs are created, and what they ask for is there.
func hops(ctx context.Context, whyslow string, ranks, n, portion int, trace string, file string,
	args ...int) ([]float64, error) {
	command := []string{whyslow, "run", "-w", "1", "-q"}
	if trace == "" {
		command = append(command, "--no-trace")
	} else {
		defer os.RemoveAll(trace)
		command = append(command, "-o", trace)
	}
	command = append(command, file, strconv.Itoa(n), strconv.Itoa(portion))
	for _, a := range args {
		command = append(command, strconv.Itoa(a))
	}
	out, _, err := runRanks(ctx, ranks, command...)
	if err != nil {
		return nil, err
	}
	var ns []float64
	for in := bufio.NewScanner(strings.NewReader(out)); in.Scan(); {
		v, err := strconv.ParseFloat(strings.TrimPrefix(in.Text(), "portion "), 64)
		if err != nil {
			return nil, fmt.Errorf("%s printed %q", file, in.Text())
		}
		ns = append(ns, v/float64(portion))
	}
	return ns[len(ns)/2:], nil
}

var ranLine = regexp.MustCompile(`whyslow: (\S+), \d+ CFs, `)

// runTime is the wall time of a run of a program, as whyslow tells it, ns.
func runTime(ctx context.Context, whyslow string, ranks int, trace, file string, args ...int) (float64,
	error) {
	command := []string{whyslow, "run", "-w", "1"}
	if trace == "" {
		command = append(command, "--no-trace")
	} else {
		defer os.RemoveAll(trace)
		command = append(command, "-q", "--json", "-o", trace)
	}
	command = append(command, file)
	for _, a := range args {
		command = append(command, strconv.Itoa(a))
	}
	stdout, stderr, err := runRanks(ctx, ranks, command...)
	if err != nil {
		return 0, err
	}
	if trace != "" {
		var report struct {
			WallNS float64 `json:"wall_ns"`
		}
		err := json.Unmarshal([]byte(stdout), &report)
		return report.WallNS, err
	}
	m := ranLine.FindStringSubmatch(stderr)
	if m == nil {
		return 0, fmt.Errorf("%s: no time of the run in %q", file, stderr)
	}
	d, err := time.ParseDuration(m[1])
	return float64(d.Nanoseconds()), err
}

// benchCF measures a CF's way to a CF in another process, and how many empty CFs two processes get through.
func benchCF(ctx context.Context, b *bench) error {
	whyslow, err := b.whyslowMPI(ctx)
	if err != nil {
		t := b.table("CFs of two processes", "", "", "ratio to C")
		t.missing("whyslow with MPI", err.Error())
		return nil
	}
	if err := b.cfHops(ctx, whyslow); err != nil {
		return err
	}
	return b.cfRates(ctx, whyslow)
}

func (b *bench) cfHops(ctx context.Context, whyslow string) error {
	dir, err := b.temp()
	if err != nil {
		return err
	}
	n, portion, rounds := b.pick(40_000, 2_000), b.pick(1_000, 100), b.pick(9, 1)
	ways := []struct {
		name, file string
		args       []int
		trace      bool
		goal       string
		messages   float64 // that a CF waits for, in turn
	}{
		{"posted to the rank that reads it", "programs/hop.fa", []int{1}, false, "", 1},
		{"kept where it was made, asked for before: a response", "programs/hop.fa", []int{0}, false, "12x", 1},
		{"asked for when its turn has come: request and response", "programs/ask.fa", nil, false, "12x", 2},
		{"the first, with trace", "programs/hop.fa", []int{1}, true, "", 1},
		{"the second, with trace", "programs/hop.fa", []int{0}, true, "", 1},
		{"the third, with trace", "programs/ask.fa", nil, true, "", 2},
	}
	var plain []float64
	ns := make([][]float64, len(ways))
	for range rounds {
		c, err := b.pingPong(ctx, 8)
		if err != nil {
			return err
		}
		plain = append(plain, c)
		for i, w := range ways {
			trace := ""
			if w.trace {
				trace = filepath.Join(dir, "trace")
			}
			v, err := hops(ctx, whyslow, 2, n, portion, trace, w.file, w.args...)
			if err != nil {
				return err
			}
			ns[i] = append(ns[i], median(v))
		}
	}
	t := b.table("From one CF to another in a different process",
		fmt.Sprintf("Two ranks of one worker on this computer, DFs of 8 bytes, empty C++ routines: wall time of "+
			"a CF in a chain of %d, median of %d runs, beside a "+
			"plain ping-pong of 8 bytes in C (MPI_Send, MPI_Recv), in turns. A message of C is half a round trip.", n,
			rounds),
		"the input of the CF is", "messages in a row", "ratio to as many of C", "goal", "ratio to one of C",
		"us/CF", "us, a message of C")
	for i, w := range ways {
		cf, message := median(ns[i]), median(plain)
		t.row(w.name, int(w.messages), ratio(cf/message/w.messages), w.goal, ratio(cf/message), cf/1000,
			message/1000)
	}
	return nil
}

func (b *bench) cfRates(ctx context.Context, whyslow string) error {
	dir, err := b.temp()
	if err != nil {
		return err
	}
	n, rounds := b.pick(200_000, 2_000), b.pick(5, 1)
	programs := []struct {
		name, file string
		args       func(ranks int) []int
	}{
		{"independent, on the ranks in turn", "programs/spread.fa", func(int) []int { return []int{n} }},
		{"a chain on each rank", "programs/chains.fa", func(ranks int) []int { return []int{n / ranks, ranks} }},
	}
	t := b.table("Empty CFs per second", fmt.Sprintf("%d CFs in all, each an empty C++ routine, on ranks of "+
		"one worker: CFs divided by the wall time of the run, median of %d. Rank 0 creates independent CFs and "+
		"sends half of them to rank 1; each rank creates its own chain.", n, rounds),
		"CFs", "2 ranks over 1", "2 ranks, with trace over without", "M CFs/s, 1 rank", "2 ranks",
		"2 ranks, with trace")
	for _, p := range programs {
		var rate [3][]float64
		for range rounds {
			for i, ranks := range []int{1, 2, 2} {
				trace := ""
				if i == 2 {
					trace = filepath.Join(dir, "trace")
				}
				ns, err := runTime(ctx, whyslow, ranks, trace, p.file, p.args(ranks)...)
				if err != nil {
					return err
				}
				rate[i] = append(rate[i], float64(n)/ns*1e3)
			}
		}
		one, two, traced := median(rate[0]), median(rate[1]), median(rate[2])
		t.row(p.name, ratio(two/one), ratio(traced/two), one, two, traced)
	}
	return nil
}
