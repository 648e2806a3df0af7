package division

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/trace"
)

// Codes of regions; their sites have the same numbers.
const (
	inMain = iota + 1
	inBarrier
	inGet
	inLock
	inUnlock
	inNotify
	inCollective
	inAlloc
	inUntil
	ofCF
)

const regionHead = `#node %d
#code 1 main function
#code 2 barrier barrier
#code 3 get bulk
#code 4 lock lock
#code 5 unlock lock
#code 6 notify barrier
#code 7 collective collective
#code 8 alloc memory
#code 9 until await
#code 10 step atomic
`

// program makes up a run of threads that keep the rules.
type program struct {
	story
	t     *rapid.T
	now   []int64
	freed map[int]int64 // when a lock is free again
}

func (p *program) event(node int, format string, args ...any) {
	text := fmt.Sprintf("%d n%d s0 ", p.now[node], node) + fmt.Sprintf(format, args...)
	p.lines = append(p.lines, line{node, 0, text})
}

func (p *program) step() int64 { return rapid.Int64Range(1, 40).Draw(p.t, "step") }

func (p *program) enter(node, site int) { p.event(node, "Region.onEntered %d", site) }
func (p *program) exit(node, site int)  { p.event(node, "Region.onExited %d", site) }

// alone is what a thread does by itself.
func (p *program) alone(node, site int) {
	p.enter(node, site)
	if site == inGet {
		p.event(node, "Message.onGet from=%d bytes=8", rapid.IntRange(0, len(p.now)-1).Draw(p.t, "from"))
	}
	p.now[node] += p.step()
	p.exit(node, site)
}

// together lets all threads pass a collective: nobody leaves before all have come, where that is so.
func (p *program) together() {
	kind := rapid.SampledFrom([]string{"barrier", "broadcast", "reduce", "exchange", "prefix-reduce", "alloc", "notify"}).Draw(p.t, "kind")
	sync := rapid.SampledFrom([]string{"all/all", "my/no", "no/no"}).Draw(p.t, "sync")
	site, latest := inCollective, int64(0)
	switch kind {
	case "barrier":
		site, sync = inBarrier, ""
	case "alloc":
		site, sync = inAlloc, ""
	case "notify":
		site, sync = inBarrier, ""
		for node := range p.now {
			p.enter(node, inNotify)
			p.event(node, "Sync.onCollective notify size=%d", len(p.now))
			latest = max(latest, p.now[node])
			p.now[node] += p.step()
			p.exit(node, inNotify)
			p.now[node] += p.step()
		}
		kind = "wait"
	}
	for node := range p.now {
		p.enter(node, site)
		p.event(node, "Sync.onCollective %s sync=%q size=%d root=0", kind, sync, len(p.now))
		if kind != "wait" {
			latest = max(latest, p.now[node])
		}
	}
	for node := range p.now {
		p.now[node] += p.step()
		if sync != "no/no" && (sync != "my/no" || rapid.Bool().Draw(p.t, "waits")) {
			p.now[node] = max(p.now[node], latest+p.step())
		}
		p.exit(node, site)
	}
}

// section lets some threads pass through a section with a lock, in the order in which they ask for it.
func (p *program) section() {
	order := rapid.Permutation(nodesOf(p.now)).Draw(p.t, "order")
	slices.SortStableFunc(order, func(a, b int) int { return int(p.now[a] - p.now[b]) })
	lock := rapid.IntRange(1, 2).Draw(p.t, "lock")
	for _, node := range order[:rapid.IntRange(0, len(order)).Draw(p.t, "count")] {
		p.enter(node, inLock)
		p.now[node] = max(p.now[node], p.freed[lock]) + p.step()
		p.event(node, "Sync.onAcquired %d", lock)
		p.now[node] += p.step()
		p.exit(node, inLock)
		p.now[node] += p.step()
		p.enter(node, inUnlock)
		p.event(node, "Sync.onReleased %d", lock)
		p.freed[lock] = p.now[node]
		p.now[node] += p.step()
		p.exit(node, inUnlock)
	}
}

func nodesOf(now []int64) (list []int) {
	for node := range now {
		list = append(list, node)
	}
	return list
}

// drawProgram makes up a run; with CFs, one of each thread is there from the beginning to the end.
func drawProgram(t *rapid.T, cfs bool) *program {
	n := rapid.IntRange(1, 4).Draw(t, "nodes")
	p := &program{t: t, now: make([]int64, n), freed: map[int]int64{}}
	var nodes []string
	for node := range n {
		nodes = append(nodes, fmt.Sprintf(`{"node":%d,"process":%[1]d,"workers":1}`, node))
		p.head += fmt.Sprintf(regionHead, node)
		for site := inMain; site <= ofCF; site++ {
			p.head += fmt.Sprintf("#site %d code=%d at=p.upc:%d:0\n", site, site, site)
		}
	}
	p.head = fmt.Sprintf("#run {\"ended\":\"done\",\"nodes\":[%s]}\n", strings.Join(nodes, ",")) + p.head
	for node := range n {
		p.now[node] = p.step()
		p.event(node, "Global.onProgramStarted")
		p.now[node] += p.step()
		if cfs {
			p.event(node, "CF.onCreated cf=%d.1 site=%d", node, ofCF)
			p.event(node, "CF.onStarted %d.1", node)
			p.now[node] += p.step()
		}
		p.enter(node, inMain)
	}
	for range rapid.IntRange(0, 12).Draw(t, "phases") {
		for node := range n {
			p.now[node] += p.step()
			if rapid.Bool().Draw(t, "alone") {
				p.alone(node, rapid.SampledFrom([]int{inGet, inUntil}).Draw(t, "site"))
				p.now[node] += p.step()
			}
		}
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0:
			p.section()
		case 1, 2:
			p.together()
		}
	}
	for node := range n {
		p.now[node] += p.step()
		p.exit(node, inMain)
		if cfs {
			p.now[node] += p.step()
			p.event(node, "CF.onFinished %d.1", node)
		}
		p.now[node] += p.step()
		p.event(node, "Global.onProgramFinished")
	}
	return p
}

// taking feeds a division, and lets it take over models from time to time.
type taking struct {
	*Division
	s       *story
	defs    map[int]*trace.Defs
	streams map[[2]int]*trace.Batch
	told    map[int]int // by node
	total   map[int]int
	number  []int // of a line in its stream
}

func newTaking(t failer, s *story) *taking {
	info, defs, streams := s.streams(t)
	k := &taking{New(Options{Info: info}), s, defs, streams, map[int]int{}, map[int]int{}, nil}
	for _, l := range s.lines {
		k.number = append(k.number, k.total[l.node])
		k.total[l.node]++
	}
	return k
}

// more delivers some events of a node.
func (k *taking) more(node, count int) {
	from := k.told[node]
	to := min(from+count, k.total[node])
	k.Add(k.defs[node], part(k.streams[[2]int{node, 0}], from, to))
	k.told[node] = to
}

// take makes a model of what has been delivered.
func (k *taking) take(t failer) *model.Model {
	t.Helper()
	m := sloutest.Build(t, k.s.text(func(i int) bool { return k.number[i] < k.told[k.s.lines[i].node] }), model.Options{Interpolated: true})
	walk := func(ctx context.Context, visit func(model.WorkerID, iter.Seq[[]slou.Piece])) error {
		return slou.Visit(ctx, m, slou.Options{}, procs.Alone(), visit)
	}
	if err := k.Take(context.Background(), m, walk); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRegionsLive: whatever has come of a run of regions, in whatever order, the time that is told is divided as it will be in the end.
func TestRegionsLive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t, false)
		k := newTaking(t, &p.story)
		whole := sloutest.Build(t, p.text(func(int) bool { return true }), model.Options{Interpolated: true})
		final, err := slou.Pieces(context.Background(), whole, slou.Options{}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		left := nodesOf(p.now)
		for len(left) > 0 {
			i := rapid.IntRange(0, len(left)-1).Draw(t, "node")
			node := left[i]
			k.more(node, rapid.IntRange(1, 15).Draw(t, "events"))
			if k.told[node] == k.total[node] {
				left = slices.Delete(left, i, i+1)
			}
			if rapid.IntRange(0, 3).Draw(t, "take") == 0 {
				k.take(t)
			}
			if rapid.IntRange(0, 2).Draw(t, "look") == 0 && k.Regions() {
				k.asInTheEnd(t, final)
			}
		}
		m := k.take(t)
		ended(t, m, k.Division)
	})
}

// asInTheEnd compares what is known with the pieces of the whole run: of each worker a first stretch is, and the rest is nothing.
func (k *taking) asInTheEnd(t *rapid.T, final []slou.WorkerPieces) {
	span := k.Span()
	wall := span.To - span.From
	if wall == 0 {
		return
	}
	all := k.Windows(0, wall, int(min(wall, MaxWindows)), nil)
	for i, lane := range all.Lanes {
		known := wall - lane.Sum[undivided]
		want := make([]int64, len(lane.Sum))
		want[undivided] = wall - known
		for _, piece := range final[i].Pieces {
			want[piece.Factor] += max(0, min(piece.To, span.From+known)-max(piece.From, span.From))
		}
		if diff := cmp.Diff(want, lane.Sum); diff != "" {
			t.Fatalf("%s\nworker %d, known for %d of %d from %d: in the end (-), now (+)\n%s", k.s.text(func(i int) bool { return k.number[i] < k.told[k.s.lines[i].node] }),
				i, known, wall, span.From, diff)
		}
	}
}

// ended compares a division that has everything with slou.
func ended(t failer, m *model.Model, d *Division) {
	t.Helper()
	for _, n := range []int{1, 13} {
		want := cutPieces(t, m, slou.Options{}, 0, m.Wall(), n, nil)
		got := d.Windows(0, m.Wall(), n, nil)
		if !d.Regions() {
			t.Fatal("no regions")
		}
		if ns := got.Sum[undivided]; ns != 0 {
			t.Errorf("%d ns of %d are not known in the end", ns, m.Wall())
		}
		got.Rows, got.Sum = got.Rows[:factors], got.Sum[:factors]
		got.Total = got.Total[:factors]
		for i := range got.Lanes {
			got.Lanes[i].Sum = got.Lanes[i].Sum[:factors]
		}
		for i := range got.Nodes {
			got.Nodes[i].Sum, got.Nodes[i].Windows = got.Nodes[i].Sum[:factors], got.Nodes[i].Windows[:factors]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%d windows (-slou +division):\n%s", n, diff)
		}
	}
}

// TestRegionsOfCFs: where CFs use collectives and locks, what a model tells is what slou says of it, and what came after it is not known.
func TestRegionsOfCFs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t, true)
		k := newTaking(t, &p.story)
		left := nodesOf(p.now)
		for len(left) > 0 {
			i := rapid.IntRange(0, len(left)-1).Draw(t, "node")
			k.more(left[i], rapid.IntRange(1, 15).Draw(t, "events"))
			if k.told[left[i]] == k.total[left[i]] {
				left = slices.Delete(left, i, i+1)
			}
			if rapid.IntRange(0, 3).Draw(t, "take") > 0 || !k.Regions() {
				continue
			}
			m := k.take(t)
			if slou.Null(m) != ([slou.FactorLoss]bool{}) {
				continue // run.json says that it has ended, and CFs have not
			}
			ended(t, m, k.Division)
			if len(left) > 0 {
				k.more(left[0], 3)
				w := k.Windows(0, 1<<40, 1, nil)
				var known int64
				for _, ns := range w.Sum[:undivided] {
					known += ns
				}
				if most := m.Wall() * int64(len(p.now)); known > most || known+w.Sum[undivided] != (k.end-k.start)*int64(len(w.Lanes)) {
					t.Fatalf("%d of %d are known, %d are not", known, most, w.Sum[undivided])
				}
			}
		}
		ended(t, k.take(t), k.Division)
	})
}

// TestRegionGoldens: the hand-written traces of regions, before and after a model of them has been taken over.
func TestRegionGoldens(t *testing.T) {
	paths, err := filepath.Glob("../../../analysis/slou/testdata/regions/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			dir := t.TempDir()
			golden(t, path, dir)
			m := sloutest.Load(t, dir, model.Options{Interpolated: true})
			info, list := blocks(t, dir)
			d := divided(Options{Info: info}, list, true)
			for _, lane := range d.Windows(0, m.Wall(), 1, nil).Lanes {
				if diff := cmp.Diff([]int64{0, 0, 0, 0, 0, 0, m.Wall()}, lane.Sum); diff != "" {
					t.Errorf("lane %d before anything is known:\n%s", lane.Lane, diff)
				}
			}
			if err := d.Take(context.Background(), m, func(ctx context.Context, visit func(model.WorkerID, iter.Seq[[]slou.Piece])) error {
				return slou.Visit(ctx, m, slou.Options{}, procs.Alone(), visit)
			}); err != nil {
				t.Fatal(err)
			}
			ended(t, m, d)
		})
	}
}
