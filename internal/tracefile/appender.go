package tracefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/whyslow/whyslow/internal/files"
)

// Have tells which blocks of a node are there: how many of each, by the number after the
// last one, which is the number expected next.
type Have struct {
	Defs    uint32
	Streams map[int]uint32
}

// Appender writes a node's file from blocks that were made elsewhere. Between two calls the file is not open;
// without Finish it has no index, and more may come later. However long the file, an Appender takes little
// memory: what the index has is read again in the end.
// One goroutine at a time may use it.
type Appender struct {
	path string
	out  *BlockFile
	have Have
}

// OpenAppend opens the file of a node in the folder dir for further blocks, making both if
// need be. run is the id of the run, "" for none. An existing file is continued after its last whole block:
// what comes after that, half a block or an index, is cut off. One of another run is an error.
//
// A long file takes a while to look through: when ctx ends its error is returned, and the file stays as it
// is.
func OpenAppend(ctx context.Context, dir string, node int, run string) (*Appender, error) {
	if err := CheckFile(node, run); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	a := &Appender{path: filepath.Join(dir, FileName(node)), have: Have{Streams: map[int]uint32{}}}
	var file *os.File
	if err := files.Patient(func() (err error) {
		file, err = os.OpenFile(a.path, os.O_RDWR|os.O_CREATE, 0o666)
		return err
	}); err != nil {
		return nil, err
	}
	defer file.Close()
	if err := a.begin(ctx, file, node, run); err != nil {
		return nil, fmt.Errorf("cannot continue %s: %w", a.path, err)
	}
	return a, nil
}

func (a *Appender) begin(ctx context.Context, file *os.File, node int, id string) error {
	st, err := file.Stat()
	if err != nil {
		return err
	}
	out := &placed{path: a.path, is: st}
	if st.Size() < HeaderSize { // new, or its writer was killed at once
		if err := file.Truncate(0); err != nil {
			return err
		}
		a.out, err = NewBlockFile(out, node, id, 1)
		return err
	}
	f := &File{Name: FileName(node), Path: a.path, Bytes: file, Size: st.Size()}
	f.At = HeaderSize
	if err := f.ReadHeader(); err != nil {
		return err
	}
	if f.Node != node {
		return fmt.Errorf("it holds node %d", f.Node)
	}
	run, err := MarkOf(id)
	if err != nil {
		return err
	}
	if f.Run.Told() && run.Told() && f.Run != run {
		return fmt.Errorf("it belongs to run %s, not to run %s", f.Run, run)
	}
	a.out = &BlockFile{out: out, at: HeaderSize, zstd: encoders[0]()}
	var buf []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, ok := f.Next(true)
		if !ok {
			break
		}
		if b.Kind != DataBlock && b.Kind != DefsBlock {
			continue
		}
		if buf, err = ReadBlock(file, buf, &b); err != nil {
			continue // it stays as damaged as it is, and may be the end
		}
		a.enter(NewRawBlock(node, &b, buf))
	}
	out.at = a.out.at
	return file.Truncate(out.at)
}

// enter notes a whole block.
func (a *Appender) enter(b RawBlock) {
	a.out.at = b.Offset + int64(len(b.Bytes))
	if b.Defs {
		a.have.Defs = max(a.have.Defs, b.Number+1)
	} else {
		a.have.Streams[b.Stream] = max(a.have.Streams[b.Stream], b.Number+1)
	}
}

// Have returns what the file holds.
func (a *Appender) Have() Have { return Have{a.have.Defs, maps.Clone(a.have.Streams)} }

// Next is the number of the block that comes next: of definitions, or of a stream.
func (a *Appender) Next(defs bool, stream int) uint32 {
	if defs {
		return a.have.Defs
	}
	return a.have.Streams[stream]
}

// Streams is how many streams have blocks in the file.
func (a *Appender) Streams() int { return len(a.have.Streams) }

// Size is how many bytes the file has.
func (a *Appender) Size() int64 { return a.out.at }

// Append appends a block of definitions or events, header and payload, after checking its
// sums. A block that is there already, because its number is below the one expected, is
// left out without an error; a number above that is taken, and leaves a gap that readers
// tell of. After an error in writing the file is as before; the error is ErrReplaced if it is no longer
// there.
func (a *Appender) Append(raw []byte) error {
	r, size, err := ParseBlockHeader(raw)
	switch {
	case err != nil:
		return err
	case size != len(raw):
		return fmt.Errorf("a block of %d bytes came as %d", size, len(raw))
	case r.Number < a.Next(r.Defs, r.Stream):
		return nil
	}
	r.Offset = a.out.at
	a.out.block = raw
	err = a.out.flush()
	a.out.block = nil
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", a.path, err)
	}
	a.enter(r)
	return nil
}

// Finish writes the index and closes the file.
func (a *Appender) Finish() error {
	err := a.list()
	if err == nil {
		err = a.out.Close()
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", a.path, err)
	}
	return nil
}

// list enters the blocks of the file in the index.
func (a *Appender) list() error {
	f := &File{Name: filepath.Base(a.path), Path: a.path}
	err := f.While(func() error {
		if f.Size < a.out.at {
			return ErrReplaced
		}
		f.At, f.Size = HeaderSize, a.out.at
		var header [BlockHeaderSize]byte
		for b, ok := f.Next(true); ok; b, ok = f.Next(true) {
			if b.Kind != DataBlock && b.Kind != DefsBlock {
				continue
			}
			a.out.enter(b.At, b.Append(header[:0]))
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return ErrReplaced
	}
	return err
}
