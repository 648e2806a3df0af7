package simulate_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// chains is a trace of chains of CFs, each created by the one before it, on one node with one worker. They
// become longer towards the end.
func chains(count, length int) string {
	var b strings.Builder
	b.WriteString(`#code 1 link atomic
#site 1 code=1
0 n0 s0 GlobalEvents.onProgramStarted process=0 cpu=0
`)
	t, id := 100, 0
	create := func(parent string) {
		id++
		fmt.Fprintf(&b, "%d n0 s0 CFEvents.onCreated cf=0.%d site=1%s\n%d n0 s0 CFEvents.onReady cf=0.%d\n", t, id,
			parent, t, id)
	}
	for range count {
		create("")
	}
	for i := range length {
		for c := range count {
			own := 2000 + 3000*i/length + c*37
			cf := 1 + i*count + c
			fmt.Fprintf(&b, "%d n0 s0 CFEvents.onStarted cf=0.%d\n", t, cf)
			fmt.Fprintf(&b, "%d n0 s0 CFEvents.onFinished cf=0.%d cpu=%d\n", t+own, cf, own)
			t += own
			if i < length-1 {
				create(fmt.Sprintf(" parent=0.%d", cf))
			}
			t += 50
		}
	}
	fmt.Fprintf(&b, "%d n0 s0 GlobalEvents.onProgramFinished cpu=%d\n", t, t)
	return b.String()
}

// A sample is close to the program on other machines, also where CFs differ from the beginning of the run to
// its end; useful time is exact. Small programs need none.
func TestSample(t *testing.T) {
	ctx := context.Background()
	lengths := make([]int, 4800)
	for i := range lengths {
		lengths[i] = 1000 + 4*i + i*7919%3000
	}
	for name, text := range map[string]string{"bag": bag(lengths), "chains": chains(16, 300)} {
		s := simulator(t, sloutest.Build(t, text))
		whole := run(t, s, ownCores)
		if none, err := s.Sample(ctx, whole, simulate.SampleOf); none != nil || err != nil {
			t.Errorf("%s: a sample of %d executions: %v, %v", name, whole.Executed, none, err)
		}
		sample, err := s.Sample(ctx, whole, whole.Executed/24)
		if err != nil || sample == nil {
			t.Fatal(sample, err)
		}
		for _, workers := range []int{1, 2, 4, 8} {
			m := ownCores
			m.Workers = workers
			for code := range s.Codes() {
				m.Speed = map[string]float64{s.Codes()[code]: 1.5}
			}
			got, err := sample.Run(ctx, m)
			if err != nil {
				t.Fatal(err)
			}
			want := run(t, s, m)
			off := float64(got.WallNS)/float64(want.WallNS) - 1
			t.Logf("%s on %d workers: %d of %d ns, %+.1f %%", name, workers, got.WallNS, want.WallNS, 100*off)
			if useful := float64(got.UsefulNS) / float64(want.UsefulNS); math.Abs(useful-1) > 0.001 ||
				got.Executed != want.Executed {
				t.Errorf("%s on %d workers: %+v, exactly %+v", name, workers, got, want)
			}
			if math.Abs(off) > 0.08 {
				t.Errorf("%s on %d workers: %d ns are estimated, %d are exact", name, workers, got.WallNS, want.WallNS)
			}
		}
	}
}

// Where one CF creates all others, no number of workers makes the run shorter than that takes, and estimates
// know: also of machines for which a sample is too small to tell much else.
func TestSampleOneCreator(t *testing.T) {
	ctx := context.Background()
	const count, each, create = 9600, 3000, 2000
	finished := 200 + count*create
	var tasks []task
	for i := range count { // by four workers, of which the first is the creator's
		x := task{created: 100 + (i+1)*create, worker: 1 + i%3, start: 100 + (i+3)*create, ns: each}
		if i >= count*2/3 {
			x.worker, x.start = 0, finished+100+(i-count*2/3)*(each+50)
		}
		tasks = append(tasks, x)
	}
	s, err := simulate.Portable(ctx, sloutest.Build(t, created(finished, tasks)))
	if err != nil {
		t.Fatal(err)
	}
	whole := run(t, s, ownCores)
	sample, err := s.Sample(ctx, whole, whole.Executed/24)
	if err != nil || sample == nil {
		t.Fatal(sample, err)
	}
	for _, workers := range []int{1, 2, 4, 8, 64} {
		m := ownCores
		m.Workers = workers
		got, err := sample.Run(ctx, m)
		if err != nil {
			t.Fatal(err)
		}
		want := run(t, s, m)
		off := float64(got.WallNS)/float64(want.WallNS) - 1
		t.Logf("%d workers: %d of %d ns, %+.1f %%", workers, got.WallNS, want.WallNS, 100*off)
		if math.Abs(off) > 0.2 || got.LeastNS != want.LeastNS {
			t.Errorf("%d workers: estimated %+v, exactly %+v", workers, got, want)
		}
	}
}
