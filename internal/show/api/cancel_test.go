package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/show/api"
	"github.com/whyslow/whyslow/internal/testkit/replicate"
	"github.com/whyslow/whyslow/trace"
)

// written counts the bytes of an answer.
type written struct {
	http.ResponseWriter
	bytes int
}

func (w *written) Write(b []byte) (int, error) {
	w.bytes += len(b)
	return w.ResponseWriter.Write(b)
}

func (w *written) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Whoever goes away while the program runs in virtual time, as the page does when a slider moves on, stops
// that run: nothing is answered, since nothing was computed to its end.
func TestWhatIfCancelled(t *testing.T) {
	r, err := trace.Open(heat(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir := filepath.Join(t.TempDir(), "many.trace")
	if _, err := replicate.Write(context.Background(), dir, r, replicate.Options{Copies: 200}); err != nil {
		t.Fatal(err)
	}
	s, ids := serve(t, api.Config{}, dir)
	answered := make(chan int, 1)
	watched := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count := &written{ResponseWriter: w}
		s.Config.Handler.ServeHTTP(count, r)
		answered <- count.bytes
	}))
	defer watched.Close()
	path := "/api/runs/" + ids[0] + "/whatif"
	asked[struct{ CFs int }](t, s.URL+path) // the program is prepared
	stacks := make([]byte, 1<<20)
	for _, question := range []string{"predict?", "factors?", "balance?strategy=recorded"} {
		stopped := false
		for try := 0; try < 50 && !stopped; try++ {
			ctx, cancel := context.WithCancel(context.Background())
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, watched.URL+path+"/"+question, nil)
			if err != nil {
				t.Fatal(err)
			}
			gone := make(chan struct{})
			go func() {
				if resp, err := http.DefaultClient.Do(request); err == nil {
					resp.Body.Close()
				}
				close(gone)
			}()
			bytes, done := 0, false
			for !done && !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "simulate.(*Simulator)") {
				select {
				case bytes = <-answered: // it was too fast to be seen
					done = true
				default:
					runtime.Gosched()
				}
			}
			cancel()
			<-gone
			if !done {
				bytes = <-answered
			}
			stopped = bytes == 0
		}
		if !stopped {
			t.Errorf("%s goes on when nobody waits for it", question)
		}
	}
}
