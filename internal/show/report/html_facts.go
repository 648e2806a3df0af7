package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/words"
)

// facts: what is known of the run itself.
func (h *htmlFace) facts() []block {
	r := h.Run
	if r == nil {
		return nil
	}
	info := r.Info
	g := h.grid("The run", "what", "value")
	g.Plain = true
	add := func(what, value string) {
		if value != "" {
			g.add([]cell{word(h.say(what)), word(value)})
		}
	}
	add("program", info.Program)
	add("arguments", strings.Join(info.Args, " "))
	add("command line", strings.Join(info.CommandLine, " "))
	if !info.Started.IsZero() {
		add("started", info.Started.Format("2006-01-02 15:04:05.000 MST"))
	}
	add("ended", info.Ended)
	if info.Exit != 0 {
		add("exit code", fmt.Sprint(info.Exit))
	}
	add("message", info.Message)
	add("wall time", h.say("%s (%d ns)", words.Time(r.WallNS), r.WallNS))
	add("nodes, workers", h.say("%s, %s", counted(int64(r.Nodes), "node"), counted(int64(r.Workers), "worker")))
	add("clock", info.Clock)
	add("thread clock", info.ThreadClock)
	add("events switched off", strings.Join(info.Off, ", "))
	for _, k := range slices.Sorted(maps.Keys(info.Versions)) {
		add(k, info.Versions[k])
	}
	for _, k := range slices.Sorted(maps.Keys(info.Settings)) {
		add(k, info.Settings[k])
	}
	if h.SLOU != nil && h.SLOU.DataInputs {
		add("inputs", h.say("data only: CFs wait for their DFs, not for what created them"))
	}
	out := []block{{Table: g}}
	if h.SLOU != nil && len(h.SLOU.Hosts) > 0 {
		g := h.grid("Hosts", "host", "#cores", "#workers")
		for _, x := range h.SLOU.Hosts {
			cores := number(x.Cores)
			if x.Cores == 0 {
				cores = none()
			}
			g.row(word(x.Host), cores, number(x.Workers))
		}
		out = append(out, block{Table: g})
	}
	for _, p := range r.Problems {
		out = append(out, h.warning("The trace: %s", p))
	}
	if h.SLOU != nil {
		for _, p := range h.SLOU.Problems {
			if !slices.Contains(r.Problems, p) {
				out = append(out, h.warning("The trace: %s", p))
			}
		}
	}
	kinds := h.grid(h.say("%d events read, %d known to be lost", r.Events, r.Lost), "event", "#count")
	for _, k := range r.Kinds {
		kinds.row(word(k.Event), number(k.Count))
	}
	return append(out, h.details("Events by kind", block{Table: kinds}))
}
