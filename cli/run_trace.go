package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/record/modules"
	"github.com/whyslow/whyslow/trace"
)

// traceOptions say how a trace is written.
type traceOptions struct {
	buffer string
	pool   int
	level  int
	sync   bool
	full   string
	flush  string
}

func (o *traceOptions) addTo(f *pflag.FlagSet) {
	f.StringVar(&o.buffer, "trace-buffer", "128Ki", "`size` of a buffer in which a worker collects events,"+
		" 1Ki to 4Mi bytes")
	f.IntVar(&o.pool, "trace-pool", trace.DefaultPool, "`number` of buffers of a node beyond one per worker")
	f.IntVar(&o.level, "trace-level", 1, "`level` of compression, 1 (fastest) to 4 (best); 0: none")
	f.BoolVar(&o.sync, "trace-sync", false, "workers write their full buffers themselves, and wait for the disk")
	f.StringVar(&o.full, "trace-full", "wait", "`what` to do when all buffers are full: wait for the disk,"+
		" or drop events (the report says how many)")
	f.StringVar(&o.flush, "trace-flush", "1s", "write events after this `time` even if no buffer is"+
		" full; 0: never (with --live or --to: 200ms)")
}

// check finds what is wrong with the flags.
func (o *traceOptions) check() error {
	if _, err := modules.TraceOptions(o.buffer, o.pool, o.level, o.sync, o.full, o.flush); err != nil {
		return console.Misuse("run: --trace-%w", err)
	}
	return nil
}

// traceFlags are the flags of traceOptions.
var traceFlags = []string{"trace-buffer", "trace-pool", "trace-level", "trace-sync", "trace-full",
	"trace-flush"}

// sets turns the flags that were given into settings of the trace writer, each with what the user wrote.
func (o *traceOptions) sets(f *pflag.FlagSet) map[string]string {
	sets := map[string]string{}
	set := func(param, value, written string) { sets[modules.TraceWriterName+"."+param+"="+value] = written }
	for _, flag := range traceFlags {
		if f.Changed(flag) {
			value := f.Lookup(flag).Value.String()
			set(strings.TrimPrefix(flag, "trace-"), value, "--"+flag+"="+value)
		}
	}
	if dir := f.Lookup("output"); dir.Changed {
		set("dir", dir.Value.String(), "-o "+dir.Value.String())
		set("enabled", "true", "-o "+dir.Value.String())
	}
	return sets
}
