package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestParseBandwidth(t *testing.T) {
	for text, want := range map[string]float64{
		"1": 1, "1G": 1e9, "1GB": 1e9, "200M": 2e8, "1.5k": 1500, "2K": 2000, "64Ki": 65536, "1MiB": 1 << 20, "1e6": 1e6,
	} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "G", "fast", "1X", "NaN", "Inf", "1e30G", "1 G"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%s: %v, want an error", text, got)
		}
	}
}

func TestNewTraceDir(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "p.fa")
	want := func(name string) {
		t.Helper()
		got, note, err := newTraceDir(program)
		if err != nil || note != "" || got != filepath.Join(dir, name) {
			t.Errorf("%s %q %v, want %s", got, note, err, name)
		}
	}
	want("p.001.trace")
	want("p.002.trace")
	// Numbers are never used twice, however many there are; other programs' traces do not count.
	for _, name := range []string{"p.1203.trace", "p.q.trace", "pp.9000.trace", "p.7000.traces"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	want("p.1204.trace")
}

func TestNewTraceDirFallsBack(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "locked"), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	got, note, err := newTraceDir("locked/p.fa")
	if err != nil || got != "p.001.trace" || note == "" {
		t.Errorf("%s %q %v", got, note, err)
	}
}
