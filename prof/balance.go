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
	Again   []Work // what it executed in the last round of what it does again and again; Bytes is 0
}

// Work is CFs of one code fragment on a node that will take about as long, are ready or have not asked for
// anything yet, have not started, and that nothing in LuNA's rules ties to their node.
type Work struct {
	Code   string // the code fragment
	Class  int    // CFs that take longer by half have another
	CFs    int64
	Bytes  int64 // of the inputs of all that would go along
	MeanNS int64 // how long they will take on average, by earlier ones in this process; 0: none has ended
	// Share is the part of one of them in the work of its kind that the node does again and again. DFs follow
	// CFs, so what follows them stays at the other node: the node is rid of about that part of all its work.
	// 0: nothing has recurred.
	Share float64
}

// Move is a decision: CFs of a code fragment that will take about as long go to another node.
type Move struct {
	Code     string
	Class    int // as in Work
	From, To int
	CFs      int64
	// Next has the node hand over CFs that are to come, too, if it has not enough of them. It waits for two
	// rounds of what it does again and again.
	Next bool
	// AheadNS and ThereNS are the work ahead of From and To when it was decided, for people.
	AheadNS, ThereNS int64
}
