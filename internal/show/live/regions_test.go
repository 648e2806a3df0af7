package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/internal/testkit/upctest"
	"github.com/whyslow/whyslow/trace"
)

// TestRegions watches programs of UPC and OpenSHMEM threads that come late to barriers: what is known of
// their time at any moment is a part of what it is in the end, and in the end it is what the report says. On
// a busy machine little of a short run is seen while it goes on: then a longer one is watched.
func TestRegions(t *testing.T) {
	for _, backend := range []string{upctest.Threads, upctest.Shmem} {
		t.Run(backend, func(t *testing.T) {
			if err := upctest.Missing(backend); err != nil {
				t.Skip(err)
			}
			program, err := upctest.Build(t.Context(), "barrier", backend, "")
			if err != nil {
				t.Fatal(err)
			}
			for barriers := 30; ; barriers *= 4 {
				waited, times := watchBarriers(t, program, backend, barriers)
				if waited >= 2 {
					break
				}
				if barriers > 1000 {
					t.Fatalf("work and waiting were seen %d times of %d while it executed", waited, times)
				}
			}
		})
	}
}

// watchBarriers watches a run with so many barriers. It returns how often it saw work and waiting while the
// run went on, and how often it looked.
func watchBarriers(t *testing.T, program, backend string, barriers int) (waited, times int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	dir := t.TempDir()
	cmd := upctest.Command(ctx, program, upctest.Options{Threads: 2, Backend: backend,
		Args: []string{"0,40", "0", strconv.Itoa(barriers)},
		Env:  []string{"WHYSLOW_TRACE=" + dir, "WHYSLOW_FLUSH=50"}})
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = cmd.Wait() // what it recorded is looked at
	}()
	r, err := live.Open(dir, live.Options{Alive: func() (bool, bool) {
		select {
		case <-over:
			return false, true
		default:
			return true, true
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	seen := watched(t, r)
	<-over
	if st, _ := r.Status(); st.State != trace.EndedDone {
		t.Fatalf("it ended: %s\n%s", st.State, said.Bytes())
	}
	s, err := r.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	final := asReported(t, s)
	for _, w := range seen {
		for _, lane := range w.Lanes {
			for row, ns := range lane.Sum[:len(final.Rows)] {
				if most := final.Lanes[lane.Lane].Sum[row]; ns > most {
					t.Errorf("%s of lane %d: %d ns while it went on, %d in the end", final.Rows[row], lane.Lane, ns, most)
				}
			}
		}
		if w.Sum[0] > 0 && w.Sum[4] > 0 {
			waited++
		}
	}
	tooLong(t, dir, s.Model.Wall())
	return waited, len(seen)
}

// tooLong: of a run with regions that does not fit into memory nothing is claimed.
func tooLong(t *testing.T, dir string, wall int64) {
	t.Helper()
	r, err := live.Open(dir, live.Options{Memory: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	until(t, r, "all of the run", func(st live.Status) bool {
		return st.Events > 100 && st.State == trace.EndedDone
	})
	s, err := r.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if got := sums(t, r, 0); !slices.Equal(got, []int64{0, 0, 0, 0, 0, 0, 2 * wall}) {
		t.Errorf("of a run that is too long %d is known", got)
	}
}

// watched are the factors of a run, whenever there is something new, until it is over.
func watched(t *testing.T, r *live.Run) (seen []*timeline.FactorWindows) {
	t.Helper()
	deadline := time.After(4 * time.Minute)
	for {
		st, changed := r.Status()
		if st.State != live.StateLive {
			return seen
		}
		if f, err := r.Factors(t.Context(), timeline.FactorQuery{To: max(st.WallNS, 1), Windows: 10}); err == nil {
			seen = append(seen, f)
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("it is not over: %+v", st)
		}
	}
}

// asReported gives the factors of a finished run, which are those of its report.
func asReported(t *testing.T, s *live.Snapshot) *timeline.FactorWindows {
	t.Helper()
	tl, err := s.Timeline()
	if err != nil {
		t.Fatal(err)
	}
	f, err := tl.Factors(timeline.FactorQuery{From: 0, To: s.Model.Wall(), Windows: 1})
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.ReportJSON("en")
	var doc struct {
		Factors map[string]struct {
			NS int64 `json:"ns"`
		} `json:"factors"`
	}
	if err != nil || json.Unmarshal(text, &doc) != nil {
		t.Fatal(err)
	}
	for i, row := range f.Rows {
		ns := f.Sum[i]
		if row == "O" {
			ns += f.ExtraCoresNS
		}
		if row != "loss" && doc.Factors[row].NS != ns {
			t.Errorf("%s: %d in the report, %d on the page", row, doc.Factors[row].NS, ns)
		}
	}
	return f
}
