package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/whyslow/whyslow/internal/words"
)

// facts: what is known of the run itself.
func (a *author) facts() {
	r := a.Run
	if r == nil || r.Info == nil {
		return
	}
	info := r.Info
	g := a.table("Program and machine", "what", "value")
	g.Plain = true
	add := func(what, value string) {
		if value != "" {
			g.row(a.say(what), value)
		}
	}
	add("program", info.Program)
	add("arguments", strings.Join(info.Args, " "))
	add("command line", strings.Join(info.CommandLine, " "))
	if !info.Started.IsZero() {
		add("started", info.Started.Format("2006-01-02 15:04:05.000 MST"))
	}
	add("ended", a.named(endNames, info.Ended))
	if info.Exit != 0 {
		add("exit code", fmt.Sprint(info.Exit))
	}
	add("message", info.Message)
	add("wall time", a.say("%s (%d ns)", words.Time(r.WallNS), r.WallNS))
	add("nodes, workers", a.say("%s, %s", counted(int64(r.Nodes), "node"), counted(int64(r.Workers), "worker")))
	add("clock", info.Clock)
	add("thread clock", info.ThreadClock)
	add("events switched off", strings.Join(info.Off, ", "))
	for _, list := range []map[string]string{info.Versions, info.Settings} {
		for _, k := range slices.Sorted(maps.Keys(list)) {
			add(k, list[k])
		}
	}
	if a.SLOU != nil {
		if a.SLOU.Source {
			add("rule", a.say("only flights of data are latency, those of requests and CFs are overhead"))
		}
		if a.SLOU.DataInputs {
			add("inputs", a.say("data only: CFs wait for their DFs, not for what created them"))
		}
		g := a.table("Hosts", "host", "#cores", "#workers")
		for _, x := range a.SLOU.Hosts {
			cores := g.cell(x.Cores)
			if x.Cores == 0 {
				cores = g.cell(nil)
			}
			g.row(x.Host, cores, x.Workers)
		}
	}
	for _, p := range a.problems() {
		a.warn("The trace: %s", p)
	}
	a.details("Events by kind", func() {
		g := a.table(a.say("%d events read, %d known to be lost", r.Events, r.Lost), "event", "#count")
		for _, k := range r.Kinds {
			g.row(k.Event, k.Count)
		}
	})
}

// problems says what could not be read of the trace.
func (a *author) problems() (list []string) {
	inLanguage := map[string]string{}
	if a.model != nil {
		for _, p := range a.model.Problems {
			inLanguage[p.String()] = Problem(p, a.language)
		}
	}
	english := a.Run.Problems
	if a.SLOU != nil {
		english = slices.Concat(english, a.SLOU.Problems)
	}
	for i, p := range english {
		if !slices.Contains(english[:i], p) {
			list = append(list, cmp.Or(inLanguage[p], p))
		}
	}
	return list
}
