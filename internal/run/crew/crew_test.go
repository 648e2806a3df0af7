package crew

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/console"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/run/transport"
	"github.com/whyslow/whyslow/internal/run/transport/local"
	"github.com/whyslow/whyslow/internal/testkit/grouptest"
	"github.com/whyslow/whyslow/internal/testkit/transporttest"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// What many processes do together, with goroutines in their place.

// together calls f for each member of a group of n.
func together(n int, f func(g procs.Group)) {
	var wg sync.WaitGroup
	for _, g := range grouptest.Local(n) {
		wg.Go(func() { f(g) })
	}
	wg.Wait()
}

// connected is a world that only connects.
type connected struct {
	World
	connect func(deliver func(*transport.Message)) transport.Network
}

func (c connected) Connect(deliver func(*transport.Message)) transport.Network {
	return c.connect(deliver)
}

// Everything that all ranks print before, during and after the life of the network comes out once, in order,
// in whole lines; other messages reach the engine.
func TestOutput(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(rt, "ranks")
		count := rapid.IntRange(0, 60).Draw(rt, "lines")
		size := rapid.SampledFrom([]int{1, 100, 5000, 3 * pieceBytes}).Draw(rt, "size")
		seed := rapid.Uint64().Draw(rt, "seed")
		if size > 1000 {
			count = min(count, 9)
		}
		joint := transporttest.Pair(n, local.Options{})
		var out bytes.Buffer
		delivered := make([]int, n)
		together(n, func(g procs.Group) {
			o := newOutput(context.Background(), g.Rank(), n, &out, io.Discard)
			rnd := rand.New(rand.NewPCG(seed, uint64(g.Rank())))
			print := func(from, to int) {
				for i := from; i < to; i++ {
					o.put(toOut, fmt.Appendf(nil, "%d %d %s\n", g.Rank(), i, strings.Repeat("x", rnd.IntN(size))))
				}
			}
			print(0, count/3)
			var mu sync.Mutex
			net := o.connect(connected{connect: joint.Connect(g.Rank())})(func(m *transport.Message) {
				mu.Lock()
				defer mu.Unlock()
				delivered[g.Rank()]++
			})
			_ = procs.Barrier(g)
			net.Send(&transport.Message{Kind: 3, From: g.Rank(), To: (g.Rank() + 1) % n})
			print(count/3, count*2/3)
			_ = procs.Barrier(g)
			net.Close()
			net.Close()
			print(count*2/3, count)
			if err := o.finish(g); err != nil {
				t.Error(err)
			}
		})
		next := make([]int, n)
		for _, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
			var rank, i int
			var rest string
			if _, err := fmt.Sscanf(line, "%d %d %s", &rank, &i, &rest); err != nil && rest != "" {
				rt.Fatalf("%.50q: %v", line, err)
			}
			if line == "" && count == 0 {
				continue
			}
			if i != next[rank] || strings.Trim(rest, "x") != "" {
				rt.Fatalf("%.50q, line %d of rank %d is expected", line, next[rank], rank)
			}
			next[rank]++
		}
		for rank, i := range next {
			if i != count {
				rt.Fatalf("%d lines of %d of rank %d", i, count, rank)
			}
		}
	})
}

// After an interrupt a rank writes itself what rank 0 has not taken.
func TestOutputAbandoned(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var out, errs bytes.Buffer
	o := newOutput(ctx, 1, 2, &out, &errs)
	o.connect(connected{connect: transporttest.Pair(2, local.Options{}).Connect(1)})
	o.put(toOut, []byte("a\n"))
	o.put(toErr, []byte("b\n"))
	cancel()
	o.abandon()
	o.put(toOut, []byte("c\n"))
	if out.String() != "a\nc\n" || errs.String() != "b\n" {
		t.Errorf("%q %q", out.String(), errs.String())
	}
}

func TestTagged(t *testing.T) {
	var got []string
	w := &tagged{tag: "node 2: ", put: func(b []byte) { got = append(got, string(b)) }}
	for _, text := range []string{"a", "b\nc\nd", "", "\n", "e"} {
		fmt.Fprint(w, text)
	}
	w.flush()
	w.flush()
	if want := []string{"node 2: ab\nnode 2: c\n", "node 2: d\n",
		"node 2: e\n"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q", got)
	}
}

// FuzzPiece reads what another process sends.
func FuzzPiece(f *testing.F) {
	f.Add((&excerpt{1, toOut, []byte("text\n")}).encode(nil))
	f.Add((&excerpt{300, toErr | moreFollows, nil}).encode(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := decodeExcerpt(b); ok {
			if q, ok := decodeExcerpt(p.encode(nil)); !ok || q.number != p.number || q.kind != p.kind ||
				!bytes.Equal(p.text, q.text) {
				t.Errorf("%+v %+v", p, q)
			}
		}
		o := newOutput(context.Background(), 0, 2, io.Discard, io.Discard)
		o.take(1, b)
	})
}

// Bytes of any number of each rank arrive, whatever fails.
func TestCollectPieces(t *testing.T) {
	for _, sizes := range [][]int64{{0}, {0, 0}, {5, 0, 9 << 20}, {1, 4<<20 + 1, 4 << 20}} {
		var mu sync.Mutex
		got := make([]int64, len(sizes))
		together(len(sizes), func(g procs.Group) {
			err := collectPieces(g, sizes[g.Rank()], func(b []byte, at int64) error {
				for i := range b {
					b[i] = byte(at + int64(i))
				}
				return nil
			}, func(from int, b []byte) error {
				mu.Lock()
				defer mu.Unlock()
				for i := range b {
					if b[i] != byte(got[from]+int64(i)) {
						return errors.New("wrong bytes")
					}
				}
				got[from] += int64(len(b))
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		if fmt.Sprint(got) != fmt.Sprint(sizes) {
			t.Errorf("%v of %v arrived", got, sizes)
		}
	}
	together(3, func(g procs.Group) {
		err := collectPieces(g, 10, func([]byte, int64) error {
			if g.Rank() == 1 {
				return errors.New("cannot be read")
			}
			return nil
		}, func(int, []byte) error { return errors.New("cannot be written") })
		if (err != nil) != (g.Rank() < 2) {
			t.Errorf("rank %d: %v", g.Rank(), err)
		}
	})
}

// ranked is a world that has a group only.
type ranked struct {
	World
	g procs.Group
}

func (r ranked) Rank() int          { return r.g.Rank() }
func (r ranked) Size() int          { return r.g.Size() }
func (r ranked) Group() procs.Group { return r.g }

// elsewhere gives its rank another path than rank 0's.
type elsewhere struct{ procs.Group }

func (e elsewhere) Exchange(out [][]byte) ([][]byte, error) {
	in, err := e.Group.Exchange(out)
	if err == nil && e.Rank() == 1 && len(in[0]) > 0 && in[0][0] == '/' {
		in[0] = append([]byte("/nowhere"), in[0]...)
	}
	return in, err
}

// A rank that does not see the folder of the trace says what to do; no marker stays.
func TestFolderNotSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var said error
	together(3, func(g procs.Group) {
		c := &Crew{World: ranked{g: elsewhere{g}}}
		folder := ""
		if g.Rank() == 0 {
			folder = dir
		}
		_, err := c.ShareFolder(folder, nil)
		err = c.Agree(console.BadInput(err))
		if err == nil {
			t.Errorf("rank %d goes on", g.Rank())
		}
		if g.Rank() == 0 {
			said = err
		}
	})
	want := fmt.Sprintf("rank 1 (%s): does not see /nowhere%s: all hosts must see the folder of the trace, or "+
		"use --local-dir DIR", HostName(), dir)
	if said == nil || said.Error() != want {
		t.Errorf("%v", said)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}

func TestCrew(t *testing.T) {
	c := &Crew{procs: []trace.ProcessInfo{
		{Host: "a", Cores: 4, Affinity: "0-3"}, {Host: "a", Cores: 4, Affinity: "0-3"},
		{Host: "b", Cores: 1, Affinity: "0"}, {Host: "b", Cores: 1, Affinity: "7"},
	}}
	if n := c.Workers(1024); n != 1 {
		t.Errorf("%d workers", n)
	}
	want := "[2 ranks on b are bound to 1 core for 2 workers: use 'mpirun --bind-to none', or -w 1]"
	if got := fmt.Sprint(c.CoreWarnings(2, 4)); got != want {
		t.Errorf("%s", got)
	}
	c.procs = c.procs[:2]
	if n := c.Workers(1024); n != 2 || len(c.CoreWarnings(2, 4)) > 0 {
		t.Errorf("%d workers, %v", n, c.CoreWarnings(2, 4))
	}
	if got := fmt.Sprint(c.CoreWarnings(3, 4)); got != "[6 workers of all ranks on a share 4 cores: expect "+
		"pre-emption (mpirun -n, -w)]" {
		t.Errorf("%s", got)
	}
	c.procs = []trace.ProcessInfo{{Host: "a", Cores: 1, Affinity: "0"}, {Host: "a", Cores: 1, Affinity: "1"}}
	if got := fmt.Sprint(c.CoreWarnings(1, 2), c.CoreWarnings(1, 8)); got != "[] [each rank on a is bound to 1 "+
		"core and has 1 worker: 'mpirun --bind-to none' lets them use all 8 cores]" {
		t.Errorf("%s", got)
	}
	c.procs = c.procs[:1]
	if got := fmt.Sprint(c.Hosts(), words.CoreList("0-2,9"), words.CoreList("")); got != "[a] [0 1 2 9] []" {
		t.Errorf("%s", got)
	}
}
