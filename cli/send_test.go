package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/whyslow/whyslow/internal/record/collect"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/internal/testkit/upctest"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// collect FOLDER [TOKEN]: a collector that keeps what it gets in a folder listens at $COLLECTOR until the
// script ends.
func collectInto(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: collect FOLDER [TOKEN]")
	}
	cfg := collect.Config{Dir: ts.MkAbs(args[0])}
	if len(args) > 1 {
		cfg.Token = args[1]
	}
	c, err := collect.New(cfg)
	ts.Check(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	mux := http.NewServeMux()
	mux.Handle(stream.Path, c)
	server, err := collect.Server(mux, cfg.Limits, nil)
	ts.Check(err)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	ts.Setenv("COLLECTOR", l.Addr().String())
	ts.Defer(func() {
		if err := errors.Join(c.Close(), server.Close()); err != nil {
			ts.Logf("collector: %v", err)
		}
		<-done
	})
}

// TestGoProgramSends: a Go program that records itself sends what it records, while it runs and to the end.
func TestGoProgramSends(t *testing.T) {
	home := lunaHome(t)
	dir := t.TempDir()
	c, server := keeper(t, dir)
	t.Setenv("WHYSLOW_TO", server.Listener.Addr().String())
	t.Setenv("WHYSLOW_COMMAND", filepath.Join(home, "bin", "whyslow"))
	rec, err := prof.Record(filepath.Join(dir, "go.trace"), 1)
	if err != nil {
		t.Fatal(err)
	}
	step := rec.NewCode("step")
	emit := func(n int) {
		for range n {
			cf := rec.NewCF()
			rec.CFCreated.Emit(rec.System(), cf, step, 0, 1, 1, nil)
			rec.CFStarted.Emit(rec.Worker(0), cf, 1, nil)
			rec.CFFinished.Emit(rec.Worker(0), cf, 1, -1)
		}
	}
	emit(100)
	for began := time.Now(); len(c.Runs()) == 0; time.Sleep(20 * time.Millisecond) { // before it has ended
		if time.Since(began) > time.Minute {
			t.Fatal("nothing comes while the program runs")
		}
	}
	emit(100)
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	sameTraces(t, home, c, filepath.Join(dir, "go.trace"), "CFEvents.onFinished")
}

// TestCPPSends: a C++ program sends its trace to a collector and the results of a module to a listener.
func TestCPPSends(t *testing.T) {
	home := lunaHome(t)
	dir := t.TempDir()
	source := cctest.Source(t, "sends.cpp", `#define WHYSLOW_IMPLEMENTATION
#include "whyslow.hpp"
int main() {
    for (int i = 0; i < 1000; i++) {
        EMIT_EVENT(GlobalEvents, onForeignStarted, "f", std::chrono::steady_clock::now());
        EMIT_EVENT(GlobalEvents, onForeignEnded, "f", std::chrono::steady_clock::now());
    }
    EMIT_EVENT(Own, onLast, 7);
}
`)
	bin := cctest.Make(t, cctest.Program{Name: "sends", Compiler: []string{"g++", "-std=c++11"},
		Sources: []string{source}, Flags: []string{"-pthread"}, Compile: []string{"-I../sdk", "-O0"}, Link: []string{"-ldl"}})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	got := make(chan string, 1)
	go func() {
		c, err := listener.Accept()
		if err != nil {
			got <- err.Error()
			return
		}
		text, _ := io.ReadAll(c)
		got <- string(text)
	}()
	c, server := keeper(t, dir)
	run := func(settings string) (string, error) {
		if err := os.WriteFile(filepath.Join(dir, "modules_settings.json"), []byte(settings), 0o666); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(bin)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "WHYSLOW_TO="+server.Listener.Addr().String(), "WHYSLOW_TRACE=cpp.trace",
			"WHYSLOW_COMMAND="+filepath.Join(home, "bin", "whyslow"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	const logger = `{"logger_module": {"params": {"file": "tcp://%s", "format": "csv"}},
		"trace_writer_module": {}}`
	if out, err := run(fmt.Sprintf(logger, listener.Addr())); err != nil || out != "" {
		t.Fatalf("%s: %v", out, err)
	}
	if text := <-got; strings.Count(text, "onForeignEnded") != 1000 || !strings.Contains(text, "Own::onLast") {
		t.Errorf("the listener got %d bytes: %.200s", len(text), text)
	}
	sameTraces(t, home, c, filepath.Join(dir, "cpp.trace"), "Own.onLast")
	listener.Close()
	if out, _ := run(fmt.Sprintf(logger, listener.Addr())); !strings.Contains(out, "cannot connect to tcp://") {
		t.Errorf("nobody listens: %s", out)
	}
}

// TestUPCSends: each thread of a UPC program sends its events, and to the end.
func TestUPCSends(t *testing.T) {
	home := lunaHome(t)
	dir := t.TempDir()
	c, server := keeper(t, dir)
	path := upctest.Run(t, "barrier", upctest.Options{Args: []string{"1", "1"}, Env: []string{
		"WHYSLOW_TO=" + server.Listener.Addr().String(), "WHYSLOW_RUN_ID=00112233445566778899aabbccddeeff",
		"WHYSLOW_COMMAND=" + filepath.Join(home, "bin", "whyslow")}})
	sameTraces(t, home, c, path, "SyncEvents.onCollective kind=notify")
	if info, err := trace.ReadRunInfo(c.Runs()[0].Dir); err != nil || len(info.Nodes) != 2 {
		t.Fatalf("%+v, %v", info, err)
	}
}

// keeper is a collector that keeps what it gets below dir.
func keeper(t *testing.T, dir string) (*collect.Collector, *httptest.Server) {
	t.Helper()
	c, err := collect.New(collect.Config{Dir: filepath.Join(dir, "kept")})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(c)
	t.Cleanup(func() { c.Close(); server.Close() })
	return c, server
}

// sameTraces checks that the only run at a collector is that of a trace, which has some text and has ended
// well.
func sameTraces(t *testing.T, home string, c *collect.Collector, path, text string) {
	t.Helper()
	if len(c.Runs()) != 1 {
		t.Fatalf("%d runs were received", len(c.Runs()))
	}
	var texts [2]string
	for i, path := range []string{path, c.Runs()[0].Dir} {
		out, err := exec.Command(filepath.Join(home, "bin", "whyslow"), "dump", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(out)
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], text) {
		t.Errorf("here and at the collector, %q is expected:\n%.2000s\n%.2000s", text, texts[0], texts[1])
	}
	if info, err := trace.ReadRunInfo(c.Runs()[0].Dir); err != nil || info.Ended != trace.EndedDone {
		t.Errorf("%+v, %v", info, err)
	}
}

// A collector that takes the connection and then says nothing: the program runs to its end, and Ctrl+C ends
// the waiting.
func TestSilentCollector(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	home := lunaHome(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	source := "C++ sub say() ${{ printf(\"said\\n\"); $}}\nsub main() say();\n"
	if err := os.WriteFile(filepath.Join(dir, "say.fa"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(home, "bin", "whyslow"), "run", "-q", "--to", l.Addr().String(),
		"--to-wait=10m", "say.fa")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "said\n" {
		t.Fatalf("%q %v", line, err)
	}
	run := filepath.Join(dir, "say.001.trace")
	for { // until it waits
		if info, err := trace.ReadRunInfo(run); err == nil && info.Ended == trace.EndedDone {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	want := regexp.MustCompile(
		`^(?:whyslow: warning: collector .*: no answer; trying again\n)?` + // if it takes 10 s
			`whyslow: warning: 0 events were sent to 127.0.0.1:\d+, at least \d+ were not: interrupted; ` +
			`the trace is complete\n` + regexp.QuoteMeta(filepath.Base(run)) + "\n$")
	if !want.MatchString(stderr.String()) {
		t.Errorf("%s", stderr.String())
	}
}
