package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// two functions are known.
type two struct{ prof.Describer }

func (two) Site(_ int, s trace.Site) prof.Site { return prof.Site{Code: []string{"", "one", "two"}[s]} }

// Both designs measure the same.
func TestDesignsAgree(t *testing.T) {
	dir := t.TempDir()
	ours, err := newProfiled(&setup{recording: both, dir: dir, nodes: 1, workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	ses := ours.ses
	ses.SetDescriber(two{})
	d, timer, sizer := &dispatcher{}, &lockedTimer{}, &lockedSizer{}
	for _, err := range []error{timer.connect(d), sizer.connect(d),
		d.emitFunctions(ses, []string{"", "one", "two"}), d.emitMemory(ses)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s := ses.Stream(0, 0, nil)
	const ms = 1_000_000
	for i := range int64(1000) {
		site := trace.Site(1 + i%2)
		ses.ForeignStarted.EmitAt(s, 1000*ms*i, site)
		ses.ForeignEnded.EmitAt(s, 1000*ms*i+i*ms, site)
		ses.DFCreate.EmitAt(s, 1000*ms*i, trace.DF(i), i, 0)
		if i%3 == 0 {
			ses.DFDestroy.EmitAt(s, 1000*ms*i, trace.DF(i), i, trace.Expired)
		}
	}
	if err := ours.close(); err != nil {
		t.Error(err)
	}
	var locked []string
	for key, b := range timer.times {
		locked = append(locked, fmt.Sprintf("Func: %s, PID: %d, TID: %d => %d ms total", key.function, key.process,
			key.thread, b.total/ms))
	}
	slices.Sort(locked)
	locked = append(locked, fmt.Sprintf("Total DF size created: %d bytes", sizer.created),
		fmt.Sprintf("Total DF size destroyed: %d bytes", sizer.destroyed))
	for _, name := range []string{timerModule, sizerModule} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSuffix(line, "\n"); len(locked) > 0 && line == locked[0] {
				locked = locked[1:]
			}
		}
	}
	if len(locked) > 0 {
		t.Errorf("not written by our modules: %q", locked[0])
	}
	if sizer.created != 999*500 {
		t.Errorf("%d bytes were created", sizer.created)
	}
}

func TestWrongTypes(t *testing.T) {
	d := &dispatcher{}
	if err := new(lockedTimer).connect(d); err != nil {
		t.Fatal(err)
	}
	if err := connectLocked[dfHandler](d, "GlobalEvents", "onForeignStarted", func(string, int64) {}); err ==
		nil {
		t.Error("a handler with other arguments is connected")
	}
}

func TestModeEvents(t *testing.T) {
	for _, rec := range []recording{functions, memory, both, lockedBoth} {
		ses := prof.New()
		ses.Choose(modes[rec].on)
		if on := len(trace.Kinds()) - len(ses.Off()); on != len(modes[rec].events) {
			t.Errorf("%s: %d events are on, %d are listed", modes[rec].name, on, len(modes[rec].events))
		}
	}
	counts := map[string]uint64{"DFEvents.onCreate": 3, "DFEvents.onDestroy": 2,
		"GlobalEvents.onForeignStarted": 7, "CFEvents.onReady": 11}
	if n := modes[memory].count(counts); n != 5 {
		t.Errorf("%d events of memory, want 5", n)
	}
	if n := modes[everything].count(counts); n != 23 {
		t.Errorf("%d events, want 23", n)
	}
}

func TestCompared(t *testing.T) {
	order := between([]recording{functions, nothing})
	if diff := cmp.Diff([]recording{nothing, functions, nothing, nothing, nothing}, order); diff != "" {
		t.Fatal(diff)
	}
	c := newCompared()
	c.add([]turn{{nothing, 90, 9}, {functions, 110, 22}, {nothing, 110, 11}, {nothing, 90, 10},
		{nothing, 70, 9}})
	if diff := cmp.Diff(map[recording][]float64{functions: {10}, nothing: {0}}, c.cpu); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[recording][]float64{functions: {120}, nothing: {0}}, c.wall); diff != "" {
		t.Error(diff)
	}
}

// A bench that has run replaces its section, and nothing else changes.
func TestRenewPage(t *testing.T) {
	const path = "../docs/benchmarks.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	before := sections(page)
	for _, c := range benches {
		if before[c.name] == "" {
			t.Errorf("%s: no section of %s", path, c.name)
		}
	}
	b := &bench{bench: "buffers"}
	if same := b.page(page); same != page {
		t.Errorf("a page in which nothing is renewed changes:\n%s", cmp.Diff(page, same))
	}
	b.table("New table", "", "a", "b").row("x", 1.0)
	renewed := b.page(page)
	after := sections(renewed)
	if !strings.Contains(after["buffers"], "## New table") || !strings.Contains(after["buffers"],
		"| x | 1.00 |") {
		t.Errorf("the new section:\n%s", after["buffers"])
	}
	delete(before, "buffers")
	delete(after, "buffers")
	if !maps.Equal(before, after) {
		t.Error("other sections have changed")
	}
	if again := b.page(renewed); again != renewed {
		t.Error("renewing again gives another page")
	}
}

// A file that is not a page of ours is left alone.
func TestRenewOther(t *testing.T) {
	path := t.TempDir() + "/notes.md"
	if err := os.WriteFile(path, []byte("# Notes\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	b := &bench{bench: "buffers"}
	b.table("New table", "", "a", "b").row("x", 1.0)
	if err := b.renew(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	fresh := t.TempDir() + "/new.md"
	b.tables[0].figure = &figure{file: "new.svg", about: "a picture", svg: []byte("<svg/>")}
	if err := b.renew(fresh); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(fresh)
	if err != nil || !strings.Contains(string(text), "![a picture](new.svg)") {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := os.Stat(strings.TrimSuffix(fresh, "md") + "svg"); err != nil {
		t.Error(err)
	}
}
