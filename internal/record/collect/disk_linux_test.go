package collect

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/whyslow/whyslow/trace"
)

// A full disk: the run is marked, the sender tries again, a run that fits is kept, and once
// there is room all goes on.
func TestDiskFull(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=160k"); err != nil {
		t.Skipf("no small disk to be had: %v", err)
	}
	defer syscall.Unmount(disk, 0)
	var told lines
	s := serveAt(t, "", Config{Dir: disk, Notify: told.add})
	defer s.stop()
	src := filepath.Join(t.TempDir(), "large.trace")
	info := writeTrace(t, src, []int{0}, 20_000)
	info.Program = "large.fa"
	writeInfo(t, src, info)
	retried(t, quick(s.addr, src), "no space left on device")
	run := byID(s, info.ID)
	if !strings.Contains(run.Err, "no space left on device") || !strings.Contains(told.text(),
		"no space left on device") {
		t.Errorf("%+v; told %s", run, told.text())
	}
	r, err := trace.Open(run.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Events() == 0 {
		t.Error("nothing is kept of what fitted")
	}
	r.Close()

	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=100m"); err != nil {
		t.Fatal(err)
	}
	send(t, quick(s.addr, src))
	same(t, run.Dir, src)
	if run := byID(s, info.ID); run.Err != "" {
		t.Errorf("%+v", run)
	}
}

// A folder that cannot be written to.
func TestFolderIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Dir: file}); err == nil || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}
