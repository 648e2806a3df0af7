package collect

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

var load = flag.Duration("load", time.Second/2, "how long TestLoad sends")

// 64 senders of 16 runs, three that mean no good, and one of the senders is killed and
// started again, over and over: everybody's trace arrives whole, and is the same as the
// one written on the spot.
func TestLoad(t *testing.T) {
	const runs, perRun = 16, 4
	tmp := t.TempDir()
	limits := DefaultLimits()
	limits.Handshake = 5 * time.Second
	limits.Idle = 5 * time.Second
	s := serveAt(t, "", Config{Dir: filepath.Join(tmp, "kept"), Limits: limits})
	goroutines, files := runtime.NumGoroutine(), openFiles()
	stop := make(chan bool)
	var bad sync.WaitGroup
	var attacks atomic.Int64
	all := garbage(t)
	for _, attack := range []string{"noise after the hello", "oversize", "slow"} {
		bad.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				attacks.Add(1)
				c, err := net.Dial("tcp", s.addr)
				if err != nil {
					t.Errorf("%s: %v", attack, err)
					return
				}
				if attack != "slow" {
					_, _ = c.Write(all[attack]) // it is cut off
					c.Close()
					continue
				}
				for _, b := range all["hello and nothing"] {
					if _, err := c.Write([]byte{b}); err != nil {
						break
					}
					time.Sleep(3 * time.Millisecond)
				}
				c.Close()
			}
		})
	}

	var good sync.WaitGroup
	var events atomic.Int64
	var worst atomic.Int64
	until := time.Now().Add(*load)
	ids := make([]string, runs)
	for run := range runs {
		ids[run] = trace.NewRunID()
		for part := range perRun {
			good.Go(func() {
				kill := run == 0 && part == 0
				n, lag, err := loadSender(s.addr, filepath.Join(tmp, fmt.Sprint(run, "-", part)), ids[run], part,
					until, kill)
				if err != nil {
					t.Errorf("run %d, sender %d: %v", run, part, err)
				}
				events.Add(int64(n))
				for old := worst.Load(); int64(lag) > old && !worst.CompareAndSwap(old, int64(lag)); old = worst.Load() {
				}
			})
		}
	}
	begin := time.Now()
	good.Wait()
	took := time.Since(begin)
	close(stop)
	bad.Wait()
	if left := leftOver(goroutines, files); left != "" {
		t.Error(left)
	}
	for run := range runs {
		together(t, tmp, run, perRun, byID(s, ids[run]).Dir)
	}
	t.Logf("%d events in %v, %d attacks, greatest lag %v", events.Load(), took.Round(time.Millisecond),
		attacks.Load(), time.Duration(worst.Load()).Round(time.Millisecond))
}

// loadSender records for a while and sends. It returns the number of events and the
// greatest lag that was seen, half a second after the start and later.
func loadSender(addr, src, id string, node int, until time.Time,
	kill bool) (events int, worst time.Duration, err error) {
	rnd := rand.New(rand.NewPCG(uint64(node), 9))
	info := &trace.RunInfo{ID: id, Program: "load.fa", Nodes: []trace.NodeInfo{{Node: node, Workers: 3}}}
	if err := trace.WriteRunInfo(src, info); err != nil {
		return 0, 0, err
	}
	w, err := trace.Create(src, node, trace.Options{Run: info.ID, BufferBytes: 8 << 10,
		FlushEvery: 100 * time.Millisecond})
	if err != nil {
		return 0, 0, err
	}
	cfg := stream.Config{Target: stream.Target{Addr: addr}, Source: stream.Folder(src)}
	s, cancel := startSender(cfg)
	defer func() { cancel() }()
	begin := time.Now()
	for burst := 0; time.Now().Before(until); burst++ {
		n := 100 + rnd.IntN(300)
		emitSome(w, burst, n, rnd)
		events += n
		time.Sleep(20 * time.Millisecond)
		if time.Since(begin) > 500*time.Millisecond {
			worst = max(worst, s.Stats().Lag)
		}
		if kill && burst%10 == 9 {
			cancel()
			<-s.Done()
			s, cancel = startSender(cfg)
			begin = time.Now()
		}
	}
	if err := w.Close(); err != nil {
		return 0, 0, err
	}
	info.Ended = trace.EndedDone
	if err := trace.WriteRunInfo(src, info); err != nil {
		return 0, 0, err
	}
	ctx, stop := context.WithTimeout(context.Background(), 4*time.Minute)
	defer stop()
	return events, worst, s.Drain(ctx)
}

// together compares what is kept of a run with the files of its senders put together.
func together(t *testing.T, tmp string, run, parts int, kept string) {
	t.Helper()
	whole := filepath.Join(tmp, fmt.Sprint("whole", run))
	if err := os.Mkdir(whole, 0o777); err != nil {
		t.Fatal(err)
	}
	for part := range parts {
		from := filepath.Join(tmp, fmt.Sprint(run, "-", part), tracefile.FileName(part))
		if err := os.Link(from, filepath.Join(whole, tracefile.FileName(part))); err != nil {
			t.Fatal(err)
		}
	}
	info := readInfo(t, kept)
	if info.Ended != trace.EndedDone || len(info.Nodes) != parts {
		t.Errorf("%+v", info)
	}
	writeInfo(t, whole, info)
	same(t, kept, whole)
}

// startSender runs a sender until it is cancelled.
func startSender(cfg stream.Config) (*stream.Sender, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	s := stream.NewSender(cfg)
	go s.Run(ctx)
	return s, cancel
}
