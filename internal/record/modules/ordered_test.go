package modules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/prof"
)

// Entries of any streams, passed on in any order, come out by time, of equal times by node and stream, and of
// one stream as appended. (Times of one stream may go back: then it is the order of the merge of what is
// first in each.)
func TestOrdered(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := startRun(t, 1, 1)
		out, err := openTerminal(r)
		if err != nil {
			rt.Fatal(err)
		}
		log := newOrdered(r.ses, out, rapid.IntRange(1, 200).Draw(rt, "size"))
		var streams []*prof.Stream
		var want []string
		for node := range 2 {
			for id := range 3 {
				s := r.ses.Stream(node, id, nil)
				streams = append(streams, s)
				log.lane(s)
			}
		}
		now := map[*prof.Stream]int64{}
		for i := range rapid.IntRange(0, 300).Draw(rt, "n") {
			s := streams[rapid.IntRange(0, 5).Draw(rt, "s")]
			now[s] += rapid.Int64Range(0, 3).Draw(rt, "step")
			line := fmt.Sprintf("%06d n%d s%d %06d\n", now[s], s.Node(), s.ID(), i)
			want = append(want, line)
			l := log.lane(s)
			l.text = append(l.text, line...)
			l.done(now[s])
		}
		log.flush()
		slices.Sort(want)
		if got := r.finish(t); got != strings.Join(want, "") {
			rt.Fatalf("got\n%swant\n%s", got, strings.Join(want, ""))
		}
	})
}

// A silent stream does not make the others keep everything.
func TestOrderedSilentStream(t *testing.T) {
	r := startRun(t, 1, 1)
	out, err := openTerminal(r)
	if err != nil {
		t.Fatal(err)
	}
	log := newOrdered(r.ses, out, 1<<10)
	silent, busy := log.lane(r.ses.Stream(0, 0, nil)), log.lane(r.ses.Stream(0, 1, nil))
	silent.text = append(silent.text, "late\n"...)
	silent.done(1)
	for i := range 3 * window / 100 {
		busy.text = fmt.Appendf(busy.text, "%99d\n", i)
		busy.done(int64(i + 2))
	}
	if log.held > window+1<<10 {
		t.Errorf("%d bytes are kept back", log.held)
	}
	log.flush()
	text := r.finish(t)
	if len(text) != 5+3*window/100*100 || strings.Count(text, "late\n") != 1 || strings.HasPrefix(text, "late") {
		t.Errorf("%d bytes, late at %d", len(text), strings.Index(text, "late"))
	}
}

// openTerminal opens the terminal for a log that no module has.
func openTerminal(r *testRun) (*prof.Output, error) {
	m := &opener{}
	run, err := r.ses.StartModules(
		[]prof.Use{{Info: prof.ModuleInfo{Name: "opener", New: func() prof.Module { return m }}}},
		prof.RunFacts{Out: &r.out})
	if err != nil {
		return nil, err
	}
	r.modules = run
	return m.out, nil
}

type opener struct{ out *prof.Output }

func (m *opener) Start(h *prof.Host) (err error) { m.out, err = h.Open(""); return err }
func (m *opener) Finish() error                  { return nil }
