// Package eventlist shows the events of a trace as one list in words, in order of corrected time over all
// nodes, then of node, stream and recording.
//
// Problem. A trace has millions of events in blocks of some thousands; each block is of one stream and
// nearly, but not perfectly, in order of time. A page wants a hundred rows from anywhere in the list, of all
// events or of those that pass a filter, at once.
//
// Plan. One pass over the trace notes for each block between which times its events are, how many and of
// which kinds they are (index.go). Row k or time t then narrows down to the blocks whose bounds overlap it,
// about one per stream; only those are read, sorted, and merged from there on (view.go). What passes a filter
// is kept as a bit per event, so a filtered list is a list of blocks with counts and bounds, too, and the
// rest is the same (filter.go, scan.go). Decoded blocks are kept while they are in use (load.go). Sentences
// are made for the rows that are shown, and for those that a search of text looks at (words.go, sentence.go).
//
// Not done: no order of all events is kept (it would take more memory than the trace), no index of text.
package eventlist

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/show/view/recent"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// MaxLimit is the highest number of rows of a page.
const MaxLimit = 10_000

// Query selects events, and rows of them. The zero value is the first DefaultLimit rows of all.
type Query struct {
	Offset int    // the first row wanted, from 0
	T      *int64 // instead of Offset: the first row at or after this time
	Limit  int    // rows wanted, up to MaxLimit; 0: DefaultLimit

	Kinds []string // "CFEvents.onStarted", or a whole namespace "CFEvents"; none: all
	Nodes []int    // none: all
	Link  string   // "0->1": events of messages, requests and CFs that go from node 0 to node 1, at either end
	Code  int      // number of a code fragment: events of its CFs, and of its blocks; 0: any
	CF    string   // "0.17": events that name this CF
	DF    string   // key of a DF: events that name it
	Text  string   // the sentence contains it; capitals do not matter
	From  *int64   // events at and after this time, nil: from the first
	To    *int64   // events up to and at this time; nil: to the last
	Lang  string   // of the sentences: "en" or "ru"; anything else is "en"
}

// DefaultLimit is the number of rows of a page by default.
const DefaultLimit = 100

// EventPage is a part of the list. Times are nanoseconds since the start of the run.
type EventPage struct {
	Total   int        `json:"total"`  // events of the query in the scanned part
	Offset  int        `json:"offset"` // of the first row
	Rows    []EventRow `json:"rows"`
	Scanned float64    `json:"scanned"` // scanned share of the events of the interval; 1: all
}

// EventRow is an event.
type EventRow struct {
	T      int64  `json:"t"`
	Node   int    `json:"node"`
	Stream int    `json:"stream"`
	Kind   string `json:"kind"`
	Text   string `json:"text"`
	CF     string `json:"cf,omitempty"` // the first one it names
	DF     string `json:"df,omitempty"` // key of the first one it names
	// Readable names, "mult[1][2]" and "x[3]"; "" if the trace does not say.
	CFTitle string `json:"cf_title,omitempty"`
	DFTitle string `json:"df_title,omitempty"`
	// For the creation of a CF: the DFs that its executions read and make.
	Neighbours string `json:"neighbours,omitempty"`
}

// List is the list of the events of one trace. Its methods may be used by many goroutines at once.
type List struct {
	r      *trace.Reader
	m      *model.Model
	titles []siteTitle // by site of the model

	building chan struct{} // held while what follows is made, once
	streams  []stream      // by node and stream
	nodes    map[int]*node
	blocks   []block // by lo
	all      *view

	cache *recent.List[int, *decoded] // by block

	patience time.Duration // how long a filtered page may take before it returns what is known

	ctx     context.Context
	cancel  context.CancelFunc
	mu      sync.Mutex
	closed  bool
	wg      sync.WaitGroup                 // methods and jobs that use the reader
	filters *recent.List[string, *results] // by Query.key
}

// Open returns the list of a trace. The reader must stay open until Close, and the model must be that of the
// same trace. Nothing is read before the first question.
func Open(r *trace.Reader, m *model.Model) *List {
	l := &List{r: r, m: m, building: make(chan struct{}, 1), patience: 150 * time.Millisecond,
		cache:   recent.New[int, *decoded](cacheBlocks, nil),
		filters: recent.New[string](maxFilters, (*results).stop)}
	l.titles = l.newTitles()
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Close stops background work and waits until the reader is no longer used.
func (l *List) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	l.wg.Wait()
}

// ErrClosed is the error of methods after Close.
var ErrClosed = errors.New("the list of events is closed")

// enter keeps the list open until leave is called, and ends ctx at Close.
func (l *List) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, ErrClosed
	}
	l.wg.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.ctx, cancel)
	return ctx, func() { stop(); cancel(); l.wg.Done() }, nil
}

// selection is the events of a query: rows base up to end of a view.
type selection struct {
	*view
	base, end int
	scanned   float64
}

// choose finds the events of a query.
func (l *List) choose(ctx context.Context, q *Query, patience time.Duration) (s selection, err error) {
	if err := l.ready(ctx); err != nil {
		return s, err
	}
	from, to := minTime, maxTime
	if q.From != nil {
		from = query.Shift(*q.From, l.m.Start)
	}
	if q.To != nil {
		to = query.Shift(*q.To, l.m.Start)
	}
	if from > to {
		return s, query.Bad("from=%d is after to=%d", *q.From, *q.To)
	}
	s = selection{view: l.all, scanned: 1}
	frontier := maxTime
	if !q.unfiltered() {
		r, err := l.resultsOf(q)
		if err != nil {
			return s, err
		}
		if s.view, frontier, s.scanned, err = l.look(ctx, r, from, to, patience); err != nil {
			return s, err
		}
		if s.total == 0 && s.scanned == 1 {
			if err := l.exists(q); err != nil {
				return s, err
			}
		}
	}
	if s.base, err = s.rank(ctx, from); err != nil {
		return s, err
	}
	s.end = s.total
	if end := min(query.Shift(to, 1), frontier); to != maxTime || frontier != maxTime {
		s.end, err = s.rank(ctx, end)
	}
	s.end = max(s.end, s.base)
	return s, err
}

// exists reports, when no event passes a query, whether the CF or DF that it names exists. The model has
// numbers for CFs of which nothing is known, and none for CFs and DFs that only rare events name.
func (l *List) exists(q *Query) error {
	if q.CF != "" {
		only := q.From == nil && q.To == nil && q.key() == (&Query{CF: q.CF}).key()
		if cf, err := query.ParseCF(q.CF); err == nil && (only || l.m.FindCF(cf) == 0) {
			return query.Missing("there is no CF %s among these events", cf)
		}
	}
	if q.DF != "" && l.m.FindDF(q.DF) == 0 {
		return query.Missing("there is no DF %s among these events", q.DF)
	}
	return nil
}

// Page returns rows of the list. An invalid query is fs.ErrInvalid; one about a CF, DF, node or code fragment
// that does not exist is fs.ErrNotExist. If a filter has to scan much of the trace, the answer covers the
// part scanned so far, from the beginning of the interval. The scan continues in the background, and the same
// query later returns more.
func (l *List) Page(ctx context.Context, q Query) (*EventPage, error) {
	if q.Offset < 0 || q.Limit < 0 || q.Limit > MaxLimit {
		return nil, query.Bad("offset=%d limit=%d: offset must not be negative, limit be 1 to %d", q.Offset,
			q.Limit, MaxLimit)
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	ctx, leave, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	s, err := l.choose(ctx, &q, l.patience)
	if err != nil {
		return nil, err
	}
	p := &EventPage{Total: s.end - s.base, Rows: []EventRow{}, Scanned: s.scanned}
	p.Offset = min(q.Offset, p.Total)
	if q.T != nil {
		row, err := s.rank(ctx, query.Shift(*q.T, l.m.Start))
		if err != nil {
			return nil, err
		}
		p.Offset = min(max(row-s.base, 0), p.Total)
	}
	want := min(q.Limit, p.Total-p.Offset)
	if want == 0 {
		return p, nil
	}
	err = s.rows(ctx, p.Offset, want, words.LangOf(q.Lang), func(row *EventRow) error {
		p.Rows = append(p.Rows, *row)
		return nil
	})
	return p, err
}

// rows calls f for some rows of a selection.
func (s *selection) rows(ctx context.Context, offset, want int, lang words.Lang,
	f func(*EventRow) error) error {
	t, skip, err := s.find(ctx, s.base+offset)
	if err != nil {
		return err
	}
	w := writer{l: s.l, lang: lang}
	return s.walk(ctx, t, skip+want, func(d *decoded, i int) (bool, error) {
		if skip > 0 {
			skip--
			return true, nil
		}
		w.node = d.node
		row := w.row(d, i)
		want--
		err := f(&row)
		return want > 0, err
	})
}

// row describes an event.
func (w *writer) row(d *decoded, i int) EventRow {
	k, args := d.kind[i], d.args(i)
	w.b = w.b[:0]
	w.sentence(k, args)
	row := EventRow{T: d.time[i] - w.l.m.Start, Node: d.number, Stream: d.stream, Kind: k.String(),
		Text: string(w.b)}
	if s := d.shape(k); s != nil {
		row.Kind = s.spec.String()
		for _, f := range s.cfs {
			if args[f] != 0 {
				row.CF = trace.CF(args[f]).String()
				row.CFTitle = w.cfTitle(trace.CF(args[f]))
				break
			}
		}
		for _, f := range s.dfs {
			if args[f] != 0 {
				row.DF = w.l.dfKey(d.number, args[f])
				row.DFTitle, _ = w.defs.DFName(trace.DF(args[f]))
				break
			}
		}
	}
	if k == trace.KindCFCreated {
		row.Neighbours = w.neighbours(trace.CF(args[0]))
	}
	return row
}
