package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/collect"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/run/crew"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// Runs of many processes that are ended from outside, or sent elsewhere.

const endlessMany = `C++ sub spin(int i) ${{
    if (i == 0) { printf("ready\n"); fflush(stdout); }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
$}}
sub main() for i = 0 .. 100000 spin(i) @ { locator_cyclic: i; };
`

// endMany starts an endless program on three ranks and ends it: end gets mpirun's process and the folder of
// the trace.
func endMany(t *testing.T, home, dir, flags string,
	end func(mpirun *os.Process, folder string)) (stderr string) {
	t.Helper()
	cmd := exec.Command("mpirun",
		append(append([]string{"-n", "3", filepath.Join(home, "bin", "whyslow"), "run", "-q", "-w", "1", "-o",
			"t.trace"}, strings.Fields(flags)...), "endless.fa")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), longGrace)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q %v\n%s", line, err, errs.String())
	}
	time.Sleep(100 * time.Millisecond)
	end(cmd.Process, filepath.Join(dir, "t.trace"))
	late := time.AfterFunc(10*time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Fatal(err)
	}
	if cmd.Wait() == nil {
		t.Error("mpirun is content")
	}
	return errs.String()
}

// After Ctrl+C the traces of all ranks are whole, and rank 0 says what has happened, once.
func TestMPIInterrupt(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t), manyDir(t, map[string]string{"endless.fa": endlessMany})
	stderr := endMany(t, home, dir, "", func(mpirun *os.Process, _ string) {
		if err := mpirun.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	})
	if !strings.Contains(stderr, "whyslow: interrupted\nt.trace\n") || strings.Count(stderr, "interrupted") > 1 {
		t.Errorf("%s", stderr)
	}
	out, _ := must(t, dir, home, 0, "whyslow doctor t.trace")
	if !strings.Contains(out, "the run: interrupted\nwhole: ") || !strings.Contains(out, "clock of node 2") {
		t.Errorf("%s", out)
	}
	must(t, dir, home, 0, "whyslow report t.trace")
}

// A rank that is killed takes the others with it; they leave whole traces, and everybody says what is
// missing.
func TestMPIKilled(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home := lunaHome(t)
	for rank, wants := range [][2]string{
		{"", "the run: no end recorded"},
		{"whyslow: interrupted\nwhyslow: warning: the trace of node 1 (HOST, rank 1) is not complete: its " +
			"process " +
			"ended early\nt.trace\n", "\n  00001.wst: its process ended early\n"},
	} {
		dir := manyDir(t, map[string]string{"endless.fa": endlessMany})
		stderr := endMany(t, home, dir, "", func(_ *os.Process, folder string) {
			info, err := trace.ReadRunInfo(folder)
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(info.Processes[rank].PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		})
		if want := strings.ReplaceAll(wants[0], "HOST", crew.HostName()); !strings.Contains(stderr, want) {
			t.Errorf("rank %d: no %q in\n%s", rank, want, stderr)
		}
		out, _ := must(t, dir, home, console.Damaged, "whyslow doctor t.trace")
		if !strings.Contains(out, wants[1]) {
			t.Errorf("rank %d: no %q in\n%s", rank, wants[1], out)
		}
		must(t, dir, home, console.Damaged, "whyslow report t.trace")
		r, err := trace.Open(filepath.Join(dir, "t.trace"))
		if err != nil {
			t.Fatal(err)
		}
		for node := range 3 {
			if r.Closed(node) != (node != rank) {
				t.Errorf("rank %d was killed: the file of node %d is finished: %t", rank, node, r.Closed(node))
			}
		}
		r.Close()
	}
}

// An interrupted run does not gather its parts: it says where they are, and each is a trace.
func TestMPIInterruptedParts(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t), manyDir(t, map[string]string{"endless.fa": endlessMany})
	stderr := endMany(t, home, dir, "--local-dir parts", func(mpirun *os.Process, _ string) {
		if err := mpirun.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	})
	part := regexp.QuoteMeta(crew.HostName()+":"+dir) + `/parts/t\.node%\.\d+\.trace`
	want := "whyslow: the parts of the trace were not gathered: " + strings.Join([]string{
		strings.Replace(part, "%", "0", 1), strings.Replace(part, "%", "1", 1), strings.Replace(part, "%", "2", 1)},
		", ") + "\nt.trace\n"
	if !regexp.MustCompile(want).MatchString(stderr) {
		t.Errorf("%s", stderr)
	}
	parts, err := filepath.Glob(filepath.Join(dir, "parts", "*.trace"))
	if err != nil || len(parts) != 3 {
		t.Fatalf("%v %v", parts, err)
	}
	// What was said to be missing is put there.
	for _, p := range parts {
		must(t, dir, home, 0, "cp "+p+"/*.wst t.trace")
	}
	must(t, dir, home, 0, "whyslow doctor t.trace")
	if err := os.Remove(filepath.Join(dir, "t.trace", tracefile.FileName(2))); err != nil {
		t.Fatal(err)
	}
	if out, _ := must(t, dir, home, console.Damaged, "whyslow doctor t.trace"); !strings.Contains(out,
		"the file of node 2 is missing: it is in "+crew.HostName()+":"+dir+"/parts/t.node2.") {
		t.Errorf("%s", out)
	}
}

// collector keeps what it gets in a folder until the test ends.
func collector(t *testing.T, dir string) (addr string) {
	t.Helper()
	c, err := collect.New(collect.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(stream.Path, c)
	server, err := collect.Server(mux, collect.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), server.Close()); err != nil {
			t.Log(err)
		}
		<-done
	})
	return l.Addr().String()
}

// All ranks send to one collector, or each half to its own; with a trace on disk, in parts, and without.
func TestMPISend(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home := lunaHome(t)
	for _, c := range []struct {
		flags string
		nodes []int // kept by each collector
	}{{"", []int{4}}, {"", []int{2, 2}}, {"--local-dir parts", []int{4}}, {"--no-trace", []int{2, 2}}} {
		dir := manyDir(t, map[string]string{"loud.fa": loud})
		var addrs []string
		for i := range c.nodes {
			addrs = append(addrs, collector(t, filepath.Join(dir, "kept", string(rune('a'+i)))))
		}
		_, stderr := must(t, dir, home, 0,
			"mpirun -n 4 whyslow run -w 1 --to "+strings.Join(addrs, ",")+" "+c.flags+" loud.fa")
		kept := 0
		for i, nodes := range c.nodes {
			if !regexp.MustCompile(`\nwhyslow: \d+ events sent to ` + addrs[i] +
				`, which keeps them as loud\.001\.trace\n`).MatchString("\n" + stderr) {
				t.Errorf("%v: nothing about %s in\n%s", c, addrs[i], stderr)
			}
			folder := filepath.Join(dir, "kept", string(rune('a'+i)), "loud.001.trace")
			r, err := trace.Open(folder)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(r.Nodes()); n != nodes || len(r.Run().Nodes) != nodes || r.Run().Ended != trace.EndedDone ||
				len(r.Problems()) > 0 && len(c.nodes) == 1 {
				t.Errorf("%v: %d nodes, %+v, %v", c, n, r.Run(), r.Problems())
			}
			kept += r.Events()
			r.Close()
		}
		if c.flags == "--no-trace" {
			continue
		}
		r, err := trace.Open(filepath.Join(dir, "loud.001.trace"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Events() != kept || len(r.Problems()) > 0 {
			t.Errorf("%v: %d events, %d are kept; %v", c, r.Events(), kept, r.Problems())
		}
		r.Close()
	}
}

// Interrupted while it compiles, rank 0 says so, once, before mpirun kills it.
func TestMPIInterruptedCompiler(t *testing.T) {
	needMPI(t)
	t.Parallel()
	home, dir := lunaHome(t),
		manyDir(t, map[string]string{"endless.fa": endlessMany, "cxx": "#!/bin/sh\n: > begun\nsleep 600 &\nwait\n"})
	if err := os.Chmod(filepath.Join(dir, "cxx"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("mpirun", "-n", "2", filepath.Join(home, "bin", "whyslow"), "run", "-q", "endless.fa")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CXX="+filepath.Join(dir, "cxx"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(4*time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	for range 200_000 {
		if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if cmd.Wait() == nil {
		t.Error("mpirun is content")
	}
	if text := stderr.String(); strings.Count(text, "whyslow: interrupted while compiling C++\n") != 1 ||
		strings.Count(text, "interrupted") != 1 {
		t.Errorf("%s", text)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.trace")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
