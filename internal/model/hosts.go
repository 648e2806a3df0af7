package model

import (
	"cmp"
	"slices"

	"github.com/whyslow/whyslow/internal/words"
)

// Host is a computer that the run had.
type Host struct {
	Host    string `json:"host"`
	Cores   int    `json:"cores"` // available to the run; 0 not known
	Workers int    `json:"workers"`
}

// Hosts are the run's computers by name.
func (m *Model) Hosts() []Host {
	out := []Host{}
	find := func(name string) *Host {
		for i := range out {
			if out[i].Host == name {
				return &out[i]
			}
		}
		out = append(out, Host{Host: name})
		return &out[len(out)-1]
	}
	// Processes of one host are bound to cores each, or share all that the host gives them.
	bound, unknown := map[string]map[int]bool{}, map[string]bool{}
	for i, p := range m.Processes {
		h := find(p.Host)
		h.Cores = max(h.Cores, p.Cores)
		unknown[p.Host] = unknown[p.Host] || p.Cores == 0
		if i < len(m.Info.Processes) {
			if bound[p.Host] == nil {
				bound[p.Host] = map[int]bool{}
			}
			for _, c := range words.CoreList(m.Info.Processes[i].Affinity) {
				bound[p.Host][c] = true
			}
		}
	}
	for i := range out {
		out[i].Cores = max(out[i].Cores, len(bound[out[i].Host]))
		if unknown[out[i].Host] { // a process may be bound to others than the rest
			out[i].Cores = 0
		}
	}
	for _, n := range m.Nodes {
		if len(n.Workers) == 0 {
			continue
		}
		name := n.Host
		if name == "" && n.Process < len(m.Processes) {
			name = m.Processes[n.Process].Host
		}
		find(name).Workers += len(n.Workers)
	}
	slices.SortFunc(out, func(a, b Host) int { return cmp.Compare(a.Host, b.Host) })
	return out
}

// SharedCores is how many cores the workers share: that much can run at a time, however many workers there
// are. 0 where it is not known, or where no thread's clock told work from waiting for a core.
func (m *Model) SharedCores() (cores int) {
	for _, h := range m.Hosts() {
		switch {
		case h.Workers == 0:
		case h.Cores == 0:
			return 0
		default:
			cores += h.Cores
		}
	}
	for _, w := range m.AllWorkers() {
		if w.Measured > 0 {
			return cores
		}
	}
	return 0
}
