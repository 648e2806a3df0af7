// Package sloutest makes random runs, whole or damaged, and models from traces written as text: what the
// tests of everything that reads a model start from.
//
// A random run is simulated, not thrown together: a few nodes and workers create, migrate, steal and execute
// CFs whose inputs are fetched or pushed over links and relayed, structured CFs run several times, and each
// fact follows from those before it. Kill, AddWaits and Harm then change it.
package sloutest

import (
	"fmt"
	"strings"
)

// Event is an event of a run. Which fields count depends on its kind.
type Event struct {
	Time             int64 // nanoseconds
	Node, Stream     int
	Kind             string // as in the text twin: "CFEvents.onReady"
	CF, Parent       string // "" none
	Execution        int    // of CF, or of Parent
	DF               int    // number of the DF, the same on all nodes; 0 none
	Peer             int    // the other node
	Message, Request string // "" none
	Inputs, Indices  []int  // of onStarted, the label's of onCreated
	Late, CPU        int64  // of onReady (of onLost: the first time), of onFinished
	Code             int    // code fragment of onCreated
	Name             string // what was waited for
}

// Codes 1 to AtomicCodes are atomic code fragments, c1, c2, ..., those up to Codes are structured.
const AtomicCodes, Codes = 4, 6

// System is the stream of the run-time system's own events; workers are streams from 0.
const System = 9

// Run is a random run.
type Run struct {
	Nodes, Workers int     // workers of each node
	Events         []Event // in order of time
	DFs            int     // DFs are numbered from 1
	Ended          string  // as in run.json; "" of a killed run
}

func (e Event) text() string {
	args := ""
	switch e.Kind {
	case "CFEvents.onCreated":
		args = fmt.Sprintf("cf=%s site=%d parent=%s execution=%d indices=%v", e.CF, e.Code, orDash(e.Parent),
			e.Execution, e.Indices)
	case "CFEvents.onReady":
		args = fmt.Sprintf("cf=%s late=%d", e.CF, e.Late)
	case "CFEvents.onStarted":
		args = fmt.Sprintf("cf=%s execution=%d inputs=%v", e.CF, e.Execution, e.Inputs)
	case "CFEvents.onFinished":
		args = fmt.Sprintf("cf=%s execution=%d cpu=%d", e.CF, e.Execution, e.CPU)
	case "CFEvents.onMigrated":
		args = fmt.Sprintf("cf=%s to=%d", e.CF, e.Peer)
	case "CFEvents.onStolen":
		args = fmt.Sprintf("cf=%s by=%d", e.CF, e.Peer)
	case "CFEvents.onReceived":
		args = fmt.Sprintf("cf=%s from=%d", e.CF, e.Peer)
	case "CFEvents.onHeld", "CFEvents.onResumed":
		args = e.CF
	case "DFEvents.onCreate":
		args = fmt.Sprintf("df=%d size=8 cf=%s", e.DF, e.CF)
	case "DFEvents.onRequested":
		args = fmt.Sprintf("df=%d cf=%s node=%d request=%s", e.DF, e.CF, e.Peer, e.Request)
	case "DFEvents.onRequestReceived":
		args = fmt.Sprintf("df=%d from=%d request=%s", e.DF, e.Peer, e.Request)
	case "DFEvents.onSent":
		args = fmt.Sprintf("df=%d to=%d message=%s request=%s", e.DF, e.Peer, e.Message, orDash(e.Request))
	case "DFEvents.onReceived":
		args = fmt.Sprintf("df=%d from=%d message=%s request=%s", e.DF, e.Peer, e.Message, orDash(e.Request))
	case "SyncEvents.onWaitStarted", "SyncEvents.onWaitEnded":
		args = fmt.Sprintf("%q", e.Name)
	case "GlobalEvents.onLost":
		args = fmt.Sprintf("count=1 first=%d last=%d stream=%d", e.Late, e.Time, e.Stream)
	}
	return fmt.Sprintf("%d n%d s%d %s %s", e.Time, e.Node, e.Stream, e.Kind, args)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Text writes the run as the text twin of a trace.
func (r *Run) Text() string {
	var s strings.Builder
	fmt.Fprintf(&s, `#run {"ended":%q,"nodes":[`, r.Ended)
	for n := range r.Nodes {
		if n > 0 {
			s.WriteString(",")
		}
		fmt.Fprintf(&s, `{"node":%d,"process":0,"workers":%d}`, n, r.Workers)
	}
	s.WriteString("]}\n")
	for n := range r.Nodes {
		fmt.Fprintf(&s, "#node %d\n", n)
		for c := 1; c <= Codes; c++ {
			kind := "atomic"
			if c > AtomicCodes {
				kind = "sub"
			}
			fmt.Fprintf(&s, "#code %d c%d %s\n#site %d code=%d\n", c, c, kind, c, c)
		}
		for df := range r.DFs {
			fmt.Fprintf(&s, "#df %d x [0 1 %d]\n", df+1, df+1)
		}
	}
	for _, e := range r.Events {
		s.WriteString(e.text() + "\n")
	}
	return s.String()
}

// EventText is the part of Text that tells the events, for messages of failed tests.
func (r *Run) EventText() string {
	var s strings.Builder
	for _, e := range r.Events {
		s.WriteString(e.text() + "\n")
	}
	return s.String()
}
