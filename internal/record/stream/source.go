package stream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/whyslow/whyslow/internal/record/pgas/symbols"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/internal/tracefile/follow"
	"github.com/whyslow/whyslow/trace"
)

// A Source gives a Sender what it sends: a Folder, a NodeFile or a Queue.
type Source interface {
	// name names the source within the host: the same after the program was started again.
	name() string
	// rewinds says whether follow gives everything again from the start.
	rewinds() bool
	// follow puts what there is and what comes, until ctx ends (its error), or the sender drains and all is put:
	// nil.
	follow(ctx context.Context, s *Sender) error
}

// Folder is a trace on disk, growing or finished, as a Source. The program that writes it does not notice.
type Folder string

func (f Folder) name() string {
	if abs, err := filepath.Abs(string(f)); err == nil {
		return abs
	}
	return string(f)
}

func (f Folder) rewinds() bool { return true }

// infoWait is how long what comes without a run.json is held back for it.
const infoWait = 3 * time.Second

// errNoInfo is the error of what is held back for a run.json.
var errNoInfo = errors.New("there is no run.json yet")

func (f Folder) follow(ctx context.Context, s *Sender) error {
	names := symbolTable{dir: string(f)}
	return followFiles(ctx, s, string(f), func(in *follow.Follower) *trace.RunInfo {
		if in.InfoVersion() == 0 {
			return nil
		}
		return names.with(in.Info(), s)
	})
}

// symbolsLimit is how many bytes of JSON are sent of what addresses of the program are: some thousand places.
const symbolsLimit = 256 << 10

// symbolTable adds to what is known of a run what addresses of its program are, once its folder has that.
type symbolTable struct {
	dir  string
	file fs.FileInfo    // symbols.json; nil: there is none
	of   *trace.RunInfo // what was added to
	info *trace.RunInfo // what came of it
}

func (t *symbolTable) with(info *trace.RunInfo, s *Sender) *trace.RunInfo {
	st, err := os.Stat(filepath.Join(t.dir, symbols.File))
	if err != nil {
		st = nil
	}
	if t.of == info && (st == nil) == (t.file == nil) && (st == nil || st.ModTime().Equal(t.file.ModTime())) {
		return t.info
	}
	t.of, t.info, t.file = info, info, st
	if st == nil {
		return info
	}
	table, err := symbols.Load(t.dir)
	if err != nil {
		s.notify(err.Error())
		return info
	}
	t.info = WithSymbols(info, table)
	if t.info.Symbols == nil {
		s.notify(fmt.Sprintf("%s is too large to be sent: there will be addresses in place of names",
			filepath.Join(t.dir, symbols.File)))
	}
	return t.info
}

// WithSymbols is what is known of a run with what addresses of its program are, unless that is too much to
// send.
func WithSymbols(info *trace.RunInfo, table symbols.Table) *trace.RunInfo {
	with := *info
	if text, err := json.Marshal(table); err == nil && len(text) <= symbolsLimit {
		with.Symbols = table
	}
	return &with
}

// followFiles gives the sender what is at path and what comes. info is what is known of the run, nil:
// nothing.
func followFiles(ctx context.Context, s *Sender, path string,
	info func(*follow.Follower) *trace.RunInfo) error {
	in := follow.New(path)
	var told *trace.RunInfo
	tell := func(now *trace.RunInfo) error {
		if now == nil || now == told {
			return nil
		}
		told = now
		return s.putInfo(ctx, now)
	}
	var bare time.Time // when something was met without a run.json
	// First it learns what run this is: until then there is no connection, and the window, once full, would
	// stay full.
	begin := func(draining bool) error {
		now := info(in)
		if now == nil && told == nil {
			if bare.IsZero() {
				bare = time.Now()
			}
			if !draining && time.Since(bare) < infoWait {
				return errNoInfo
			}
			now = in.Info()
		}
		return tell(now)
	}
	closed := map[int]bool{}
	lost := func(node int) { // damaged blocks, before what follows them
		if n := in.Lost(node); n > 0 {
			s.setLost(Lost{Node: node, Blocks: n})
		}
	}
	closeAll := func(draining bool) error {
		for _, node := range in.Nodes() {
			lost(node)
			if !in.Closed(node) || closed[node] {
				continue
			}
			if err := begin(draining); err != nil {
				return err
			}
			closed[node] = true
			if err := s.putClose(ctx, node); err != nil {
				return err
			}
		}
		return nil
	}
	leftOut := map[string]bool{} // files of other runs that were told
	for {
		draining, start := s.isDraining(), time.Now()
		n, err := in.Poll(ctx, func(b *tracefile.RawBlock) error {
			if err := begin(draining); err != nil {
				return err
			}
			lost(b.Node)
			closed[b.Node] = false // a finished file that goes on ends again
			return s.putBlock(ctx, b)
		})
		if err == nil {
			err = closeAll(draining)
		}
		if err == nil {
			err = tell(info(in))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, errNoInfo) {
			s.tell(fmt.Sprintf("%s cannot be read: %v", path, err))
		}
		for _, p := range in.Problems() {
			if p.Kind == trace.Foreign && !leftOut[p.File] {
				leftOut[p.File] = true
				s.notify(fmt.Sprintf("not all of %s is sent: %s", path, p))
			}
		}
		if err == nil {
			s.mark(start)
			if draining && n == 0 {
				return nil
			}
		}
		if err := s.pause(ctx, draining); err != nil {
			return err
		}
	}
}

// follows notes a block in what there is of each node.
func follows(have map[int]tracefile.Have, b *tracefile.RawBlock) {
	h := have[b.Node]
	if h.Streams == nil {
		h.Streams = map[int]uint32{}
	}
	if b.Defs {
		h.Defs = b.Number + 1
	} else {
		h.Streams[b.Stream] = b.Number + 1
	}
	have[b.Node] = h
}

// hostName is what this computer is called.
func hostName() string {
	h, err := os.Hostname()
	if err != nil {
		return "unknown host"
	}
	return h
}

// runID is the ID of a run; for older traces without one it is made of what is known of the run.
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
