package cli

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFormats reads a trace of every version of the format, as docs/stability.md promises: folders of
// testdata/formats are called by the version, and have what dump prints beside each trace. These traces are
// never written again: a new version gets a folder of its own, and whoever changes the format without that
// fails here.
func TestFormats(t *testing.T) {
	home, dir := lunaHome(t), t.TempDir()
	run := func(words string) string {
		t.Helper()
		out, errs, code, err := shell("../testdata/formats", home, "whyslow "+words)
		if err != nil || code != 0 || errs != "" {
			t.Fatalf("%s: exit code %d, %v\n%s", words, code, err, errs)
		}
		return out
	}
	fresh := filepath.Join(dir, "fresh")
	run("dump --parse 1/regions.txt -o " + fresh)
	current := formatVersion(t, fresh)
	for version := 1; version <= current; version++ {
		traces, err := filepath.Glob(fmt.Sprintf("../testdata/formats/%d/*.trace", version))
		if err != nil || len(traces) < 2 {
			t.Fatalf("version %d of the format has %d traces in testdata/formats (%v)", version, len(traces), err)
		}
		for _, trace := range traces {
			if got := formatVersion(t, trace); got != version {
				t.Errorf("%s has version %d of the format", trace, got)
			}
			text := strings.TrimSuffix(trace, ".trace") + ".txt"
			want, err := os.ReadFile(text)
			if err != nil {
				t.Fatal(err)
			}
			trace = fmt.Sprintf("%d/%s", version, filepath.Base(trace))
			if d := cmp.Diff(string(want), run("dump "+trace)); d != "" {
				t.Errorf("%s: dump has changed (-then +now):\n%s", trace, d)
			}
			report := run("report --json=- " + trace)
			if err := checkSums([]byte(report)); err != nil {
				t.Errorf("%s: %v", trace, err)
			}
		}
	}
}

// formatVersion is what the header of the first file of a trace says, see docs/trace-format.md.
func formatVersion(t *testing.T, trace string) int {
	t.Helper()
	header, err := os.ReadFile(filepath.Join(trace, "00000.wst"))
	if err != nil || len(header) < 10 {
		t.Fatalf("%s: %d bytes, %v", trace, len(header), err)
	}
	return int(binary.LittleEndian.Uint16(header[8:]))
}
