package trace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/tracefile"
)

// Problem is something wrong with a trace. Its String is one line; Kind tells what it is, Node and Stream
// where (-1: none in particular). If it is Timed, events of the stream between From and To are missing, so
// many as Events tells (0: unknown).
type Problem = tracefile.Problem

// ProblemKind says what is wrong with a trace.
type ProblemKind = tracefile.ProblemKind

// Kinds of problems.
const (
	// Damaged bytes: what they held is lost, the rest of the file is read.
	Damaged = tracefile.Damaged
	// Truncated: the file ends in the middle of a block, or without its index.
	Truncated = tracefile.Truncated
	// Unfinished: a stream ends before the program did, because the program crashed or was killed; or run.json
	// does not say how the run ended.
	Unfinished = tracefile.Unfinished
	// Missing: the file of a node is not there or holds nothing.
	Missing = tracefile.Missing
	// Unwritten: the writer could not write the events, for want of room or because the disk failed.
	Unwritten = tracefile.Unwritten
	// Foreign: the file, or run.json, belongs to another run than the rest, and is left out.
	Foreign = tracefile.Foreign
)

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
	damaged  map[*tracefile.Block]bool // blocks found damaged when they were read
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
		file, err := files.Open(f.Path)
		if err != nil {
			kept.Add(-1)
			return err
		}
		f.Bytes = file
	}
	return nil
}

var errNoTrace = errors.New("no *.wst file in it: not a trace")

// ErrNothingWhole is in the error of Open where a trace's folder has files, and nothing of any can be read.
var ErrNothingWhole = errors.New("nothing of the trace can be read")

// Open opens a trace: a folder, or a single file of one. It fails only where nothing
// at all can be read; everything else that is wrong is in Problems.
func Open(path string) (*Reader, error) { return OpenShare(path, 0, 1) }

// OpenShare is Open for one, part, of several processes, parts, that share the files: each reads
// neighbouring nodes, about as many bytes. All methods are about the nodes of this part only, but Run,
// AllNodes and ShareOf; Problems are those of the files of this part, what is wrong with the whole being
// told by the first or the last part. It fails in all processes or in none, as far as they see the same
// files.
func OpenShare(path string, part, parts int) (*Reader, error) {
	return OpenWith(path, OpenOptions{Part: part, Parts: parts})
}

// OpenOptions are what OpenWith does in another way than Open; the zero value: nothing.
type OpenOptions struct {
	Part, Parts int // those of OpenShare; 0 parts: one
	// NoDefs leaves definitions unread: Defs are empty, and events of user namespaces lack their names.
	NoDefs bool
	// Room is asked before definitions take so many bytes of memory more, and told where they take less: then
	// bytes is negative. read is about which part of them is read then, from 0 to 1. If Room fails, so does
	// OpenWith, with its error. Several goroutines call it at once. nil: there is room for any. A small file
	// can define much.
	Room func(bytes int64, read float64) error
}

// loader reads the files of a part.
type loader struct {
	*OpenOptions
	total int64 // bytes of the files
	done  atomic.Int64
}

// load reads a file, unless the options say that its definitions stay unread.
func (l *loader) load(f *nodeFile) (refused error) {
	if l.NoDefs {
		f.Find()
		f.NoteGaps()
		return nil
	}
	defer func() { l.done.Add(f.Size) }()
	if l.Room == nil {
		return f.load(nil)
	}
	return f.load(func(bytes int64, read float64) error {
		return l.Room(bytes, (float64(l.done.Load())+read*float64(f.Size))/float64(max(l.total, 1)))
	})
}

// OpenWith is OpenShare with options.
func OpenWith(path string, o OpenOptions) (*Reader, error) {
	part, parts := o.Part, max(o.Parts, 1)
	if part < 0 || part >= parts {
		return nil, fmt.Errorf("part %d of %d of a trace: there is no such part", part, parts)
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{path: path, part: part, parts: parts, damaged: map[*tracefile.Block]bool{}}
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
			r.problems = append(r.problems, Problem{Kind: Damaged, File: tracefile.RunFile,
				What: tracefile.Plain(err).Error(), Node: -1,
				Stream: -1})
		}
	}
	files := make([]*tracefile.File, len(names))
	errs := make([]*Problem, len(names))
	// A file that cannot be opened is no reason to leave out the others.
	_ = each(runtime.GOMAXPROCS(0), len(names), func(_, i int) error {
		files[i], errs[i] = tracefile.Open(names[i])
		return nil
	})
	r.oneRun(files, errs)
	r.share(files)
	impossible := r.boundWorkers()
	mine := func(f *tracefile.File) bool {
		return f != nil && r.nodes[f.Node].File == f && r.ShareOf(f.Node) == part
	}
	l := loader{OpenOptions: &o}
	for _, f := range files {
		if mine(f) {
			l.total += f.Size
		}
	}
	err = each(runtime.GOMAXPROCS(0), len(files), func(_, i int) (refused error) {
		f := files[i]
		if !mine(f) {
			return nil
		}
		if err := f.While(func() error { refused = l.load(r.nodes[f.Node]); return nil }); err != nil {
			errs[i] = &Problem{Kind: Damaged, File: f.Name, What: err.Error(), Node: f.Node, Stream: -1}
		}
		return refused
	})
	if err != nil {
		return nil, err
	}
	at := 0 // the part that has the last file
	for i, f := range files {
		if f != nil {
			at = r.ShareOf(f.Node)
		}
		switch {
		case at != part:
		case errs[i] != nil:
			r.problems = append(r.problems, *errs[i])
		case r.nodes[f.Node].File != f:
			r.problems = append(r.problems, Problem{Kind: Damaged, File: f.Name, Node: f.Node, Stream: -1,
				What: fmt.Sprintf("another file holds node %d, too: this one is left out", f.Node)})
		default:
			n := r.nodes[f.Node]
			r.files = append(r.files, n)
			workers := 0
			if info := r.run.Node(f.Node); info != nil {
				workers = info.Workers
			}
			n.findUnfinished(workers)
			r.problems = append(r.problems, f.Found...)
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
	slices.SortFunc(r.files, func(a, b *nodeFile) int { return a.Node - b.Node })
	if folder && part == parts-1 {
		r.findMissing(errs)
		if r.run != nil {
			for _, n := range r.run.Nodes {
				r.problems = append(r.problems, tracefile.NotWritten(n.Node, n.Unwritten, n.Error)...)
			}
		}
		if impossible > 0 {
			r.problems = append(r.problems, Problem{Kind: Damaged, File: tracefile.RunFile, Node: -1, Stream: -1,
				What: fmt.Sprintf("it lists %d workers more than the files can have; these are left out", impossible)})
		}
		if r.run != nil && r.run.Ended == "" && !r.run.NoEnd {
			r.problems = append(r.problems, Problem{Kind: Unfinished, File: tracefile.RunFile, Node: -1, Stream: -1,
				What: "it does not say how the run ended: the run was killed or is still running"})
		}
	}
	if err := r.keep(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// oneRun leaves out what belongs to another run than the rest.
func (r *Reader) oneRun(files []*tracefile.File, errs []*Problem) {
	of := tracefile.FindRun(r.run.id(), files)
	for i, f := range files {
		if f == nil {
			continue
		}
		if why := of.Foreign(f.Run); why != "" {
			files[i], errs[i] = nil, &Problem{Kind: Foreign, File: f.Name, What: why, Node: f.Node, Stream: -1}
		}
	}
	if why := of.ForeignID(r.run.id()); why != "" {
		r.run = nil
		if r.part == 0 {
			r.problems = append(r.problems, Problem{Kind: Foreign, File: tracefile.RunFile, What: why, Node: -1,
				Stream: -1})
		}
	}
}

// share finds out which part has which nodes: neighbours, so that the part with most has
// as few bytes as possible.
func (r *Reader) share(files []*tracefile.File) {
	r.nodes = map[int]*nodeFile{}
	total := int64(0)
	for _, f := range files {
		if f != nil && r.nodes[f.Node] == nil {
			r.nodes[f.Node] = &nodeFile{File: f}
			total += f.Size
		}
	}
	nodes := r.AllNodes()
	// dealt gives the parts their nodes, of at most so many bytes each; false where those are too few.
	dealt := func(most int64) bool {
		r.ends = r.ends[:0]
		sum := int64(0)
		for i, n := range nodes {
			size := r.nodes[n].Size
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
		if r.nodes[n] != nil || told[tracefile.FileName(n)] {
			continue
		}
		if missing++; missing > tracefile.MaxProblems {
			continue
		}
		what := fmt.Sprintf("the file of node %d is missing", n)
		if info := r.run.Node(n); info != nil && info.Part != "" {
			what += fmt.Sprintf(": it is in %s, and belongs here", info.Part)
		}
		if !listed[n] {
			what += fmt.Sprintf(" (there is one of node %d)", greatest)
		}
		r.problems = append(r.problems, Problem{Kind: Missing, File: tracefile.FileName(n), What: what, Node: n,
			Stream: -1})
	}
	if missing > tracefile.MaxProblems {
		r.problems = append(r.problems, Problem{Kind: Missing, File: tracefile.FileName(last),
			What: fmt.Sprintf("%d files are missing in all", missing), Node: -1, Stream: -1})
	}
}

// Close closes the files.
func (r *Reader) Close() error {
	var err error
	for _, f := range r.files {
		if c, ok := f.Bytes.(io.Closer); ok {
			err = errors.Join(err, c.Close())
			kept.Add(-1)
		}
		f.Bytes = nil
	}
	return err
}

// Run returns what run.json says, nil if there is none.
func (r *Reader) Run() *RunInfo { return r.run }

// Nodes returns the numbers of the nodes that there are files of, ascending.
func (r *Reader) Nodes() []int {
	var nodes []int
	for _, f := range r.files {
		nodes = append(nodes, f.Node)
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

// RunOf returns how the id of the run begins that a node's file belongs to, "" if the file does not tell.
func (r *Reader) RunOf(node int) string {
	if f := r.nodeFile(node); f != nil && f.Run.Told() {
		return f.Run.String()
	}
	return ""
}

// Closed reports whether a node's file was finished by its writer.
func (r *Reader) Closed(node int) bool {
	f := r.nodeFile(node)
	return f != nil && f.Closed
}

// DefsSize returns how many DFs are defined, and about how many bytes of memory all definitions take.
func (r *Reader) DefsSize() (dfs int, bytes int64) {
	for _, f := range r.files {
		dfs += f.defs.ndfs
		bytes += f.defs.size()
	}
	return dfs, bytes
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
func (r *Reader) read(f *nodeFile, blk *tracefile.Block, b *Batch) error {
	file := f.Bytes
	if file == nil {
		opened, err := files.Open(f.Path)
		if err != nil {
			return r.bad(f, blk, tracefile.Plain(err))
		}
		defer opened.Close()
		file = opened
	}
	r.bytesRead.Add(blk.Size())
	var err error
	if b.file, err = tracefile.ReadPayload(file, b.file, blk.At, &blk.Header); err == nil {
		b.Node, b.Offset = f.Node, blk.At
		err = b.take(&blk.Header, b.file, &f.defs)
	}
	if err != nil {
		return r.bad(f, blk, err)
	}
	return nil
}

func (r *Reader) bad(f *nodeFile, blk *tracefile.Block, err error) error {
	p := f.BadBlock(blk, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.damaged[blk] {
		r.damaged[blk] = true
		r.problems = append(r.problems, p)
	}
	return errors.New(p.String())
}
