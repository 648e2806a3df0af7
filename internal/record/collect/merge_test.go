package collect

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/trace"
)

// What one sender says is what is kept.
func TestMergeOfOne(t *testing.T) {
	info := &trace.RunInfo{ID: "x", Program: "p", Args: []string{"1"}, Ended: trace.EndedFailed, Exit: 3,
		Message: "m", Hosts: []string{"a", "b"},
		Processes: []trace.ProcessInfo{{PID: 1}, {PID: 1}},
		Nodes:     []trace.NodeInfo{{Node: 0, Process: 1, Workers: 2}, {Node: 1, Process: 7}},
		Off:       []string{"e"}, Versions: map[string]string{"go": "1"}, Settings: map[string]string{"k": "v"}}
	if diff := cmp.Diff(info, merge("x", []*sender{{Name: "s", Info: info, Nodes: []int{0}, Ended: true}},
		nil)); diff != "" {
		t.Error(diff)
	}
	if got := merge("x", []*sender{{Name: "s", Info: info, Nodes: []int{0}}}, nil); got.Ended != "" ||
		got.Exit != 0 {
		t.Errorf("ended while its sender has more: %+v", got)
	}
	if got := merge("x", nil, nil); got.ID != "x" || got.Ended != "" {
		t.Errorf("%+v", got)
	}
}

// The order in which senders came does not matter, and of each node its own sender tells.
func TestMergeIsOfASet(t *testing.T) {
	both := []trace.NodeInfo{{Node: 0, Host: "?"}, {Node: 1, Host: "?"}}
	a := &sender{Name: "a", Nodes: []int{0}, Ended: true,
		Info: &trace.RunInfo{Program: "p", Ended: trace.EndedDone,
			Nodes:     []trace.NodeInfo{{Node: 0, Host: "h0"}, both[1]},
			Processes: []trace.ProcessInfo{{PID: 5, Host: "h0"}}}}
	b := &sender{Name: "b", Nodes: []int{1}, Ended: true,
		Info: &trace.RunInfo{Clock: "tsc", Ended: trace.EndedStuck, Exit: 3,
			Nodes:     []trace.NodeInfo{both[0], {Node: 1, Host: "h1"}},
			Processes: []trace.ProcessInfo{{PID: 5, Host: "h1"}}},
		Lost: map[int]stream.Lost{1: {Node: 1, Blocks: 2, Events: 30}, 0: {Node: 0, Blocks: 9}}}
	want := &trace.RunInfo{ID: "i", Program: "p", Clock: "tsc", Ended: trace.EndedStuck, Exit: 3,
		Nodes: []trace.NodeInfo{{Node: 0, Host: "h0", Error: "disk"},
			{Node: 1, Host: "h1", Process: 1, Unwritten: 30, Error: "2 blocks could not be sent to the collector"}},
		Processes: []trace.ProcessInfo{{PID: 5, Host: "h0"}, {PID: 5, Host: "h1"}}}
	for range 2 {
		if diff := cmp.Diff(want, merge("i", []*sender{a, b}, map[int]string{0: "disk"})); diff != "" {
			t.Error(diff)
		}
		a, b = b, a
	}
}

func TestFolderName(t *testing.T) {
	for program, want := range map[string]string{
		"heat.fa": "heat", "/a/b/heat.fa": "heat", `C:\x\heat.fa`: "heat", "": "run", "..": "run", "../..": "run",
		".hidden.fa": "hidden",
		"a b;c.fa":   "a_b_c", "\x00\x1b[31m": "31m", "тест.fa": "тест", "-rf": "rf", "a/": "run", "a.b.c": "a_b",
	} {
		if got := folderName(program); got != want {
			t.Errorf("%q: %q, want %q", program, got, want)
		}
	}
}

// No name leads out of the folder, hides in it, or cannot be a file's.
func FuzzFolderName(f *testing.F) {
	f.Add("../../etc/passwd")
	f.Add(strings.Repeat("ы", 300))
	f.Fuzz(func(t *testing.T, program string) {
		got := folderName(program)
		if got == "" || len(got) > 80 || filepath.Base(got) != got || !filepath.IsLocal(got) ||
			strings.ContainsAny(got, "./\\:\x00\n ") || got[0] == '-' || !utf8.ValidString(got) {
			t.Fatalf("%q: %q", program, got)
		}
	})
}
