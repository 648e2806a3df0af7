//go:build linux

package trace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	. "github.com/whyslow/whyslow/trace"
)

// A disk without any room left: how the run ended, and what is lost, is told all the same.
func TestRunInfoOnAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("no small disk to be had: %v", err)
	}
	defer syscall.Unmount(disk, 0)
	dir := filepath.Join(disk, "t")
	info := &RunInfo{Nodes: []NodeInfo{{Node: 0, Workers: 1}}}
	if err := WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	w, err := Create(dir, 0, Options{BufferBytes: 1 << 10, Level: -1})
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(0)
	for ; w.Err() == nil; n++ {
		w.Stream(0).Emit(int64(n), KindReadyQueue, n*n*n)
	}
	// Whatever room is left, even for an empty file's name, is used up.
	if err := os.WriteFile(filepath.Join(disk, "more"), make([]byte, 1<<20), 0o666); !errors.Is(err,
		syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	info.Ended, info.Nodes[0].Unwritten, info.Nodes[0].Error = EndedDone, w.Unwritten(), w.Err().Error()
	if err := WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	r := mustOpen(t, dir)
	if r.Run().Ended != EndedDone || uint64(r.Events())+r.Run().Nodes[0].Unwritten != n {
		t.Errorf("%+v, %d of %d events", r.Run(), r.Events(), n)
	}
	r.Close()
	// What does not fit is refused, and what was there stays.
	info.Message = strings.Repeat("x", 1<<20)
	if err := WriteRunInfo(dir, info); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if again, err := ReadRunInfo(dir); err != nil || again.Ended != EndedDone || again.Message != "" {
		t.Errorf("%+v, %v", again, err)
	}
}
