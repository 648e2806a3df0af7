package collect

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/whyslow/whyslow/trace"
)

// TestFolderTakenAway: the folder of a run is removed while its blocks come. The next one fails, and then
// there is said to be nothing, so that the sender sends all again.
func TestFolderTakenAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t")
	blocks := someBlocks(t, 20_000)
	k := &conn{c: &Collector{ctx: t.Context()},
		run: &run{id: trace.NewRunID(), dir: dir}, sender: &sender{Name: "s"}}
	f := &file{first: "s"}
	if _, err := f.open(k, 0); err != nil {
		t.Fatal(err)
	}
	put := func(block []byte) error {
		head, _, err := trace.ParseBlockHeader(block)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.append(k, 0, 0, &head, block)
		return err
	}
	if err := errors.Join(put(blocks[0]), os.RemoveAll(dir)); err != nil {
		t.Fatal(err)
	}
	if err := put(blocks[1]); !errors.Is(err, trace.ErrReplaced) {
		t.Error(err)
	}
	if have, err := f.open(k, 0); err != nil || have.Defs != 0 || len(have.Streams) != 0 {
		t.Error(have, err)
	}
}
