package live_test

import (
	"context"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/record/collect"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/show/view/timeline"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// TestCollected: two nodes send their parts of a run to a collector, among others who send garbage; one
// sender is stopped in the middle and comes back. What is shown of the collected run in the end is what its
// trace says where it was made.
func TestCollected(t *testing.T) {
	whole := ring(t, 6000)
	if err := trace.WriteRunInfo(whole, info(trace.EndedDone)); err != nil {
		t.Fatal(err)
	}
	var parts [2]string
	for node := range parts {
		parts[node] = filepath.Join(t.TempDir(), "part.trace")
		in := info(trace.EndedDone)
		in.Nodes = in.Nodes[node : node+1]
		if err := trace.WriteRunInfo(parts[node], in); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(whole, tracefile.FileName(node)))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(parts[node], tracefile.FileName(node)), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}

	runs := live.NewSet()
	defer runs.Close()
	shown := make(chan *live.Run, 1)
	c, err := collect.New(collect.Config{Dir: filepath.Join(t.TempDir(), "kept"), OnRun: func(dir string) {
		r, err := runs.Add(dir, live.Options{})
		if err != nil {
			t.Error(err)
			return
		}
		shown <- r
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	server := httptest.NewServer(c)
	defer server.Close()
	addr := server.Listener.Addr().String()

	stop := make(chan struct{})
	var others sync.WaitGroup
	const upgrade = "GET /stream HTTP/1.1\r\nHost: x\r\nUpgrade: whyslow-stream/1\r\nConnection: Upgrade\r\n\r\n"
	long := strings.Repeat("A", 100_000)
	for _, garbage := range []string{upgrade + "\xff\xff\xff\xff\xff\xff", "\x16\x03\x01", long} {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if conn, err := net.Dial("tcp", addr); err == nil {
					_, _ = conn.Write([]byte(garbage))
					time.Sleep(5 * time.Millisecond)
					conn.Close()
				}
			}
		})
	}
	send := func(ctx context.Context, node int) {
		s := stream.NewSender(stream.Config{Target: stream.Target{Addr: addr}, Source: stream.Folder(parts[node]),
			Name: parts[node], Window: 64 << 10})
		go s.Run(ctx)
		s.EndSource()
		if err := s.Drain(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}
	send(context.Background(), 0)
	r := <-shown
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	send(ctx, 1) // may have come anywhere
	cancel()
	send(context.Background(), 1)
	close(stop)
	others.Wait()
	until(t, r, "the end", func(st live.Status) bool { return st.State == trace.EndedDone })

	s, err := r.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	reader, err := trace.Open(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	m, err := model.Build(context.Background(), reader, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := timeline.Build(context.Background(), m, timeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Timeline()
	if err != nil {
		t.Fatal(err)
	}
	wall := m.Wall()
	all := timeline.FactorQuery{To: wall, Windows: 1}
	some := timeline.FactorQuery{From: wall / 3, To: wall / 2, Windows: 17}
	for _, q := range []timeline.FactorQuery{all, some} {
		a, err := want.Factors(q)
		if err != nil {
			t.Fatal(err)
		}
		b, err := got.Factors(q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("collected and original:\n%s", diff)
		}
	}
	if s.Model.Events != m.Events {
		t.Errorf("%d events of %d", s.Model.Events, m.Events)
	}
}

// TestLateSender: a sender is taken in that comes when all others have ended, by itself or by a collector of
// its group. Until it has ended too, the run is live again.
func TestLateSender(t *testing.T) {
	whole := ring(t, 3000)
	events := uint64(0)
	var parts [2]string
	for node := range parts {
		parts[node] = filepath.Join(t.TempDir(), "part.trace")
		in := info(trace.EndedDone)
		in.Nodes = in.Nodes[node : node+1]
		if err := trace.WriteRunInfo(parts[node], in); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(whole, tracefile.FileName(node)))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(parts[node], tracefile.FileName(node)), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range blocks(t, whole) {
		if !b.Defs {
			events += uint64(b.Count)
		}
	}
	send := func(addr string, node int) {
		s := stream.NewSender(stream.Config{Target: stream.Target{Addr: addr}, Source: stream.Folder(parts[node]),
			Name: parts[node]})
		go s.Run(t.Context())
		s.EndSource()
		if err := s.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, grouped := range []bool{false, true} {
		runs := live.NewSet()
		defer runs.Close()
		shown := make(chan *live.Run, 1)
		collector := func(cfg collect.Config) string {
			cfg.Dir = filepath.Join(t.TempDir(), "kept")
			c, err := collect.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			server := httptest.NewServer(c)
			t.Cleanup(server.Close)
			return server.Listener.Addr().String()
		}
		addr := collector(collect.Config{OnRun: func(dir string) {
			r, err := runs.Add(dir, live.Options{})
			if err != nil {
				t.Error(err)
			}
			shown <- r
		}})
		send(addr, 0)
		r := <-shown
		until(t, r, "the first sender's end", func(st live.Status) bool { return st.State == trace.EndedDone })
		// A page that is opened now knows the run as finished.
		second, err := live.Open(r.Dir(), live.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		if st, _ := second.Status(); st.State != trace.EndedDone || st.Events >= events {
			t.Fatalf("%+v", st)
		}
		list, changed := runs.List()
		if len(list) != 1 {
			t.Fatal(list)
		}
		if grouped {
			send(collector(collect.Config{Forward: stream.Target{Addr: addr}}), 1)
		} else {
			send(addr, 1)
		}
		<-changed
		for _, r := range []*live.Run{r, second} {
			until(t, r, "all of both", func(st live.Status) bool {
				return st.State == trace.EndedDone && st.Events == events
			})
			s, err := r.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s.Model.Events != events {
				t.Errorf("%d events of %d in the snapshot", s.Model.Events, events)
			}
			s.Release()
		}
	}
}
