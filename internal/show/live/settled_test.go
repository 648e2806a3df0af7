package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
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
	told
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
	kinds := []string{"barrier", "broadcast", "reduce", "exchange", "prefix-reduce", "alloc", "notify"}
	kind := rapid.SampledFrom(kinds).Draw(p.t, "kind")
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

// TestSettled: whatever has come of a run of regions, in whatever order, the time that is told is divided as
// it will be in the end. Where CFs use collectives and locks, the answer is slou's on what has arrived.
func TestSettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfs := rapid.IntRange(0, 3).Draw(t, "cfs") == 0
		p := drawProgram(t, cfs)
		whole := sloutest.Build(t, p.text(func(int) bool { return true }), model.Options{Interpolated: true})
		final, err := slou.Pieces(context.Background(), whole, slou.Options{}, procs.Alone())
		if err != nil {
			t.Fatal(err)
		}
		told, total, number := map[int]int{}, map[int]int{}, []int{} // by node; of a line in its stream
		for _, l := range p.lines {
			number = append(number, total[l.node])
			total[l.node]++
		}
		for left := nodesOf(p.now); len(left) > 0; {
			i := rapid.IntRange(0, len(left)-1).Draw(t, "node")
			node := left[i]
			told[node] += rapid.IntRange(1, 15).Draw(t, "events")
			if told[node] >= total[node] {
				left = slices.Delete(left, i, i+1)
			}
			if len(left) > 0 && rapid.IntRange(0, 3).Draw(t, "look") > 0 {
				continue
			}
			text := p.text(func(i int) bool { return number[i] < told[p.lines[i].node] })
			sloutest.Folder(t, text, func(dir string) {
				m := sloutest.Load(t, dir, model.Options{Interpolated: true})
				if m.Wall() == 0 || m.Regions == nil {
					return
				}
				got := factors(t, following(dir), 0, m.Wall(), 13)
				if cfs || len(left) == 0 {
					if diff := cmp.Diff(cut(t, m, true, 0, m.Wall(), got.Windows), got); diff != "" {
						t.Fatalf("%s\n(-slou +live):\n%s", text, diff)
					}
					return
				}
				for i, lane := range got.Lanes {
					known := m.Wall() - lane.Sum[undivided]
					want := make([]int64, len(lane.Sum))
					want[undivided] = m.Wall() - known
					for _, piece := range final[i].Pieces {
						want[piece.Factor] += max(0, min(piece.To, m.Start+known)-max(piece.From, m.Start))
					}
					if diff := cmp.Diff(want, lane.Sum); diff != "" {
						t.Fatalf("%s\nworker %d, known for %d of %d: in the end (-), now (+)\n%s",
							text, i, known, m.Wall(), diff)
					}
				}
			})
		}
	})
}
