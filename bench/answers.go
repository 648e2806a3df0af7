package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"time"

	budget "github.com/whyslow/whyslow/internal/memory"
	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/show/live"
)

// benchAnswers measures how long the page waits for each kind of answer about a large run: the first picture
// from its index, then questions about intervals of all lengths.
func benchAnswers(ctx context.Context, b *bench) error {
	whyslow, err := b.whyslow(ctx)
	if err != nil {
		return err
	}
	if b.answersBlocks == 0 {
		b.answersBlocks = b.pick(70, 6)
		if b.full {
			b.answersBlocks = 135 // 201 million events are the most for 2 GiB
		}
	}
	dir, stats, _, err := b.repeated(ctx, whyslow, b.answersBlocks, b.pick(16, 4))
	if err != nil {
		return err
	}
	a := &asker{ctx: ctx}
	least := uint64(1) // even of a small run the picture is kept
	const memory = budget.Budget(2 << 30)

	open := func() (closed func()) {
		runs := live.NewSet()
		runs.Limit(memory)
		var r *live.Run
		if r, err = runs.Add(dir, live.Options{Memory: int64(memory), Spill: true}); err == nil {
			a.run, a.id = r, r.ID()
			a.page = api.New(api.Config{Runs: runs, Indexed: least}).Handler()
		}
		return runs.Close
	}
	closed := open()
	if err != nil {
		return err
	}
	watch := start()
	_, bytes, err := api.Index(ctx, a.run)
	if err != nil {
		return err
	}
	indexing, _ := watch.stop()
	closed()

	begin := time.Now()
	defer open()()
	if err != nil {
		return err
	}
	wall, err := a.firstPicture()
	if err != nil {
		return err
	}
	first := time.Since(begin)
	s, err := a.run.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer s.Release()
	whole := time.Since(begin)
	if err := s.Whole(); err != nil {
		return err
	}

	t := b.table("What the page asks about a large run", fmt.Sprintf("%.3g million events of %d nodes: the "+
		"Cholesky example at 4 nodes, repeated; --memory 2Gi. Each question is asked about the whole run and "+
		"about random intervals of it from a tenth down to a microsecond, or about random CFs. The first one of a "+
		"kind prepares what the others need.", float64(stats.Events)/1e6, stats.Nodes),
		"", "median, ms", "goal", "slowest, ms", "first, ms")
	t.row("opening: the first picture, from the index", float64(first.Milliseconds()), "1000 ms", "-", "-")
	for _, q := range questions {
		ms, err := a.measure(q, wall, b.pick(40, 4))
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		rest := slices.Sorted(slices.Values(ms[1:]))
		t.row(q.name, rest[len(rest)/2], "200 ms", rest[len(rest)-1], ms[0])
	}
	size, err := diskBytes(dir)
	if err != nil {
		return err
	}
	t.note("Making the index took %.1f s, %.2g million events a second; it has %.1f %% of the bytes of the "+
		"trace", indexing/1e9, float64(stats.Events)*1e3/indexing, 100*float64(bytes)/float64(max(size-bytes, 1)))
	t.note("%.1f s after opening, all questions can be answered; before, those of the first picture",
		whole.Seconds())
	return nil
}

// question is a kind of question. path makes one about an interval, and the CFs and DFs that were seen.
type question struct {
	name string
	path func(a *asker, from, to int64) string
}

var questions = []question{
	{"tile of 16 lanes", about("tile?width=1000&by=code&lanes=0-15")},
	{"factors in 200 windows", about("factors?windows=200")},
	{"single CFs and gaps of 16 lanes", about("boxes?lanes=0-15")},
	{"arrows of 16 lanes", about("arrows?lanes=0-15")},
	{"longest waits", about("waits?factors=S")},
	{"critical path", about("path?")},
	{"reasons", about("reasons?")},
	{"story of a CF", func(a *asker, _, _ int64) string { return "cf/" + a.cf() + "?" }},
	{"search", func(a *asker, from, _ int64) string { return fmt.Sprintf("search?q=[%d]", from%50) }},
	{"arrows of a CF", func(a *asker, _, _ int64) string { return "arrows?cf=" + a.cf() }},
	{"events, from a time", func(_ *asker, from, _ int64) string { return fmt.Sprintf("events?t=%d", from) }},
	{"events of a CF", func(a *asker, _, _ int64) string { return "events?cf=" + a.cf() }},
	{"nodes and links at a time", func(_ *asker, from, _ int64) string { return fmt.Sprintf("at?t=%d", from) }},
	{"series of all nodes", about("series?names=running,bytes&nodes=all&points=200")},
	{"matrix of messages", about("matrix?value=messages")},
	{"matrix of objects", about("matrix?value=objects")},
	{"memory", about("memory?")},
	{"code fragments", about("fragments?")},
	{"one code fragment", about("fragments/1?")},
	{"graph of nodes", about("graph/nodes?")},
	{"graph of code fragments", about("graph/codes?")},
	{"task graph", about("graph/tasks?")},
	{"graph around a CF", func(a *asker, _, _ int64) string { return "graph/around?depth=2&cf=" + a.cf() }},
}

func about(path string) func(*asker, int64, int64) string {
	return func(_ *asker, from, to int64) string { return fmt.Sprintf("%s&from=%d&to=%d", path, from, to) }
}

// asker asks as the page does.
type asker struct {
	ctx  context.Context
	run  *live.Run
	page http.Handler
	id   string
	rand *rand.Rand
	cfs  []string
}

// cf is one of the CFs that were seen.
func (a *asker) cf() string { return url.PathEscape(a.cfs[a.rand.IntN(len(a.cfs))]) }

func (a *asker) ask(path string) ([]byte, error) {
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(a.ctx, http.MethodGet, "http://127.0.0.1/api/runs/"+a.id+path, nil)
	a.page.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("%s: %d: %.200s", path, w.Code, w.Body)
	}
	return w.Body.Bytes(), nil
}

// firstPicture asks what the page asks first, and returns the length of the run in nanoseconds.
func (a *asker) firstPicture() (wall int64, err error) {
	var answers [][]byte
	for _, path := range []string{"", "/report", "/checks", "/factors?windows=200",
		"/tile?width=1000&lanes=0-15"} {
		text, err := a.ask(path)
		if err != nil {
			return 0, err
		}
		answers = append(answers, text)
	}
	var of struct {
		WallNS int64 `json:"wall_ns"`
	}
	err = json.Unmarshal(answers[1], &of)
	return of.WallNS, err
}

// measure asks a question n times and once more, and returns how many milliseconds each took.
func (a *asker) measure(q question, wall int64, n int) (ms []float64, err error) {
	a.rand = rand.New(rand.NewPCG(1, 2))
	if a.cfs == nil {
		if err := a.look(wall); err != nil {
			return nil, err
		}
	}
	for i := range n + 1 {
		from, to := int64(0), wall
		if i%8 > 0 {
			long := wall
			for range i % 8 {
				long = max(long/10, 1000)
			}
			from = a.rand.Int64N(max(wall-long, 1))
			to = from + long
		}
		path := "/" + q.path(a, from, to)
		begin := time.Now()
		if _, err := a.ask(path); err != nil {
			return nil, err
		}
		ms = append(ms, float64(time.Since(begin).Nanoseconds())/1e6)
	}
	return ms, nil
}

// look finds some CFs to ask about: at 20 moments, then in longer intervals from there if nothing ran.
func (a *asker) look(wall int64) error {
	for i := range int64(80) {
		at, long := wall*(i%20)/20, []int64{100_000, 1000, 100, 20}[i/20]
		if i%20 == 0 && len(a.cfs) > 0 {
			break
		}
		text, err := a.ask(fmt.Sprintf("/boxes?from=%d&to=%d&lanes=0-3", at, at+1+wall/long))
		if err != nil {
			return err
		}
		var boxes struct {
			CFs struct {
				CF []string `json:"cf"`
			} `json:"cfs"`
		}
		if err := json.Unmarshal(text, &boxes); err != nil {
			return err
		}
		a.cfs = append(a.cfs, boxes.CFs.CF...)
	}
	if len(a.cfs) == 0 {
		return fmt.Errorf("no CFs are shown")
	}
	return nil
}
