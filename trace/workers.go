package trace

import "github.com/whyslow/whyslow/internal/tracefile"

// maxWorkers is how many workers a node has at most, and how many may be listed that have left nothing.
const maxWorkers = 1 << 12

// boundWorkers keeps a run.json from asking for memory: it bounds the numbers of workers by what the files
// can have. Each worker has at least a block, unless the run was killed or the file is missing. Of workers
// without one, there may be maxWorkers, and as many as there can be others. It returns how many are left out.
func (r *Reader) boundWorkers() (left int) {
	if r.run == nil {
		return 0
	}
	blocks := map[int]int{}
	spare := maxWorkers
	for n, f := range r.nodes {
		blocks[n] = int(min(f.Size/tracefile.BlockHeaderSize, maxWorkers))
		spare += blocks[n]
	}
	for i := range r.run.Nodes {
		n := &r.run.Nodes[i]
		listed := max(n.Workers, 0)
		n.Workers = min(listed, maxWorkers)
		silent := min(max(n.Workers-blocks[n.Node], 0), spare)
		spare -= silent
		n.Workers = min(n.Workers, blocks[n.Node]+silent)
		delete(blocks, n.Node) // a node listed twice
		left += listed - n.Workers
	}
	return left
}
