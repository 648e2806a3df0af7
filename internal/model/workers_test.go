package model

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// TestWorkersWithoutRunJSON: nodes that run.json does not tell of have the workers that their streams show,
// whoever wrote them, however much of the run is read. Streams of the engine's run-time system are none.
func TestWorkersWithoutRunJSON(t *testing.T) {
	const start = "0 n0 s%d Global.onProgramStarted\n"
	const works = "5 n0 s%d Global.onIdle\n6 n0 s%[1]d Global.onBusy\n"
	for _, c := range []struct {
		name         string
		started      int    // streams with onProgramStarted
		working      []int  // those that work
		more, header string // other events, and run.json
		want         int
	}{
		{name: "engine", started: 4, working: []int{0, 1}, more: "0 n0 s2 Global.onClockSync 0 0\n", want: 2},
		{name: "engine, the last worker did nothing", started: 5, working: []int{0},
			more: "0 n0 s3 Global.onClockSync 0 0\n", want: 3},
		{name: "engine, nobody did anything", started: 4, more: "0 n0 s2 Global.onClockSync 0 0\n", want: 2},
		{name: "engine without clocks", started: 4, working: []int{0, 1},
			more: "3 n0 s2 DF.onReceived 1 1 8 1.1\n4 n0 s3 Global.onReadyQueue 1\n", want: 2},
		{name: "engine, where the start of its run-time system is lost", started: 2, working: []int{0, 1},
			more: "0 n0 s3 Global.onProgramStarted\n3 n0 s2 DF.onReceived 1 1 8 1.1\n4 n0 s3 Global.onReadyQueue 1\n",
			want: 2},
		{name: "a worker of another program that did nothing", started: 3, working: []int{0, 1}, want: 3},
		{name: "a program that did nothing", started: 2, want: 2},
		{name: "a PGAS thread compares clocks itself", started: 1,
			more: "0 n0 s0 Global.onClockSync 0 0\n5 n0 s0 Region.onEntered 1\n6 n0 s0 Region.onExited 1\n", want: 1},
		{name: "a PGAS thread that was killed early", started: 1, more: "0 n0 s0 Global.onClockSync 0 0\n", want: 1},
		{name: "a system thread with regions", started: 2, working: []int{0, 1},
			more: "5 n0 s3 Region.onEntered 1\n6 n0 s3 Region.onExited 1\n", want: 2},
		{name: "listed", header: `#run {"nodes":[{"node":0,"workers":3}]}` + "\n", started: 4, want: 3},
	} {
		text := c.header
		for s := range c.started {
			text += fmt.Sprintf(start, s)
		}
		text += c.more
		for _, s := range c.working {
			text += fmt.Sprintf(works, s)
		}
		dir := t.TempDir()
		if err := twin.Parse(strings.NewReader(text), dir); err != nil {
			t.Fatal(c.name, err)
		}
		m := load(t, dir)
		if got := m.Workers(); got != c.want || m.NoInfo != (c.header == "") {
			t.Errorf("%s: %d workers, run.json missing: %v; want %d", c.name, got, m.NoInfo, c.want)
		}
		r, err := trace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		part, err := Build(context.Background(), r, Options{In: &trace.Span{From: 100, To: 200}})
		if err != nil {
			t.Fatal(err)
		}
		if got := part.Workers(); got != c.want {
			t.Errorf("%s: a part of the run has %d workers, want %d", c.name, got, c.want)
		}
		want := map[int]int{0: c.want}
		if c.header != "" {
			want = map[int]int{}
		}
		if got, err := CountWorkers(context.Background(), r); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: CountWorkers gives %v, %v; want %v", c.name, got, err, want)
		}
	}
}
