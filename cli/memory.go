package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// # The budget of memory
//
// A block of a trace unpacks to up to 64 times its length, and an event takes more in a model than in a file.
// So a small file can ask for more memory than the machine has, and the kernel would end other programs for
// it.
//
// Two things hold a verb within its budget. Before a trace is read, the counts in the headers of its blocks
// say how much it takes at least. While it is read and analysed, a watch looks at the live heap. It first
// cancels the context, whose cause is the line for the user. Where nothing looks at the context in time, the
// watch says that line and ends the process itself.

// memoryBudget is how many bytes a verb may use.
type memoryBudget struct {
	text  string
	bytes int64 // 0: no limit
}

func (b *memoryBudget) addTo(f *pflag.FlagSet) {
	f.StringVar(&b.text, "memory", "", "use at most so many `bytes` of memory, such as 4Gi (default: half of"+
		" this machine's)")
}

// check reads the flag; processes that share the machine share the default.
func (b *memoryBudget) check(verb string, processes int) error {
	if b.text == "" {
		b.bytes = machineMemory() / 2 / int64(max(processes, 1))
		return nil
	}
	n, err := words.ParseBytes(b.text)
	if err != nil {
		return console.Misuse("%s: --memory=%s: say how many bytes, such as 4Gi or 500M", verb, b.text)
	}
	b.bytes = max(int64(n), 1)
	return nil
}

// What a model takes at least, in bytes; recorded runs take a little more.
const (
	perEvent  = 48
	perStream = 2 << 10
)

// fits fails where a trace is too large for a model of it.
func (b *memoryBudget) fits(r *trace.Reader) error {
	need := int64(r.Events())*perEvent + int64(len(r.Streams()))*perStream
	if b.bytes == 0 || need <= b.bytes {
		return nil
	}
	return b.exceeded(r.Path(), float64(need))
}

// exceeded is the error that a trace needs so many bytes.
func (b *memoryBudget) exceeded(path string, need float64) error {
	need = max(need, float64(b.bytes)*1.1)
	return console.Exit(console.BadUsage, fmt.Errorf("%s: needs about %s of memory, more than the %s it may"+
		" use; give --memory %.0fM", path, words.Bytes(int64(need)), words.Bytes(b.bytes), math.Ceil(need/1e6)))
}

const (
	watchEvery = 20 * time.Millisecond
	// liveHeap is what the last garbage collection found in use, allHeap what is in use or not yet collected.
	liveHeap, allHeap = "/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes"
)

// watch holds what is done for a trace, until done, within the budget. read is which part of the trace is in
// memory, from 0 to 1.
func (b *memoryBudget) watch(ctx context.Context, io console.IO, path string,
	read func() float64) (_ context.Context, done func()) {
	if b.bytes == 0 {
		return ctx, func() {}
	}
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, b.bytes)) // collect garbage rather than exceed the budget
	ctx, cancel := context.WithCancelCause(ctx)
	stop := make(chan struct{})
	go func() {
		sample := []metrics.Sample{{Name: liveHeap}, {Name: allHeap}}
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			metrics.Read(sample)
			live, all := int64(sample[0].Value.Uint64()), int64(sample[1].Value.Uint64())
			if live <= b.bytes && all <= 2*b.bytes {
				continue
			}
			err := b.exceeded(path, float64(max(live, all))/min(max(read(), 0.01), 1))
			cancel(err)
			if live > b.bytes/4*5 || all > 2*b.bytes { // nothing looks at the context
				_ = io.Tell(err) // its code is that of the exit
				os.Exit(console.Code(err))
			}
		}
	}()
	return ctx, func() {
		close(stop)
		cancel(nil)
		debug.SetMemoryLimit(before)
	}
}

// interrupted is why a context has ended: for want of memory, or because the user asked.
func interrupted(ctx context.Context) error {
	var exit *console.Error
	if errors.As(context.Cause(ctx), &exit) {
		return exit
	}
	return console.Exit(console.Interrupted, errors.New("interrupted"))
}

// machineMemory is the memory of this machine in bytes, or the limit of the container; 0: not known.
func machineMemory() int64 {
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
