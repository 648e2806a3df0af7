package prof

import "time"

// Balancer is a module that moves work between nodes while the program runs. At most one runs, in every
// process of a run of many; the one of node 0 decides.
type Balancer interface {
	Module
	// Period is the time from one decision to the next. It is asked once, after Start.
	Period() time.Duration
	// Balance looks at the nodes and moves CFs. One goroutine calls it once a period while the program runs; in
	// a run of one process it is not called while no worker is idle.
	Balance(r Runtime)
}

// Runtime is the run-time system as balancers see it, while Balance is being called.
type Runtime interface {
	// Nodes is the number of nodes of the run.
	Nodes() int
	// Load tells what lies ahead of a node. That of a node in another process is as old as its last report.
	Load(node int) Load
	// Carry is about the time that so many bytes take to another node.
	Carry(bytes int64) time.Duration
	// Move has a node hand CFs over to another, as many as it still can. It does not wait for that.
	Move(m Move)
}

// Load is what a node has to do at a moment.
type Load struct {
	Workers int
	Idle    int   // workers that have nothing to do
	AheadNS int64 // until the node has executed what is ready, all its workers together
	Work    []Work
}

// Work is CFs of one code fragment on a node that are ready or have not asked for anything yet, have not
// started, and that nothing in LuNA's rules ties to their node.
type Work struct {
	Code   string // the code fragment
	CFs    int64
	Bytes  int64 // of the inputs of all that would go along
	MeanNS int64 // measured mean of its executions in this process so far; 0: none has ended
}

// Move is a decision: CFs of a code fragment go to another node.
type Move struct {
	Code     string
	From, To int
	CFs      int64
	// AheadNS and ThereNS are the work ahead of From and To when it was decided, for people.
	AheadNS, ThereNS int64
}
