package advise

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/whyslow/whyslow/internal/analysis/balance"
	"github.com/whyslow/whyslow/internal/analysis/simulate"
	"github.com/whyslow/whyslow/internal/analysis/slou"
	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// What would come of advice is also simulated, where it is a change that package simulate can make. The gain
// of a rule is a bound: one thing gets better, and nothing else gets worse. The simulation knows the price: a
// distribution that saves messages may leave a node idle, one node has no second queue.
//
// The simulation of the run as it was must come close to the run itself. On a busy machine it does not,
// because time that other programs took is not simulated: then nothing is predicted.

const (
	// MostSimulated is the number of executions up to which advice is simulated. It keeps a report fast:
	// everything together takes about as long as the other analyses do.
	MostSimulated = 20_000
	mostWorkers   = 4096 // likewise, of all nodes
	mostOff       = 0.05 // by how much the simulation of the run itself may be wrong
	noGain        = 0.01 // what saves less of the run's time in the simulation comes after all other advice
)

// Forecast says what the predictions of advice rest on.
type Forecast struct {
	// Off is by how much the simulation of the run as it was is wrong: 0.02 is 2 % too long.
	Off float64 `json:"off"`
	// Why nothing is predicted, in English unless In was asked for another language; "" where it is.
	Why string `json:"why,omitempty"`

	why words.Text
}

// In gives the forecast with its sentence in a language.
func (f *Forecast) In(l words.Lang) *Forecast {
	if f == nil {
		return nil
	}
	other := *f
	other.Why = f.why.In(l)
	return &other
}

// remedy is how a piece of advice is simulated.
type remedy func(*forecaster) (*outcome, error)

// outcome is a simulated run.
type outcome struct {
	*simulate.Result
	how  words.Text // what was changed
	same bool       // nothing was
}

// by says how advice is simulated; x may be nil.
func (x *Advice) by(r remedy) {
	if x != nil && r != nil {
		x.remedy = &r
	}
}

// forecaster simulates a run with something changed.
type forecaster struct {
	ctx     context.Context
	sim     *simulate.Simulator
	machine simulate.Machine // the recorded one
	best    *balance.Trial   // nil: not tried yet
}

// Predict simulates what following each piece of advice would give, and writes it into the list. whole gives
// the model of the whole run. The result is nil where none of the advice can be simulated, or the run has no
// proper end. It fails when ctx ends or whole does.
func Predict(ctx context.Context, list []Advice, res *slou.Result,
	whole func() (*model.Model, error)) (*Forecast, error) {
	if !slices.ContainsFunc(list, func(x Advice) bool { return x.remedy != nil }) {
		return nil, nil
	}
	defer func() {
		for i := range list {
			list[i].remedy = nil // it holds much, and is not needed again
		}
	}()
	executions, workers := int64(0), 0
	for i := range res.Nodes {
		executions += res.Nodes[i].CFs
		workers += len(res.Nodes[i].Workers)
	}
	for _, s := range res.Structured {
		executions += s.Count
	}
	if executions > MostSimulated || workers > mostWorkers {
		return (&Forecast{why: words.Say("Gains are not simulated: the run is too large for that (%s). `whyslow "+
			"predict` and `whyslow balance` can do it.",
			"Выигрыши не моделировались: запуск для этого слишком велик (%s). Это делают `whyslow predict` и "+
				"`whyslow balance`.", words.Number{N: executions, What: words.CFs})}).In(words.English), nil
	}
	m, err := whole()
	if err != nil {
		return nil, err
	}
	if m.Killed || m.Info.Ended != trace.EndedDone {
		return nil, nil
	}
	f := &forecaster{ctx: ctx}
	if f.sim, err = simulate.Portable(ctx, m); err != nil {
		return nil, ctx.Err() // there are no CFs
	}
	f.machine = f.sim.Recorded()
	was, err := f.sim.Run(ctx, f.machine)
	if err != nil {
		return nil, err
	}
	off := float64(was.WallNS)/float64(max(f.sim.WallNS(), 1)) - 1
	of := &Forecast{Off: math.Round(off*1000) / 1000}
	if math.Abs(off) >= mostOff {
		of.why = words.Say("Gains are not simulated: simulating the recorded run itself gives %s instead of %s.",
			"Выигрыши не моделировались: тот же запуск при моделировании занимает %s, а не %s.",
			words.Time(was.WallNS), words.Time(f.sim.WallNS()))
		return of.In(words.English), nil
	}
	for i := range list {
		x := &list[i]
		if x.remedy == nil {
			continue
		}
		is, err := (*x.remedy)(f)
		if err != nil {
			return nil, err
		}
		if is == nil || is.Left > was.Left {
			continue
		}
		// What the simulation leaves out, it leaves out of both runs.
		x.PredictedWallNS = max(f.sim.WallNS()-was.WallNS+is.WallNS, 0)
		x.predicted = words.Say("%s -> %s, %s", "%s -> %s, %s", words.Time(f.sim.WallNS()),
			words.Time(x.PredictedWallNS), is.how)
		if is.same {
			x.predicted = words.Say("no gain, %s", "выигрыша нет: %s", is.how)
		}
		*x = x.In(words.English)
	}
	last := func(x Advice) int {
		if x.Useless(f.sim.WallNS()) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(x, y Advice) int { return cmp.Compare(last(x), last(y)) })
	return of, nil
}

// Useless tells whether the simulation found that following the advice gains nothing worth it, in a run of
// that many nanoseconds. Advice that never promised a shorter run, such as fewer workers, is not.
func (x *Advice) Useless(wallNS int64) bool {
	return x.PredictedWallNS > 0 && x.GainWallNS > 0 && !x.Blocking &&
		float64(wallNS-x.PredictedWallNS) < noGain*float64(wallNS)
}

// on simulates the run on a machine.
func (f *forecaster) on(m simulate.Machine, how words.Text) (*outcome, error) {
	r, err := f.sim.Run(f.ctx, m)
	return &outcome{Result: r, how: how}, err
}

// distributed is what the best strategy of package balance makes of the run.
func distributed(f *forecaster) (*outcome, error) {
	if f.best == nil {
		if f.sim.Tasks().Model().Count[trace.KindCFCreated] == 0 {
			return nil, nil // they cannot be told apart
		}
		r, err := balance.Compute(f.ctx, f.sim, balance.Options{Machine: f.machine})
		if err != nil {
			return nil, err
		}
		f.best = r.Best()
	}
	if f.best.Strategy == balance.Recorded {
		return &outcome{f.best.Predicted, words.Say("`whyslow balance` finds no better distribution",
			"`whyslow balance` не находит лучшего распределения"), true}, nil
	}
	return &outcome{f.best.Predicted, words.Say("distributed by `whyslow balance --strategy %s`",
		"при распределении от `whyslow balance --strategy %s`", f.best.Strategy), false}, nil
}

// distributedOrStolen is the better of that and the run with work stealing.
func distributedOrStolen(f *forecaster) (*outcome, error) {
	spread, err := distributed(f)
	if err != nil {
		return nil, err
	}
	m := f.machine
	m.Stealable = true
	stolen, err := f.on(m, words.Say("with all calls `stealable`", "если все вызовы пометить `stealable`"))
	if err != nil || spread != nil && (stolen.Left > spread.Left || stolen.WallNS >= spread.WallNS) {
		return spread, err
	}
	return stolen, nil
}

// machine is the run on other nodes and workers of the same computers.
func machine(nodes, workers int) remedy {
	return func(f *forecaster) (*outcome, error) {
		m := f.machine
		if nodes > m.Nodes || workers > m.Workers || nodes*workers < 1 {
			return nil, nil
		}
		m.Nodes, m.Workers = nodes, workers
		return f.on(m, words.Say("on %s with %s each", "на %s с %s на каждом",
			words.Number{N: int64(nodes), What: words.OnNodes},
			words.Number{N: int64(workers), What: words.WithWorkers}))
	}
}

// prioritized is the run with workers that take the CFs of a code fragment first.
func prioritized(code string) remedy {
	return func(f *forecaster) (*outcome, error) {
		m := f.machine
		m.Priority = []string{code}
		return f.on(m, words.Say("run with `--priority %s`", "с `--priority %s`", code))
	}
}

// faster is the run with code fragments that take less time, so many times.
func faster(speed map[string]float64, how words.Text) remedy {
	return func(f *forecaster) (*outcome, error) {
		m := f.machine
		m.Speed = speed
		return f.on(m, how)
	}
}

// namesOf are the names of the DFs of a flow.
func (a *advisor) namesOf(f *flow) map[string]bool {
	names := map[string]bool{}
	for n := range f.names {
		names[a.facts.m.Names[n]] = true
	}
	return names
}

// replicated is the run with DFs of some names on every node.
func (a *advisor) replicated(f *flow) remedy {
	names := a.namesOf(f)
	return func(f *forecaster) (*outcome, error) {
		m := f.machine
		m.Replicated = slices.Sorted(maps.Keys(names))
		return f.on(m, words.Say("with a copy on every node", "с копией на каждом узле"))
	}
}

// stored is the run with DFs of some names on the node where most CFs use them.
func (a *advisor) stored(f *flow) remedy {
	names := a.namesOf(f)
	return func(f *forecaster) (*outcome, error) {
		t := f.sim.Tasks()
		was := f.sim.Located(f.machine.Nodes)
		place := &simulate.Placement{Executions: was.Executions, Values: slices.Clone(was.Values)}
		users := map[uint32]map[uint16]int64{} // of a value, by node
		for x := range t.Executions() {
			for _, v := range t.Inputs(x) {
				if v == 0 || !names[t.Model().DFNameOf(t.Model().DFMade(v-1))] {
					continue
				}
				if users[v] == nil {
					users[v] = map[uint16]int64{}
				}
				users[v][was.Executions[x]]++
			}
		}
		for v, by := range users {
			place.Values[v] = mostUsed(by, was.Values[v])
		}
		m := f.machine
		m.Place = place
		return f.on(m, words.Say("with these DFs stored there", "если хранить там эти ФД"))
	}
}

// merged is the run with one CF for so many, each at the cost of one.
func merged(times int64) remedy {
	return func(f *forecaster) (*outcome, error) {
		m := f.machine
		m.Costs = m.Costs.Divided(float64(times))
		return f.on(m, words.Say("with one CF for %s", "при одном ФВ вместо %s", fmt.Sprint(times)))
	}
}

// divided is the run with each CF of a code fragment divided into one for each worker, which run in parallel:
// no shorter than all work on all workers.
func (a *advisor) divided(code string) remedy {
	if code == "" || a.Critical == nil || a.Critical.Work == nil {
		return nil
	}
	least := ceil(a.Critical.Work.T1NS, a.workers)
	return func(f *forecaster) (*outcome, error) {
		is, err := faster(map[string]float64{code: float64(a.workers)},
			words.Say("with each CF of `%s` divided into %d", "если каждый ФВ `%s` разделить на %d", code,
				a.workers))(f)
		if is != nil && is.Result != nil {
			is.WallNS = max(is.WallNS, least)
		}
		return is, err
	}
}

// fewer is the run with that many workers, on as many nodes as have one each.
func (a *advisor) fewer(workers int64) remedy {
	nodes := min(int64(len(a.res.Nodes)), workers)
	return machine(int(nodes), int(ceil(workers, nodes)))
}

// fitting is the run with as many workers as its computer has cores; nil where there are several computers.
func (a *advisor) fitting(h *crowd) remedy {
	if len(a.res.Hosts) != 1 {
		return nil
	}
	nodes := min(len(a.res.Nodes), h.On.Cores)
	return machine(nodes, h.On.Cores/nodes)
}

// without is the run without some of the time of a factor, for which user code waited: those parts that go.
func (a *advisor) without(f slou.Factor, goes func(part string) bool) remedy {
	took, saved, speed := map[string]int64{}, map[string]int64{}, map[string]float64{}
	for i := range a.res.Causes {
		c := &a.res.Causes[i]
		if c.Factor != f.String() || c.Consumer == "" {
			continue
		}
		took[c.Consumer] += c.NS
		if goes(c.Part) {
			saved[c.Consumer] += c.NS
		}
	}
	for code, ns := range saved {
		all := took[code]
		if fragment := a.fragment(code); fragment != nil {
			all += fragment.UsefulNS
		}
		speed[code] = float64(all) / float64(max(all-ns, 1))
	}
	return faster(speed, words.Say("without these waits", "без этого ожидания"))
}

// mostUsed gives the node with the most; as it was, where no node has more.
func mostUsed(by map[uint16]int64, was uint16) uint16 {
	node, n := most(by, cmp.Compare[uint16])
	if n == by[was] {
		return was
	}
	return node
}

// createdThere is the run with each structured CF on the node where most of the user code runs that comes of
// it. One that nothing comes of, such as the `if` that ends a recursion, goes with its creator.
func createdThere(f *forecaster) (*outcome, error) {
	t := f.sim.Tasks()
	was := f.sim.Located(f.machine.Nodes)
	place := &simulate.Placement{Executions: slices.Clone(was.Executions), Values: was.Values}
	m := t.Model()
	first := map[uint32]int{} // by CF: its first execution
	for x := range t.Executions() {
		if cf, number := t.CF(x); number == 0 {
			first[uint32(cf)] = x
		}
	}
	comes := map[int]map[uint16]int64{} // of a structured CF, by node
	empty := map[int]bool{}
	for _, started := range slices.Backward(t.Started()) {
		x := int(started)
		if cf, _ := t.CF(x); m.Atomic(cf) {
			continue
		}
		by := map[uint16]int64{}
		for _, kid := range t.Children(x) {
			k, ok := first[kid]
			if !ok {
				continue
			}
			if m.Atomic(model.CF(kid)) {
				by[place.Executions[k]]++
			}
			for node, n := range comes[k] {
				by[node] += n
			}
			delete(comes, k)
		}
		place.Executions[x], comes[x] = mostUsed(by, place.Executions[x]), by
		empty[x] = len(by) == 0
	}
	for _, x := range t.Started() {
		for _, kid := range t.Children(int(x)) {
			if k, ok := first[kid]; ok && empty[k] {
				place.Executions[k] = place.Executions[x]
			}
		}
	}
	machine := f.machine
	machine.Place = place
	return f.on(machine, words.Say("with CFs created where most of them run",
		"если создавать ФВ там, где исполняется большинство из них"))
}
