package model

import (
	"fmt"
	"testing"

	"github.com/whyslow/whyslow/trace"
)

// TestHostsCores: a host has the cores that its processes may use together. Where one does not tell which,
// the number is not known.
func TestHostsCores(t *testing.T) {
	for _, c := range []struct {
		affinities []string
		want       int
	}{
		{[]string{"0", "1"}, 2},
		{[]string{"0-1", "0-1"}, 2},
		{[]string{"0", ""}, 0},
		{[]string{"0", "0"}, 1},
	} {
		m := &Model{Info: &trace.RunInfo{}}
		for i, list := range c.affinities {
			p := trace.ProcessInfo{Host: "a", Affinity: list, Cores: min(len(list), 2)}
			m.Info.Processes = append(m.Info.Processes, p)
			m.Processes = append(m.Processes, Process{Host: "a", Cores: p.Cores})
			m.Nodes = append(m.Nodes, Node{Host: "a", Process: i, Workers: make([]Worker, 1)})
		}
		if got, want := fmt.Sprint(m.Hosts()), fmt.Sprint([]Host{{Host: "a", Cores: c.want, Workers: 2}}); got != want {
			t.Errorf("%q: %s, want %s", c.affinities, got, want)
		}
	}
}
