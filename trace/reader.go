package trace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/files"
)

// ProblemKind says what is wrong with a trace.
type ProblemKind uint8

const (
	// Damaged bytes: what they held is lost, the rest of the file is read.
	Damaged ProblemKind = iota
	// Truncated: the file ends in the middle of a block, or without its index.
	Truncated
	// Unfinished: a stream ends before the program did, because the program crashed or was killed; or run.json
	// does not say how the run ended.
	Unfinished
	// Missing: the file of a node is not there or holds nothing.
	Missing
	// Unwritten: the writer could not write the events, for want of room or because the disk failed.
	Unwritten
	// Foreign: the file, or run.json, belongs to another run than the rest, and is left out.
	Foreign
)

func (k ProblemKind) String() string {
	return enumName([]string{"damaged", "truncated", "unfinished", "missing", "unwritten", "foreign"}, uint64(k))
}

// Problem is something wrong with a trace.
type Problem struct {
	Kind   ProblemKind
	File   string // name of the file within the trace
	Offset int64  // where in the file
	What   string
	Node   int // -1: none in particular
	Stream int // -1: none in particular
	// Timed: events of the stream between From and To are missing. From is math.MinInt64 where nothing of the
	// stream comes before, To math.MaxInt64 where nothing comes after.
	Timed    bool
	From, To int64
	Events   uint64 // how many are missing; 0: unknown
}

// String is one line: file, offset, what.
func (p Problem) String() string {
	s := p.File + ": "
	if p.Kind != Missing && p.Kind != Unwritten && p.Kind != Foreign && p.File != runFile {
		s += fmt.Sprintf("offset %d: ", p.Offset)
	}
	s += p.What
	if p.Events > 0 {
		s += fmt.Sprintf("; %d events lost", p.Events)
	}
	if p.Timed && p.Kind != Unfinished {
		s += fmt.Sprintf("; stream %d lacks %s to %s", p.Stream, timeText(p.From), timeText(p.To))
	}
	return s
}

func timeText(t int64) string {
	switch t {
	case math.MinInt64:
		return "its start"
	case math.MaxInt64:
		return "its end"
	}
	return fmt.Sprintf("%d ns", t)
}

// StreamInfo sums up what is there of a stream.
type StreamInfo struct {
	Node     int   `json:"node"`
	Stream   int   `json:"stream"`
	Blocks   int   `json:"blocks"`
	Events   int   `json:"events"`
	First    int64 `json:"first"` // least and greatest time
	Last     int64 `json:"last"`
	Started  bool  `json:"started"` // holds onProgramStarted, onProgramFinished
	Finished bool  `json:"finished"`
}

// Reader gives access to a trace. Its methods may be used by many goroutines at once.
type Reader struct {
	path  string
	run   *RunInfo
	files []*nodeFile // by node

	part, parts int
	nodes       map[int]*nodeFile // of all parts
	ends        []int             // by part: the first node that belongs to a later one

	bytesRead atomic.Int64

	mu       sync.Mutex
	problems []Problem
	damaged  map[*block]bool // blocks found damaged when they were read
}

// keepOpen is how many files a Reader keeps open. All Readers of a process keep a quarter of what it may
// open; what is not kept is opened for each block.
const keepOpen = 256

// kept is how many files the Readers of this process keep open.
var kept atomic.Int64

// keep opens the files that may stay open.
func (r *Reader) keep() error {
	most := int64(files.Most() / 4)
	for _, f := range r.files[:min(len(r.files), keepOpen)] {
		if kept.Add(1) > most {
			kept.Add(-1)
			return nil
		}
		file, err := files.Open(f.path)
		if err != nil {
			kept.Add(-1)
			return err
		}
		f.file = file
	}
	return nil
}

// ErrNothingWhole is in the error of Open where a trace's folder has files, and nothing of any can be read.
var ErrNothingWhole = errors.New("nothing of the trace can be read")

// Open opens a trace: a folder, or a single file of one. It fails only where nothing
// at all can be read; everything else that is wrong is in Problems.
func Open(path string) (*Reader, error) { return OpenShare(path, 0, 1) }

// OpenShare is Open for one, part, of several processes, parts, that share the files: each reads neighbouring
// nodes, about as many bytes. All methods are about the nodes of this part only, but Run, AllNodes and
// ShareOf; Problems are those of the files of this part, what is wrong with the whole being told by the first
// or the last part. It fails in all processes or in none, as far as they see the same files.
func OpenShare(path string, part, parts int) (*Reader, error) {
	if part < 0 || part >= parts {
		return nil, fmt.Errorf("part %d of %d of a trace: there is no such part", part, parts)
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{path: path, part: part, parts: parts, damaged: map[*block]bool{}}
	names := []string{path}
	folder := st.IsDir()
	if folder {
		inside, err := files.NewNames(path, ".wst").Read()
		if err != nil {
			return nil, err
		}
		names = nil
		for _, name := range inside {
			names = append(names, filepath.Join(path, name))
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s: %w", path, errNoTrace)
		}
		r.run, err = ReadRunInfo(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && part == 0 {
			r.problems = append(r.problems, Problem{Kind: Damaged, File: runFile, What: plain(err).Error(), Node: -1,
				Stream: -1})
		}
	}
	files := make([]*nodeFile, len(names))
	errs := make([]*Problem, len(names))
	// A file that cannot be opened is no reason to leave out the others.
	_ = each(runtime.GOMAXPROCS(0), len(names), func(_, i int) error {
		files[i], errs[i] = openFile(names[i])
		return nil
	})
	r.oneRun(files, errs)
	r.share(files)
	impossible := r.boundWorkers()
	_ = each(runtime.GOMAXPROCS(0), len(files), func(_, i int) error {
		if f := files[i]; f != nil && r.nodes[f.node] == f && r.ShareOf(f.node) == part {
			if err := f.opened(f.load); err != nil {
				errs[i] = &Problem{Kind: Damaged, File: f.name, What: err.Error(), Node: f.node, Stream: -1}
			}
		}
		return nil
	})
	at := 0 // the part that has the last file
	for i, f := range files {
		if f != nil {
			at = r.ShareOf(f.node)
		}
		switch {
		case at != part:
		case errs[i] != nil:
			r.problems = append(r.problems, *errs[i])
		case r.nodes[f.node] != f:
			r.problems = append(r.problems, Problem{Kind: Damaged, File: f.name, Node: f.node, Stream: -1,
				What: fmt.Sprintf("another file holds node %d, too: this one is left out", f.node)})
		default:
			r.files = append(r.files, f)
			workers := 0
			if info := r.run.Node(f.node); info != nil {
				workers = info.Workers
			}
			f.findUnfinished(workers)
			r.problems = append(r.problems, f.found...)
		}
	}
	if len(r.ends) == 0 {
		var all []error
		for i, p := range errs {
			p.File = names[i] // the user may not know which trace this is about
			all = append(all, errors.New(p.String()))
		}
		if folder {
			all = append(all, ErrNothingWhole)
		}
		return nil, errors.Join(all...)
	}
	slices.SortFunc(r.files, func(a, b *nodeFile) int { return a.node - b.node })
	if folder && part == parts-1 {
		r.findMissing(errs)
		r.problems = append(r.problems, r.run.unwritten()...)
		if impossible > 0 {
			r.problems = append(r.problems, Problem{Kind: Damaged, File: runFile, Node: -1, Stream: -1,
				What: fmt.Sprintf("it lists %d workers more than the files can have; these are left out", impossible)})
		}
		if r.run != nil && r.run.Ended == "" && !r.run.NoEnd {
			r.problems = append(r.problems, Problem{Kind: Unfinished, File: runFile, Node: -1, Stream: -1,
				What: "it does not say how the run ended: the run was killed, or is still going on"})
		}
	}
	if err := r.keep(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// oneRun leaves out what belongs to another run than the rest.
func (r *Reader) oneRun(files []*nodeFile, errs []*Problem) {
	of := findRun(r.run, files)
	for i, f := range files {
		if f == nil {
			continue
		}
		if why := of.foreign(f.run); why != "" {
			files[i], errs[i] = nil, &Problem{Kind: Foreign, File: f.name, What: why, Node: f.node, Stream: -1}
		}
	}
	if why := of.foreign(r.run.mark()); why != "" {
		r.run = nil
		if r.part == 0 {
			r.problems = append(r.problems, Problem{Kind: Foreign, File: runFile, What: why, Node: -1, Stream: -1})
		}
	}
}

// share finds out which part has which nodes: neighbours, so that the part with most has
// as few bytes as possible.
func (r *Reader) share(files []*nodeFile) {
	r.nodes = map[int]*nodeFile{}
	total := int64(0)
	for _, f := range files {
		if f != nil && r.nodes[f.node] == nil {
			r.nodes[f.node] = f
			total += f.size
		}
	}
	nodes := r.AllNodes()
	// dealt gives the parts their nodes, of at most so many bytes each; false where those are too few.
	dealt := func(most int64) bool {
		r.ends = r.ends[:0]
		sum := int64(0)
		for i, n := range nodes {
			size := r.nodes[n].size
			if sum += size; sum > most && i > 0 {
				r.ends = append(r.ends, nodes[i])
				sum = size
			}
			if size > most {
				return false
			}
		}
		return len(r.ends) < r.parts
	}
	if len(nodes) > 0 {
		dealt(int64(sort.Search(int(total), func(most int) bool { return dealt(int64(most)) })))
		r.ends = append(r.ends, nodes[len(nodes)-1]+1)
	}
}

// AllNodes returns the numbers of the nodes that there are files of, ascending: of all parts.
func (r *Reader) AllNodes() []int { return slices.Sorted(maps.Keys(r.nodes)) }

// ShareOf returns the part that reads the file of a node. A node that there is no file
// of belongs to the part of its neighbours.
func (r *Reader) ShareOf(node int) int {
	i, _ := slices.BinarySearch(r.ends, node+1)
	return min(i, max(len(r.ends)-1, 0))
}

// Part returns which part of the trace this is, and of how many.
func (r *Reader) Part() (part, parts int) { return r.part, r.parts }

// Path returns what Open was called with.
func (r *Reader) Path() string { return r.path }

// findMissing reports nodes of which there is no file: those that run.json lists, and
// those before the last one there is.
func (r *Reader) findMissing(unreadable []*Problem) {
	listed := map[int]bool{}
	nodes := r.AllNodes()
	greatest := nodes[len(nodes)-1]
	last := greatest
	if r.run != nil {
		for _, n := range r.run.Nodes {
			if n.Node >= 0 && n.Node <= MaxNode {
				listed[n.Node] = true
				last = max(last, n.Node)
			}
		}
	}
	told := map[string]bool{} // a file that is there and cannot be read
	for _, p := range unreadable {
		if p != nil {
			told[p.File] = true
		}
	}
	missing := 0
	for n := range last + 1 {
		if r.nodes[n] != nil || told[FileName(n)] {
			continue
		}
		if missing++; missing > maxProblems {
			continue
		}
		what := fmt.Sprintf("the file of node %d is missing", n)
		if info := r.run.Node(n); info != nil && info.Part != "" {
			what += fmt.Sprintf(": it is in %s, and belongs here", info.Part)
		}
		if !listed[n] {
			what += fmt.Sprintf(" (there is one of node %d)", greatest)
		}
		r.problems = append(r.problems, Problem{Kind: Missing, File: FileName(n), What: what, Node: n, Stream: -1})
	}
	if missing > maxProblems {
		r.problems = append(r.problems, Problem{Kind: Missing, File: FileName(last),
			What: fmt.Sprintf("%d files are missing in all", missing), Node: -1, Stream: -1})
	}
}

// unwritten is what the writers could not write.
func (info *RunInfo) unwritten() []Problem {
	if info == nil {
		return nil
	}
	var list []Problem
	for _, n := range info.Nodes {
		if n.Unwritten == 0 && n.Error == "" || n.Node < 0 || n.Node > MaxNode {
			continue
		}
		what := n.Error
		if what == "" {
			what = "not everything could be written"
		}
		list = append(list, Problem{Kind: Unwritten, File: FileName(n.Node), What: what, Node: n.Node,
			Stream: -1, Events: n.Unwritten})
	}
	return list
}

// Close closes the files.
func (r *Reader) Close() error {
	var err error
	for _, f := range r.files {
		if c, ok := f.file.(io.Closer); ok {
			err = errors.Join(err, c.Close())
			kept.Add(-1)
		}
		f.file = nil
	}
	return err
}

// Run returns what run.json says, nil if there is none.
func (r *Reader) Run() *RunInfo { return r.run }

// Nodes returns the numbers of the nodes that there are files of, ascending.
func (r *Reader) Nodes() []int {
	var nodes []int
	for _, f := range r.files {
		nodes = append(nodes, f.node)
	}
	return nodes
}

// Defs returns the definitions of a node's file, nil if there is no file.
func (r *Reader) Defs(node int) *Defs {
	if f := r.nodeFile(node); f != nil {
		return &f.defs
	}
	return nil
}

func (r *Reader) nodeFile(node int) *nodeFile {
	if r.ShareOf(node) != r.part {
		return nil
	}
	return r.nodes[node]
}

// Closed reports whether a node's file was finished by its writer.
func (r *Reader) Closed(node int) bool {
	f := r.nodeFile(node)
	return f != nil && f.closed
}

// Streams returns the streams that have events, by node and stream.
func (r *Reader) Streams() []StreamInfo {
	var list []StreamInfo
	for _, f := range r.files {
		list = append(list, f.streams()...)
	}
	return list
}

// Events returns the number of events according to the headers of the blocks.
func (r *Reader) Events() int { return r.EventsIn(Always) }

// Problems returns what is wrong with the trace as far as is known: damage inside a
// block is found when the block is read, by Each, Cursor.Next or Verify.
func (r *Reader) Problems() []Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.problems)
}

// Missing returns what the trace lacks: Problems, without what the end of the run explains. In a run that
// failed or was interrupted, streams may end early in files that their writers finished.
func (r *Reader) Missing() []Problem {
	list := r.Problems()
	if r.run == nil || r.run.Ended != EndedFailed && r.run.Ended != EndedInterrupted {
		return list
	}
	return slices.DeleteFunc(list, func(p Problem) bool { return p.Kind == Unfinished && r.Closed(p.Node) })
}

// read reads a block into b. A damaged one is noted as a problem, once.
func (r *Reader) read(f *nodeFile, blk *block, b *Batch) error {
	file := f.file
	if file == nil {
		opened, err := files.Open(f.path)
		if err != nil {
			return r.bad(f, blk, plain(err))
		}
		defer opened.Close()
		file = opened
	}
	r.bytesRead.Add(blk.size())
	var err error
	if b.file, err = readPayload(file, b.file, blk.at, &blk.header); err == nil {
		err = b.take(f.node, blk, b.file, &f.defs)
	}
	if err != nil {
		return r.bad(f, blk, err)
	}
	return nil
}

// take fills the batch from the payload of a block.
func (b *Batch) take(node int, blk *block, payload []byte, defs *Defs) (err error) {
	if b.raw, err = unpack(b.raw, &blk.header, payload); err != nil {
		return err
	}
	b.Node, b.Stream, b.Offset = node, int(blk.Stream), blk.at
	return b.decode(b.raw, &blk.header, defs)
}

// badBlock is the problem of a data block that cannot be read.
func (f *nodeFile) badBlock(blk *block, err error) Problem {
	return Problem{Kind: Damaged, File: f.name, Offset: blk.at, What: "block " + err.Error(), Node: f.node,
		Stream: int(blk.Stream), Timed: true, From: blk.First, To: blk.Last, Events: uint64(blk.Count)}
}

func (r *Reader) bad(f *nodeFile, blk *block, err error) error {
	p := f.badBlock(blk, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.damaged[blk] {
		r.damaged[blk] = true
		r.problems = append(r.problems, p)
	}
	return errors.New(p.String())
}
