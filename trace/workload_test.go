package trace

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// A made-up run of a tiled Cholesky factorisation with the events that the engine
// records: several nodes, tiles in two-dimensional cyclic distribution, inputs of
// other nodes requested and received, times with the spread of real ones.

type workload struct {
	dir    string
	events int
	bytes  int64
}

// cholesky writes the trace of n x n tiles on nodes of workers each.
func cholesky(t testing.TB, dir string, n, nodes, workers int, opt Options) workload {
	rnd := rand.New(rand.NewPCG(1, 2))
	type place struct {
		w       *Writer
		now     []int64
		counter uint64
		message uint64
		dfs     map[[4]int64]DF
		name    Name
	}
	wl := workload{dir: dir}
	var ps []*place
	for i := range nodes {
		w, err := Create(dir, i, opt)
		if err != nil {
			t.Fatal(err)
		}
		p := &place{w: w, now: make([]int64, workers+1), dfs: map[[4]int64]DF{}, name: w.Name("A")}
		for c, name := range []string{"potrf", "trsm", "syrk", "gemm"} {
			w.DefineCode(CodeDef{Code: uint32(c + 1), Name: w.Name(name), File: w.Name("cholesky.fa"),
				Line: 10 * c, Col: 3})
			w.DefineSite(SiteDef{Site: Site(c + 1), Code: uint32(c + 1), Label: w.Name(name),
				File: w.Name("cholesky.fa"), Line: 50 + c, Col: 5, Text: w.Name(name + "(A[i][j][k])")})
		}
		for s := range workers {
			w.Stream(s).Emit(0, KindProgramStarted, uint64(i), 0)
			wl.events++
		}
		ps = append(ps, p)
	}
	spread := func(mean float64) int64 { return int64(mean * math.Exp(0.5*rnd.NormFloat64())) }
	df := func(node int, i, j, k int64) DF {
		p := ps[node]
		key := [4]int64{0, i, j, k}
		d, ok := p.dfs[key]
		if !ok {
			d = DF(len(p.dfs) + 1)
			p.dfs[key] = d
			p.w.DefineDF(d, p.name, []int64{0, 1, i, j, k})
		}
		return d
	}
	home := func(i, j int64) int { return int(i+2*j) % nodes }
	here := map[[4]int64]bool{} // node, i, j, k: a copy is there
	tile := func(n float64) uint64 { return uint64(256*256*8) + uint64(n) }
	run := func(code int, mean float64, i, j, k int64, inputs ...[3]int64) {
		node := home(i, j)
		p := ps[node]
		worker := rnd.IntN(workers)
		s := p.w.Stream(worker)
		emit := func(s *Stream, t int64, k Kind, args ...uint64) {
			s.Emit(t, k, args...)
			wl.events++
		}
		now := &p.now[worker]
		p.counter++
		cf := uint64(MakeCF(node, p.counter))
		emit(s, *now, KindCFCreated, cf, uint64(code), uint64(MakeCF(node, 1+p.counter/100)), 1,
			math.Float64bits(1), 3, uint64(i), uint64(j), uint64(k))
		*now += spread(400)
		ids := []uint64{cf, 1, uint64(len(inputs))}
		for _, in := range inputs {
			d := df(node, in[0], in[1], in[2])
			ids = append(ids, uint64(d))
			from := home(in[0], in[1])
			at := [4]int64{int64(node), in[0], in[1], in[2]}
			if from == node || here[at] {
				continue
			}
			here[at] = true
			p.message++
			q := ps[from]
			q.message++
			req, msg := MakeMessage(node, p.message), MakeMessage(from, q.message)
			emit(s, *now, KindDFRequested, uint64(d), cf, uint64(from), req)
			rs := q.w.Stream(workers)
			back := &q.now[workers]
			*back = max(*back, *now) + spread(5000)
			rd := df(from, in[0], in[1], in[2])
			emit(rs, *back, KindDFRequestReceived, uint64(rd), uint64(node), req)
			*back += spread(800)
			emit(rs, *back, KindDFSent, uint64(rd), uint64(node), tile(0), msg, req, 0)
			got := &p.now[workers]
			*got = max(*got, *back) + spread(60000)
			emit(p.w.Stream(workers), *got, KindDFReceived, uint64(d), uint64(from), tile(0), msg, req, 0)
			emit(p.w.Stream(workers), *got, KindDFStored, uint64(d), tile(0))
		}
		emit(s, *now, KindCFReady, cf, uint64(spread(300)))
		*now += spread(700)
		emit(s, *now, KindCFStarted, ids...)
		*now += spread(mean)
		emit(s, *now, KindCFFinished, cf, 1, uint64(spread(mean)))
		out := df(node, i, j, k+1)
		emit(s, *now, KindDFCreate, uint64(out), tile(0), cf)
		emit(s, *now, KindDFStored, uint64(out), tile(0))
		*now += spread(200)
		if k > 0 {
			emit(s, *now, KindDFDestroy, uint64(df(node, i, j, k)), tile(0), 0)
			emit(s, *now, KindDFDropped, uint64(df(node, i, j, k)), tile(0))
		}
		emit(s, *now, KindCFDestroyed, cf)
		if rnd.IntN(8) == 0 {
			emit(s, *now, KindIdle)
			*now += spread(20000)
			emit(s, *now, KindBusy)
		}
		if rnd.IntN(4) == 0 {
			emit(s, *now, KindReadyQueue, uint64(rnd.IntN(20)))
		}
	}
	for k := range int64(n) {
		run(1, 300e3, k, k, k, [3]int64{k, k, k})
		for i := k + 1; i < int64(n); i++ {
			run(2, 500e3, i, k, k, [3]int64{k, k, k + 1}, [3]int64{i, k, k})
		}
		for i := k + 1; i < int64(n); i++ {
			run(3, 500e3, i, i, k, [3]int64{i, k, k + 1}, [3]int64{i, i, k})
			for j := k + 1; j < i; j++ {
				run(4, 900e3, i, j, k, [3]int64{i, k, k + 1}, [3]int64{j, k, k + 1}, [3]int64{i, j, k})
			}
		}
	}
	for _, p := range ps {
		for s := range workers {
			p.w.Stream(s).Emit(p.now[s], KindProgramFinished, uint64(p.now[s]))
			wl.events++
		}
		if err := p.w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range nodes {
		st, err := os.Stat(filepath.Join(dir, tracefile.FileName(i)))
		if err != nil {
			t.Fatal(err)
		}
		wl.bytes += st.Size()
	}
	return wl
}

// The goal is 3 bytes an event, definitions and index included.
func TestBytesPerEvent(t *testing.T) {
	wl := cholesky(t, t.TempDir(), 40, 4, 2, Options{})
	per := float64(wl.bytes) / float64(wl.events)
	t.Logf("%d events, %d bytes: %.2f bytes an event", wl.events, wl.bytes, per)
	if per > 3 {
		t.Errorf("%.2f bytes an event, more than 3", per)
	}
	r := open(t, wl.dir)
	noProblems(t, r)
	if r.Events() != wl.events {
		t.Errorf("%d events, want %d", r.Events(), wl.events)
	}
	var d, blocks int64
	for _, f := range r.files {
		for _, b := range f.DefsAt {
			d += int64(b.Packed) + tracefile.BlockHeaderSize
		}
		blocks += int64(len(f.Blocks))
	}
	t.Logf("definitions %.2f bytes an event, %d blocks of %.0f events", float64(d)/float64(wl.events), blocks,
		float64(wl.events)/float64(blocks))
}

func BenchmarkWrite(b *testing.B) {
	dir := b.TempDir()
	cholesky(b, dir, 40, 1, 2, Options{})
	r := open(b, dir)
	// The raw records again, as they come from emitters.
	var raw []uint64
	var batch Batch
	c := r.Stream(0, 0)
	n := 0
	for c.Next(&batch) {
		for i := range batch.N {
			raw = append(append(raw, Header(batch.Time[i], batch.Kind[i])), batch.Args(i)...)
			n++
		}
	}
	w, err := newWriter(discard{}, 0, Options{Sync: true})
	if err != nil {
		b.Fatal(err)
	}
	var buffers [][]uint64
	for left := raw; len(left) > 0; {
		k := 0
		for k < len(left) && k < DefaultBuffer/8-64 {
			k += w.recordSize(left[k:])
		}
		buffers = append(buffers, left[:k])
		left = left[k:]
	}
	b.ResetTimer()
	for range b.N {
		for _, buf := range buffers {
			if _, err := w.writeEvents(0, buf); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
}

type discard struct{}

func (discard) Write(b []byte) (int, error)    { return len(b), nil }
func (discard) Truncate(int64) error           { return nil }
func (discard) Seek(int64, int) (int64, error) { return 0, nil }
func (discard) Close() error                   { return nil }

func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	wl := cholesky(b, dir, 60, 2, 2, Options{})
	r := open(b, dir)
	for _, workers := range []int{1, 2} {
		b.Run(map[int]string{1: "workers=1", 2: "workers=2"}[workers], func(b *testing.B) {
			for range b.N {
				if err := r.Each(workers, func(*Batch) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(wl.events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	wl := cholesky(b, dir, 60, 2, 2, Options{})
	b.ResetTimer()
	for range b.N {
		r, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
	b.ReportMetric(float64(wl.events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
