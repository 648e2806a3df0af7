package perfetto_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/convert/perfetto"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// record is one of the file.
type record struct {
	Ph, Name, Cat string
	PID, TID      int
	Ts, Dur       float64
	FlowOut       bool   `json:"flow_out"`
	FlowIn        bool   `json:"flow_in"`
	BindID        string `json:"bind_id"`
	Args          struct{ Value int64 }
}

func convert(t sloutest.TB, text string) ([]record, *model.Model) {
	t.Helper()
	m := sloutest.Build(t, text)
	var b bytes.Buffer
	if err := perfetto.WriteChrome(context.Background(), &b, m); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []json.RawMessage
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatal(err, b.String())
	}
	list := make([]record, len(file.TraceEvents))
	for i, text := range file.TraceEvents {
		if err := json.Unmarshal(text, &list[i]); err != nil && !strings.Contains(err.Error(), "args") {
			t.Fatal(err, string(text))
		}
	}
	return list, m
}

// TestRandom: every execution is one slice of its worker's thread, as long as in the model; every arrow has
// two ends, the later one not before the other where clocks were repaired; bytes held end as the model's do.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, m := convert(t, sloutest.Random(t).Text())
		slices, nanos, ends := 0, 0.0, map[string][2]int{}
		held := map[int]int64{}
		threads := map[int]int{}
		for _, r := range list {
			if r.TID != 0 {
				if p, ok := threads[r.TID]; ok && p != r.PID {
					t.Fatalf("thread %d is of processes %d and %d", r.TID, p, r.PID)
				}
				threads[r.TID] = r.PID
			}
			if r.PID < 1 || r.PID > len(m.Nodes) {
				t.Fatalf("%+v is of no node", r)
			}
			switch {
			case r.Cat == "ForeignBlock" || r.Cat == "CF":
				slices++
				nanos += r.Dur * 1000
			case r.BindID != "":
				e := ends[r.BindID]
				if r.FlowOut {
					e[0]++
				} else if r.FlowIn {
					e[1]++
				}
				ends[r.BindID] = e
			case r.Name == "DFHeld":
				held[r.PID-1] = r.Args.Value
			}
		}
		var want int64
		for e := range m.Executions() {
			want += m.EndOf(e) - m.ExecStart[e]
		}
		if slices != m.Executions() || math.Abs(nanos-float64(want)) > 0.5*float64(slices+1) {
			t.Fatalf("%d slices of %.0f ns, %d executions of %d ns", slices, nanos, m.Executions(), want)
		}
		for id, e := range ends {
			if e != [2]int{1, 1} {
				t.Fatalf("arrow %s has ends %v", id, e)
			}
		}
		left := map[int]int64{}
		for h := range m.Holdings() {
			if h.From != model.None && h.To == model.None {
				left[h.Node] += h.Bytes
			}
		}
		for node, bytes := range left {
			if held[node] != bytes {
				t.Fatalf("node %d holds %d bytes at the end, not %d", node, held[node], bytes)
			}
		}
	})
}

// failing cannot be written to.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestErrors(t *testing.T) {
	_, m := convert(t, "#node 0\n0 Global.onProgramStarted\n9 Global.onProgramFinished\n")
	if err := perfetto.Write(context.Background(), failing{}, m); err == nil || err.Error() != "no room" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := perfetto.Write(ctx, new(bytes.Buffer), m); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestUsage: what a process used is not shown as the length of a queue.
func TestUsage(t *testing.T) {
	list, _ := convert(t, "#node 0\n0 Global.onProgramStarted\n1 s1 Global.onReadyQueue length=3\n"+
		"2 s1 Global.onUsage load=150 resident=4096 arenas=2048 threads=7\n9 Global.onProgramFinished\n")
	got := map[string]int64{}
	for _, r := range list {
		if r.Ph == "C" && r.Name != "DFHeld" {
			got[r.Name] = r.Args.Value
		}
	}
	want := map[string]int64{"ReadyQueue": 3, "CPU, percent of a core": 150, "Resident bytes": 4096,
		"Bytes of arenas": 2048, "Threads": 7}
	if !maps.Equal(got, want) {
		t.Errorf("%v instead of %v", got, want)
	}
}
