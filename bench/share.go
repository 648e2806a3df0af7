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
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/show/report"
	"github.com/whyslow/whyslow/internal/testkit/replicate"
	"github.com/whyslow/whyslow/trace"
)

// A trace of many nodes, analysed by one process and by several. A real run is repeated on many nodes, with a
// share of what travels led from one copy to another, so that every process needs facts of the others. Each
// process is started through this program, which tells how much memory it had at most.

const (
	// aloneVariable names a trace that this program is to analyse in one process.
	aloneVariable = "WHYSLOW_BENCH_ALONE"
	// peakVariable names a folder: this program is to run a command and write there how much memory it took.
	peakVariable = "WHYSLOW_BENCH_PEAK"
)

// peakOf is what a process took.
type peakOf struct {
	Bytes int64
	CPUNS int64
}

// peakOfProcess gives what a process took that has ended.
func peakOfProcess(p *os.ProcessState) peakOf {
	took := peakOf{CPUNS: (p.UserTime() + p.SystemTime()).Nanoseconds()}
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		took.Bytes = u.Maxrss << 10 // Linux counts in KiB
	}
	return took
}

// init takes the place of the program where it is started for one of these.
func init() {
	var err error
	switch dir, trace := os.Getenv(peakVariable), os.Getenv(aloneVariable); {
	case dir != "" && len(os.Args) > 1:
		err = runPeak(dir)
	case trace != "":
		err = analyseAlone(trace)
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runPeak runs the command of the arguments and writes what it took into a file named after its rank.
func runPeak(dir string) error {
	cmd := exec.CommandContext(context.Background(), os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = slices.DeleteFunc(os.Environ(),
		func(s string) bool { return strings.HasPrefix(s, peakVariable+"=") })
	if err := cmd.Run(); err != nil {
		return err
	}
	took := peakOfProcess(cmd.ProcessState)
	text, err := json.Marshal(took)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "rank"+os.Getenv("OMPI_COMM_WORLD_RANK")), text, 0o666)
}

// analyseAlone does in one process what several do, and prints the report.
func analyseAlone(dir string) error {
	debug.SetGCPercent(50) // as several do
	r, err := trace.Open(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	ctx := context.Background()
	m, err := model.Build(ctx, r, model.Options{})
	if err != nil {
		return err
	}
	all, err := report.Compute(ctx, m, report.Wanted{Splits: []string{"node", "worker", "code", "index:0"}}, nil)
	if err != nil {
		return err
	}
	return report.JSON(os.Stdout, all, report.Options{})
}

// analysis is a way to analyse the trace.
type analysis struct {
	name    string
	ranks   int
	command []string
	env     []string
}

func benchShare(ctx context.Context, b *bench) error {
	t := b.table("A trace of many nodes, analysed by several processes", "", "", "wall time, s",
		"ratio to one process", "CPU time, s, of all", "largest process, MB", "ratio to one process",
		"bytes/event, largest", "all processes, MB")
	whyslow, err := b.whyslowMPI(ctx)
	if err != nil {
		t.missing("several processes", err.Error())
		return nil
	}
	dir, stats, took, err := b.manyNodes(ctx, whyslow)
	if err != nil {
		return err
	}
	t.about = fmt.Sprintf("%d nodes, %.3g million events, %s on disk: the Cholesky example at 4 nodes, "+
		"repeated %d times; %.1f %% of the %.3g million messages and CFs that nodes send go from one copy of the "+
		"run to another. "+
		"Written in %.0f s. `mpirun -n P whyslow report --json`, all processes on this computer of %d cores: "+
		"each reads its share of the files and receives what crosses. The first process is the largest, because "+
		"it gets all executions for the advice. One process does the same work; the last row is the ordinary "+
		"report.",
		stats.Nodes, float64(stats.Events)/1e6, megabytes(took.Bytes), stats.Nodes/4,
		100*float64(stats.Crossing)/float64(max(stats.Messages, 1)), float64(stats.Messages)/1e6,
		float64(took.CPUNS)/1e9, runtime.NumCPU())
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ways := []analysis{{"1 process", 1, []string{self}, []string{aloneVariable + "=" + dir}}}
	for _, p := range []int{2, 4} {
		ways = append(ways, analysis{fmt.Sprintf("%d processes", p), p, []string{whyslow, "report", "--json", dir},
			nil})
	}
	ways = append(ways, analysis{"1 process, the ordinary report", 1, []string{whyslow, "report", "--json", dir},
		[]string{"GOGC=50"}})
	var first []byte
	var oneWall, onePeak float64
	for i, w := range ways {
		wall, peaks, text, err := b.measure(ctx, self, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		same, err := commonPart(text)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		var sum, largest, cpu float64
		for _, p := range peaks {
			sum, largest, cpu = sum+float64(p.Bytes), max(largest, float64(p.Bytes)), cpu+float64(p.CPUNS)
		}
		if i == 0 {
			first, oneWall, onePeak = same, wall, largest
		} else if !bytes.Equal(first, same) {
			return fmt.Errorf("%s find something else than one", w.name)
		}
		t.row(w.name, wall/1e9, ratio(wall/oneWall), cpu/1e9, largest/1e6, ratio(largest/onePeak),
			largest/float64(stats.Events), sum/1e6)
	}
	t.note("All give the same result: %s of JSON, byte for byte", megabytes(int64(len(first))))
	t.note("Memory is the largest resident size of any process")
	return nil
}

func megabytes(n int64) string { return fmt.Sprintf("%s MB", number(float64(n)/1e6)) }

// manyNodes makes the trace; took is its size, and how long that took.
func (b *bench) manyNodes(ctx context.Context, whyslow string) (dir string, stats replicate.Stats,
	took peakOf, err error) {
	return b.repeated(ctx, whyslow, b.pick(b.shareBlocks, 6), b.pick(64, 3))
}

// repeated makes a trace of the Cholesky example with so many blocks in a row at 4 nodes, repeated.
func (b *bench) repeated(ctx context.Context, whyslow string, blocks, copies int) (dir string,
	stats replicate.Stats, took peakOf, err error) {
	one, err := b.temp()
	if err != nil {
		return "", stats, took, err
	}
	one = filepath.Join(one, "one")
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, whyslow, "run", "-q", "-n", "4", "-w", "1", "-o", one,
		"../examples/cholesky/cholesky.fa", strconv.Itoa(blocks), "4")
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return "", stats, took, fmt.Errorf("cholesky: %w\n%s", err, bytes.TrimSpace(said.Bytes()))
	}
	r, err := trace.Open(one)
	if err != nil {
		return "", stats, took, err
	}
	defer r.Close()
	if dir, err = b.temp(); err != nil {
		return "", stats, took, err
	}
	begin := time.Now()
	stats, err = replicate.Write(ctx, dir, r, replicate.Options{Copies: copies, Crossing: 0.1})
	took.CPUNS = time.Since(begin).Nanoseconds()
	if err == nil {
		took.Bytes, err = diskBytes(dir)
	}
	return dir, stats, took, err
}

// shareLimit ends an analysis that does not end by itself.
const shareLimit = 30 * time.Minute

// measure runs an analysis; wall is in ns.
func (b *bench) measure(ctx context.Context, self string, w analysis) (wall float64, peaks []peakOf,
	text []byte, err error) {
	dir, err := b.temp()
	if err != nil {
		return 0, nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, shareLimit)
	defer cancel()
	command := append([]string{self}, w.command...)
	if w.ranks > 1 {
		command = append([]string{"mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n",
			strconv.Itoa(w.ranks)}, command...)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that mpirun ends the ranks
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(append(os.Environ(), peakVariable+"="+dir), w.env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, nil, nil, errors.Join(ctx.Err(), fmt.Errorf("%w\n%s", err, bytes.TrimSpace(said.Bytes())))
	}
	wall = float64(time.Since(begin).Nanoseconds())
	files, err := filepath.Glob(filepath.Join(dir, "rank*"))
	if err != nil || len(files) != w.ranks {
		return 0, nil, nil, errors.Join(err, fmt.Errorf("%d of %d processes told what they took", len(files),
			w.ranks))
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return 0, nil, nil, err
		}
		var p peakOf
		if err := json.Unmarshal(text, &p); err != nil {
			return 0, nil, nil, err
		}
		peaks = append(peaks, p)
	}
	return wall, peaks, out.Bytes(), nil
}

// commonPart is a report without what only one process finds.
func commonPart(text []byte) ([]byte, error) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if len(doc["factors"]) == 0 || len(doc["series"]) < 100 {
		return nil, errors.New("the report has no factors or no series")
	}
	for _, key := range []string{"blame", "advice", "failed"} {
		delete(doc, key)
	}
	return json.Marshal(doc)
}
