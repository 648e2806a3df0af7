package model

import (
	"fmt"
	"slices"
	"testing"
)

// TestEach walks over the story's workers, CFs and receipts.
func TestEach(t *testing.T) {
	m := build(t, story)
	var workers []WorkerID
	for id, w := range m.AllWorkers() {
		workers = append(workers, id)
		for e := w.First; e < w.End; e++ {
			if got, ok := m.WorkerIDOf(e); !ok || got != id {
				t.Errorf("execution %d is of worker %v, %v; not of %v", e, got, ok, id)
			}
		}
	}
	if want := []WorkerID{{0, 0}, {1, 0}}; !slices.Equal(workers, want) {
		t.Errorf("workers %v, want %v", workers, want)
	}
	if _, ok := m.WorkerIDOf(m.Executions()); ok {
		t.Error("an execution that does not exist has a worker")
	}
	for range m.AllWorkers() {
		break
	}

	var cfs, executions []string
	for cf := range m.CFs() {
		cfs = append(cfs, m.CFID(cf).String())
		for e := range m.ExecutionsOf(cf) {
			executions = append(executions, fmt.Sprintf("%s/%d", m.CFID(m.ExecCF[e]), m.ExecNumber[e]))
		}
	}
	if want := []string{"0.1", "0.2"}; !slices.Equal(cfs, want) {
		t.Errorf("CFs %v, want %v", cfs, want)
	}
	if want := []string{"0.1/1", "0.1/2", "0.2/1"}; !slices.Equal(executions, want) {
		t.Errorf("executions of %v, want %v", executions, want)
	}

	for df := DF(1); int(df) < m.DFs(); df++ {
		first, end := m.Creations(df)
		for i := first; i < end; i++ {
			if m.MadeTime[i] == None {
				t.Errorf("DF %d: creation %d has no time", df, i)
			}
		}
		got := m.Receipts(df, 1)
		if name := m.DFNameOf(df); (name == "x") != (len(got) == 1) {
			t.Errorf("node 1 received %s %d times", name, len(got))
		}
		if len(got) == 1 && m.DFMessages[got[0]].Received != 16 {
			t.Errorf("received at %d", m.DFMessages[got[0]].Received)
		}
		if len(m.Receipts(df, 0)) != 0 {
			t.Error("node 0 received something")
		}
	}
	if m.Receipts(1, 7) != nil || m.Receipts(0, 1) != nil || m.Receipts(1, -1) != nil {
		t.Error("receipts")
	}
}
