//go:build !no_logger_module && !no_cf_counter_events_module

package modules

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The same text wherever it goes: the terminal, a file, the network.
func TestWhereOutputGoes(t *testing.T) {
	want := startRun(t, 2, 1, use(t, "logger_module", nil))
	story(want.ses)
	text := want.finish(t)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	received := make(chan string)
	go func() {
		c, err := listener.Accept()
		if err != nil {
			received <- err.Error()
			return
		}
		all, _ := io.ReadAll(c)
		received <- string(all)
	}()
	file := filepath.Join(t.TempDir(), "log")
	for _, where := range []string{file, "tcp://" + listener.Addr().String()} {
		r := startRun(t, 2, 1, use(t, "logger_module", map[string]any{"file": where}),
			use(t, "cf_counter_events_module", nil))
		story(r.ses)
		if out := r.finish(t); len(lines(out)) != 8 {
			t.Errorf("the terminal has %q", out)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(text, <-received); diff != "" {
		t.Error(diff)
	}
}
