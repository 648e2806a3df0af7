package prof

// NodeState is what is going on in a node at one moment.
type NodeState struct {
	CFs      int64   // CFs that exist
	Ready    int64   // of them those that have all they need and do not run
	Running  int64   // atomic and structured CFs being executed
	Waiting  int64   // CFs that wait for DFs
	Finished int64   // executions that have ended, since the start
	DFs      int64   // copies of DFs held
	Bytes    int64   // their size
	Sent     int64   // bytes of DFs and CFs sent to other nodes, since the start
	Received int64   // bytes received
	Queue    int64   // length of the queue of ready CFs, as last recorded
	Sending  int64   // length of all queues of messages to others, as last recorded
	Busy     int64   // workers that are not parked
	Weight   float64 // sum of the weights of the CFs that exist
}

// State is implemented by the state module: what other parts of a run-time system may ask at
// any time, from any goroutine, to balance load for example.
type State interface {
	Module
	// Node returns the state of a node of this process.
	Node(node int) NodeState
}
