package eventlist

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/show/view/recent"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// manyBlocks is a trace of some thousand blocks on two nodes: CFs become ready, one in a hundred leaves.
func manyBlocks(t *testing.T) string {
	dir := t.TempDir()
	for n := range 2 {
		w, err := trace.Create(dir, n, trace.Options{BufferBytes: 1 << 10})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(50_000) {
			st := w.Stream(int(i % 3))
			if i%100 == 0 {
				st.Emit(int64(i), trace.KindCFMigrated, uint64(trace.MakeCF(n, i+1)), uint64(1-n), 10, 0)
			} else {
				st.Emit(int64(i), trace.KindCFReady, uint64(trace.MakeCF(n, i+1)), 0)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestEarlyAnswers(t *testing.T) {
	l := open(t, manyBlocks(t))
	ctx := context.Background()
	l.patience = time.Minute
	q := Query{Text: "LEAVES for node", Limit: 10_000}
	whole, err := l.Page(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Total != 1000 || len(whole.Rows) != 1000 || whole.Scanned != 1 {
		t.Fatalf("%d of %d rows, scanned %v", len(whole.Rows), whole.Total, whole.Scanned)
	}
	l.filters = recent.New[string](maxFilters, (*results).stop)
	l.patience = time.Nanosecond
	partial, last := 0, 0.0
	for {
		p, err := l.Page(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if p.Total != len(p.Rows) || p.Total > whole.Total {
			t.Fatalf("%d rows of %d", len(p.Rows), p.Total)
		}
		if d := gocmp.Diff(whole.Rows[:p.Total], p.Rows); d != "" {
			t.Fatalf("after %v (-want +got):\n%s", p.Scanned, d)
		}
		if p.Scanned < last {
			t.Fatalf("scanned %v after %v", p.Scanned, last)
		}
		if last = p.Scanned; last == 1 {
			if p.Total != whole.Total {
				t.Fatalf("%d rows of %d in the end", p.Total, whole.Total)
			}
			break
		}
		partial++
	}
	if partial == 0 {
		t.Log("no early answer: all was looked through at once")
	}
}

// TestIntervalFirst checks that a question about an interval reads only the blocks of that interval.
func TestIntervalFirst(t *testing.T) {
	l := open(t, manyBlocks(t))
	l.patience = time.Minute
	from, to := int64(25_000), int64(25_999)
	p, err := l.Page(context.Background(), Query{Text: "leaves", From: &from, To: &to})
	if err != nil || p.Total != 20 || p.Scanned != 1 {
		t.Fatal(p, err)
	}
	done := 0
	r, _ := l.filters.Get((&Query{Text: "leaves"}).key())
	for i := range l.blocks {
		if r.done[i] && l.blocks[i].kinds.meets(&r.filter.kinds) {
			done++
		}
	}
	if done*10 > len(l.blocks) {
		t.Errorf("%d of %d blocks were looked through", done, len(l.blocks))
	}
}

// TestCloseStopsEverything asks many questions and closes at once.
func TestCloseStopsEverything(t *testing.T) {
	dir := manyBlocks(t)
	before := runtime.NumGoroutine()
	for range 3 {
		l := open(t, dir)
		l.patience = time.Nanosecond
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				q := Query{Text: string(rune('a' + i)), Limit: 10}
				for range 20 {
					if _, err := l.Page(context.Background(), q); err != nil && !errors.Is(err, ErrClosed) &&
						!errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				}
			})
		}
		wg.Go(func() {
			if err := l.CSV(context.Background(), io.Discard, Query{Text: "node"}); err != nil &&
				!errors.Is(err, ErrClosed) && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		time.Sleep(time.Millisecond)
		l.Close()
		if _, err := l.Page(context.Background(), Query{}); !errors.Is(err, ErrClosed) {
			t.Error("asked after Close:", err)
		}
		wg.Wait()
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// TestTogether asks different questions at once; with -race it reveals wrongly shared data.
func TestTogether(t *testing.T) {
	l := open(t, manyBlocks(t))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 30 {
				at := int64(k * 1000)
				q := Query{Offset: (i*7919 + k*104729) % 100_000, Limit: 20}
				switch i % 4 {
				case 1:
					q = Query{T: &at, Nodes: []int{i % 2}}
				case 2:
					q = Query{Link: "0->1", Offset: k}
				case 3:
					q = Query{CF: "0.101", From: &at}
				}
				p, err := l.Page(context.Background(), q)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				} else if err == nil && !slices.IsSortedFunc(p.Rows, func(a, b EventRow) int { return int(a.T - b.T) }) {
					t.Error("rows are not in order")
				}
			}
		})
	}
	wg.Wait()
}

func TestContextEnds(t *testing.T) {
	l := open(t, manyBlocks(t))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Page(ctx, Query{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if p, err := l.Page(context.Background(), Query{}); err != nil || p.Total != 100_000 {
		t.Error("the index must be made by who asks next:", p, err)
	}
}

func TestBadQueries(t *testing.T) {
	l := openText(t, "#run {\"nodes\":[{\"node\":0,\"workers\":1}]}\n#node 0\n#df 1 x [0 1]\n1 n0 s0 "+
		"CFEvents.onReady cf=0.1 late=0\n2 n0 s0 DFEvents.onStored df=1 size=1\n")
	at := func(t int64) *int64 { return &t }
	for _, c := range []struct {
		q    Query
		kind error
	}{
		{Query{Offset: -1}, fs.ErrInvalid}, {Query{Limit: -1}, fs.ErrInvalid},
		{Query{Limit: MaxLimit + 1}, fs.ErrInvalid},
		{Query{From: at(5), To: at(4)}, fs.ErrInvalid}, {Query{Kinds: []string{"onReady"}}, fs.ErrInvalid},
		{Query{Link: "1"}, fs.ErrInvalid},
		{Query{CF: "17"}, fs.ErrInvalid}, {Query{DF: "17"}, fs.ErrInvalid},
		{Query{Link: "0->1"}, fs.ErrNotExist}, {Query{Nodes: []int{1}}, fs.ErrNotExist},
		{Query{Code: 9}, fs.ErrNotExist}, {Query{Code: -1}, fs.ErrNotExist},
		{Query{CF: "0.99"}, fs.ErrNotExist}, {Query{CF: "7.1"}, fs.ErrNotExist}, {Query{DF: "0:2"}, fs.ErrNotExist},
		{Query{DF: "5:1"}, fs.ErrNotExist},
	} {
		if p, err := l.Page(context.Background(), c.q); !errors.Is(err, c.kind) || strings.Contains(err.Error(),
			"\n") {
			t.Errorf("%+v: %v, %v", c.q, p, err)
		}
	}
	if p, err := l.Page(context.Background(), Query{Offset: 99}); err != nil || p.Total != 2 || p.Offset != 2 ||
		p.Rows == nil {
		t.Error(p, err)
	}
}

func FuzzQuery(f *testing.F) {
	dir := f.TempDir()
	text := `#run {"nodes":[{"node":0,"workers":1},{"node":1,"workers":1}]}
#node 0
#kind 256 My.onStep a:Int
#df 1 x [0 1 2]
1 n0 s0 CFEvents.onReady cf=0.1 late=0
2 n0 s0 DFEvents.onSent df=1 to=1 bytes=1 message=0.1 request=- cf=0.1
3 n0 s0 My.onStep a=3
`
	if err := twin.Parse(strings.NewReader(text), dir); err != nil {
		f.Fatal(err)
	}
	l := open(f, dir)
	l.patience = time.Minute
	f.Add("CFEvents,My.onStep", "0->1", "0.1", "0:1", "SENT", 0, int64(0), int64(9))
	f.Add("", "", "", "", "ШАГ\xff", 1, int64(-1<<63), int64(1<<63-1))
	f.Fuzz(func(t *testing.T, kinds, link, cf, df, text string, code int, from, to int64) {
		q := Query{Link: link, CF: cf, DF: df, Text: text, Code: code, From: &from, To: &to}
		if kinds != "" {
			q.Kinds = strings.Split(kinds, ",")
		}
		p, err := l.Page(context.Background(), q)
		if err != nil {
			if !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(),
				"\n") {
				t.Fatalf("%+v: %v", q, err)
			}
			return
		}
		if p.Total > 3 || len(p.Rows) != p.Total || p.Scanned != 1 {
			t.Fatalf("%+v: %+v", q, p)
		}
	})
}

// lower is bytes.ToLower, whatever the bytes.
func TestLower(t *testing.T) {
	for _, text := range []string{"", "Sent x[3] to A", "ФВ запущен, Ёлка ж", "K, İ and Ⱥ change their length", "\xff\xd0B"} {
		want := bytes.ToLower([]byte(text))
		if got := lower([]byte(text)); !bytes.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
