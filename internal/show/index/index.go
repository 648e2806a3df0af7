// Package index keeps the first picture of a large trace in a file, so that the page shows it at once.
//
// The problem. Before a trace of a hundred million events can answer anything, all of it has to be read,
// matched and divided, which takes a minute. Somebody who opens it again waits again.
//
// The plan. What the page asks first is kept beside the trace, or in the user's cache where that cannot be
// written: the answers that do not depend on an interval (the run, its report, what is doubtful), and the
// timeline of every lane by factor and code (timeline.Save). Factors and tiles of any interval are computed
// from it by the code that computes them from a model, so they are exact. Meanwhile the model is made in the
// background, in bounded memory, and answers everything else.
//
//	magic, version | key | CRC-32C | zstd: answers, each with its name; the timeline
//
// The key is made of the names, sizes and times of the trace's files, what stands in their headers and in
// run.json, and of this program, whose next version may say something else. An index with another key, or a
// damaged one, is not used and is replaced. It is written to a file beside and renamed, so it is whole or not
// there.
//
// Deliberately not done: single events are not in it. They are in the trace already, in blocks that are found
// by time.
package index

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/whyslow/whyslow/internal/files"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/internal/tracefile"
)

// Name is that of the file beside a trace.
const Name = "page.index"

const magic = "whyslow index 1\n"

// most is how many bytes an index may unpack to.
const most = 1 << 30

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Key tells a trace, and the program that made an index of it.
type Key [sha256.Size]byte

// Index is the first picture of a run.
type Index struct {
	Answers  map[string][]byte // by question
	Timeline *timeline.Timeline
}

// program tells this program from others: by its file.
var program = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	st, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(st.Size(), st.ModTime().UnixNano())
})

// KeyOf gives the key of the trace in a folder.
func KeyOf(dir string) (key Key, err error) {
	names, err := files.NewNames(dir, ".wst").Read()
	if err != nil {
		return key, err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, magic, program())
	for _, name := range append(slices.Clone(names), tracefile.RunFile) {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			continue // there need be no run.json
		}
		fmt.Fprintln(sum, name, st.Size(), st.ModTime().UnixNano())
		if err := addStart(sum, filepath.Join(dir, name)); err != nil {
			return key, err
		}
	}
	sum.Sum(key[:0])
	return key, nil
}

// addStart adds the beginning of a file, where its run is named.
func addStart(to io.Writer, path string) error {
	f, err := files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyN(to, f, 4<<10)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// places are where the index of a trace may be: beside it, and in the user's cache.
func places(dir string) []string {
	list := []string{filepath.Join(dir, Name)}
	abs, err := filepath.Abs(dir)
	cache, none := os.UserCacheDir()
	if cmp.Or(err, none) == nil {
		sum := sha256.Sum256([]byte(abs))
		list = append(list, filepath.Join(cache, "whyslow", "index", hex.EncodeToString(sum[:12])+".index"))
	}
	return list
}

// Write keeps an index of the trace in a folder, and returns the path of its file and how many bytes it has.
func Write(dir string, key Key, x *Index) (path string, bytes int64, err error) {
	data := pack(key, x)
	for i, path := range places(dir) {
		if i > 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				continue
			}
		}
		if err = files.ReplaceText(path, data); err == nil {
			return path, int64(len(data)), nil
		}
	}
	return "", 0, err
}

func pack(key Key, x *Index) []byte {
	b := binary.AppendUvarint(nil, uint64(len(x.Answers)))
	for _, name := range slices.Sorted(maps.Keys(x.Answers)) {
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
		b = append(binary.AppendUvarint(b, uint64(len(x.Answers[name]))), x.Answers[name]...)
	}
	b = x.Timeline.Save(b)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are known
	}
	b = encoder.EncodeAll(b, nil)
	if err := encoder.Close(); err != nil {
		panic(err) // nothing was streamed
	}
	out := append([]byte(magic), key[:]...)
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(b, castagnoli))
	return append(out, b...)
}

// ErrNone says that there is no index, or none of the trace as it is now.
var ErrNone = errors.New("there is no index of the trace as it is now")

// Read gives the index of the trace in a folder. It fails with ErrNone.
func Read(dir string, key Key) (*Index, error) {
	for _, path := range places(dir) {
		data, err := files.Read(path, most)
		if err != nil {
			continue
		}
		if x, err := unpack(data, key); err == nil {
			return x, nil
		}
	}
	return nil, ErrNone
}

func unpack(data []byte, key Key) (*Index, error) {
	head := magic + string(key[:])
	if len(data) < len(head)+4 || string(data[:len(head)]) != head {
		return nil, ErrNone
	}
	sum, b := binary.LittleEndian.Uint32(data[len(head):]), data[len(head)+4:]
	if sum != crc32.Checksum(b, castagnoli) {
		return nil, ErrNone
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(most))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	if b, err = decoder.DecodeAll(b, nil); err != nil {
		return nil, ErrNone
	}
	return parse(b)
}

// parse reads what pack has compressed.
func parse(b []byte) (*Index, error) {
	x := &Index{Answers: map[string][]byte{}}
	take := func() ([]byte, bool) {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			return nil, false
		}
		v := b[k : k+int(n)]
		b = b[k+int(n):]
		return v, true
	}
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)) {
		return nil, ErrNone
	}
	b = b[k:]
	for range n {
		name, ok := take()
		if !ok {
			return nil, ErrNone
		}
		if x.Answers[string(name)], ok = take(); !ok {
			return nil, ErrNone
		}
	}
	var err error
	x.Timeline, err = timeline.Load(b)
	return x, err
}
