package counters_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// heldCopy is a copy of a DF on a node, from when to when; math.MaxInt64 if it is never dropped.
type heldCopy struct {
	node, df int
	from, to int64
}

// message is a DF or CF on its way; a time is -1 where it was not recorded.
type message struct {
	from, to       int
	sent, received int64
	bytes          int64
	cf             bool
}

// memoryRun is a random run of which only DFs and messages count.
type memoryRun struct {
	nodes    int
	wall     int64
	killed   bool
	sizes    []int64 // by DF
	names    []int   // by DF
	made     []int64
	gone     []int64
	copies   []heldCopy
	messages []message
}

func randomMemory(t *rapid.T) *memoryRun {
	n := func(lo, hi int64) int64 { return rapid.Int64Range(lo, hi).Draw(t, "n") }
	r := &memoryRun{nodes: int(n(1, 3)), wall: n(1, 120), killed: n(0, 3) == 0}
	end := func(from int64) int64 {
		if n(0, 5) == 0 {
			return math.MaxInt64
		}
		return n(from, r.wall)
	}
	for range n(1, 8) {
		r.sizes, r.names = append(r.sizes, n(0, 50)), append(r.names, int(n(0, 2)))
		r.made = append(r.made, n(0, r.wall))
		r.gone = append(r.gone, end(r.made[len(r.made)-1]))
	}
	for range n(1, 20) {
		from := n(0, r.wall)
		r.copies = append(r.copies, heldCopy{int(n(0, int64(r.nodes)-1)), int(n(0, int64(len(r.sizes))-1)),
			from, end(from)})
	}
	if r.nodes > 1 {
		for range n(1, 12) {
			g := message{from: int(n(0, int64(r.nodes)-1)), sent: n(0, r.wall), bytes: n(0, 99),
				cf: n(0, 2) == 0}
			g.to = (g.from + int(n(1, int64(r.nodes)-1))) % r.nodes
			g.received = n(g.sent, r.wall)
			switch n(0, 7) {
			case 0:
				g.received = -1
			case 1:
				g.sent = -1
			case 2:
				g.sent, g.received = g.received, g.sent
			}
			r.messages = append(r.messages, g)
		}
	}
	return r
}

func (r *memoryRun) text() string {
	var s strings.Builder
	ended := "done"
	if r.killed {
		ended = ""
	}
	fmt.Fprintf(&s, `#run {"ended":%q,"nodes":[`, ended)
	for n := range r.nodes {
		if n > 0 {
			s.WriteString(",")
		}
		fmt.Fprintf(&s, `{"node":%d,"process":0,"workers":1}`, n)
	}
	s.WriteString("]}\n")
	var lines []string
	line := func(t int64, node int, format string, args ...any) {
		if t >= 0 && t != math.MaxInt64 {
			lines = append(lines, fmt.Sprintf("%d n%d s5 ", 1000+t, node)+fmt.Sprintf(format, args...))
		}
	}
	for n := range r.nodes {
		fmt.Fprintf(&s, "#node %d\n", n)
		for df, name := range r.names {
			fmt.Fprintf(&s, "#df %d %c [0 %d %d]\n", df+1, 'a'+name, name, df+1)
		}
		fmt.Fprintf(&s, "1000 n%d s0 GlobalEvents.onProgramStarted\n", n)
		if !r.killed || n > 0 {
			fmt.Fprintf(&s, "%d n%d s0 GlobalEvents.onProgramFinished\n", 1000+r.wall, n)
		} else {
			fmt.Fprintf(&s, "%d n%d s0 GlobalEvents.onIdle\n", 1000+r.wall, n)
		}
	}
	for df := range r.sizes {
		line(r.made[df], 0, "DFEvents.onCreate df=%d size=%d cf=-", df+1, r.sizes[df])
		line(r.gone[df], 0, "DFEvents.onDestroy df=%d size=%d reason=expired", df+1, r.sizes[df])
	}
	for _, c := range r.copies {
		line(c.from, c.node, "DFEvents.onStored df=%d size=%d", c.df+1, r.sizes[c.df])
		line(c.to, c.node, "DFEvents.onDropped df=%d size=%d", c.df+1, r.sizes[c.df])
	}
	for i, g := range r.messages {
		if g.cf {
			line(g.sent, g.from, "CFEvents.onMigrated cf=0.%d to=%d bytes=%d", i+1, g.to, g.bytes)
			line(g.received, g.to, "CFEvents.onReceived cf=0.%d from=%d bytes=%d", i+1, g.from, g.bytes)
			continue
		}
		line(g.sent, g.from, "DFEvents.onSent df=1 to=%d bytes=%d message=0.%d request=- cf=-", g.to, g.bytes,
			i+1)
		line(g.received, g.to, "DFEvents.onReceived df=1 from=%d bytes=%d message=0.%d request=- cf=-",
			g.from, g.bytes, i+1)
	}
	s.WriteString(strings.Join(lines, "\n") + "\n")
	return s.String()
}

// level gives the values of what counts x from one time to another.
func (r *memoryRun) level() values { return make(values, r.wall+1) }

func (v values) add(from, to, x int64) {
	for t := from; t < min(to, int64(len(v))); t++ {
		v[t] += x
	}
}

// TestMemoryByDefinition compares bytes and copies held, DFs, and who held what at the peaks.
func TestMemoryByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := randomMemory(t)
		m := sloutest.Build(t, run.text())
		r := compute(t, m, counters.Options{Windows: rapid.IntRange(1, 40).Draw(t, "windows"), Holders: -1})
		null := map[string]bool{}
		for _, x := range r.Missing {
			for _, name := range x.Series {
				null[name] = true
			}
		}
		if !null[counters.BytesHeld] {
			for node := -1; node < run.nodes; node++ {
				bytes, copies := run.level(), run.level()
				for _, c := range run.copies {
					if c.node == node || node < 0 {
						bytes.add(c.from, c.to, run.sizes[c.df])
						copies.add(c.from, c.to, 1)
					}
				}
				for name, v := range map[string]values{counters.BytesHeld: bytes,
					counters.CopiesHeld: copies} {
					if err := v.check(r, name, node, ""); err != nil {
						t.Fatal(err)
					}
				}
			}
			run.checkPeaks(t, r.Memory)
		}
		if !null[counters.DFs] {
			dfs := run.level()
			for df, from := range run.made {
				dfs.add(from, run.gone[df], 1)
			}
			if err := dfs.check(r, counters.DFs, -1, ""); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func (r *memoryRun) checkPeaks(t *rapid.T, mem *counters.Memory) {
	for _, p := range append([]counters.Peak{mem.Total}, mem.Nodes...) {
		want := map[string]counters.Holder{}
		var bytes, copies int64
		for _, c := range r.copies {
			if (p.Node < 0 || p.Node == c.node) && c.from <= p.NS && p.NS < c.to {
				name := string(rune('a' + r.names[c.df]))
				h := want[name]
				want[name] = counters.Holder{DF: name, Bytes: h.Bytes + r.sizes[c.df], Copies: h.Copies + 1}
				bytes, copies = bytes+r.sizes[c.df], copies+1
			}
		}
		got := map[string]counters.Holder{}
		for _, h := range p.Holders {
			got[h.DF] = h
		}
		if d := cmp.Diff(want, got); d != "" || p.Bytes != bytes || p.Copies != copies {
			t.Fatalf("peak of node %d at %d: %d bytes in %d copies, expected %d in %d: %s", p.Node, p.NS,
				p.Bytes, p.Copies, bytes, copies, d)
		}
	}
}

// TestLinksByDefinition compares what is under way and what was sent on each link.
func TestLinksByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := randomMemory(t)
		if run.nodes == 1 {
			return
		}
		// Each CF moves once, so that a departure and an arrival that were both recorded, in the right order,
		// are one move.
		m := sloutest.Build(t, run.text())
		r := compute(t, m, counters.Options{Windows: rapid.IntRange(1, 40).Draw(t, "windows")})
		links := []string{""}
		for _, g := range run.messages {
			if l := fmt.Sprintf("%d->%d", g.from, g.to); !slices.Contains(links, l) {
				links = append(links, l)
			}
		}
		null := map[string]bool{}
		for _, x := range r.Missing {
			for _, name := range x.Series {
				null[name] = true
			}
		}
		for _, l := range links {
			count, bytes := run.level(), run.level()
			sent, sentBytes := make([]int64, r.Windows), make([]int64, r.Windows)
			traffic := counters.Traffic{}
			for _, g := range run.messages {
				if l != "" && l != fmt.Sprintf("%d->%d", g.from, g.to) {
					continue
				}
				at := g.sent
				to := g.received
				if at < 0 {
					at = g.received
				}
				switch {
				case g.sent < 0:
					to = -1
				case g.received < 0 && m.Killed:
					to = math.MaxInt64
				}
				if g.sent >= 0 {
					count.add(g.sent, to, 1)
					bytes.add(g.sent, to, g.bytes)
				}
				w := min(int(at/r.WindowNS), r.Windows-1)
				sent[w]++
				sentBytes[w] += g.bytes
				flight := max(g.received-g.sent, 0)
				switch {
				case g.sent < 0 || g.received < 0:
					traffic.Half++
					flight = 0
				case g.received < g.sent:
					traffic.Violations++
				}
				traffic.MaxFlightNS = max(traffic.MaxFlightNS, flight)
				if g.cf {
					traffic.CFs++
					traffic.CFBytes += g.bytes
					traffic.CFFlightNS += flight
				} else {
					traffic.DFs++
					traffic.DFBytes += g.bytes
					traffic.DFFlightNS += flight
				}
			}
			for name, v := range map[string]values{counters.MessagesInFlight: count,
				counters.BytesInFlight: bytes} {
				if !null[name] {
					if err := v.check(r, name, -1, l); err != nil {
						t.Fatal(err)
					}
				}
			}
			if d := cmp.Diff(sent, r.Find(counters.MessagesSent, -1, l).Sum); d != "" {
				t.Fatalf("messages sent %q: %s", l, d)
			}
			if d := cmp.Diff(sentBytes, r.Find(counters.BytesSent, -1, l).Sum); d != "" {
				t.Fatalf("bytes sent %q: %s", l, d)
			}
			got := *r.Messages
			for _, x := range r.Links {
				if fmt.Sprintf("%d->%d", x.From, x.To) == l {
					got = x.Traffic
				}
			}
			if d := cmp.Diff(traffic, got); d != "" {
				t.Fatalf("link %q: %s", l, d)
			}
		}
	})
}
