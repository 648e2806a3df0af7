package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/whyslow/whyslow/internal/run/compile"
)

// Tracers written in C are measured through small programs in rivals, compiled when they are needed. Where a
// library, its headers or its daemon is missing, the table says so.

// compileRival compiles rivals/NAME.c.
func compileRival(ctx context.Context, compiler, name string, libraries ...string) (string, error) {
	bin, err := compile.Program{Name: name, Dir: "rivals", Compiler: []string{compiler},
		Flags: []string{"-O2", "-w"}, Compile: []string{"-I."}, Sources: []string{name + ".c"},
		Link: libraries}.Make(ctx)
	var failed *compile.Error
	if errors.As(err, &failed) {
		if first, _, _ := strings.Cut(strings.TrimSpace(failed.Output), "\n"); first != "" {
			err = errors.New(first)
		}
	}
	if err != nil {
		return "", fmt.Errorf("it does not compile here (%w)", err)
	}
	return bin, nil
}

// runRival runs a program of rivals and returns ns per event of its portions and its CPU time.
func runRival(ctx context.Context, bin, dir string, portions int, pause time.Duration,
	env ...string) (ns []float64, cpu float64, err error) {
	cmd := exec.CommandContext(ctx, bin, dir, strconv.Itoa(portions), strconv.Itoa(cfsPerPortion),
		strconv.Itoa(int(pause.Microseconds())))
	cmd.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("%w %s", err, strings.TrimSpace(said.String()))
	}
	in := bufio.NewScanner(bytes.NewReader(out))
	for in.Scan() {
		what, value, _ := strings.Cut(in.Text(), " ")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("%s printed %q", bin, in.Text())
		}
		if what == "portion" {
			ns = append(ns, v/(cfsPerPortion*perCF))
		} else {
			cpu = v
		}
	}
	return ns, cpu, in.Err()
}

// childCPU is the CPU time of a finished command.
func childCPU(cmd *exec.Cmd) float64 {
	return float64(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
}

// otf2 measures OTF2's own library.
func (b *bench) otf2(ctx context.Context) *method {
	m := &method{name: "OTF2 (C library)"}
	var bin string
	if bin, m.failed = compileRival(ctx, "cc", "otf2", "-lotf2"); m.failed != nil {
		m.failed = fmt.Errorf("%w; Debian has it in libotf2-trace-dev", m.failed)
		return m
	}
	m.measure = func(ctx context.Context, dir string, portions int) (s sample, err error) {
		events := float64(portions * cfsPerPortion * perCF)
		ns, _, err := runRival(ctx, bin, filepath.Join(dir, "rests"), portions, rest)
		if err != nil {
			return s, err
		}
		s.app = median(ns)
		all := filepath.Join(dir, weighed)
		_, cpu, err := runRival(ctx, bin, all, portions, 0)
		if err != nil {
			return s, err
		}
		s.all = cpu / events
		size, err := diskBytes(all)
		if err != nil {
			return s, err
		}
		s.bytes = float64(size) / events
		cmd := exec.CommandContext(ctx, bin, filepath.Join(all, "mix.otf2"))
		out, err := cmd.Output()
		if err != nil {
			return s, err
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil || n != int(events) {
			return s, fmt.Errorf("%s events were read back, %.0f had been recorded", bytes.TrimSpace(out), events)
		}
		s.read = float64(n) / childCPU(cmd) * 1e9
		return s, nil
	}
	return m
}

// lttng measures LTTng's user-space tracer with its daemons. The function it returns ends them.
func (b *bench) lttng(ctx context.Context) (*method, func()) {
	m := &method{name: "LTTng-UST (C, with its consumer daemon)"}
	end := func() {}
	var bin string
	if bin, m.failed = compileRival(ctx, "cc", "lttng", "-llttng-ust", "-ldl"); m.failed != nil {
		m.failed = fmt.Errorf("%w; Debian has it in liblttng-ust-dev and lttng-tools", m.failed)
		return m, end
	}
	daemon, end, err := startLTTng(ctx)
	if err != nil {
		m.failed = err
		return m, end
	}
	sessions := 0
	m.measure = func(ctx context.Context, dir string, portions int) (s sample, err error) {
		events := float64(portions * cfsPerPortion * perCF)
		record := func(dir string, pause time.Duration) (ns []float64, cpu float64, err error) {
			sessions++
			name := fmt.Sprintf("whyslow-bench-%d-%d", os.Getpid(), sessions)
			if err := lttngCommand(ctx, "create", name, "--output="+dir); err != nil {
				return nil, 0, err
			}
			defer func() { err = errors.Join(err, lttngCommand(context.WithoutCancel(ctx), "destroy", name)) }()
			// An application that finds all buffers full waits, so that nothing is lost.
			for _, args := range [][]string{
				{"enable-channel", "-u", "-s", name, "--subbuf-size=1M", "--num-subbuf=8", "--blocking-timeout=inf",
					"mix"},
				{"enable-event", "-u", "-s", name, "-c", "mix", "whyslow_bench:*"},
				{"start", name},
			} {
				if err := lttngCommand(ctx, args...); err != nil {
					return nil, 0, err
				}
			}
			before := daemon.cpu()
			if ns, cpu, err = runRival(ctx, bin, dir, portions, pause, "LTTNG_UST_ALLOW_BLOCKING=1"); err != nil {
				return nil, 0, err
			}
			err = lttngCommand(ctx, "stop", name)
			return ns, cpu + daemon.cpu() - before, err
		}
		ns, _, err := record(filepath.Join(dir, "rests"), rest)
		if err != nil {
			return s, err
		}
		s.app = median(ns)
		all := filepath.Join(dir, weighed)
		_, cpu, err := record(all, 0)
		if err != nil {
			return s, err
		}
		s.all = cpu / events
		size, err := diskBytes(all)
		if err != nil {
			return s, err
		}
		s.bytes = float64(size) / events
		s.read = math.NaN()
		if _, err := exec.LookPath("babeltrace2"); err != nil {
			return s, nil
		}
		cmd := exec.CommandContext(ctx, "babeltrace2", all, "--component", "sink.utils.counter")
		out, err := cmd.Output()
		if err != nil {
			return s, err
		}
		n := counted(string(out))
		if n < events {
			return s, fmt.Errorf("%.0f events were read back, %.0f had been recorded", n, events)
		}
		s.read = n / childCPU(cmd) * 1e9
		return s, nil
	}
	return m, end
}

// counted takes the last number of events from what babeltrace2's counter prints.
func counted(text string) (n float64) {
	for _, m := range eventCount.FindAllStringSubmatch(text, -1) {
		n, _ = strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
	}
	return n
}

var eventCount = regexp.MustCompile(`([\d,]+) Event messages`)

func lttngCommand(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "lttng", append([]string{"--no-sessiond"}, args...)...).CombinedOutput()
	if err != nil {
		last := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("lttng %s: %w: %s", args[0], err, last[len(last)-1])
	}
	return nil
}

// lttngDaemon is a session daemon of our own.
type lttngDaemon struct{ pid int }

// startLTTng starts a session daemon and returns a function that ends it.
func startLTTng(ctx context.Context) (*lttngDaemon, func(), error) {
	end := func() {}
	if _, err := exec.LookPath("lttng-sessiond"); err != nil {
		return nil, end, errors.New("lttng-sessiond is not installed; Debian has it in lttng-tools")
	}
	if lttngCommand(ctx, "list") == nil {
		return nil, end, errors.New("a session daemon is running already: its CPU time could not be told from " +
			"that of others")
	}
	cmd := exec.Command("lttng-sessiond")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, end, err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	end = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it ends its consumers, too
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
		}
	}
	for range 50 {
		if lttngCommand(ctx, "list") == nil {
			return &lttngDaemon{cmd.Process.Pid}, end, nil
		}
		select {
		case <-ended:
			return nil, end, errors.New("lttng-sessiond does not run here")
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil, end, errors.New("lttng-sessiond does not answer")
}

// cpu is the CPU time of the daemon and its consumers so far, in nanoseconds.
func (d *lttngDaemon) cpu() (ns float64) {
	pids := []int{d.pid}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", d.pid))
	for _, t := range tasks {
		text, _ := os.ReadFile(t)
		for _, f := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	for _, pid := range pids {
		ns += processCPU(pid)
	}
	return ns
}

// processCPU reads the CPU-time clock of another process, as clock_getcpuclockid(3) does.
func processCPU(pid int) float64 {
	var t syscall.Timespec
	id := uintptr(^pid<<3 | 2)
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		return 0
	}
	return float64(t.Nano())
}
