package division

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/trace"
)

// forget lets a division forget what ended before a time, as it would if that were needed to save memory.
func (d *Division) forgetBefore(horizon int64, age int) {
	d.settle()
	d.horizon = max(d.horizon, horizon)
	d.freeze()
	d.forgetOld(age)
	for w := range d.eachWorker {
		w.trim()
	}
}

// TestForget forgets what is old at random moments of a run whose events come in order. As long as nothing comes too late, what
// is known stays exact; of what is folded the sums of buckets do.
func TestForget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sloutest.Random(t)
		if rapid.Bool().Draw(t, "waits") {
			r.AddWaits(t)
		}
		opt := randomOptions(t)
		s := newStory(r)
		info, defs, streams := s.streams(t)
		opt.Info = info
		d := New(opt)
		d.limit, d.bucket = 1<<40, 1
		fold := rapid.Bool().Draw(t, "fold")
		now := map[[2]int]int{}
		for i, l := range s.lines {
			k := [2]int{l.node, l.stream}
			d.Add(defs[l.node], part(streams[k], now[k], now[k]+1))
			now[k]++
			if rapid.IntRange(0, 9).Draw(t, "forget") == 0 {
				d.forgetBefore(r.Events[i].Time-rapid.Int64Range(0, 20).Draw(t, "back"), 0)
				if fold && d.horizon > d.start {
					d.limit = rapid.Int64Range(1, 1<<20).Draw(t, "limit")
					d.fold(rapid.IntRange(0, 1).Draw(t, "age"))
					d.limit = 1 << 40
				}
			}
		}
		if d.late > 0 {
			t.Fatal("events came in order, and some were late")
		}
		m := sloutest.Build(t, s.text(func(int) bool { return true }), model.Options{Interpolated: true})
		n := int(m.Wall()/d.bucket) + 1
		got := d.Windows(0, int64(n)*d.bucket, n, nil)
		want := cutPieces(t, m, slou.Options{DataInputsOnly: opt.DataInputsOnly}, 0, int64(n)*d.bucket, n, nil)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\nbuckets of %d, forgotten until %d, (-slou +division):\n%s", s.text(func(int) bool { return true }), d.bucket, d.horizon, diff)
		}
	})
}

// TestForgetHarmed forgets what is old of nonsense, more or less of it. Whatever comes, every worker's pieces add up to its time.
func TestForgetHarmed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sloutest.Random(t)
		if rapid.Bool().Draw(t, "waits") {
			r.AddWaits(t)
		}
		r.Harm(t)
		s := newStory(r)
		if rapid.Bool().Draw(t, "clocks") && len(r.Events) > 0 {
			addSyncs(t, s, r)
		}
		info, defs, streams := s.streams(t)
		d := New(Options{Info: info})
		d.limit, d.bucket = rapid.SampledFrom([]int64{1, 1 << 40}).Draw(t, "bytes"), 4
		var keys [][2]int
		for k := range streams {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
		now := map[[2]int]int{}
		for len(keys) > 0 {
			i := rapid.IntRange(0, len(keys)-1).Draw(t, "stream")
			k := keys[i]
			to := min(now[k]+rapid.IntRange(1, 9).Draw(t, "events"), streams[k].N)
			d.Add(defs[k[0]], part(streams[k], now[k], to))
			if now[k] = to; to == streams[k].N {
				keys = append(keys[:i], keys[i+1:]...)
			}
			if rapid.IntRange(0, 3).Draw(t, "forget") == 0 {
				d.forgetBefore(rapid.Int64Range(0, 100).Draw(t, "horizon"), rapid.IntRange(0, 3).Draw(t, "age"))
				if d.horizon > d.start {
					d.fold(rapid.IntRange(0, 1).Draw(t, "fold"))
				}
			}
			wall := d.end - d.start
			got := d.Windows(0, wall, 7, nil)
			for _, l := range got.Lanes {
				sum := int64(0)
				for f, ns := range l.Sum {
					if sum += ns; ns < 0 {
						t.Fatalf("lane %d has %d ns of %s", l.Lane, ns, got.Rows[f])
					}
				}
				if wall = d.end - d.start; sum != wall && got.To == wall {
					t.Fatalf("%s\nlane %d has %d ns of %d", s.text(func(int) bool { return true }), l.Lane, sum, wall)
				}
			}
		}
	})
}

// long is a run of many short CFs, each of which uses what the one before made.
func long(n int) *trace.Batch {
	b := &trace.Batch{Off: []uint32{0}}
	add := func(t int64, k trace.Kind, args ...uint64) {
		b.Time, b.Kind, b.Words = append(b.Time, t), append(b.Kind, k), append(b.Words, args...)
		b.Off = append(b.Off, uint32(len(b.Words)))
		b.N++
	}
	add(0, trace.KindProgramStarted, 0, 0)
	for i := range uint64(n) {
		t, cf := int64(i)*1000, uint64(trace.MakeCF(0, i+1))
		add(t+10, trace.KindCFCreated, cf, 0, 0, 1, 0, 0)
		add(t+100, trace.KindCFReady, cf, 0)
		add(t+300, trace.KindCFStarted, cf, 1, 1, i)
		add(t+900, trace.KindDFCreate, i+1, 8, cf)
		add(t+900, trace.KindCFFinished, cf, 1, ^uint64(0))
		add(t+910, trace.KindCFDestroyed, cf)
		add(t+950, trace.KindDFDestroy, i, 8, 0)
	}
	add(int64(n)*1000, trace.KindProgramFinished, 0)
	return b
}

// TestMemory takes in more than it may hold.
func TestMemory(t *testing.T) {
	const n, limit = 200000, 4 << 20
	b := long(n)
	d := New(Options{MaxBytes: limit, Info: &trace.RunInfo{Nodes: []trace.NodeInfo{{Workers: 1}}}})
	most := int64(0)
	for i := 0; i < b.N; i += 700 {
		d.Add(new(trace.Defs), part(b, i, min(i+700, b.N)))
		most = max(most, d.bytes())
	}
	if most > limit*5/4 {
		t.Errorf("%d bytes were held, %d were allowed", most, limit)
	}
	h := d.History()
	if d.Late() != 0 || h.Folded == 0 || h.Horizon <= h.Folded || h.Folded%h.Bucket != 0 {
		t.Errorf("late %d, history %+v", d.Late(), h)
	}
	got := d.Windows(0, n*1000, 1, nil)
	if got.Sum[0] != n*600 || got.Sum[1]+got.Sum[3] != n*400 {
		t.Errorf("the sums are %v", got.Sum)
	}
	whole := New(Options{Info: &trace.RunInfo{Nodes: []trace.NodeInfo{{Workers: 1}}}})
	whole.Add(new(trace.Defs), b)
	for _, w := range []int64{h.Bucket, 4 * h.Bucket} {
		k := h.Folded / w
		if diff := gocmp.Diff(whole.Windows(0, k*w, int(k), nil), d.Windows(0, k*w, int(k), nil)); diff != "" {
			t.Errorf("windows of %d (-all kept +folded):\n%s", w, diff)
		}
	}
	if diff := gocmp.Diff(whole.Windows(h.Folded, n*1000, 997, nil), d.Windows(h.Folded, n*1000, 997, nil)); diff != "" {
		t.Errorf("after what is folded (-all kept +folded):\n%s", diff)
	}
}
