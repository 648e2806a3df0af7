// Package gasptest tries libwhyslow-gasp (sdk/pgas/gasp.c) with C programs that call it as UPC run-time
// systems do, and as they should not.
package gasptest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/testkit/cctest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

var update = flag.Bool("update", false, "write the expected texts anew")

// How programs are compiled. All warnings are errors.
var builds = map[string][]string{
	"plain":  {"-O2"},
	"asan":   {"-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"},
	"tsan":   {"-g", "-fsanitize=thread"},
	"mute":   {"-O2", "-DNO_TALK"}, // UPC code that cannot communicate
	"shared": {"-O2"},              // with the shared library, as docs/c-sdk.md says
}

// compile compiles a program of testdata with the library and returns its path.
func compile(t testing.TB, name, build string) string {
	t.Helper()
	if build == "library" {
		return cctest.Make(t, cctest.Program{
			Name: "libwhyslow-gasp.so", Sources: []string{"../gasp.c"}, Link: []string{"-shared"},
			Flags: []string{"-Wall", "-Wextra", "-Werror", "-O2", "-g", "-fPIC", "-pthread", "-I../.."},
		})
	}
	p := cctest.Program{
		Name: name + "-" + build, Sources: []string{"testdata/" + name + ".c"},
		Flags: append([]string{"-Wall", "-Wextra", "-Werror", "-pthread", "-I..", "-I../.."}, builds[build]...),
	}
	switch {
	case name == "format": // has the library's parts in itself
		p.Compile = []string{"-Wno-format-security", "-Wno-format", "-Wno-unused-function",
			"-Wno-unused-variable", "-DWHYSLOW_NO_DLOPEN"}
	case build == "shared":
		p.Link = []string{compile(t, "", "library")}
	default:
		p.Sources = append(p.Sources, "../gasp.c")
	}
	return cctest.Sanitized(t, p)
}

// result is what a run of a program left behind.
type result struct {
	trace  string
	stderr string
	code   int // -1: a signal ended it
	status syscall.WaitStatus
}

// run runs a program; env are settings like "WHYSLOW_SYNC=1".
func run(t testing.TB, path string, env []string, args ...string) result {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command(path, args...)
	cmd.Env = append(append(os.Environ(), "WHYSLOW_TRACE="+dir), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{dir, stderr.String(), cmd.ProcessState.ExitCode(), cmd.ProcessState.Sys().(syscall.WaitStatus)}
}

func (r result) ok(t testing.TB, code int, stderr string) {
	t.Helper()
	if r.code != code || r.stderr != stderr {
		t.Fatalf("exit code %d, want %d\nstandard error: %s\nwant: %s", r.code, code, r.stderr, stderr)
	}
}

// open opens a trace and reads it all. Nothing may be wrong with it but what is named.
func open(t testing.TB, path string, allowed ...trace.ProblemKind) *trace.Reader {
	t.Helper()
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	r.Verify(2)
next:
	for _, p := range r.Problems() {
		for _, a := range allowed {
			if p.Kind == a {
				continue next
			}
		}
		t.Errorf("problem: %s", p)
	}
	return r
}

var (
	ofRegion = regexp.MustCompile(`region=(\d+)`)
	event    = regexp.MustCompile(`^\d+ n(\d+) s(\d+) (\S+)(.*)$`)
)

// text is the beginning of what a node recorded, an event a line, indented by region, without times;
// the region has its name and line instead of a number.
func text(t testing.TB, r *trace.Reader, node int) string {
	t.Helper()
	var dump bytes.Buffer
	if err := twin.Dump(&dump, r); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	d := r.Defs(node)
	names := map[string]string{}
	for line := range strings.Lines(dump.String()) {
		if b.Len() > 1<<20 { // endless recursion
			break
		}
		m := event.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || m[1] != fmt.Sprint(node) {
			continue
		}
		fields := named(d, m[4])
		name := m[3][strings.IndexByte(m[3], '.')+1:]
		depth := names[m[2]]
		switch name {
		case "onEntered":
			fmt.Fprintf(&b, "%s%s\n", depth, strings.TrimSpace(fields))
			names[m[2]] = depth + "    "
			continue
		case "onExited":
			depth = strings.TrimSuffix(depth, "    ")
			names[m[2]] = depth
			fmt.Fprintf(&b, "%s/%s\n", depth, strings.TrimSpace(fields))
			continue
		case "onProgramStarted", "onProgramFinished":
			fields = ""
		}
		fmt.Fprintf(&b, "%s%s%s\n", depth, name, fields)
	}
	return b.String()
}

// named puts the names of regions in the place of their numbers.
func named(d *trace.Defs, fields string) string {
	return ofRegion.ReplaceAllStringFunc(fields, func(s string) string {
		var n uint32
		fmt.Sscanf(s, "region=%d", &n)
		return region(d, trace.Site(n))
	})
}

func region(d *trace.Defs, site trace.Site) string {
	s, ok := d.Site(site)
	if !ok {
		return "?"
	}
	c, _ := d.Code(s.Code)
	where := ""
	if s.Line > 0 {
		where = fmt.Sprintf(" %s:%d", d.Name(s.File), s.Line)
	}
	return d.Name(c.Name) + where
}

// golden compares a text with the file of that name in testdata.
func golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}
