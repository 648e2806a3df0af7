package simulate

import (
	"errors"
	"math"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/trace"
)

// recorder writes the events of a simulated run as a trace; a nil recorder writes nothing. Which copies of
// DFs nodes hold is not simulated, so those events are off, as are samples of queues.
type recorder struct {
	r        *run
	nodes    []recorded
	node     int               // whose events come now
	s        *trace.Stream     // where they go
	ids      []trace.CF        // by CF
	cfs      []uint64          // by node: CFs created there
	born     []int64           // by CF: when it was created, or came to its node
	told     []bool            // by CF: readiness for its next execution has been recorded
	came     []int64           // by input: when its value did
	asked    []uint64          // by input: the request
	sent     []uint64          // by input: the message with its value
	posted   map[copyOf]uint64 // the messages that take values to the nodes that keep them
	parked   []bool            // by worker
	words    []uint64
	identity []int64
}

// recorded is the file of a node.
type recorded struct {
	w       *trace.Writer
	streams []*trace.Stream // workers, then that of messages received
	dfs     map[model.DF]uint64
	sent    uint64 // messages and requests
}

// newRecorder starts the trace of a run in a folder; id is that of the run.
func newRecorder(r *run, dir, id string) (*recorder, error) {
	g, m := r.g, r.m
	rec := &recorder{r: r, ids: make([]trace.CF, len(r.at)), cfs: make([]uint64, m.Nodes),
		born: make([]int64, len(r.at)), told: make([]bool, len(r.at)), came: make([]int64, len(g.in)),
		asked: make([]uint64, len(g.in)), sent: make([]uint64, len(g.in)), posted: map[copyOf]uint64{},
		parked: make([]bool, m.Nodes*m.Workers)}
	buffer := max(4<<10, min(trace.DefaultBuffer, (256<<20)/(m.Nodes*(m.Workers+1))))
	for n := range m.Nodes {
		w, err := trace.Create(dir, n, trace.Options{Run: id, BufferBytes: buffer})
		if err != nil {
			return nil, errors.Join(err, rec.close())
		}
		node := recorded{w: w, dfs: map[model.DF]uint64{}}
		for s := range m.Workers + 1 {
			node.streams = append(node.streams, w.Stream(s))
		}
		rec.nodes = append(rec.nodes, node)
		rec.define(w)
		for s := range m.Workers {
			node.streams[s].Emit(0, trace.KindProgramStarted, 0, 0)
			node.streams[s].Emit(0, trace.KindIdle)
			rec.parked[n*m.Workers+s] = true
		}
	}
	return rec, nil
}

// define writes the code fragments and statements.
func (rec *recorder) define(w *trace.Writer) {
	m := rec.r.g.m
	for i, c := range m.Codes {
		if i > 0 {
			w.DefineCode(trace.CodeDef{Code: uint32(i), Name: w.Name(c.Name), Kind: c.Kind, File: w.Name(c.File),
				Line: c.Line})
		}
	}
	for i, s := range m.Sites {
		if i > 0 {
			w.DefineSite(trace.SiteDef{Site: trace.Site(i), Code: uint32(s.Code), Label: w.Name(s.Label),
				File: w.Name(s.File), Line: s.Line, Text: w.Name(s.Text), DFs: w.Name(s.DFs),
				Stealable: s.Stealable})
		}
	}
}

// worker and receives say whose events come next: a worker's, or those of a node that gets messages.
func (rec *recorder) worker(w uint32) {
	if rec != nil {
		rec.node = rec.r.nodeOf(w)
		rec.s = rec.nodes[rec.node].streams[int(w)%rec.r.m.Workers]
	}
}

func (rec *recorder) receives(node int) {
	if rec != nil {
		rec.node, rec.s = node, rec.nodes[node].streams[rec.r.m.Workers]
	}
}

// df gives the number of a value's DF in the present node's file; 0 for one that is not known.
func (rec *recorder) df(v uint32) uint64 {
	if v == 0 {
		return 0
	}
	n, m := &rec.nodes[rec.node], rec.r.g.m
	df := m.DFMade(v - 1)
	number, ok := n.dfs[df]
	if !ok {
		number = uint64(len(n.dfs) + 1)
		n.dfs[df] = number
		rec.identity = m.AppendIdentity(rec.identity[:0], df)
		n.w.DefineDF(trace.DF(number), n.w.Name(m.DFNameOf(df)), rec.identity)
	}
	return number
}

func (rec *recorder) size(v uint32) uint64 { return uint64(rec.r.g.size[v]) }

// number gives the next message or request of the present node.
func (rec *recorder) number() uint64 {
	n := &rec.nodes[rec.node]
	n.sent++
	return trace.MakeMessage(rec.node, n.sent)
}

func (rec *recorder) created(t int64, cf uint32) {
	if rec == nil {
		return
	}
	m, c := rec.r.g.m, model.CF(cf)
	rec.cfs[rec.node]++
	rec.ids[cf], rec.born[cf] = trace.MakeCF(rec.node, rec.cfs[rec.node]), t
	label := m.Label(c)
	rec.words = append(rec.words[:0], uint64(rec.ids[cf]), uint64(m.SiteOf[c]), uint64(rec.ids[m.Parent[c]]),
		uint64(m.ParentExec[c]), math.Float64bits(m.Weight(c)), uint64(len(label)))
	for _, i := range label {
		rec.words = append(rec.words, uint64(i))
	}
	rec.s.Emit(t, trace.KindCFCreated, rec.words...)
	rec.free(t, cf)
}

// free records the readiness of a CF that needs nothing.
func (rec *recorder) free(t int64, cf uint32) {
	g := rec.r.g
	if x := rec.r.at[cf]; g.inAt[x] == g.inAt[x+1] && !(rec.r.place(x) != rec.node && !g.late[g.m.SiteOf[cf]]) {
		rec.told[cf] = true
		rec.s.Emit(t, trace.KindCFReady, uint64(rec.ids[cf]), 0)
	}
}

// ready records readiness that a worker notices.
func (rec *recorder) ready(t int64, cf uint32) {
	if rec == nil {
		return
	}
	if !rec.told[cf] {
		since := rec.born[cf]
		x := rec.r.at[cf]
		for k := rec.r.g.inAt[x]; k < rec.r.g.inAt[x+1]; k++ {
			since = max(since, rec.came[k])
		}
		rec.s.Emit(t, trace.KindCFReady, uint64(rec.ids[cf]), uint64(max(0, t-since)))
	}
	rec.told[cf] = false
}

// answered notes that an input has come, and records readiness where it was the last.
func (rec *recorder) answered(t int64, k uint32) {
	if rec == nil {
		return
	}
	rec.came[k] = t
	x := rec.r.of[k]
	cf := rec.r.g.cf[x]
	if rec.r.awaits[cf] == 0 || rec.told[cf] {
		return
	}
	for k := rec.r.g.inAt[x]; k < rec.r.g.inAt[x+1]; k++ {
		if !rec.r.have[k] {
			return
		}
	}
	rec.told[cf] = true
	rec.s.Emit(t, trace.KindCFReady, uint64(rec.ids[cf]), 0)
}

// executed records the start and the end of an execution. cpu is -1 for one of a structured CF.
func (rec *recorder) executed(from, to, cpu int64, x uint32) {
	if rec == nil {
		return
	}
	g := rec.r.g
	cf := g.cf[x]
	number := uint64(x - g.first[cf] + 1)
	rec.words = append(rec.words[:0], uint64(rec.ids[cf]), number, 0)
	for _, v := range g.in[g.inAt[x]:g.inAt[x+1]] {
		if v != 0 {
			rec.words = append(rec.words, rec.df(v))
		}
	}
	rec.words[2] = uint64(len(rec.words) - 3)
	rec.s.Emit(from, trace.KindCFStarted, rec.words...)
	rec.s.Emit(to, trace.KindCFFinished, uint64(rec.ids[cf]), number, uint64(cpu))
}

func (rec *recorder) waits(t int64, cf uint32) {
	if rec == nil {
		return
	}
	g, x := rec.r.g, rec.r.at[cf]
	rec.words = append(rec.words[:0], uint64(rec.ids[cf]), 0)
	for k := g.inAt[x]; k < g.inAt[x+1]; k++ {
		if v := g.in[k]; v != 0 && !rec.r.have[k] {
			rec.words = append(rec.words, rec.df(v))
		}
	}
	rec.words[1] = uint64(len(rec.words) - 2)
	rec.s.Emit(t, trace.KindCFWaiting, rec.words...)
}

func (rec *recorder) moves(to int, t int64, cf uint32) {
	if rec != nil {
		rec.s.Emit(t, trace.KindCFMigrated, uint64(rec.ids[cf]), uint64(to), requestBytes,
			math.Float64bits(rec.r.g.m.Weight(model.CF(cf))))
	}
}

func (rec *recorder) stolen(to int, t int64, cf uint32) {
	if rec != nil {
		rec.s.Emit(t, trace.KindCFStolen, uint64(rec.ids[cf]), uint64(to), requestBytes,
			math.Float64bits(rec.r.g.m.Weight(model.CF(cf))))
	}
}

func (rec *recorder) cfCame(from int, t int64, cf uint32) {
	if rec != nil {
		rec.born[cf] = t
		rec.s.Emit(t, trace.KindCFReceived, uint64(rec.ids[cf]), uint64(from), requestBytes,
			math.Float64bits(rec.r.g.m.Weight(model.CF(cf))))
		rec.free(t, cf)
	}
}

// made records a value.
func (rec *recorder) made(t int64, v uint32) {
	if rec != nil {
		cf := rec.r.g.m.MadeBy[v-1]
		rec.s.Emit(t, trace.KindDFCreate, rec.df(v), rec.size(v), uint64(rec.ids[cf]))
	}
}

// copyOf is a value at a node that keeps it.
type copyOf struct {
	v  uint32
	at int
}

// posts records that a value goes to a node that keeps it.
func (rec *recorder) posts(t int64, v uint32, home int) {
	if rec != nil {
		number := rec.number()
		rec.posted[copyOf{v, home}] = number
		rec.s.Emit(t, trace.KindDFSent, rec.df(v), uint64(home), rec.size(v), number, 0, 0)
	}
}

func (rec *recorder) valueCame(from int, t int64, v uint32) {
	if rec != nil {
		is := copyOf{v, rec.node}
		rec.s.Emit(t, trace.KindDFReceived, rec.df(v), uint64(from), rec.size(v), rec.posted[is], 0, 0)
		delete(rec.posted, is)
	}
}

func (rec *recorder) requested(home int, t int64, k uint32) {
	if rec == nil {
		return
	}
	rec.asked[k] = 0
	if home != rec.node {
		rec.asked[k] = rec.number()
	}
	rec.s.Emit(t, trace.KindDFRequested, rec.df(rec.r.g.in[k]), rec.user(k), uint64(home), rec.asked[k])
}

// user is the CF of an input.
func (rec *recorder) user(k uint32) uint64 { return uint64(rec.ids[rec.r.g.cf[rec.r.of[k]]]) }

func (rec *recorder) requestCame(from int, t int64, k uint32) {
	if rec != nil {
		rec.s.Emit(t, trace.KindDFRequestReceived, rec.df(rec.r.g.in[k]), uint64(from), rec.asked[k])
	}
}

// supplied records that a value is sent for an input: the answer to its request, or a push by its maker.
func (rec *recorder) supplied(to int, t int64, k uint32) {
	if rec == nil {
		return
	}
	v := rec.r.g.in[k]
	rec.sent[k] = rec.number()
	rec.s.Emit(t, trace.KindDFSent, rec.df(v), uint64(to), rec.size(v), rec.sent[k], rec.asked[k], rec.pusher(k))
}

// pusher is the CF that pushes the value of an input; 0 where it was asked for.
func (rec *recorder) pusher(k uint32) uint64 {
	if !rec.r.g.pushed[k] {
		return 0
	}
	return uint64(rec.ids[rec.r.g.m.MadeBy[rec.r.g.in[k]-1]])
}

func (rec *recorder) inputCame(from int, t int64, k uint32) {
	if rec == nil {
		return
	}
	v, cf := rec.r.g.in[k], rec.user(k)
	if rec.r.g.pushed[k] {
		cf = rec.pusher(k)
	}
	rec.s.Emit(t, trace.KindDFReceived, rec.df(v), uint64(from), rec.size(v), rec.sent[k], rec.asked[k], cf)
}

func (rec *recorder) idle(w uint32, t int64) {
	if rec != nil && !rec.parked[w] {
		rec.parked[w] = true
		rec.s.Emit(t, trace.KindIdle)
	}
}

func (rec *recorder) busy(w uint32, t int64) {
	if rec != nil && rec.parked[w] {
		rec.parked[w] = false
		rec.s.Emit(t, trace.KindBusy)
	}
}

// finish writes the end of the run and closes the files.
func (rec *recorder) finish(wall, useful int64) error {
	if rec == nil {
		return nil
	}
	for n := range rec.nodes {
		for _, s := range rec.nodes[n].streams[:rec.r.m.Workers] {
			s.Emit(wall, trace.KindProgramFinished, uint64(useful))
		}
	}
	return rec.close()
}

func (rec *recorder) close() (err error) {
	if rec == nil {
		return nil
	}
	for n := range rec.nodes {
		err = errors.Join(err, rec.nodes[n].w.Close())
	}
	return err
}

// Off are the events, by name, that the trace of a simulated run does not have.
func Off() (list []string) {
	for _, k := range []trace.Kind{trace.KindDFStored, trace.KindDFDropped, trace.KindDFDestroy,
		trace.KindReadyQueue,
		trace.KindSendQueue, trace.KindRelations, trace.KindCFDestroyed} {
		list = append(list, k.String())
	}
	return list
}
