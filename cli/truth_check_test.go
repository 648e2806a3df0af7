package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// What holds of every report, whatever the program: that nothing false is said. Each piece of advice and each
// warning must be one that is known to be true of the program; numbers must fit what can be known otherwise.

// aboutTheMachine is advice that is true of any program on a busy machine, or of a short run.
var aboutTheMachine = []string{"preempted", "too-many-workers", "extra-cores", "late-leaving", "start-up"}

// alwaysFalse may be said of no program.
var alwaysFalse = []string{"Warning: internal", "NaN", "%!", "-0 ns", "waited 0 ns"}

// account is what is said of a run.
type account struct {
	text  string // all of it, on one line
	wall  int64
	total int64 // of all workers
	cpu   int64 // of the process
	bytes int64
	list  []advise.Advice
	lost  float64   // part of the time in which workers had no core
	nodes []float64 // likewise, by node

	useful, measured, sum int64            // useful time, of it measured, and the sum of the factors
	waits                 map[string]int64 // parts of W
	warnings              []string
	dir                   string // of the sources
}

// others is the part of all time in which workers of other nodes had no core.
func (a *account) others(node int) (lost float64) {
	for n, part := range a.nodes {
		if n != node {
			lost += part
		}
	}
	return lost
}

// find gives the advice with one of some names, nil if there is none.
func (a *account) find(ids []string) *advise.Advice {
	i := slices.IndexFunc(a.list, func(x advise.Advice) bool { return slices.Contains(ids, x.ID) })
	if i < 0 {
		return nil
	}
	return &a.list[i]
}

// accountOf reads the reports on a trace.
func accountOf(t *testing.T, dir, home, trace, messages string) *account {
	t.Helper()
	report := func(flags string) string {
		out, errs, _, err := shell(dir, home, "whyslow report "+flags+" "+trace)
		if err != nil || out == "" {
			t.Fatalf("report: %v\n%s", err, errs)
		}
		return out
	}
	path := trace
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	a := &account{dir: dir, cpu: processorTime(t, path)}
	type factors map[string]struct {
		NS         int64
		MeasuredNS int64 `json:"measured_ns"`
		Parts      map[string]int64
	}
	var doc struct {
		WallNS      int64 `json:"wall_ns"`
		TotalNS     int64 `json:"total_ns"`
		UndividedNS int64 `json:"undivided_ns"`
		Factors     factors
		Nodes       []struct{ Factors factors }
		Advice      []advise.Advice
		Warnings    []string
	}
	if err := json.Unmarshal([]byte(report("--json=-")), &doc); err != nil {
		t.Fatal(err)
	}
	a.wall, a.total, a.list = doc.WallNS, doc.TotalNS, doc.Advice
	lost := func(f factors) float64 { return float64(f["O"].Parts["preempt"]) / float64(max(doc.TotalNS, 1)) }
	a.lost = lost(doc.Factors)
	for i := range doc.Nodes {
		a.nodes = append(a.nodes, lost(doc.Nodes[i].Factors))
	}
	a.useful, a.measured, a.waits = doc.Factors["U"].NS, doc.Factors["U"].MeasuredNS, doc.Factors["W"].Parts
	a.sum, a.warnings = doc.UndividedNS, doc.Warnings
	for _, f := range doc.Factors {
		a.sum += f.NS
	}
	for _, x := range doc.Advice {
		messages += "\n" + x.Title + ". " + x.Text + " " + x.Gain + " " + x.Bound
	}
	short, full := report(""), report("--full")
	a.text = strings.Join(strings.Fields(messages+"\n"+short+"\n"+full), " ")
	if m := peakHeld.FindStringSubmatch(a.text); m != nil {
		a.bytes = bytesOf(m[1])
	}
	return a
}

// processorTime is that of all processes, between the start of the program and its end.
func processorTime(t *testing.T, path string) (ns int64) {
	t.Helper()
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := model.Build(context.Background(), r, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Processes {
		ns += m.Processes[i].CPU
	}
	return ns
}

// check holds what is said of the program with the fault against what is known.
func (c *knownCause) check(a *account) (faults []string) {
	wrong := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	first := slices.IndexFunc(a.list, func(x advise.Advice) bool {
		return slices.Contains(c.first, x.ID) || !slices.Contains(aboutTheMachine, x.ID)
	})
	switch {
	case first < 0 && len(c.first) == 0:
	case first < 0 || c.cause != "" && a.find([]string{c.cause}) == nil:
		wrong("nothing is said of the reason %v %s", c.first, c.cause)
	case !slices.Contains(c.first, a.list[first].ID):
		wrong("%s comes first, not %v: %s", a.list[first].ID, c.first, a.list[first].Text)
	}
	for i := range a.list[:max(len(a.list)-1, 0)] {
		if x, y := &a.list[i], &a.list[i+1]; y.Share > x.Share && x.ID != "start-up" && !y.Useless(a.wall) {
			wrong("%s (%s) comes before %s (%s)", x.ID, x.Gain, y.ID, y.Gain)
		}
	}
	for _, s := range c.says {
		if !strings.Contains(a.text, s) {
			wrong("it does not say %q", s)
		}
	}
	for _, s := range slices.Concat(c.never, alwaysFalse) {
		if i := strings.Index(a.text, s); i >= 0 {
			wrong("it says %q: ...%s", s, a.text[max(i-200, 0):min(i+100, len(a.text))])
		}
	}
	for _, s := range c.general(a) {
		wrong("%s", s)
	}
	if len(a.list) > 1 && !strings.Contains(a.text, "Gains overlap") {
		wrong("it does not say that gains overlap")
	}
	// One fact, one figure: the bytes held at most.
	if m := insteadOf.FindStringSubmatch(a.text); m != nil && bytesOf(m[1]) != a.bytes {
		wrong("DFs take at most %d bytes and, in the advice, %s", a.bytes, m[1])
	}
	return faults
}

var (
	peakHeld  = regexp.MustCompile(`Memory at most ([0-9.]+ [kKMG]?B|[0-9]+ bytes) in`)
	insteadOf = regexp.MustCompile(`would take at most [0-9.]+ [a-zA-Z]+ instead of ([0-9.]+ [a-zA-Z]+)`)
)

// bytesOf reads a size as reports write it.
func bytesOf(s string) int64 {
	number, unit, _ := strings.Cut(s, " ")
	x, _ := strconv.ParseFloat(number, 64)
	return int64(x * map[string]float64{"bytes": 1, "KB": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit])
}

// little is the part of all time below which waits may be the system's: a page from disk, a lock of the C
// library.
const little = 0.02

// general finds what cannot be true.
func (c *knownCause) general(a *account) (faults []string) {
	wrong := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if a.sum != a.total {
		wrong("the factors add up to %d of %d ns", a.sum, a.total)
	}
	if a.measured > 0 && float64(a.useful) > 1.01*float64(a.cpu)+1e6 {
		wrong("%d ns were useful; the process had the processor for %d", a.useful, a.cpu)
	}
	for part, ns := range a.waits {
		if c.fault != "" && !slices.Contains(c.waits, part) && float64(ns) > little*float64(a.total) {
			wrong("%d of %d ns are W.%s; it does not wait so", ns, a.total, part)
		}
	}
	known := slices.Concat(c.first, []string{c.cause}, c.also, aboutTheMachine)
	for i := range a.list {
		x := &a.list[i]
		if !slices.Contains(known, x.ID) {
			wrong("nobody knows whether this is true: %s: %s %s", x.ID, x.Text, x.Gain)
		}
		if x.GainNS < 0 || x.GainNS > a.total || x.GainWallNS < 0 || x.GainWallNS > a.wall || x.GainBytes < 0 ||
			math.IsNaN(x.Share) || x.Share < 0 || x.Share > 1 {
			wrong("%s gains %d of %d ns, %d of %d, %d bytes, a share of %g", x.ID, x.GainNS, a.total, x.GainWallNS,
				a.wall, x.GainBytes, x.Share)
		}
		if x.ID == "too-small" && strings.Contains(a.text, fmt.Sprintf("Divide `%v`", x.Evidence["code"])) {
			wrong("%v is to be merged, and to be divided", x.Evidence["code"])
		}
	}
	workers := numberAfter(c.fault, "-n") * numberAfter(c.fault, "-w")
	for _, w := range a.warnings {
		shared := fmt.Sprintf("%d workers share %d core", workers, runtime.NumCPU())
		switch {
		case workers > runtime.NumCPU() && (strings.HasPrefix(w, shared) ||
			strings.Contains(w, "was not measured by thread clocks")):
		case c.silent && strings.HasPrefix(w, "This machine's kernel does not report"):
		default:
			wrong("nobody knows whether this warning is true: %s", w)
		}
	}
	if stuck := strings.Contains(a.text, "never finished"); stuck != (c.code == console.Stuck) {
		wrong("exit code %d, and CFs that never finished: %t", c.code, stuck)
	}
	for _, m := range placeOfCode.FindAllStringSubmatch(a.text, -1) {
		if line := lineOf(filepath.Join(a.dir, m[2]), m[3]); !strings.Contains(line, m[1]) {
			wrong("%s is not in line %s of %s: %s", m[1], m[3], m[2], line)
		}
	}
	return faults
}

// placeOfCode is a code fragment with its place in a source.
var placeOfCode = regexp.MustCompile("`([a-z_]+)` \\(([a-z_./-]+\\.fa):([0-9]+)\\)")

// lineOf reads a line of a file, which is counted from 1.
func lineOf(path, number string) string {
	text, err := os.ReadFile(path)
	lines := strings.Split(string(text), "\n")
	n, _ := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(lines) {
		return fmt.Sprintf("no such line: %v", err)
	}
	return lines[n-1]
}

// numberAfter is the number that follows a flag, 1 where it is not there.
func numberAfter(args, flag string) int {
	words := strings.Fields(args)
	if i := slices.Index(words, flag); i >= 0 && i+1 < len(words) {
		n, _ := strconv.Atoi(words[i+1])
		return n
	}
	return 1
}
