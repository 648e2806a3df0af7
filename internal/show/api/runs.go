package api

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/whyslow/whyslow/internal/analysis/counters"
	"github.com/whyslow/whyslow/internal/record/collect"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/show/report"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

type runSummary struct {
	ID      string   `json:"id"`
	Program string   `json:"program"`
	Args    []string `json:"args"`
	Started string   `json:"started"`
	State   string   `json:"state"`
	Nodes   int      `json:"nodes"`
	Workers int      `json:"workers"`
	WallNS  int64    `json:"wall_ns"`
	Events  uint64   `json:"events"`
	Lost    uint64   `json:"lost"`
	Bytes   int64    `json:"bytes"`
	Path    string   `json:"path"`
	Version int      `json:"version"`
	// Removable: DELETE removes it, for those who have the token.
	Removable bool `json:"removable"`
	// Debugged: /api/debug/ answers.
	Debugged bool `json:"debugged"`
}

type runDetail struct {
	runSummary
	Lanes []lane         `json:"lanes"`
	Codes []code         `json:"codes"`
	Info  *trace.RunInfo `json:"info"`
	Kinds []report.Kind  `json:"kinds"`
	Span  [2]int64       `json:"span"`
}

type checks struct {
	Warnings []string             `json:"warnings"`
	Problems []string             `json:"problems"`
	Balance  []counters.Violation `json:"balance"`
}

type lane struct {
	Node   int    `json:"node"`
	Worker int    `json:"worker"`
	Host   string `json:"host"`
}

type code struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	File  string `json:"file"`
	Line  int    `json:"line"`
	Count int64  `json:"count"`
}

type update struct {
	Version    int              `json:"version"`
	State      string           `json:"state"`
	WallNS     int64            `json:"wall_ns"`
	Events     uint64           `json:"events"`
	Lost       uint64           `json:"lost"`
	SnapshotNS int64            `json:"snapshot_ns"`
	Sources    []collect.Source `json:"sources"`
}

func summary(r *live.Run) runSummary {
	st, _ := r.Status()
	info := r.Info()
	sum := runSummary{ID: r.ID(), Program: info.Program, Args: append([]string{}, info.Args...), State: st.State,
		Nodes: len(info.Nodes), WallNS: st.WallNS, Events: st.Events, Lost: st.Lost, Bytes: st.Bytes, Path: r.Dir(),
		Version: st.Version}
	if !info.Started.IsZero() {
		sum.Started = info.Started.Format(time.RFC3339)
	}
	if sum.Program == "" {
		sum.Program = filepath.Base(r.Dir())
	}
	for _, n := range info.Nodes {
		sum.Workers += n.Workers
	}
	return sum
}

// allow says what may be done with a run.
func (s *Server) allow(sum *runSummary, r *live.Run) {
	sum.Removable, sum.Debugged = s.removable(r), s.cfg.Debugger != nil
}

// removable tells whether DELETE removes a run.
func (s *Server) removable(r *live.Run) bool {
	return s.cfg.Token != "" && s.cfg.Collector != nil && s.cfg.Collector.Removable(r.Dir())
}

// remove removes a collected run from the disk. Every client has shown the token, if there is one; without
// one, anybody could remove runs.
func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	run := s.runOf(w, r)
	if run == nil {
		return
	}
	if s.cfg.Token == "" || s.cfg.Collector == nil {
		fail(w, http.StatusForbidden, "runs are removed here only with a token: start whyslow serve with --token")
		return
	}
	err := s.cfg.Collector.Remove(run.Dir())
	switch {
	case err == nil:
		s.cfg.Runs.Remove(run.Dir())
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, collect.ErrSending):
		fail(w, http.StatusConflict, "this run is being sent: it can be removed when it is over")
	case errors.Is(err, collect.ErrNotCollected):
		fail(w, http.StatusForbidden, "this run was not collected here: remove its folder by hand")
	default:
		s.failed(w, r, err)
	}
}

func (s *Server) summaries() ([]runSummary, <-chan struct{}) {
	list, changed := s.cfg.Runs.List()
	out := make([]runSummary, 0, len(list))
	for _, r := range list {
		sum := summary(r)
		s.allow(&sum, r)
		out = append(out, sum)
	}
	return out, changed
}

func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	all, _ := s.summaries()
	answer(w, all)
}

// run answers with everything about a run that does not depend on a time.
func (s *Server) run(q *question) (any, error) {
	if text := q.kept("run"); text != nil {
		d := runDetail{}
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, err
		}
		q.run.Prepare()
		now := summary(q.run)
		d.ID, d.Path, d.Version, d.Bytes = now.ID, now.Path, now.Version, now.Bytes
		s.allow(&d.runSummary, q.run)
		return d, nil
	}
	sum := summary(q.run)
	snap, err := q.snapshot()
	if err != nil {
		return nil, err
	}
	// The page asks for these next.
	q.run.Prepare()
	s.pictures.keep(q.run)
	s.allow(&sum, q.run)
	return detail(sum, q.run, snap), nil
}

// detail is everything about a run that does not depend on a time.
func detail(sum runSummary, run *live.Run, snap *live.Snapshot) runDetail {
	d := runDetail{runSummary: sum, Info: run.Info(), Lanes: []lane{}, Codes: []code{},
		Kinds: []report.Kind{}}
	m := snap.Model
	for id := range m.AllWorkers() {
		d.Lanes = append(d.Lanes, lane{id.Node, id.Worker, m.Nodes[id.Node].Host})
	}
	d.Nodes, d.Workers = len(m.Nodes), m.Workers()
	for i, n := range snap.CFCounts() {
		c := &m.Codes[i]
		d.Codes = append(d.Codes, code{c.Name, c.Kind.String(), c.File, c.Line, n})
	}
	d.Kinds = append(d.Kinds, run.Kinds(snap)...)
	d.Span = [2]int64{snap.Span.From, snap.Span.To}
	return d
}

// askChecks lists what makes the figures of a finished run doubtful. A live run has no faults, as its trace
// is not complete yet, but CFs that do not come back from user code.
func askChecks(q *question) (any, error) {
	if text := q.kept("checks " + q.lang()); text != nil {
		return text, nil
	}
	c := checks{Warnings: []string{}, Problems: []string{}, Balance: []counters.Violation{}}
	snap, err := q.fullest()
	if err != nil {
		return nil, err
	}
	lang := q.lang()
	var partial *live.Partial
	if errors.As(snap.Whole(), &partial) {
		c.Warnings = append(c.Warnings, partial.Warning().In(words.LangOf(lang)))
	}
	if st, _ := q.run.Status(); st.State == live.StateLive {
		c.Warnings = append(c.Warnings, report.StayInside(snap.Model, lang)...)
		return c, nil
	}
	if partial != nil && !partial.Exported() {
		return c, nil
	}
	all, err := snap.Report(lang)
	if err != nil {
		return nil, err
	}
	c.Warnings = append(c.Warnings, all.Warnings()...)
	for _, p := range snap.Reader.Problems() {
		if p.Kind == trace.Unfinished && partial != nil && !all.Run.Killed {
			continue // the run died later: nothing of the interval is missing
		}
		c.Problems = append(c.Problems, report.Problem(p, lang))
	}
	c.Problems = append(c.Problems, snap.Model.Collisions...)
	if partial != nil {
		return c, nil // what is left over at the end is known of whole runs only
	}
	left, err := snap.Balance()
	if err != nil {
		return nil, err
	}
	for _, v := range left {
		v.Text = report.Leftover(v, lang)
		c.Balance = append(c.Balance, v)
	}
	return c, nil
}

// stream writes server-sent events. next gives the next one, and a channel that is closed when there is
// another. here is called from time to time while somebody listens.
func stream(w http.ResponseWriter, r *http.Request, here func(), next func() (any, <-chan struct{})) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	rc := http.NewResponseController(w)
	send := func(text string) bool {
		here()
		_, err := io.WriteString(w, text+"\n\n")
		return err == nil && rc.Flush() == nil
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		v, changed := next()
		data, err := json.Marshal(v)
		if err != nil || !send("data: "+string(data)) {
			return
		}
		for waiting := true; waiting; {
			select {
			case <-r.Context().Done():
				return
			case <-changed:
				waiting = false
			case <-beat.C:
				if !send(": still here") {
					return
				}
			}
		}
		time.Sleep(updateEvery) // several changes within a moment are sent as one
	}
}

const updateEvery = 200 * time.Millisecond

// listUpdates sends the list of runs whenever it changes.
func (s *Server) listUpdates(w http.ResponseWriter, r *http.Request) {
	stream(w, r, func() {}, func() (any, <-chan struct{}) {
		all, changed := s.summaries()
		for _, sum := range all {
			if sum.State == live.StateLive { // its figures change all the time
				tick := make(chan struct{})
				time.AfterFunc(time.Second, func() { close(tick) })
				return all, tick
			}
		}
		return all, changed
	})
}

// updates sends how far a run is whenever that changes.
func (s *Server) updates(w http.ResponseWriter, r *http.Request) {
	run := s.runOf(w, r)
	if run == nil {
		return
	}
	stream(w, r, run.Watch, func() (any, <-chan struct{}) {
		st, changed := run.Status()
		u := update{Version: st.Version, State: st.State, WallNS: st.WallNS, Events: st.Events, Lost: st.Lost,
			SnapshotNS: st.SnapshotNS, Sources: []collect.Source{}}
		if s.cfg.Collector != nil {
			u.Sources = s.cfg.Collector.Sources(run.Dir())
		}
		return u, changed
	})
}
