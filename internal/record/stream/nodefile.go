package stream

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/whyslow/whyslow/trace"
)

// NodeFile is the file of one node as a Source, growing or finished, in a run whose processes each send their
// own. What run.json says is given, as it may be on another host.
type NodeFile struct {
	path string

	mu      sync.Mutex
	info    *trace.RunInfo
	version int
}

// NewNodeFile returns the file of a node in the folder dir. Info is what is known of the run; it must not be
// changed later.
func NewNodeFile(dir string, node int, info *trace.RunInfo) *NodeFile {
	return &NodeFile{path: filepath.Join(dir, trace.FileName(node)), info: info, version: 1}
}

// SetInfo says what is known of the run now. It must not be changed later.
func (f *NodeFile) SetInfo(info *trace.RunInfo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.info = info
	f.version++
}

func (f *NodeFile) name() string  { return Folder(f.path).name() }
func (f *NodeFile) rewinds() bool { return true }

func (f *NodeFile) follow(ctx context.Context, s *Sender) error {
	in := trace.NewFollower(f.path)
	defer func() { _ = in.Close() }()
	known, closed := 0, false
	for {
		draining := s.isDraining()
		f.mu.Lock()
		info, version := f.info, f.version
		f.mu.Unlock()
		if version != known {
			known = version
			if err := s.putInfo(ctx, info); err != nil {
				return err
			}
		}
		start := time.Now()
		n, err := in.Poll(ctx, func(b *trace.RawBlock) error { return s.putBlock(ctx, b) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.trouble("%s cannot be read: %v", f.path, err)
		}
		for _, node := range in.Nodes() {
			if in.Closed(node) && !closed {
				closed = true
				if err := s.putClose(ctx, node); err != nil {
					return err
				}
			}
		}
		s.mark(start)
		if draining && n == 0 && err == nil {
			return nil
		}
		if err := s.pause(ctx, draining); err != nil {
			return err
		}
	}
}
