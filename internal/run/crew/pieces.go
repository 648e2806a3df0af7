package crew

import (
	"encoding/binary"
	"errors"

	"github.com/whyslow/whyslow/internal/procs"
)

// piecesTotal is how much arrives at rank 0 at a time, about.
const piecesTotal = 64 << 20

// collectPieces brings bytes of all ranks to rank 0, in pieces, so that nobody needs memory for all of them:
// size is how many this rank has, read gives those from a place on, and take is called at rank 0 with the
// pieces of each rank in order. All ranks go through it to the end, whatever fails, and each returns its own
// error.
func collectPieces(g procs.Group, size int64, read func(b []byte, at int64) error,
	take func(from int, b []byte) error) error {
	sizes, err := procs.AllGather(g, binary.LittleEndian.AppendUint64(nil, uint64(size)))
	if err != nil {
		return err
	}
	var most int64
	for _, b := range sizes {
		if len(b) != 8 {
			return errors.New("the processes are not doing the same thing")
		}
		most = max(most, int64(binary.LittleEndian.Uint64(b)))
	}
	each := int64(max(64<<10, min(4<<20, piecesTotal/g.Size())))
	var failed error
	buf := make([]byte, min(each, size))
	for at := int64(0); at < most; at += each {
		b := buf[:max(0, min(each, size-at))]
		if len(b) > 0 && failed == nil {
			failed = read(b, at)
		}
		in, err := procs.Gather(g, 0, b)
		if err != nil {
			return errors.Join(failed, err)
		}
		for from, b := range in {
			if len(b) > 0 && failed == nil {
				failed = take(from, b)
			}
		}
	}
	return failed
}
