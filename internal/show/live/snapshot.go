package live

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/whyslow/whyslow/internal/analysis/advise"
	"github.com/whyslow/whyslow/internal/analysis/compare"
	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/report"
	"github.com/whyslow/whyslow/internal/show/tables"
	"github.com/whyslow/whyslow/internal/show/view/eventlist"
	"github.com/whyslow/whyslow/internal/show/view/fragments"
	"github.com/whyslow/whyslow/internal/show/view/graph"
	"github.com/whyslow/whyslow/internal/show/view/story"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/internal/show/view/whatif"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Snapshot is a run as far as it had arrived at some moment: a model that no longer changes, and what is
// derived from it, each when first asked for. Any number of goroutines may use it until they Release it.
type Snapshot struct {
	Reader *trace.Reader
	Model  *model.Model
	// Span is the part of the run whose events the model has, in nanoseconds since its start: all of it
	// unless memory is short.
	Span trace.Span

	exported *slou.Interval // the trace has that part of the run; nil: all

	regions bool // the run is known to have regions, even if this part of it has none

	run              *Run
	ctx              context.Context // ends when the run is no longer shown, or takes too much memory
	arrived          uint64          // what had arrived of the run
	happening        bool            // the run had not ended
	parallel         int             // how many cores deriving things may take; 0: all
	full             bool            // the part that was asked for did not fit
	name             string
	bytes            int64         // that it takes, about
	spill            *memory.Spill // nil: its columns are in memory
	refs             atomic.Int32
	known            lazy[[]int64]
	timeline         lazy[*timeline.Timeline]
	fragments        lazy[*fragments.Index]
	graph            lazy[*graph.Graph]
	program          lazy[*whatif.Program]
	tables           lazy[*tables.Source]
	more             atomic.Int64 // bytes that program and tables take
	events           lazy[*eventlist.List]
	static           lazy[*counters.Properties]
	balance          lazy[[]counters.Violation]
	counts           lazy[[]int64]
	search           lazy[*story.Index]
	report           lazy[*report.Everything]
	division         lazy[*preparedForParts]
	english, russian lazy[[]byte]
}

// Release ends a use of the snapshot.
func (s *Snapshot) Release() {
	if s.refs.Add(-1) > 0 {
		return
	}
	if s.events.v != nil { // nobody uses the snapshot any more
		s.events.v.Close()
	}
	s.Reader.Close()
	s.spill.Close()
	s.run.taken.Add(-s.bytes - s.more.Load())
}

// Timeline is the run by lanes and time.
func (s *Snapshot) Timeline() (*timeline.Timeline, error) {
	return computed(s, &s.timeline, func() (*timeline.Timeline, error) {
		opt := timeline.Options{Parallel: s.parallel}
		if !s.whole() {
			opt.Known = &s.Span
		}
		return timeline.Build(s.ctx, s.Model, opt)
	})
}

// Index finds CFs, DFs and code fragments.
func (s *Snapshot) Index() (*story.Index, error) {
	return after(s, &s.search, s.Timeline,
		func(t *timeline.Timeline) (*story.Index, error) { return story.NewIndex(t), nil })
}

// Events is the list of all events.
func (s *Snapshot) Events() (*eventlist.List, error) {
	return s.events.get(func() (*eventlist.List, error) { return eventlist.Open(s.Reader, s.Model), nil })
}

// Fragments is the run by code fragments.
func (s *Snapshot) Fragments() (*fragments.Index, error) {
	return after(s, &s.fragments, s.Timeline,
		func(t *timeline.Timeline) (*fragments.Index, error) { return fragments.Build(s.ctx, t) })
}

// Graph draws the run as graphs.
func (s *Snapshot) Graph() (*graph.Graph, error) {
	return after(s, &s.graph, s.Fragments,
		func(x *fragments.Index) (*graph.Graph, error) { return graph.New(x), nil })
}

// WhyNot says why the run cannot be run in virtual time, and whether that is so.
func (s *Snapshot) WhyNot() (why words.Text, is bool) {
	st, _ := s.run.Status()
	return whatif.Why(s.Model, st.State == StateLive, s.whole())
}

// Program is the run as a program for virtual time; see WhyNot first.
func (s *Snapshot) Program() (*whatif.Program, error) {
	return computed(s, &s.program, func() (*whatif.Program, error) {
		bytes, _ := whatif.Bytes(s.Model)
		s.run.taken.Add(bytes)
		s.more.Add(bytes)
		return whatif.Build(s.ctx, s.Model)
	})
}

// Tables is the run as tables.
func (s *Snapshot) Tables() *tables.Source {
	source, _ := s.tables.get(func() (*tables.Source, error) {
		if !s.Model.OnDisk() { // else what it keeps is there too
			bytes := tables.BytesOfPieces(s.Model)
			s.run.taken.Add(bytes)
			s.more.Add(bytes)
		}
		return &tables.Source{Model: s.Model, Events: s.Events}, nil
	})
	return source
}

// Do waits for a turn of f, which takes about so many bytes, and does it. It fails as f does, when ctx ends,
// where so much never fits, or when the run is given up, which ends f's context.
func (s *Snapshot) Do(ctx context.Context, bytes int64, f func(context.Context) error) error {
	done, err := s.Turn(ctx, bytes)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if err = f(ctx); err != nil && s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	return err
}

// Properties are those of nodes and links.
func (s *Snapshot) Properties() (*counters.Properties, error) {
	return computed(s, &s.static, func() (*counters.Properties, error) {
		return counters.FromModel(s.ctx, s.Model, s.Reader)
	})
}

// Balance lists what is left at the end of the run though it should have gone. It is empty for a run without
// an end.
func (s *Snapshot) Balance() ([]counters.Violation, error) {
	if s.Model.Killed {
		return nil, nil
	}
	return after(s, &s.balance, s.Properties,
		func(set *counters.Properties) ([]counters.Violation, error) { return set.Balance(), nil })
}

// Report has the results of all analyses, with sentences in a language, "en" or "ru".
func (s *Snapshot) Report(lang string) (*report.Everything, error) {
	all, err := computed(s, &s.report, func() (*report.Everything, error) {
		wanted := report.Wanted{Splits: []string{"node", "worker", "code", "index:0"}}
		return report.Compute(s.ctx, s.Model, wanted, nil)
	})
	if err != nil {
		return nil, err
	}
	return all.In(lang), nil
}

// Reasons are why an interval of the run is slow, and where its time went. Times are nanoseconds since the
// start of the run.
type Reasons struct {
	WallNS    int64           `json:"wall_ns"`
	TotalNS   int64           `json:"total_ns"`
	Advice    []Reason        `json:"advice"`
	Causes    []slou.Cause    `json:"causes"`
	Fragments []slou.Fragment `json:"fragments"`
}

// Reason is a piece of advice with the waits that it counts, nil for none.
type Reason struct {
	advise.Advice
	Waits *advise.Waits `json:"waits"`
}

func reasons(res *slou.Result, list []advise.Advice, lang string) *Reasons {
	out := &Reasons{res.WallNS, res.TotalNS, []Reason{}, res.Causes, res.Fragments}
	for i := range list {
		out.Advice = append(out.Advice, Reason{list[i].In(words.LangOf(lang)), list[i].Waits()})
	}
	return out
}

// AllReasons are those of the whole run, from its report.
func (s *Snapshot) AllReasons(lang string) (*Reasons, error) {
	all, err := s.Report(lang)
	if err == nil {
		err = all.FactorsError()
	}
	if err != nil {
		return nil, err
	}
	return reasons(all.SLOU, all.Advice, lang), nil
}

// preparedForParts is what reasons of all intervals have in common.
type preparedForParts struct {
	division *slou.Prepared
	advice   *advise.Prepared
}

// Reasons divides an interval of the run as a report does, with sentences in a language, "en" or "ru".
func (s *Snapshot) Reasons(ctx context.Context, from, to int64, lang string) (*Reasons, error) {
	common, err := computed(s, &s.division, func() (*preparedForParts, error) {
		division, err := slou.Prepare(s.ctx, s.Model, slou.Options{}, procs.Alone())
		if err != nil {
			return nil, err
		}
		advice, err := advise.Prepare(s.Model, procs.Alone())
		return &preparedForParts{division, advice}, err
	})
	if err != nil {
		return nil, err
	}
	var out *Reasons
	err = s.Do(ctx, slouBytes*int64(s.Model.Executions()), func(ctx context.Context) error {
		in := slou.Interval{FromNS: from, ToNS: to}
		res, err := slou.Compute(ctx, s.Model, slou.Options{Parallel: s.parallel, Within: &in,
			Prepared: common.division}, procs.Alone())
		if err != nil {
			return err
		}
		list, err := advise.Advise(advise.Input{Model: s.Model, SLOU: res, Part: true, Prepared: common.advice},
			procs.Alone())
		out = reasons(res, list, lang)
		return err
	})
	return out, err
}

// slouBytes is about how much memory the division takes per execution.
const slouBytes = 16

// ReportJSON is what `whyslow report --json` writes, in a language and without white space.
func (s *Snapshot) ReportJSON(lang string) ([]byte, error) {
	text := &s.english
	if lang == "ru" {
		text = &s.russian
	}
	return after(s, text, func() (*report.Everything, error) { return s.Report(lang) },
		func(all *report.Everything) ([]byte, error) {
			if err := all.FactorsError(); err != nil {
				return nil, fmt.Errorf("the factors cannot be computed: %w", err)
			}
			var b bytes.Buffer
			err := report.JSON(&b, all, report.Options{Compact: true})
			return b.Bytes(), err
		})
}

// Compared is one side of a comparison.
func (s *Snapshot) Compared() (compare.Run, error) {
	all, err := s.Report("en")
	if err != nil {
		return compare.Run{}, err
	}
	return all.Compared(s.name)
}

// CFCounts is the number of CFs by number of their code fragment.
func (s *Snapshot) CFCounts() []int64 {
	counts, _ := s.counts.get(func() ([]int64, error) {
		counts := make([]int64, len(s.Model.Codes))
		for cf := range s.Model.CFs() {
			counts[s.Model.CodeOf(cf)]++
		}
		return counts, nil
	})
	return counts
}

// Kinds counts the events of every kind, most first: those of a snapshot if it has all of the run, else those
// that have arrived.
func (r *Run) Kinds(s *Snapshot) []report.Kind {
	counts := &s.Model.Count
	if !s.whole() {
		r.mu.Lock()
		all := r.kinds
		r.mu.Unlock()
		counts = &all
	}
	list := []report.Kind{}
	for k, n := range counts {
		if n > 0 {
			list = append(list, report.Kind{Event: trace.Kind(k).String(), Count: n})
		}
	}
	slices.SortFunc(list, func(a, b report.Kind) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Event, b.Event))
	})
	return list
}
