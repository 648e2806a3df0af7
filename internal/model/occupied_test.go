package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestOccupied: an atomic CF occupies its worker until it ends or the next atomic one starts, within the run.
func TestOccupied(t *testing.T) {
	m := sloutest.Build(t, `#node 0
#code 1 main sub
#code 2 work atomic
#site 1 code=1
#site 2 code=2
10 Global.onProgramStarted
10 CF.onCreated cf=0.1 site=1
10 CF.onCreated cf=0.2 site=2
10 CF.onCreated cf=0.3 site=2
10 CF.onCreated cf=0.4 site=2
12 CF.onStarted 0.1
20 CF.onStarted 0.2
30 CF.onFinished 0.2
40 CF.onStarted 0.3
50 CF.onStarted 0.4
60 CF.onFinished 0.3
80 Global.onProgramFinished
90 CF.onFinished 0.4
`)
	w := &m.Nodes[0].Workers[0]
	var got []string
	for e := w.First; e < w.End; e++ {
		v := m.Occupied(w, e)
		got = append(got, fmt.Sprintf("%v %d-%d", m.Atomic(m.ExecCF[e]), v.From, v.To))
	}
	want := []string{"false 12-20", "true 20-30", "true 40-50", "true 50-80"}
	if !slices.Equal(got, want) {
		t.Errorf("occupied %q, want %q", got, want)
	}
	if e := m.NextAtomic(w, w.First); e != w.First+1 {
		t.Errorf("the first atomic CF is execution %d", e-w.First)
	}
}

func TestOverlay(t *testing.T) {
	cuts := func(name string, times ...int64) (list []model.Cut) {
		for i := 0; i < len(times); i += 2 {
			list = append(list, model.Cut{Interval: model.Interval{From: times[i], To: times[i+1]},
				Name: name})
		}
		return list
	}
	text := func(list []model.Cut) string {
		var parts []string
		for _, c := range list {
			parts = append(parts, fmt.Sprintf("%s%d-%d", c.Name, c.From, c.To))
		}
		return strings.Join(parts, " ")
	}
	for _, c := range []struct {
		first, second []model.Cut
		want          string
	}{
		{nil, cuts("b", 1, 2), "b1-2"},
		{cuts("a", 1, 2), nil, "a1-2"},
		{cuts("a", 3, 5), cuts("b", 1, 9), "b1-3 a3-5 b5-9"},
		{cuts("a", 1, 9), cuts("b", 3, 5), "a1-9"},
		{cuts("a", 1, 3, 5, 7), cuts("b", 2, 6, 8, 9), "a1-3 b3-5 a5-7 b8-9"},
		{cuts("a", 4, 5), cuts("b", 1, 2, 2, 4, 5, 6), "b1-2 b2-4 a4-5 b5-6"},
	} {
		if got := text(model.Overlay(c.first, c.second)); got != c.want {
			t.Errorf("%s over %s is %s, want %s", text(c.first), text(c.second), got, c.want)
		}
	}
	within := model.CutsWithin(cuts("a", 1, 2, 3, 5, 6, 8, 9, 10), 4, 9)
	if got := text(within); got != "a3-5 a6-8" {
		t.Errorf("from 4 to 9 there are %s", got)
	}
}
