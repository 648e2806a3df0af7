package native

import (
	"encoding/json"
	"testing"

	"github.com/whyslow/whyslow/prof"
)

// full is a state module with a number for everything.
type full struct{ state prof.NodeState }

func (full) Start(*prof.Host) error      { return nil }
func (full) Finish() error               { return nil }
func (f full) Node(_ int) prof.NodeState { return f.state }

// TestQueryNames: modules ask the state module by the names that its lines of JSON have, and by no others.
func TestQueryNames(t *testing.T) {
	m := full{prof.NodeState{CFs: 1, Waiting: 2, Ready: 3, Running: 4, Finished: 5, DFs: 6, Bytes: 7, Sent: 8,
		Received: 9, Queue: 10, Sending: 11, Busy: 12, Weight: 13.5}}
	text, err := json.Marshal(m.state)
	if err != nil {
		t.Fatal(err)
	}
	var line map[string]float64
	if err := json.Unmarshal(text, &line); err != nil {
		t.Fatal(err)
	}
	if len(line) != 13 || line["sent_bytes"] != 8 {
		t.Error(line)
	}
	for name, want := range line {
		if got, ok := ask(m, name, 0); !ok || got != want {
			t.Errorf("%s is %v, %v; JSON has %v", name, got, ok, want)
		}
	}
	for _, name := range []string{"sent", "time_ns", ""} {
		if got, ok := ask(m, name, 0); ok {
			t.Errorf("%q is %v", name, got)
		}
	}
}
