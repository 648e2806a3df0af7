package live

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/whyslow/whyslow/trace"
)

// recorded is an event on the common clock.
type recorded struct {
	t            int64
	node, stream int
	kind         trace.Kind
	dfs          int // how many of the last arguments are DFs
	args         []uint64
}

// pipeline records a made-up run in dir: 3 nodes of 2 workers; structured CFs create CFs that take what
// others made, here or on other nodes, which is requested and sent. The clocks of the nodes differ and drift.
func pipeline(t testing.TB, dir string, count int) {
	const nodes, workers, system = 3, 2, 5
	rnd := rand.New(rand.NewPCG(3, 4))
	var events []recorded
	add := func(t int64, node, stream int, kind trace.Kind, dfs int, args ...uint64) {
		events = append(events, recorded{t, node, stream, kind, dfs, args})
	}
	type value struct {
		number uint64
		node   int
		at     [nodes]int64 // since when it is there; 0: not yet
	}
	var values []*value
	var busy [nodes][workers]int64
	var counter [nodes]uint64
	next := func(node int) uint64 { counter[node]++; return uint64(trace.MakeCF(node, counter[node])) }
	for n := range nodes {
		for w := range workers {
			add(int64(n+w), n, w, trace.KindProgramStarted, 0, uint64(n), 1000)
			busy[n][w] = 10
		}
	}
	end := int64(0)
	run := func(cf uint64, node int, ready int64, inputs []uint64, length int64) (int, int64) {
		w := rnd.IntN(workers)
		start := max(ready, busy[node][w]) + rnd.Int64N(300)
		add(ready, node, system, trace.KindCFReady, 0, cf, 0)
		args := append([]uint64{cf, 1, uint64(len(inputs))}, inputs...)
		add(start, node, w, trace.KindCFStarted, len(inputs), args...)
		stop := start + 100 + rnd.Int64N(length)
		cpu := ^uint64(0)
		if rnd.IntN(3) == 0 {
			cpu = uint64(stop-start) * 9 / 10
		}
		add(stop, node, w, trace.KindCFFinished, 0, cf, 1, cpu)
		add(stop+50, node, system, trace.KindCFDestroyed, 0, cf)
		busy[node][w] = stop
		end = max(end, stop+60)
		return w, stop
	}
	for i := range count {
		parent, home := uint64(0), rnd.IntN(nodes)
		at := busy[home][0] - rnd.Int64N(1000)
		if i%20 == 0 {
			at = max(at, 20)
		}
		at = max(at, 20)
		sub := next(home)
		var in []uint64
		if len(values) > 0 && values[len(values)-1].node == home {
			in = []uint64{values[len(values)-1].number}
		}
		add(at, home, system, trace.KindCFCreated, 0, sub, 2, parent, 1, 0x3ff0000000000000, 1, uint64(i))
		_, from := run(sub, home, at+20, in, 200)
		for range 3 {
			cf, node := next(home), home
			created := from - rnd.Int64N(50)
			add(created, home, system, trace.KindCFCreated, 0, cf, 1, sub, 1, 0x3ff0000000000000, 0)
			here := created
			if rnd.IntN(4) == 0 {
				node = (home + 1) % nodes
				sent := created + 10 + rnd.Int64N(200)
				here = sent + 400 + rnd.Int64N(400)
				kind := trace.KindCFMigrated
				if rnd.IntN(2) == 0 {
					kind = trace.KindCFStolen
				}
				add(sent, home, system, kind, 0, cf, uint64(node), 100, 0x3ff0000000000000)
				add(here, node, system, trace.KindCFReceived, 0, cf, uint64(home), 100, 0x3ff0000000000000)
			}
			ready := here
			var inputs []uint64
			for range min(rnd.IntN(4), len(values)) {
				v := values[len(values)-1-rnd.IntN(min(len(values), 10))]
				inputs = append(inputs, v.number)
				if v.at[node] == 0 {
					req, message := next(node), next(v.node)
					asked := here + rnd.Int64N(50)
					came := asked + 300 + rnd.Int64N(300)
					sent := max(came, v.at[v.node]) + rnd.Int64N(100)
					got := sent + 500 + rnd.Int64N(500)
					add(asked, node, system, trace.KindDFRequested, 0, v.number, cf, uint64(v.node), req)
					add(came, v.node, system, trace.KindDFRequestReceived, 0, v.number, uint64(node), req)
					add(sent, v.node, system, trace.KindDFSent, 0, v.number, uint64(node), 800, message, req, 0)
					add(got, node, system, trace.KindDFReceived, 0, v.number, uint64(v.node), 800, message, req, cf)
					add(got+1, node, system, trace.KindDFStored, 0, v.number, 800)
					v.at[node] = got
				}
				ready = max(ready, v.at[node]+1)
			}
			w, stop := run(cf, node, ready, inputs, 3000)
			v := &value{number: uint64(len(values)) + 1, node: node}
			v.at[node] = stop - 1
			values = append(values, v)
			add(stop-1, node, w, trace.KindDFCreate, 0, v.number, 800, cf)
			if rnd.IntN(9) == 0 {
				add(stop-90, node, w, trace.KindWaitStarted, 0, 0)
				add(stop-70, node, w, trace.KindWaitEnded, 0, 0)
			}
			if len(values) > 50 {
				add(stop+90000, node, system, trace.KindDFDestroy, 0, values[len(values)-50].number, 800, 0)
			}
		}
	}
	info := &trace.RunInfo{Ended: trace.EndedDone}
	for n := range nodes {
		info.Nodes = append(info.Nodes, trace.NodeInfo{Node: n, Process: n, Workers: workers})
		info.Processes = append(info.Processes, trace.ProcessInfo{PID: n, Cores: 2})
		for w := range workers {
			add(end+int64(n), n, w, trace.KindProgramFinished, 0, uint64(2*end+1000)*3/2)
		}
	}
	if err := trace.WriteRunInfo(dir, info); err != nil {
		t.Fatal(err)
	}
	write(t, dir, events, nodes, end)
}

// write records events as nodes whose clocks differ.
func write(t testing.TB, dir string, events []recorded, nodes int, end int64) {
	for n := range nodes {
		w, err := trace.Create(dir, n, trace.Options{BufferBytes: 1 << 10, Sync: true})
		if err != nil {
			t.Fatal(err)
		}
		for c, kind := range []trace.CodeKind{trace.Atomic, trace.Sub} {
			w.DefineCode(trace.CodeDef{Code: uint32(c + 1), Name: w.Name(kind.String()), Kind: kind})
			w.DefineSite(trace.SiteDef{Site: trace.Site(c + 1), Code: uint32(c + 1)})
		}
		name, lock := w.Name("x"), w.Name("lock")
		known := map[uint64]uint64{}
		df := func(v uint64) uint64 {
			if known[v] == 0 {
				known[v] = uint64(len(known) + 1)
				w.DefineDF(trace.DF(known[v]), name, []int64{0, 1, int64(v)})
			}
			return known[v]
		}
		offset := func(t int64) int64 { return int64(n) * (5000 + t/300) }
		for s := range 10 {
			at := int64(s) * end / 10
			events = append(events, recorded{at, n, 5, trace.KindClockSync, 0, []uint64{uint64(offset(at)), 10}})
		}
		slices.SortStableFunc(events, func(a, b recorded) int { return cmp.Compare(a.t, b.t) })
		for _, e := range events {
			if e.node != n {
				continue
			}
			args := slices.Clone(e.args)
			switch e.kind {
			case trace.KindDFCreate, trace.KindDFRequested, trace.KindDFRequestReceived, trace.KindDFSent,
				trace.KindDFReceived, trace.KindDFStored, trace.KindDFDestroy:
				args[0] = df(args[0])
			case trace.KindWaitStarted, trace.KindWaitEnded:
				args[0] = uint64(lock)
			}
			for i := len(args) - e.dfs; i < len(args); i++ {
				args[i] = df(args[i])
			}
			w.Stream(e.stream).Emit(e.t-offset(e.t), e.kind, args...)
		}
		for s := range 6 {
			w.Stream(s).Flush()
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
