// Package follow reads a trace while it is written.
package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// The scan that finds blocks without an index (scan.go of package tracefile) can be asked
// again after the file has grown; a Follower is such a scan for each file. What it gives depends on the
// bytes only, not on when it looked, but for this:
//
//   - It waits for the rest of a block, unless a whole header of another one follows within what it claims to
//     be: then it will never be complete.
//   - It waits for a block at the very end with a wrong sum, until something follows.
//   - A whole index tells what comes next, as it does a Reader. So a block with a damaged header is found if
//     the file was finished before the Follower came to it, and passed over otherwise.
//
// A finished file may go on: a collector cuts its index off when its sender comes back. Then it is no longer
// Closed, and is followed from the last block given.
//
// No file stays open between two calls of Poll: with hundreds of nodes there would be too many.

// Follower reads a trace while it is written, or a whole one, or one that comes to exist
// later. One goroutine at a time may use it.
type Follower struct {
	path  string
	names *files.Names
	files []*followed // by name
	nodes map[int]*followed

	info    *trace.RunInfo // never nil
	infoOf  *trace.RunInfo // which run.json that is, nil: none
	read    *trace.RunInfo // run.json as last read, nil: not yet
	infoAt  fs.FileInfo    // its file then
	infoErr error
	version int
	of      tracefile.OfRun // what was given so far; no other run's files and run.json are taken

	raw   []byte
	batch trace.Batch // space for reading definitions
	kinds int64       // bytes that kinds of user namespaces take
}

// mostKinds is how many bytes they may take: those of some ten thousand. Nothing else that is defined is
// kept.
const mostKinds = 16 << 20

// room counts the bytes that kinds take.
func (f *Follower) room(bytes int64) error {
	if bytes > 0 && f.kinds+bytes > mostKinds {
		return fmt.Errorf("kinds of events take more than %d bytes in all", mostKinds)
	}
	f.kinds += bytes
	return nil
}

// followed is a file of the trace.
type followed struct {
	tracefile.File
	defs    trace.Defs
	stat    fs.FileInfo // nil: not looked at
	headed  bool        // the file header was read
	foreign string      // why it is left out
	begun   bool        // it is not: its blocks are given
	headErr error       // why not
	over    bool        // it is given up
	twin    bool        // another file holds its node
	idle    bool        // all was given that was there at the last look
	end     int64       // of the last block given

	indexed []tracefile.Block // what the index says is left
	held    *tracefile.Block  // given, but the call failed: to be given again
	lost    uint64            // blocks, see Lost
}

// New follows the trace in the folder dir, or a single file of one. It need not be there yet.
func New(dir string) *Follower {
	return &Follower{path: dir, names: files.NewNames(dir, ".wst"), nodes: map[int]*followed{},
		info: &trace.RunInfo{}}
}

// Info returns what run.json says, as last read by Poll: with nothing in it before there is
// one, never nil. It is not changed later; a new one has another InfoVersion.
func (f *Follower) Info() *trace.RunInfo { return f.info }

// InfoVersion grows with every new Info; 0: there was no run.json.
func (f *Follower) InfoVersion() int { return f.version }

// Nodes returns the numbers of the nodes whose files have begun, ascending.
func (f *Follower) Nodes() []int { return slices.Sorted(maps.Keys(f.nodes)) }

// Closed reports whether a node's file has its index: its writer has finished it, for now. All of
// its blocks were given then, unless Poll ended with an error.
func (f *Follower) Closed(node int) bool {
	ff := f.nodes[node]
	return ff != nil && ff.Closed
}

// Lost returns how many blocks of a node's file are known to be missing or damaged: those that Poll passed
// over, those whose numbers were left out, and, once the file is closed, definitions that its events refer
// to.
func (f *Follower) Lost(node int) uint64 {
	ff := f.nodes[node]
	if ff == nil {
		return 0
	}
	if ff.Closed {
		return ff.lost + uint64(ff.MissingDefs())
	}
	return ff.lost
}

// Stale reports whether there is a file now that this Follower gave up and a new one would read: it was
// removed, cut or replaced meanwhile.
func (f *Follower) Stale() bool {
	return slices.ContainsFunc(f.files, func(ff *followed) bool {
		if !ff.over || ff.twin {
			return false
		}
		st, err := os.Stat(ff.Path)
		return err == nil && st.Mode().IsRegular()
	})
}

// Problems returns what is wrong with what came so far. That something has not come is none.
func (f *Follower) Problems() []tracefile.Problem {
	var list []tracefile.Problem
	if f.infoErr != nil {
		list = append(list, tracefile.Problem{Kind: tracefile.Damaged, File: tracefile.RunFile,
			What: f.infoErr.Error(), Node: -1, Stream: -1})
	}
	if why := f.of.ForeignID(id(f.read)); why != "" {
		list = append(list, tracefile.Problem{Kind: tracefile.Foreign, File: tracefile.RunFile, What: why,
			Node: -1, Stream: -1})
	}
	for _, ff := range f.files {
		list = append(list, ff.Found...)
		if ff.foreign != "" {
			list = append(list, tracefile.Problem{Kind: tracefile.Foreign, File: ff.Name, What: ff.foreign,
				Node: ff.Node, Stream: -1})
		}
		list = append(list, ff.LostDefs()...)
		if ff.headErr != nil {
			list = append(list, tracefile.Problem{Kind: tracefile.Damaged, File: ff.Name, What: ff.headErr.Error(),
				Node: ff.NodeByName(), Stream: -1})
		}
	}
	for _, n := range f.info.Nodes {
		list = append(list, tracefile.NotWritten(n.Node, n.Unwritten, n.Error)...)
	}
	return list
}

// Poll calls fn for every whole block of definitions and events that came since the last
// call, file by file and in the order of each file, and returns for how many. A block
// whose bytes are not all there yet waits for the next call. Damaged bytes are passed over
// and noted. Where fn fails, Poll returns its error, and begins with that block the next time.
func (f *Follower) Poll(ctx context.Context, fn func(b *tracefile.RawBlock) error) (int, error) {
	f.readInfo()
	if err := f.look(); err != nil {
		return 0, err
	}
	f.begin()
	defer f.shrink()
	n := 0
	for _, ff := range f.files {
		k, err := f.poll(ctx, ff, fn)
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// shrink gives up space that a large block took.
func (f *Follower) shrink() {
	f.batch = trace.Batch{}
	if cap(f.raw) > 1<<20 {
		f.raw = nil
	}
}

// readInfo reads run.json if it is another one than last time.
func (f *Follower) readInfo() {
	st, err := os.Stat(filepath.Join(f.path, tracefile.RunFile))
	if err != nil || f.infoAt != nil && os.SameFile(st, f.infoAt) && st.ModTime().Equal(f.infoAt.ModTime()) &&
		st.Size() == f.infoAt.Size() {
		return
	}
	info, err := trace.ReadRunInfo(f.path)
	if f.infoErr = err; err != nil {
		return // the next time, if it is being written over
	}
	f.read, f.infoAt = info, st
}

// look finds the files there are.
func (f *Follower) look() error {
	names, err := f.names.Read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if st, serr := os.Stat(f.path); serr != nil || st.IsDir() {
			return err
		}
		names = []string{""}
	}
	for _, name := range names {
		path := filepath.Join(f.path, name)
		i, known := slices.BinarySearchFunc(f.files, path,
			func(ff *followed, path string) int { return cmp.Compare(ff.Path, path) })
		if !known {
			ff := &followed{File: tracefile.File{Path: path, Name: filepath.Base(path), Node: -1}}
			f.files = slices.Insert(f.files, i, ff)
		}
	}
	return nil
}

// giveUp notes why a file is not read any further.
func (ff *followed) giveUp(format string, args ...any) {
	ff.Note(tracefile.Damaged, ff.At, format, args...)
	ff.over = true
}

// goOn lets a finished file continue whose index was cut off.
func (ff *followed) goOn() {
	ff.Closed, ff.indexed, ff.Scan = false, nil, tracefile.Scan{At: ff.end}
}

// open opens a file if there may be something new in it.
func (ff *followed) open() *os.File {
	st, err := os.Stat(ff.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && (ff.stat == nil || ff.Closed && ff.idle):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		ff.giveUp("the file was removed while it was read")
		return nil
	case err != nil:
		ff.headErr = tracefile.Plain(err)
		return nil
	case !st.Mode().IsRegular(): // opening a pipe might wait for ever
		ff.giveUp("%v", files.Odd(st.Mode()))
		return nil
	case ff.idle && st.Size() == ff.Size && (ff.Closed || os.SameFile(st, ff.stat)):
		return nil
	}
	file, err := files.Open(ff.Path)
	if err == nil {
		if st, err = file.Stat(); err != nil {
			file.Close()
		}
	}
	if err == nil && ff.Closed && st.Size() != ff.Size {
		ff.goOn()
	}
	switch {
	case err != nil:
		ff.headErr = tracefile.Plain(err)
		return nil
	case ff.stat != nil && !os.SameFile(st, ff.stat):
		ff.giveUp("another file took its place while it was read; what that holds is not shown")
	case st.Size() < ff.At:
		ff.giveUp("the file was cut to %d bytes while it was read; what it holds from now on is not shown",
			st.Size())
	}
	if ff.over {
		file.Close()
		return nil
	}
	ff.headErr = nil
	ff.stat, ff.Size = st, st.Size()
	return file
}

// poll gives the new blocks of a file.
func (f *Follower) poll(ctx context.Context, ff *followed, fn func(b *tracefile.RawBlock) error) (
	int, error) {
	if ff.over || !ff.begun {
		return 0, nil
	}
	file := ff.open()
	if file == nil {
		return 0, nil
	}
	defer file.Close()
	ff.Bytes, ff.idle = file, false
	if blocks, ok := ff.ReadIndex(); ok && !ff.Closed {
		ff.Closed = true
		ff.indexed = slices.DeleteFunc(blocks, func(b tracefile.Block) bool { return b.At < ff.At })
	}
	n := 0
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		again := ff.held != nil
		before := ff.Scan
		b, ok := ff.nextBlock()
		if !ok {
			ff.idle = true
			return n, nil
		}
		if b.Kind != tracefile.DataBlock && b.Kind != tracefile.DefsBlock {
			continue
		}
		var err error
		if f.raw, err = tracefile.ReadBlock(file, f.raw, &b); err != nil && !again && !ff.Closed &&
			b.End() == ff.Size {
			ff.Scan = before // maybe its bytes are not all there
			return n, nil
		}
		if !again {
			ff.lost += uint64(ff.NoteGap(&b))
		}
		if err != nil {
			ff.lost++
			ff.NoteBad(&b, err)
			continue
		}
		if b.Kind == tracefile.DefsBlock && !again {
			if err := ff.defs.ReadBlock(f.raw, &f.batch); err != nil {
				ff.NoteBad(&b, err)
			}
		}
		ff.end = b.End()
		raw := tracefile.NewRawBlock(ff.Node, &b, f.raw)
		if err := fn(&raw); err != nil {
			ff.held = &b
			return n, err
		}
		n++
	}
}

// begin reads the headers of new files, and takes the files and the run.json of one run.
func (f *Follower) begin() {
	var files []*tracefile.File
	for _, ff := range f.files {
		if ff.headed || ff.readHead() {
			files = append(files, &ff.File)
		}
	}
	of := f.of
	if !of.Run.Told() {
		of = tracefile.FindRun(id(f.read), files)
	}
	for _, ff := range f.files {
		if !ff.headed || ff.begun || ff.over {
			continue
		}
		ff.foreign = of.Foreign(ff.Run)
		switch {
		case ff.foreign != "":
		case f.nodes[ff.Node] != nil:
			ff.giveUp("another file holds node %d, too: this one is left out", ff.Node)
			ff.twin = true
		default:
			ff.begun, ff.At, ff.end = true, tracefile.HeaderSize, tracefile.HeaderSize
			ff.defs.OnlyKinds(f.room)
			f.nodes[ff.Node] = ff
			if ff.Run.Told() {
				f.of = of
			}
		}
	}
	info := f.read
	if of.ForeignID(id(info)) != "" {
		info = nil
	}
	if info != f.infoOf {
		f.infoOf, f.info = info, cmp.Or(info, &trace.RunInfo{})
		f.version++
	}
}

// readHead reads the file header, once it is there.
func (ff *followed) readHead() bool {
	if ff.over {
		return false
	}
	file := ff.open()
	if file == nil {
		return false
	}
	defer file.Close()
	ff.Bytes, ff.idle = file, true
	if ff.Size < tracefile.HeaderSize {
		return false
	}
	// A header that is damaged may be told by the blocks that come.
	ff.headErr = ff.ReadHeader()
	ff.headed, ff.idle = ff.headErr == nil, ff.headErr != nil
	return ff.headed
}

// nextBlock is the block to be given next.
func (ff *followed) nextBlock() (tracefile.Block, bool) {
	switch {
	case ff.held != nil:
		b := *ff.held
		ff.held = nil
		return b, true
	case len(ff.indexed) > 0:
		b := ff.indexed[0]
		ff.indexed = ff.indexed[1:]
		return b, true
	case ff.Closed:
		return tracefile.Block{}, false
	}
	return ff.Next(false)
}

// id is the id of the run in a run.json, "" without one.
func id(info *trace.RunInfo) string { return cmp.Or(info, &trace.RunInfo{}).ID }

// Read decodes a block of events that Poll gave, or a copy of it. One that cannot be decoded, though it is
// what was written, is an error, which is also noted among the problems.
func (f *Follower) Read(b *tracefile.RawBlock, dst *trace.Batch) error {
	ff := f.nodes[b.Node]
	if b.Defs || ff == nil {
		return errors.New("not a block of events of this trace")
	}
	err := ff.defs.ReadBlock(b.Bytes, dst)
	if err != nil {
		blk := tracefile.Block{At: b.Offset}
		_ = blk.Parse(b.Bytes)
		ff.NoteBad(&blk, err)
	}
	dst.Node, dst.Offset = b.Node, b.Offset
	return err
}
