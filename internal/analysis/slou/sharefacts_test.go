package slou_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/grouptest"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// factsOf tells what a model knows of CFs, DFs and messages, by their ids.
func factsOf(m *model.Model) map[string]string {
	facts := map[string]string{}
	for cf := range m.CFs() {
		key := "CF " + m.CFID(cf).String()
		text := fmt.Sprintf("%s created %d by %v.%d", m.CFTitle(cf), m.Created[cf], m.CFID(m.Parent[cf]),
			m.ParentExec[cf])
		ready := 0
		m.AllReady(cf, func(t int64, node int) { ready += int(t)*8 + node }) // in any order
		text += fmt.Sprintf(" ready %d held %v", ready, m.Held[cf])
		for e := range m.ExecutionsOf(cf) {
			text += fmt.Sprintf(" ran %d at %d to %d", m.ExecNumber[e], m.ExecStart[e], m.ExecEnd[e])
		}
		for _, g := range m.MovesOf(cf) {
			g.CF = 0
			text += fmt.Sprintf(" moved %+v", g)
		}
		facts[key] = text
	}
	for df := model.DF(1); int(df) < m.DFs(); df++ {
		text := ""
		for first, end := m.Creations(df); first < end; first++ {
			text += fmt.Sprintf(" made %d by %v at %d", m.MadeTime[first], m.CFID(m.MadeBy[first]),
				m.MadeNode[first])
		}
		if t, ok := m.FirstSeen(df); ok {
			text += fmt.Sprintf(" seen %d", t)
		}
		facts["DF "+m.DFString(df)] = text
	}
	return facts
}

// Of every CF of which an own node recorded something, and of every DF that own nodes mention, a model of a
// share knows all that the whole one does.
func TestShareFacts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		run := sloutest.Random(rt)
		switch rapid.IntRange(0, 2).Draw(rt, "end") {
		case 1:
			run.Kill(rt)
		case 2:
			run.Harm(rt)
		}
		text, dir := run.Text(), t.TempDir()
		if err := twin.Parse(strings.NewReader(text), dir); err != nil {
			rt.Fatal(err)
		}
		whole := factsOf(sloutest.Load(rt, dir))
		const processes = 3
		models, errs := make([]*model.Model, processes), make([]error, processes)
		var wg sync.WaitGroup
		for rank, g := range grouptest.Local(processes) {
			wg.Go(func() {
				defer g.Leave()
				r, err := trace.OpenShare(dir, rank, processes)
				if err == nil {
					models[rank], err = model.BuildShare(context.Background(), r, model.Options{}, g)
				}
				errs[rank] = err
			})
		}
		wg.Wait()
		counted := 0
		for rank, m := range models {
			if errs[rank] != nil {
				rt.Fatal(errs[rank])
			}
			facts := factsOf(m)
			check := func(key string) {
				if facts[key] != whole[key] {
					rt.Fatalf("process %d knows of %s:\n%s\nthe whole model:\n%s\n%s", rank, key, facts[key],
						whole[key],
						run.EventText())
				}
			}
			for _, e := range run.Events {
				if !m.Own(e.Node) || e.Kind == "" {
					continue
				}
				// an end without a start tells nothing
				if e.CF != "" && strings.HasPrefix(e.Kind, "CFEvents.") && e.Kind != "CFEvents.onFinished" {
					check("CF " + e.CF)
				}
				if e.DF > 0 {
					check(fmt.Sprintf("DF x[%d]", e.DF))
				}
				for _, df := range e.Inputs {
					check(fmt.Sprintf("DF x[%d]", df))
				}
			}
			for _, list := range [][]model.Message{m.DFMessages, m.Moves} {
				for i := range list {
					if m.Counted(&list[i]) {
						counted++
					}
				}
			}
		}
		m, want := sloutest.Load(rt, dir), 0
		for _, list := range [][]model.Message{m.DFMessages, m.Moves} {
			for i := range list {
				if m.Counted(&list[i]) {
					want++
				}
			}
		}
		if counted != want {
			rt.Fatalf("%d messages were counted, there are %d\n%s", counted, want, run.EventText())
		}
	})
}
