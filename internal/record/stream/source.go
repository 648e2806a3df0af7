package stream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/whyslow/whyslow/trace"
)

// A Source gives a Sender what it sends: a Folder, a NodeFile or a Queue.
type Source interface {
	// name names the source within the host: the same after the program was started again.
	name() string
	// rewinds says whether follow gives everything again from the start.
	rewinds() bool
	// follow gives what there is and what comes to the sender's put methods, until ctx
	// ends, which is the error, or the sender drains and there is nothing more: nil.
	follow(ctx context.Context, s *Sender) error
}

// Folder is a trace on disk, growing or finished, as a Source. What is sent is what is in
// the files; the program that writes them knows nothing of it.
type Folder string

func (f Folder) name() string {
	if abs, err := filepath.Abs(string(f)); err == nil {
		return abs
	}
	return string(f)
}

func (f Folder) rewinds() bool { return true }

// infoWait is how long blocks without a run.json are held back for it.
const infoWait = 3 * time.Second

func (f Folder) follow(ctx context.Context, s *Sender) error {
	in := trace.NewFollower(string(f))
	defer func() { _ = in.Close() }()
	version := 0
	info := func() error {
		if v := in.InfoVersion(); v != version {
			version = v
			return s.putInfo(ctx, in.Info())
		}
		return nil
	}
	closed := map[int]bool{}
	var bare time.Time // when the first block without a run.json was met
	for {
		draining, start := s.isDraining(), time.Now()
		n, err := in.Poll(ctx, func(b *trace.RawBlock) error {
			if err := info(); err != nil {
				return err
			}
			if version == 0 && bare.IsZero() {
				bare = time.Now()
			}
			return s.putBlock(ctx, b)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.trouble("%s cannot be read: %v", f, err)
		}
		for _, node := range in.Nodes() {
			if in.Closed(node) && !closed[node] {
				closed[node] = true
				if err := s.putClose(ctx, node); err != nil {
					return err
				}
			}
		}
		if err := info(); err != nil {
			return err
		}
		if !bare.IsZero() && version == 0 && (draining || time.Since(bare) > infoWait) {
			bare = time.Time{}
			if err := s.putInfo(ctx, in.Info()); err != nil {
				return err
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

// hostName is what this computer is called.
func hostName() string {
	h, err := os.Hostname()
	if err != nil {
		return "unknown host"
	}
	return h
}

// runID is the ID of a run; where its trace has none, as older ones, one is made of what
// is known of the run, the same each time.
func runID(info *trace.RunInfo, source string) string {
	if ValidRun(info.ID) {
		return info.ID
	}
	facts := []any{info.ID, info.Program, info.CommandLine, info.Started, info.Processes}
	if info.Started.IsZero() {
		facts = append(facts, hostName(), source)
	}
	text, err := json.Marshal(facts)
	if err != nil {
		text = []byte(source)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
