package cli

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/trace"
)

// traceOptions say how a trace is written.
type traceOptions struct {
	buffer string
	pool   int
	level  int
	sync   bool
	full   string

	set trace.Options // what they mean, once checked
}

// Limits of --trace-buffer, in bytes; those of trace.Options.
const (
	minTraceBuffer = 1 << 10
	maxTraceBuffer = 4 << 20
	maxTracePool   = 1 << 16
)

func (o *traceOptions) addTo(f *pflag.FlagSet) {
	f.StringVar(&o.buffer, "trace-buffer", "128Ki", "`size` of a buffer in which a worker collects events, 1Ki to 4Mi bytes")
	f.IntVar(&o.pool, "trace-pool", trace.DefaultPool, "`number` of buffers of a node beyond one per worker")
	f.IntVar(&o.level, "trace-level", 1, "`level` of compression, 1 (fastest) to 4 (best); 0: none")
	f.BoolVar(&o.sync, "trace-sync", false, "workers write their full buffers themselves, and wait for the disk")
	f.StringVar(&o.full, "trace-full", "wait", "`what` to do when all buffers are full: wait for the disk, or drop events (counted, and told by the report)")
}

// check finds what is wrong with the flags.
func (o *traceOptions) check() error {
	size, err := parseSize(o.buffer)
	switch {
	case err != nil || size < minTraceBuffer || size > maxTraceBuffer:
		return badCommandLine("run: --trace-buffer=%s: say 1Ki to 4Mi bytes", o.buffer)
	case o.pool < 1 || o.pool > maxTracePool:
		return badCommandLine("run: --trace-pool=%d: say 1 to %d", o.pool, maxTracePool)
	case o.level < 0 || o.level > 4:
		return badCommandLine("run: --trace-level=%d: say 1 (fastest) to 4 (best), or 0 for none", o.level)
	case o.full != "wait" && o.full != "drop":
		return badCommandLine("run: --trace-full=%s: say wait or drop", o.full)
	}
	o.set = trace.Options{BufferBytes: size, Pool: o.pool, Level: o.level, Sync: o.sync}
	if o.level == 0 {
		o.set.Level = -1
	}
	if o.full == "drop" {
		o.set.Full = trace.Drop
	}
	return nil
}

// settings are those that differ from the defaults, for run.json.
func (o *traceOptions) settings() map[string]string {
	s := map[string]string{}
	if o.set.BufferBytes != trace.DefaultBuffer {
		s["trace_buffer"] = strconv.Itoa(o.set.BufferBytes)
	}
	if o.pool != trace.DefaultPool {
		s["trace_pool"] = strconv.Itoa(o.pool)
	}
	if o.level != 1 {
		s["trace_level"] = strconv.Itoa(o.level)
	}
	if o.sync {
		s["trace_sync"] = "on"
	}
	if o.full != "wait" {
		s["trace_full"] = o.full
	}
	return s
}

// writing gives the options for the nodes' writers. The first error of any is told at once.
func (o *traceOptions) writing(io stdio) trace.Options {
	opt := o.set
	var once sync.Once
	opt.OnError = func(err error) {
		once.Do(func() { io.say("warning: %v; the program goes on, and what it does from now on is not recorded", err) })
	}
	return opt
}

// parseSize reads a number of bytes with an optional factor: k, M (powers of 1000) or Ki, Mi.
func parseSize(s string) (int, error) {
	number, factor := strings.TrimSuffix(s, "B"), 1
	for _, f := range []struct {
		suffix string
		factor int
	}{{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"k", 1000}, {"K", 1000}, {"M", 1000_000}} {
		if rest, ok := strings.CutSuffix(number, f.suffix); ok {
			number, factor = rest, f.factor
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil || n > 1<<40/uint64(factor) {
		return 0, fmt.Errorf("%q is no size such as 128Ki", s)
	}
	return int(n) * factor, nil
}
