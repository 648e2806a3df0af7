// Package memory holds a process within a budget of memory.
//
// A block of a trace unpacks to up to 64 times its length, and an event takes more in a model than in a
// file. So a small file can ask for more memory than the machine has, and the kernel would end other
// programs for it.
//
// What is too large for the budget goes to disk where it can: see Spill.
//
// Three things hold a process within its budget. What a trace defines is counted before and while it is
// read. Before events are read, the counts in the headers of blocks say how much they take at least. While
// they are read and analysed, a watch looks at the heap.
package memory

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/whyslow/whyslow/internal/words"
)

// Budget is how many bytes a process may use; 0: no limit.
type Budget int64

// Default is half of this machine's memory, shared by processes that do the same; 0 if that is not known.
func Default(processes int) Budget { return Budget(ofMachine() / 2 / int64(max(processes, 1))) }

// TooLarge is the error that something needs more memory than the budget.
type TooLarge struct {
	path   string
	need   float64
	budget Budget
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%s: needs about %s of memory, more than the %s it may use; give --memory %.0fM", e.path,
		words.Bytes(int64(e.need)), words.Bytes(int64(e.budget)), math.Ceil(e.need/1e6))
}

// Need is about how many bytes it needs.
func (e *TooLarge) Need() float64 { return e.need }

// Exceeded is the error that a trace needs so many bytes, more than the budget.
func (b Budget) Exceeded(path string, need float64) error {
	return &TooLarge{path, max(need, float64(b)*1.1), b}
}

// What a model takes at least, in bytes; recorded runs take a little more.
const (
	perEvent  = 48
	perStream = 2 << 10
	perDF     = 16
)

// Room gives what counts the definitions of a trace, see trace.OpenOptions: it fails with TooLarge where
// they take more than the budget.
func (b Budget) Room(path string) func(bytes int64, read float64) error {
	var taken atomic.Int64
	return func(bytes int64, read float64) error {
		if now := taken.Add(bytes); b > 0 && bytes > 0 && now > int64(b) {
			return b.Exceeded(path, float64(now)/min(max(read, 0.01), 1))
		}
		return nil
	}
}

// Fits fails with TooLarge if a model of so many events and streams, and of definitions with so many DFs
// that take so many bytes already, cannot fit.
func (b Budget) Fits(path string, events, streams, dfs int, defs int64) error {
	need := int64(events)*perEvent + int64(streams)*perStream + int64(dfs)*perDF + defs
	if b == 0 || need <= int64(b) {
		return nil
	}
	return b.Exceeded(path, float64(need))
}

// What a trace takes where its columns are on disk: in memory, and there.
const (
	heldOfEvent   = 8
	spilledEvent  = 64
	leastSpilling = 64 << 20 // a budget below this is too small to share
)

// Spill makes a Spill for a trace with so many events, streams and DFs that does not fit by itself; nil where
// it does, or where that would not help. path is the trace.
func (b Budget) Spill(path string, events, streams, dfs int, defs int64) *Spill {
	if b < leastSpilling || b.Fits(path, events/2*3, streams, dfs, defs) == nil ||
		b.Fits(path, events/perEvent*heldOfEvent, streams, dfs, defs) != nil {
		return nil
	}
	s, err := NewSpill(int64(events)*spilledEvent, int64(b)/4, SpillDirs(path)...)
	if err != nil {
		return nil
	}
	return s
}

// Use is how much memory a process uses, in bytes, with what its Spills may have in memory.
type Use struct {
	Live int64 // what the last garbage collection found in use
	All  int64 // and what was made since
}

const watchEvery = 20 * time.Millisecond

// Watch makes the garbage collector keep to the budget, and calls over again and again while more than most
// bytes are in use, or twice the budget with garbage, until stop. Calls never overlap.
func (b Budget) Watch(most int64, over func(Use)) (stop func()) {
	if b == 0 {
		return func() {}
	}
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, int64(b)))
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	look := func() Use {
		metrics.Read(sample)
		files := mappedNow()
		return Use{int64(sample[0].Value.Uint64()) + files, int64(sample[1].Value.Uint64()) + files}
	}
	if look().Live > most/2 {
		runtime.GC() // what was done before may have left it
	}
	ctx, cancel := context.WithCancel(context.Background())
	check := func() {
		if use := look(); use.Live > most || use.All > 2*int64(b) {
			over(use)
		}
	}
	check()
	go func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				check()
			}
		}
	}()
	return func() {
		cancel()
		debug.SetMemoryLimit(before)
	}
}

// ofMachine is the memory of this machine in bytes, or the limit of the container; 0: not known.
func ofMachine() int64 {
	least := int64(0)
	limit := func(n int64) {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	eachLine("/proc/meminfo", func(line string) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
			n, _ := strconv.ParseInt(f[1], 10, 64) // 0 where it is no number
			limit(n << 10)
		}
	})
	eachLine("/proc/self/cgroup", func(line string) { // "0::/user.slice/x", "4:memory:/docker/y"
		f := strings.SplitN(line, ":", 3)
		if len(f) < 3 || f[1] != "" && f[1] != "memory" {
			return
		}
		root, file := "/sys/fs/cgroup", "memory.max"
		if f[1] != "" {
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for dir := path.Clean("/" + f[2]); ; dir = path.Dir(dir) { // the limits of all groups around it hold
			eachLine(path.Join(root, dir, file), func(line string) {
				n, _ := strconv.ParseInt(line, 10, 64) // "max" is none
				limit(n)
			})
			if dir == "/" {
				return
			}
		}
	})
	return least
}

// eachLine calls f for the lines of a file of the kernel's, if there is one.
func eachLine(file string, f func(line string)) {
	text, err := os.Open(file)
	if err != nil {
		return
	}
	defer text.Close()
	for s := bufio.NewScanner(text); s.Scan(); {
		f(s.Text())
	}
}
