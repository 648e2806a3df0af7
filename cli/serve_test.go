package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/trace"
)

// TestServeUnderAttack: senders that only say hello, that send runs of one block and vanish, and that never
// finish a hello. Nothing comes of those without a block, and Ctrl+C ends the collector before it gives up
// waiting for itself.
func TestServeUnderAttack(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	const runs = 100
	dir := t.TempDir()
	cmd, address, stdout, stderr := startServe(t, "--dir", dir)
	block := aBlock(t)
	hosts := strings.Fields(strings.Repeat("host ", 60_000))
	for i := range 3 * runs {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		info := &trace.RunInfo{Program: "p.fa"}
		if i%30 == 0 {
			info.Hosts = hosts
		}
		b, err := stream.AppendJSON(nil, stream.TypeHello, stream.Hello{Format: stream.FormatVersion,
			Run: trace.NewRunID(), Sender: "s", Info: info})
		if err != nil {
			t.Fatal(err)
		}
		switch i % 3 {
		case 0:
			b = stream.AppendNode(b, stream.TypeOpen, 0)
			b = stream.AppendNumber(stream.AppendBlock(b, 0, block), stream.TypePing, 1)
		case 1:
			b = b[:len(b)/2]
		}
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n%s",
			stream.Path, stream.Protocol, b); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			r := bufio.NewReader(c)
			if _, err := http.ReadResponse(r, nil); err != nil { //nolint:bodyclose // what follows is no body
				t.Fatal(err)
			}
			for frames := stream.NewFrameReader(r, 1<<20); ; {
				f, err := frames.Next()
				if err != nil || f.Type == stream.TypeRefuse {
					t.Fatalf("%s %v", f.Body, err)
				}
				if f.Type == stream.TypeAck {
					break
				}
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	folders := 0
	for _, e := range entries {
		if e.IsDir() {
			folders++
		}
	}
	if folders != runs {
		t.Errorf("%d folders of %d runs", folders, runs)
	}
	begin := time.Now()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil { // as when it gives up waiting
		t.Errorf("%v\n%s", err, stderr.String())
	}
	t.Logf("it ended after %v, having used %v of processor time", time.Since(begin),
		cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
}

// startServe starts a collector and waits until it can be reached.
func startServe(t *testing.T, args ...string) (cmd *exec.Cmd, address string, stdout io.Reader,
	stderr *bytes.Buffer) {
	t.Helper()
	cmd = exec.Command(filepath.Join(lunaHome(t), "bin", "whyslow"), "serve", "--insecure", "--listen",
		"127.0.0.1:0")
	cmd.Args = append(cmd.Args, args...)
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/\n"), out, stderr
}

// TestMaxSockets: connections beyond the limit are closed at once, others are served.
func TestMaxSockets(t *testing.T) {
	if !canRun {
		t.Skip("built without the engine")
	}
	_, address, _, _ := startServe(t, "--dir", t.TempDir(), "--max-sockets", "2")
	ask := func() error {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "GET /api/runs HTTP/1.1\r\nHost: %s\r\n\r\n", address)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			r.Body.Close()
		}
		return err
	}
	for i := range 2 {
		if err := ask(); err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	if ask() == nil {
		t.Error("a third connection is served")
	}
}

// aBlock is a block of definitions or events.
func aBlock(t *testing.T) (block []byte) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a.trace")
	w, err := trace.Create(dir, 0, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Stream(0).Emit(1, trace.KindReadyQueue, 1)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := follow.New(dir)
	if _, err := f.Poll(t.Context(), func(b *tracefile.RawBlock) error {
		if block == nil {
			block = bytes.Clone(b.Bytes)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return block
}
