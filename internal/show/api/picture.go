package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"sync"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/index"
	"github.com/whyslow/whyslow/internal/show/live"
)

// leastIndexed is how many events a run has at least whose first picture is kept: others are read at once.
const leastIndexed = 1_000_000

// pictures are the first pictures of finished runs that were kept, by the id of the run.
type pictures struct {
	mu    sync.Mutex
	of    map[string]*index.Index // nil: none is kept
	kept  map[string]bool         // keep was called
	least uint64                  // events of a run
}

// of gives the kept picture of a run that cannot answer by itself yet; nil where there is none.
func (p *pictures) get(r *live.Run) *index.Index {
	if st, _ := r.Status(); st.State == live.StateLive || st.Events < p.least || r.Ready() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	x, known := p.of[r.ID()]
	if !known {
		if key, err := index.KeyOf(r.Dir()); err == nil {
			x, _ = index.Read(r.Dir(), key) // nil where there is none
		}
		if p.of == nil {
			p.of = map[string]*index.Index{}
		}
		p.of[r.ID()] = x
	}
	return x
}

// keep keeps the first picture of a run in the background, once, if none is.
func (p *pictures) keep(r *live.Run) {
	st, _ := r.Status()
	if st.State == live.StateLive || st.Events < p.least {
		return
	}
	p.mu.Lock()
	before := p.kept[r.ID()]
	if p.kept == nil {
		p.kept = map[string]bool{}
	}
	p.kept[r.ID()] = true
	p.mu.Unlock()
	if before {
		return
	}
	go keepIndex(context.Background(), r)
}

// keepIndex keeps the first picture of a run if none is kept. The page does without where it fails, and asks
// again next time.
func keepIndex(ctx context.Context, r *live.Run) {
	_ = procs.Guard(func() error {
		key, err := index.KeyOf(r.Dir())
		if err != nil {
			return err
		}
		if _, err = index.Read(r.Dir(), key); err != nil {
			_, _, err = Index(ctx, r)
		}
		return err
	})
}

// goingOn tells of all runs, by id, whether they go on.
func goingOn(runs *live.Set) map[string]bool {
	out := map[string]bool{}
	list, _ := runs.List()
	for _, r := range list {
		st, _ := r.Status()
		out[r.ID()] = st.State == live.StateLive
	}
	return out
}

// keepEnded keeps the first picture of every run that ends from now on, one after the other, until ctx ends:
// who opens one later has it at once. before is goingOn.
func (p *pictures) keepEnded(ctx context.Context, runs *live.Set, before map[string]bool) {
	for {
		list, changed := runs.List()
		now := map[string]bool{}
		for _, r := range list {
			st, _ := r.Status()
			goesOn, known := before[r.ID()]
			now[r.ID()] = st.State == live.StateLive
			if (goesOn || !known) && !now[r.ID()] && st.Events >= p.least {
				keepIndex(ctx, r)
				p.mu.Lock()
				delete(p.of, r.ID()) // it had none, or another
				p.mu.Unlock()
			}
		}
		before = now
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// picture is the kept picture of the run that a question is about, while the run cannot answer itself; else
// nil.
func (q *question) picture() *index.Index {
	if q.pictures == nil {
		return nil
	}
	return q.pictures.get(q.run)
}

// kept gives a kept answer, nil for none.
func (q *question) kept(name string) json.RawMessage {
	if x := q.picture(); x != nil {
		return x.Answers[name]
	}
	return nil
}

// ErrChanged says that a trace changed while it was read.
var ErrChanged = errors.New("the trace changed while it was read")

// Index keeps the first picture of a finished run, and returns the path of its file and how many bytes it
// has. It fails with live.Partial where the run does not fit.
func Index(ctx context.Context, r *live.Run) (path string, bytes int64, err error) {
	key, err := index.KeyOf(r.Dir())
	if err != nil {
		return "", 0, err
	}
	q := &question{params: &params{q: url.Values{}}, ctx: ctx, run: r}
	defer q.release()
	s, err := q.whole()
	if err != nil {
		return "", 0, err
	}
	x := &index.Index{Answers: map[string][]byte{}}
	if x.Timeline, err = s.Timeline(); err != nil {
		return "", 0, err
	}
	if x.Answers["run"], err = json.Marshal(detail(summary(r), r, s)); err != nil {
		return "", 0, err
	}
	for _, lang := range []string{"en", "ru"} {
		q.q.Set("lang", lang)
		if text, err := s.ReportJSON(lang); err == nil { // else the page is told why when it asks
			x.Answers["report "+lang] = text
		}
		c, err := askChecks(q)
		if err != nil {
			return "", 0, err
		}
		if x.Answers["checks "+lang], err = json.Marshal(c); err != nil {
			return "", 0, err
		}
	}
	if now, err := index.KeyOf(r.Dir()); err != nil || now != key {
		return "", 0, errors.Join(err, ErrChanged)
	}
	if ctx.Err() != nil {
		return "", 0, ctx.Err()
	}
	return index.Write(r.Dir(), key, x)
}
