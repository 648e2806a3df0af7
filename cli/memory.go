package cli

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/spf13/pflag"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// memoryBudget is how many bytes a verb may use.
type memoryBudget struct {
	text string
	memory.Budget
}

func (b *memoryBudget) addTo(f *pflag.FlagSet) {
	f.StringVar(&b.text, "memory", "", "use at most this many `bytes` of memory for traces, such as 4Gi"+
		" (default: half of this machine's)")
}

// check reads the flag; processes that share the machine share the default.
func (b *memoryBudget) check(verb string, processes int) error {
	if b.text == "" {
		b.Budget = memory.Default(processes)
		return nil
	}
	n, err := words.ParseBytes(b.text)
	if err != nil {
		return console.Misuse("%s: --memory=%s: give a number of bytes, such as 4Gi or 500M", verb, b.text)
	}
	b.Budget = max(memory.Budget(n), 1)
	return nil
}

// spill gives space on disk for the model of a trace that is too large for memory, used until the process
// ends; nil where the trace fits. It fails where neither memory nor disk has room.
func (b *memoryBudget) spill(r *trace.Reader) (*memory.Spill, error) {
	dfs, defs := r.DefsSize()
	if s := b.Spill(r.Path(), r.Events(), len(r.Streams()), dfs, defs); s != nil {
		return s, nil
	}
	return nil, b.fits(r)
}

// fits fails where a trace is too large for a model of it.
func (b *memoryBudget) fits(r *trace.Reader) error {
	dfs, defs := r.DefsSize()
	return badInput(b.Fits(r.Path(), r.Events(), len(r.Streams()), dfs, defs))
}

// open opens a trace, or the part of one, of which the definitions fit.
func (b *memoryBudget) open(path string, part, parts int) (*trace.Reader, error) {
	return trace.OpenWith(path, trace.OpenOptions{Part: part, Parts: parts, Room: b.Room(path)})
}

// looksAfter is how many looks at the heap, 20 ms apart, the context may have ended before the process does.
const looksAfter = 10

// watch holds what is done for a trace, until done, within the budget. read is which part of the trace is in
// memory, from 0 to 1. It first cancels the context, whose cause is the line for the user. Where nothing
// looks at the context in time, it calls end with that line, which is to end the process; nil says the line
// and ends it.
func (b *memoryBudget) watch(ctx context.Context, io console.IO, path string, read func() float64,
	end func(error)) (_ context.Context, done func()) {
	if end == nil {
		end = func(err error) {
			_ = io.Tell(err) // its code is that of the exit
			os.Exit(console.Code(err))
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var mu sync.Mutex // whoever has it first says the line
	looks, ended := 0, false
	stop := b.Watch(int64(b.Budget), func(use memory.Use) {
		err := b.Exceeded(path, float64(max(use.Live, use.All))/min(max(read(), 0.01), 1))
		cancel(err)
		mu.Lock()
		defer mu.Unlock()
		looks++
		if !ended && looks > looksAfter && (use.Live > int64(b.Budget)/4*5 || use.All > 2*int64(b.Budget)) {
			end(err)
		}
	})
	return ctx, func() {
		stop()
		cancel(nil)
		mu.Lock()
		ended = true
		mu.Unlock()
	}
}

// interrupted is why a context has ended: for want of memory, or because the user asked.
func interrupted(ctx context.Context) error {
	var large *memory.TooLarge
	if errors.As(context.Cause(ctx), &large) {
		return badInput(large)
	}
	return console.Exit(console.Interrupted, errors.New("interrupted"))
}
