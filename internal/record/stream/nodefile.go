package stream

import (
	"context"
	"path/filepath"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/trace"
)

// NodeFile is one node's file as a Source, in a run whose processes each send their own. What run.json says
// is given.
type NodeFile struct {
	path string
	info atomic.Pointer[trace.RunInfo]
}

// NewNodeFile returns a node's file in the folder dir. info describes the run; it must not be changed later.
func NewNodeFile(dir string, node int, info *trace.RunInfo) *NodeFile {
	f := &NodeFile{path: filepath.Join(dir, tracefile.FileName(node))}
	f.info.Store(info)
	return f
}

// SetInfo says what is known of the run now. It must not be changed later.
func (f *NodeFile) SetInfo(info *trace.RunInfo) { f.info.Store(info) }

func (f *NodeFile) name() string  { return Folder(f.path).name() }
func (f *NodeFile) rewinds() bool { return true }

func (f *NodeFile) follow(ctx context.Context, s *Sender) error {
	return followFiles(ctx, s, f.path, func(*follow.Follower) *trace.RunInfo { return f.info.Load() })
}
