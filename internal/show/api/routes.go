package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/compare"
	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/show/view/fragments"
	"github.com/whyslow/whyslow/internal/show/view/story"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/internal/show/view/whatif"
	"github.com/whyslow/whyslow/internal/words"
)

// routes registers every question. web/src/api.ts has the paths and parameters.
func (s *Server) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/runs", s.list)
	mux.HandleFunc("GET /api/updates", s.listUpdates)
	mux.HandleFunc("GET /api/series", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, counters.All())
	})
	mux.HandleFunc("GET /api/compare", s.compare)
	mux.HandleFunc("GET /api/sql", func(w http.ResponseWriter, _ *http.Request) { answer(w, aboutSQL()) })
	mux.HandleFunc("GET /api/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, r.URL.Path+" is not a question")
	})
	if s.cfg.Debugger != nil {
		s.debug(mux)
	}
	mux.HandleFunc("DELETE /api/runs/{id}", s.remove)
	mux.HandleFunc("PUT /api/runs/{id}/marks/{key}", s.putMark)
	mux.HandleFunc("DELETE /api/runs/{id}/marks/{key}", s.deleteMark)
	mux.HandleFunc("GET /api/runs/{id}/updates", s.updates)
	mux.HandleFunc("GET /api/runs/{id}/export", s.export)
	mux.HandleFunc("GET /api/runs/{id}/events.csv", s.eventsCSV)
	for path, f := range map[string]func(q *question) (any, error){
		"":                         s.run,
		"/report":                  askReport,
		"/checks":                  askChecks,
		"/reasons":                 askReasons,
		"/source":                  askSource,
		"/waits":                   aboutAll((*live.Snapshot).Timeline, waits),
		"/factors":                 askFactors,
		"/tile":                    askTile,
		"/shades":                  askShades,
		"/marks":                   askMarks,
		"/boxes":                   askBoxes,
		"/arrows":                  about((*live.Snapshot).Timeline, arrows),
		"/regions":                 about((*live.Snapshot).Timeline, regions),
		"/path":                    aboutAll((*live.Snapshot).Timeline, criticalPath),
		"/cf/{key}":                aboutAll((*live.Snapshot).Timeline, cfStory),
		"/df/{key}":                aboutAll((*live.Snapshot).Timeline, dfStory),
		"/search":                  aboutAll((*live.Snapshot).Index, search),
		"/at":                      askAt,
		"/series":                  askSeries,
		"/matrix":                  askMatrix,
		"/memory":                  aboutAll((*live.Snapshot).Properties, memoryAt),
		"/events":                  askEvents,
		"/fragments":               aboutAll((*live.Snapshot).Fragments, fragmentRows),
		"/fragments/{key}":         aboutAll((*live.Snapshot).Fragments, fragmentDetail),
		"/fragments/{key}/cfs":     aboutAll((*live.Snapshot).Fragments, fragmentCFs),
		"/userevents":              aboutAll((*live.Snapshot).Events, userEvents),
		"/userevents/curves":       aboutAll((*live.Snapshot).Events, userCurves),
		"/graph/nodes":             aboutAll((*live.Snapshot).Graph, nodeGraph),
		"/graph/codes":             aboutAll((*live.Snapshot).Graph, codeGraph),
		"/graph/tasks":             aboutAll((*live.Snapshot).Graph, taskGraph),
		"/graph/around":            aboutAll((*live.Snapshot).Graph, aroundGraph),
		"/sql":                     askSQL,
		"/graph/moment":            aboutAll((*live.Snapshot).Graph, momentGraph),
		"/whatif":                  askWhatIf,
		"/whatif/estimate":         askProgram(2, (*whatif.Program).Estimate),
		"/whatif/predict":          askProgram(2, (*whatif.Program).Predict),
		"/whatif/zoom":             askProgram(2, (*whatif.Program).Zoom),
		"/whatif/factors":          askProgram(8, (*whatif.Program).Divide),
		"/whatif/scaling":          askProgram(4, (*whatif.Program).Scale),
		"/whatif/scaling/estimate": askProgram(2, (*whatif.Program).EstimateScale),
		"/whatif/profile":          askProgram(2, (*whatif.Program).Profile),
		"/whatif/try":              askProgram(6, (*whatif.Program).Try),
		"/whatif/balance":          askProgram(6, (*whatif.Program).Balance),
	} {
		mux.HandleFunc("GET /api/runs/{id}"+path, s.ask(f))
	}
}

// question is a question about a run.
type question struct {
	*params
	ctx  context.Context
	run  *live.Run
	key  string // the last part of the path
	used []*live.Snapshot
	// pictures are those that the server keeps.
	pictures *pictures
}

// snapshot gives the newest snapshot of the run. It is released when the question is answered.
func (q *question) snapshot() (*live.Snapshot, error) {
	s, err := q.run.Snapshot(q.ctx)
	if err == nil {
		q.used = append(q.used, s)
	}
	return s, err
}

func (q *question) release() {
	for _, s := range q.used {
		s.Release()
	}
}

// fullest gives a snapshot of the whole run if there is room for it, else the newest. It is released when the
// question is answered.
func (q *question) fullest() (*live.Snapshot, error) {
	s, err := q.run.Whole(q.ctx)
	if err == nil {
		q.used = append(q.used, s)
	}
	return s, err
}

// whole gives a snapshot of the whole run. It fails with live.Partial where there is no room for it.
func (q *question) whole() (*live.Snapshot, error) {
	s, err := q.fullest()
	if err == nil {
		err = s.Whole()
	}
	return s, err
}

// within gives the interval from the parameters, and a snapshot that has all of it.
func (q *question) within() (s *live.Snapshot, from, to int64, err error) {
	if s, err = q.snapshot(); err != nil {
		return nil, 0, 0, err
	}
	if from, to = q.interval(s); q.err != nil {
		return nil, 0, 0, q.err
	}
	if s.Exported() == nil && s.Has(from, to) != nil {
		if s, err = q.run.SnapshotIn(q.ctx, from, to); err != nil {
			return nil, 0, 0, err
		}
		q.used = append(q.used, s)
	}
	return s, from, to, s.Has(from, to)
}

// all gives the interval from the parameters, and a snapshot of the whole run.
func (q *question) all() (s *live.Snapshot, from, to int64, err error) {
	if s, err = q.fullest(); err != nil {
		return nil, 0, 0, err
	}
	from, to = q.interval(s)
	return s, from, to, cmp.Or(q.err, s.WholeOf(from, to))
}

// interval gives the interval from the parameters; without them all that the snapshot's trace has.
func (q *question) interval(s *live.Snapshot) (from, to int64) {
	if v := s.Exported(); v != nil && !q.has("from") && !q.has("to") {
		return v.FromNS, v.ToNS
	}
	return q.span(s.Model.Wall())
}

// reported gives a snapshot of all that a report is about.
func (q *question) reported() (*live.Snapshot, error) {
	s, err := q.fullest()
	if err == nil && s.Exported() == nil {
		err = s.Whole()
	}
	return s, err
}

// about answers a question about what is in an interval from what get derives from a snapshot that has it.
func about[T any](get func(*live.Snapshot) (T, error),
	reply func(q *question, v T, from, to int64) (any, error)) func(*question) (any, error) {
	return derived((*question).within, get, reply)
}

// aboutAll is about where the answer depends on the rest of the run, too: it is never given from a part.
func aboutAll[T any](get func(*live.Snapshot) (T, error),
	reply func(q *question, v T, from, to int64) (any, error)) func(*question) (any, error) {
	return derived((*question).all, get, reply)
}

func derived[T any](of func(*question) (s *live.Snapshot, from, to int64, err error),
	get func(*live.Snapshot) (T, error),
	reply func(q *question, v T, from, to int64) (any, error)) func(*question) (any, error) {
	return func(q *question) (any, error) {
		s, from, to, err := of(q)
		if err != nil {
			return nil, err
		}
		v, err := get(s)
		if err != nil {
			return nil, err
		}
		return reply(q, v, from, to)
	}
}

// raw is an answer that is not JSON.
type raw struct {
	kind, name string // of the content; of the file, "" none
	data       []byte
}

// runOf is the run that a question is about; where there is none it is answered, and nil.
func (s *Server) runOf(w http.ResponseWriter, r *http.Request) *live.Run {
	run := s.cfg.Runs.Get(r.PathValue("id"))
	if run == nil {
		fail(w, http.StatusNotFound, "no such run is shown")
	}
	return run
}

// ask makes a handler from a function that answers a question.
func (s *Server) ask(f func(*question) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		run := s.runOf(w, r)
		if run == nil {
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		q := &question{params: newParams(r), ctx: ctx, run: run, key: r.PathValue("key"),
			pictures: &s.pictures}
		defer q.release()
		var v any
		err := q.err
		if err == nil {
			v, err = answerOf(q, f)
		}
		if q.err != nil { // then the answer is not to what was asked
			err = q.err
		}
		if err != nil {
			s.failed(w, r, err)
			return
		}
		answer(w, v)
	}
}

// answerOf asks f. A panic is an error: the other views of the page are worth having.
func answerOf(q *question, f func(*question) (any, error)) (v any, err error) {
	err = procs.Guard(func() (err error) {
		v, err = f(q)
		return err
	})
	return v, err
}

// failed says what is wrong with a question, or with this program.
func (s *Server) failed(w http.ResponseWriter, r *http.Request, err error) {
	var partial *live.Partial
	switch {
	case r.Context().Err() != nil: // the client is gone
	case errors.Is(err, fs.ErrInvalid):
		fail(w, http.StatusBadRequest, err.Error())
	case errors.Is(err, fs.ErrNotExist):
		fail(w, http.StatusNotFound, err.Error())
	case errors.Is(err, live.ErrNothingYet):
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		fail(w, http.StatusServiceUnavailable, fmt.Sprintf("no answer within %v: ask for less", answerTime))
	case errors.As(err, &partial):
		fail(w, http.StatusInsufficientStorage, partial.Text().In(words.LangOf(r.URL.Query().Get("lang"))))
	case errors.As(err, new(*memory.TooLarge)): // whoever asks is told, each time
		fail(w, http.StatusInsufficientStorage, err.Error())
	default:
		if s.cfg.Log != nil {
			s.cfg.Log(r.URL.Path + ": " + err.Error())
		}
		fail(w, http.StatusInternalServerError, err.Error())
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Cache-Control", "no-store")
	data, kind := []byte(nil), "application/json"
	switch v := v.(type) {
	case raw:
		kind, data = v.kind, v.data
		if v.name != "" {
			w.Header().Set("Content-Disposition", "attachment; filename="+strconv.Quote(v.name))
		}
	case json.RawMessage:
		data = v
	default:
		var err error
		if data, err = json.Marshal(v); err != nil {
			fail(w, http.StatusInternalServerError, err.Error())
			return
		}
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(data) // the client may be gone
}

func askReport(q *question) (any, error) {
	if text := q.kept("report " + q.lang()); text != nil {
		return text, nil
	}
	s, err := q.reported()
	if err != nil {
		return nil, err
	}
	text, err := s.ReportJSON(q.lang())
	return json.RawMessage(text), err
}

// askReasons gives the reasons of an interval, or of the whole run.
func askReasons(q *question) (any, error) {
	if !q.has("from") && !q.has("to") {
		s, err := q.reported()
		if err != nil {
			return nil, err
		}
		return s.AllReasons(q.lang())
	}
	s, from, to, err := q.all()
	if err != nil {
		return nil, err
	}
	return s.Reasons(q.ctx, from, to, q.lang())
}

func waits(q *question, t *timeline.Timeline, from, to int64) (any, error) {
	return t.Longest(timeline.WaitQuery{From: from, To: to, Factors: q.words("factors"), Parts: q.words("parts"),
		Producer: q.text("producer", 200), Consumer: q.text("consumer", 200), Code: q.text("code", 200),
		DF: q.text("df", 200), Link: q.text("link", 50), Place: q.text("place", 1000), Lanes: q.lanes(),
		Limit: int(q.number("limit", 1, 10_000, 1000)), Windows: int(q.number("windows", 1, 4096, 300))})
}

func askFactors(q *question) (any, error) {
	from, to := q.span(q.wall())
	windows := int(q.number("windows", 1, 4096, 200))
	lanes := q.lanes()
	if q.err != nil {
		return nil, q.err
	}
	if !q.has("to") {
		to = max(to, from+1) // a run that has just begun has no length
	}
	if x := q.picture(); x != nil {
		return x.Timeline.Factors(timeline.FactorQuery{From: from, To: to, Windows: windows, Lanes: lanes})
	}
	return q.run.Factors(q.ctx, timeline.FactorQuery{From: from, To: to, Windows: windows, Lanes: lanes})
}

// maxLane is the highest lane number that a question may name.
const maxLane = 1 << 20

func (q *question) lanes() []int { return q.numbers("lanes", maxLane) }

func askTile(q *question) (any, error) {
	if by := q.text("by", 200); timeline.ShadedBy(by) {
		s, shades, err := q.shades(by)
		if err != nil {
			return nil, err
		}
		t, err := s.Timeline()
		if err != nil {
			return nil, err
		}
		from, to := q.span(s.Model.Wall())
		return tile(q, t, from, to, shades)
	}
	if x := q.picture(); x != nil {
		from, to := q.span(x.Timeline.Wall())
		if q.err != nil {
			return nil, q.err
		}
		return tile(q, x.Timeline, from, to, nil)
	}
	return about((*live.Snapshot).Timeline, func(q *question, t *timeline.Timeline, from, to int64) (any,
		error) {
		return tile(q, t, from, to, nil)
	})(q)
}

func tile(q *question, t *timeline.Timeline, from, to int64, shades *timeline.Shades) (any, error) {
	by := ""
	if shades == nil {
		by = q.choice("by", "code", "factor")
	}
	data, err := t.Tile(timeline.TileQuery{From: from, To: to, Width: int(q.number("width", 1, 16384, 1000)),
		By: by, Shades: shades, Lanes: q.lanes()})
	return raw{kind: "application/octet-stream", data: data}, err
}

// shades gives the classes of a colour, and the snapshot of the whole run that has them.
func (q *question) shades(by string) (*live.Snapshot, *timeline.Shades, error) {
	s, err := q.whole()
	if err != nil {
		return nil, nil, err
	}
	t, err := s.Timeline()
	if err != nil {
		return nil, nil, err
	}
	own := func(ctx context.Context, tell func(lane int, at int64, v float64)) error {
		list, err := s.Events()
		if err != nil {
			return err
		}
		return fragments.Tell(ctx, list, timeline.Value(by), s.Model.Wall(), func(node, stream int, at int64,
			v float64) {
			tell(t.LaneOn(node, stream), at, v)
		})
	}
	shades, err := t.Shades(q.ctx, by, own)
	return s, shades, err
}

func askShades(q *question) (any, error) {
	_, shades, err := q.shades(q.text("by", 200))
	return shades, err
}

func askBoxes(q *question) (any, error) {
	limit := int(q.number("limit", 1, 100_000, 10_000))
	ask := timeline.BoxQuery{Lanes: q.lanes(), Limit: limit}
	if by := q.text("by", 200); timeline.ShadedBy(by) {
		s, shades, err := q.shades(by)
		if err != nil {
			return nil, err
		}
		t, err := s.Timeline()
		if err != nil {
			return nil, err
		}
		ask.Shades = shades
		ask.From, ask.To = q.span(s.Model.Wall())
		return t.Boxes(ask)
	}
	return about((*live.Snapshot).Timeline, func(_ *question, t *timeline.Timeline, from, to int64) (any,
		error) {
		ask.From, ask.To = from, to
		return t.Boxes(ask)
	})(q)
}

func arrows(q *question, t *timeline.Timeline, from, to int64) (any, error) {
	limit := int(q.number("limit", 1, 20_000, 2000))
	cf := q.text("cf", 64)
	return t.Arrows(timeline.ArrowQuery{From: from, To: to, Lanes: q.lanes(), Limit: limit, CF: cf,
		Inside: q.number("inside", 0, 1, 0) == 1})
}

func regions(q *question, t *timeline.Timeline, from, to int64) (any, error) {
	return t.Regions(timeline.RegionQuery{From: from, To: to, Lanes: q.lanes(),
		Width: int(q.number("width", 1, 16384, 1000))})
}

func criticalPath(q *question, t *timeline.Timeline, from, to int64) (any, error) {
	limit := int(q.number("limit", 1, 1_000_000, 10_000))
	return t.Path(q.ctx, timeline.PathQuery{From: from, To: to, Limit: limit})
}

func cfStory(q *question, t *timeline.Timeline, _, _ int64) (any, error) {
	return story.CF(t, q.key, q.lang())
}

func dfStory(q *question, t *timeline.Timeline, _, _ int64) (any, error) {
	return story.DF(t, q.key, q.lang())
}

func search(q *question, x *story.Index, _, _ int64) (any, error) {
	return x.Search(q.text("q", 200), int(q.number("limit", 1, 1000, 50)))
}

func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	var sides [2]compare.Run
	for i, name := range []string{"a", "b"} {
		run := s.cfg.Runs.Get(r.URL.Query().Get(name))
		if run == nil {
			fail(w, http.StatusNotFound, name+": no such run is shown")
			return
		}
		snap, err := run.Whole(ctx)
		if err == nil {
			defer snap.Release()
			if err = snap.Whole(); err == nil {
				sides[i], err = snap.Compared()
			}
		}
		if err != nil {
			s.failed(w, r, err)
			return
		}
	}
	answer(w, compare.Compute(sides[0], sides[1]))
}

const heartbeat = 15 * time.Second
