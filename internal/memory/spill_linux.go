package memory

import (
	"bytes"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// inMemory are the file systems whose files are in memory, so that nothing is gained by mapping them.
var inMemory = map[int64]bool{unix.TMPFS_MAGIC: true, unix.RAMFS_MAGIC: true}

// spillRoom gives how many bytes a folder has room for; false where a Spill cannot be in it.
func spillRoom(dir string) (int64, bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil || inMemory[int64(st.Type)] { //nolint:unconvert // int32 on some processors
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true //nolint:unconvert // int32 on some processors
}

func spillMap(f *os.File, at int64, n int) ([]byte, error) {
	if err := unix.Fallocate(int(f.Fd()), 0, at, int64(n)); err != nil {
		return nil, err
	}
	return unix.Mmap(int(f.Fd()), at, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func spillUnmap(b []byte) { _ = unix.Munmap(b) }

// spillDrop lets go of the pages of a mapping; the file keeps what is in them.
func spillDrop(b []byte) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }

// statm is opened once: it is read again and again.
var statm = sync.OnceValues(func() (*os.File, error) { return os.Open("/proc/self/statm") })

// spillResident is how many bytes of files the process has in memory.
func spillResident() int64 {
	file, err := statm()
	if err != nil {
		return 0
	}
	var text [128]byte
	n, _ := file.ReadAt(text[:], 0) // it is shorter
	if f := bytes.Fields(text[:n]); len(f) > 2 {
		pages, _ := strconv.ParseInt(string(f[2]), 10, 64) // 0 where it is no number
		return pages * int64(os.Getpagesize())
	}
	return 0
}
