package model

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile/twin"
)

// regionTrace is a node's part of a trace in which every region has the site of its code: 1 main, 2 barrier,
// 3 notify, 4 wait, 5 reduce, 6 lock.
func regionTrace(nodes ...string) string {
	out := ""
	for n, events := range nodes {
		out += fmt.Sprintf("#node %d\n", n)
		for i, c := range []string{"main function", "barrier barrier", "notify barrier", "wait barrier",
			"reduce collective", "lock lock"} {
			out += fmt.Sprintf("#code %d %s\n#site %d code=%d at=a.c:%d:0\n", i+1, c, i+1, i+1, i+1)
		}
		out += strings.ReplaceAll(events, "; ", "\n") + "\n"
	}
	return out
}

// did writes a collective: a region entered and left.
func did(site, enter, exit int, what string) string {
	return fmt.Sprintf("%d Region.onEntered %d; %d Sync.onCollective %s; %d Region.onExited %d; ", enter, site,
		enter, what, exit, site)
}

// TestOneAndTwoPhases pairs a barrier in one phase with one in two, and a thread that is two collectives
// ahead of another.
func TestOneAndTwoPhases(t *testing.T) {
	m := build(t, regionTrace(
		did(2, 10, 50, "barrier size=2")+did(5, 60, 61, "reduce size=2 root=1 sync=no/no")+did(5, 62, 63,
			"reduce size=2 root=0 sync=no/no"),
		did(3, 20, 21, "notify size=2")+did(4, 30, 51, "wait size=2")+did(5, 70, 71,
			"reduce size=2 root=1 sync=no/no")+did(5, 80, 81, "reduce size=2 root=0 sync=no/no")))
	r := m.Regions
	if len(r.Instances) != 3 || r.Unmatched != 0 || r.Mixed != 0 {
		t.Fatalf("%+v", r)
	}
	e := r.MembersOf(0)
	if r.Instances[0].Kind != CollectiveBarrier || r.Arrived(e[0]) != 10 || r.Arrived(e[1]) != 20 {
		t.Errorf("barrier: %+v", r.Instances[0])
	}
	if r.Instances[1].Root != 1 || r.Instances[2].Root != 0 || r.Instances[1].Sync != (Sync{SyncNo, SyncNo}) {
		t.Errorf("reductions: %+v", r.Instances[1:])
	}
	if n := &r.Threads[1].Collectives[0]; n.Kind != CollectiveNotify || n.Instance != 0 {
		t.Errorf("notify: %+v", n)
	}
}

// TestGroups pairs collectives of overlapping groups, each with a queue of its own.
func TestGroups(t *testing.T) {
	all, even, pair := "barrier size=3", "barrier stride=2 size=2", "barrier start=1 size=2"
	m := build(t, regionTrace(
		did(2, 10, 20, even)+did(2, 30, 40, all),
		did(2, 10, 15, pair)+did(2, 31, 41, all),
		did(2, 11, 16, pair)+did(2, 17, 21, even)+did(2, 32, 42, all)))
	r := m.Regions
	if len(r.Instances) != 3 || r.Unmatched+r.Mixed != 0 {
		t.Fatalf("%+v", r)
	}
	var got []string
	for i := range r.Instances {
		for _, e := range r.MembersOf(i) {
			got = append(got, fmt.Sprint(r.Threads[e.Thread].Node, "@", r.entered(e)))
		}
	}
	if want := "1@10 2@11 0@10 2@17 0@30 1@31 2@32"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestAfterLosses pairs the barriers after events were lost, and does not let an operation whose exit was
// lost contain what follows.
func TestAfterLosses(t *testing.T) {
	start, end := "0 Global.onProgramStarted; ", "100 Global.onProgramFinished"
	m := build(t, regionTrace(
		start+did(2, 10, 12, "barrier size=2")+did(2, 20, 32, "barrier size=2")+did(2, 50, 52, "barrier size=2")+
			did(2, 70, 74, "barrier size=2")+end,
		start+did(2, 11, 12, "barrier size=2")+"30 Region.onEntered 2; 30 Sync.onCollective barrier size=2; 31 "+
			"Global.onLost count=5 first=31 last=60; "+
			did(2, 71, 73, "barrier size=2")+end))
	r := m.Regions
	if len(r.Instances) != 3 || r.Unmatched != 1 {
		t.Fatalf("%+v", r)
	}
	for i, want := range [][2]int64{{10, 11}, {20, 30}, {70, 71}} {
		e := r.MembersOf(i)
		if r.entered(e[0]) != want[0] || r.entered(e[1]) != want[1] {
			t.Errorf("instance %d: entered at %d and %d, want %v", i, r.entered(e[0]), r.entered(e[1]), want)
		}
	}
	if t1 := &r.Threads[1]; t1.Exit[1] != 31 || t1.Parent[2] != -1 {
		t.Errorf("exits %v, parents %v", t1.Exit, t1.Parent)
	}
}

// TestPlaces looks addresses up in the table kept with the trace.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	text := "#code 1 shmem_quiet completion\n#code 2 \"/bin/p+0x20\" function\n#site 1 code=1 " +
		"\"/bin/p+0x10\"\n#site 2 code=2 \"/bin/p+0x30\"\n#site 3 code=1 \"/bin/p+0x44\"\n0 " +
		"Region.onEntered 1\n1 " +
		"Region.onExited 1\n"
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		t.Fatal(err)
	}
	table := `{"/bin/p+0x10":{"function":"solve","file":"/src/p.c","line":7},"/bin/p+0x20":{"function":"main","file":"/src/p.c","line":1}}`
	if err := os.WriteFile(filepath.Join(dir, "symbols.json"), []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	m := load(t, dir)
	if s := m.Sites[1]; s.Function != "solve" || s.File != "/src/p.c" || s.Line != 7 {
		t.Errorf("%+v", s)
	}
	if s := m.Sites[3]; s.Function != "" || s.File != "p+0x44" || s.Line != 0 {
		t.Errorf("an address of which nothing is known: %+v", s)
	}
	if c := m.Codes[m.Sites[2].Code]; c.Name != "main" || c.Line != 1 {
		t.Errorf("%+v", c)
	}
}
