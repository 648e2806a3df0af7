package prof

// NodeState is what is going on in a node at one moment.
type NodeState struct {
	CFs      int64   `json:"cfs"`            // CFs that exist
	Waiting  int64   `json:"waiting"`        // CFs that wait for DFs
	Ready    int64   `json:"ready"`          // CFs that have all they need and do not run
	Running  int64   `json:"running"`        // atomic and structured CFs being executed
	Finished int64   `json:"finished"`       // executions that have ended, since the start
	DFs      int64   `json:"dfs"`            // copies of DFs held
	Bytes    int64   `json:"bytes"`          // their size
	Sent     int64   `json:"sent_bytes"`     // bytes of DFs and CFs sent to other nodes, since the start
	Received int64   `json:"received_bytes"` // bytes received
	Queue    int64   `json:"queue"`          // length of the queue of ready CFs, as last recorded
	Sending  int64   `json:"sending"`        // length of all queues of messages to others, as last recorded
	Busy     int64   `json:"busy"`           // workers that are not parked
	Weight   float64 `json:"weight"`         // sum of the weights of the CFs that exist
}

// State is implemented by the state module: what other parts of a run-time system may ask at
// any time, from any goroutine, to balance load for example.
type State interface {
	Module
	// Node returns the state of a node of this process.
	Node(node int) NodeState
}
