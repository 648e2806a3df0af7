package advise_test

import (
	"context"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/analysis/pattern"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/upctest"
	"github.com/whyslow/whyslow/trace"
)

// TestPGASCompiled gives advice on compiled programs that lose time on purpose, so much that a busy computer
// does not change who is late.
func TestPGASCompiled(t *testing.T) {
	if err := upctest.Missing(upctest.Threads); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		program string
		args    []string
		id      string
		words   []string
	}{
		{"barrier", []string{"0,50,500,30", "0", "2"}, "late-thread", []string{"Thread 2 came last 2 times", "upc_",
			"(barrier.c:"}},
		{"lock", []string{"0,5,10,15", "0", "2", "40"}, "lock-contention",
			[]string{"upc_lock", "for lock `upc_all_lock_alloc` (lock.c:47): it", "held it for"}},
		{"alloc", []string{"0,30,60,20", "0", "3", "memory"}, "late-thread",
			[]string{"Thread 2 came last 3 times", "`upc_all_alloc` (alloc.c:"}},
	} {
		t.Run(c.program, func(t *testing.T) {
			t.Parallel()
			r, err := trace.Open(upctest.Run(t, c.program, upctest.Options{Threads: 4, Args: c.args}))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			ctx := context.Background()
			in := advise.Input{}
			if in.Model, err = model.Build(ctx, r, model.Options{}); err != nil {
				t.Fatal(err)
			}
			if in.Pattern, err = pattern.Compute(ctx, in.Model, procs.Alone()); err != nil {
				t.Fatal(err)
			}
			if in.SLOU, err = slou.Compute(ctx, in.Model, slou.Options{Patterns: in.Pattern},
				procs.Alone()); err != nil {
				t.Fatal(err)
			}
			a := adviceOn(in, c.id)
			if a == nil {
				t.Fatalf("no such advice: %+v", advise.Alone(in))
			}
			for _, w := range c.words {
				if !strings.Contains(a.Text, w) {
					t.Errorf("it does not say %q: %s", w, a.Text)
				}
			}
		})
	}
}
