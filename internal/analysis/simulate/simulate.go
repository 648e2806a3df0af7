// Package simulate runs a recorded program again in virtual time: on other nodes and workers, over other
// links, with code fragments that are faster or slower.
//
// # What is simulated
//
// The graph (graph.go) says what was to be done: each execution with the time its user code took, the values
// it needed and made, and the CFs it created, in their order. The run-time system is that of
// internal/run/engine: a node has one queue, first in first out; a worker takes a CF from its head, asks for
// what it needs, sets the CF aside if something is missing, and else runs it; what arrives for a CF that
// waits queues it again; CFs go to the nodes of their locators when they are created, or when they reach the
// head of the queue. Links carry one message at a time; a thread of each node receives messages, and sleeps
// in between (mail.go). What the run-time system itself takes is measured in the recorded run (costs.go,
// gaps.go, messages.go, crowd.go).
//
//	queue ──► looked at ──► runs ──► its values are posted, its CFs queued or sent
//	  ▲           │ something is missing
//	  └── came ◄──┘
//
// # What is not
//
// A program that was recorded is one course of events: one whose CFs depend on what came first might do
// something else elsewhere.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// Machine is where the program is to run.
type Machine struct {
	Nodes   int     // 0: as recorded
	Workers int     // of each node; 0: as recorded
	Latency float64 // ns that a link adds to a message; less than 0: as recorded
	// Bandwidth of a link in bytes per second; 0: no limit; less than 0: as recorded
	Bandwidth float64
	// Cores are those that all nodes share. Less than 0: each worker has its own, and the run-time system's own
	// threads have theirs; 0: as recorded, if there are as many workers as there were, else less than 0.
	Cores int
	Speed map[string]float64 // by code fragment: how many times as fast as recorded
	Costs Costs              // of the run-time system
	Place *Placement         // nil: as locators say
	// Stealable: nodes steal CFs of all user code from each other, not only those that the program marks.
	Stealable bool
	// Priority names code fragments whose CFs workers take first, as in package engine; nil: as recorded.
	Priority []string
	// Replicated names DFs of which each node keeps a copy, beside those of which several did.
	Replicated []string
	// Uneven is what differs between nodes and links, of which it has as many as Nodes; nil: nothing.
	Uneven *Uneven
}

// Simulator runs one recorded program as often as wanted. Any number of goroutines may use it.
type Simulator struct {
	g        *graph
	recorded Machine
	wall     int64
}

// New prepares the program of a model. It fails when ctx ends, or where the trace lacks what it takes.
func New(ctx context.Context, m *model.Model) (*Simulator, error) { return newSimulator(ctx, m, here) }

// Portable is New for what must not depend on this computer: costs that the trace does not tell are those of
// a usual one.
func Portable(ctx context.Context, m *model.Model) (*Simulator, error) {
	return newSimulator(ctx, m, func() Costs {
		c := defaults
		c.WakeNS, c.TransportNS, c.SignalNS = 20_000, 20_000, 5000
		c.SendNS += c.SignalNS
		return c
	})
}

func newSimulator(ctx context.Context, m *model.Model, unknown func() Costs) (*Simulator, error) {
	if m.Regions != nil {
		return nil, errors.New("it records operations of threads, not CFs, and only CFs can be simulated")
	}
	if m.WasImported() && !m.TellsDependences() {
		return nil, errors.New("it does not tell what tasks depend on, so when they could start elsewhere is not known")
	}
	g, err := newGraph(ctx, m)
	if err != nil {
		return nil, err
	}
	if len(g.cf) == 0 {
		return nil, errors.New("no CF was executed")
	}
	s := &Simulator{g: g, wall: m.Wall()}
	s.recorded.Nodes = len(m.Nodes)
	if d, err := time.ParseDuration(m.Info.Settings["link_latency"]); err == nil {
		s.recorded.Latency = float64(d)
	}
	known, err := words.ParseBytes(m.Info.Settings["link_bandwidth"])
	if err != nil {
		known = 0
	}
	if list := m.Info.Settings["priority"]; list != "" {
		s.recorded.Priority = strings.Split(list, ",")
	}
	s.recorded.Cores = g.crowd.cores
	s.recorded.Costs, s.recorded.Bandwidth = measure(g, s.recorded.Latency, known, unknown)
	for i := range m.Nodes {
		s.recorded.Workers = max(s.recorded.Workers, len(m.Nodes[i].Workers))
	}
	return s, nil
}

// Recorded is the machine of the recorded run, as measured there.
func (s *Simulator) Recorded() Machine { return s.recorded }

// WallNS is how long the recorded run took.
func (s *Simulator) WallNS() int64 { return s.wall }

// Result is a simulated run.
type Result struct {
	Nodes    int   `json:"nodes"`
	Workers  int   `json:"workers"` // of each node
	WallNS   int64 `json:"wall_ns"`
	UsefulNS int64 `json:"useful_ns"` // time in user code, of all workers
	// LeastNS is a bound of the wall time on so many workers: no distribution and no network makes it shorter.
	LeastNS  int64        `json:"least_ns"`
	ChainNS  int64        `json:"chain_ns"` // the longest chain of CFs, in user code; part of that bound
	Executed int          `json:"executed"` // executions, of structured CFs as well
	Left     int          `json:"left"`     // executions that never got what they needed
	Messages int64        `json:"messages"`
	Stolen   int64        `json:"stolen"` // CFs
	Woken    int64        `json:"woken"`  // parked workers, for a CF that was queued
	Doubts   []words.Text `json:"doubts"` // what the prediction rests on without being measured
}

// doubts are what a prediction for a machine rests on that the trace does not tell.
func (s *Simulator) doubts(r *run) []words.Text {
	list := []words.Text{}
	g, c := s.g, &s.recorded.Costs
	doubt := func(english, russian string, args ...any) {
		list = append(list, words.Say(english, russian, args...))
	}
	count := func(n int, what string) words.Number { return words.Number{N: int64(n), What: words.Nouns[what]} }
	if r.m.Nodes != s.recorded.Nodes {
		if g.m.Count[trace.KindCFPlaced] == 0 && r.m.Nodes > s.recorded.Nodes {
			doubt("No locator named a node beyond %d, so all CFs stay on the nodes they were on.",
				"Ни один локатор не назвал узла дальше %d, поэтому все ФВ остаются на своих узлах.", s.recorded.Nodes-1)
		}
		used := make([]bool, r.m.Nodes)
		empty := r.m.Nodes
		for _, n := range r.node {
			if !used[n] {
				used[n] = true
				empty--
			}
		}
		if empty > 0 {
			doubt("Locators place nothing on %s of %d.", "Локаторы ничего не помещают: %s из %d.",
				count(empty, "node"), r.m.Nodes)
		}
	}
	switch guessed := c.Samples["transport"] == 0 && r.m.Costs.TransportNS == c.TransportNS; {
	case r.res.Messages == 0 || !guessed:
	case c.Samples["wake"] > 0:
		doubt("No message was recorded: each is assumed to take %s beside the latency of its link, as parked "+
			"workers took to wake.",
			"Сообщений не записано; считается, что каждое занимает %s сверх задержки связи: столько занимало "+
				"пробуждение ждущих рабочих потоков.", words.Time(c.TransportNS))
	default:
		doubt("No message was recorded: each is assumed to take %s beside the latency of its link, as this "+
			"computer takes to wake a thread.",
			"Сообщений не записано; считается, что каждое занимает %s сверх задержки связи: столько на этом "+
				"компьютере занимает пробуждение потока.",
			words.Time(c.TransportNS))
	}
	switch guessed := c.Samples["wake"] == 0 && r.m.Costs.WakeNS == c.WakeNS; {
	case r.taken.wake == 0 || !guessed:
	case c.Samples["transport"] > 0:
		doubt("No worker woke another one in the recorded run: that is assumed to take %s, as messages took.",
			"В записанном запуске рабочие потоки не пробуждали друг друга; считается, что это занимает %s, как "+
				"сообщение.", words.Time(c.WakeNS))
	default:
		doubt("No parked worker was woken in the recorded run: it is assumed to take %s, as on this computer.",
			"В записанном запуске ни один ждущий рабочий поток не пробуждался; считается, что это занимает %s, "+
				"как на этом компьютере.",
			words.Time(c.WakeNS))
	}
	if was := &s.recorded; was.Nodes*was.Workers == 1 && r.m.Nodes*r.m.Workers > 1 && g.traffic >= 1e9 {
		doubt("The recorded run had one worker. Several share caches and memory, and CFs of this program read and "+
			"write %s a second: they take longer than predicted.",
			"В записанном запуске был один рабочий поток. Несколько потоков делят кэши и память, а ФВ этой "+
				"программы читают и пишут %s в секунду: они займут больше времени, чем предсказано.",
			words.Size(g.traffic))
	}
	if was := &s.recorded; len(g.few) > 0 &&
		(r.m.Nodes != was.Nodes || r.m.Workers != was.Workers || len(r.m.Speed) > 0 || r.m.Uneven != nil) {
		doubt("Measured fewer than %d times, so another run may differ much: `%s`.",
			"Измерено менее %d раз, и в другом запуске может быть иначе: `%s`.", fewRuns,
			strings.Join(g.few, "`, `"))
	}
	if g.locked*100 >= g.useful+g.locked && g.locked > 0 {
		doubt("CFs waited for locks for %s of their time. The prediction keeps that share, whoever "+
			"holds the locks.",
			"%s своего времени ФВ ждали блокировок. Считается, что и на другой машине будет так же, кто бы ни "+
				"держал их там.", words.Share{Part: g.locked, Whole: g.useful + g.locked})
	}
	for _, kind := range []trace.Kind{trace.KindIdle, trace.KindBusy} {
		if off := kind.String(); slices.Contains(g.m.Info.Off, off) {
			doubt("When workers were parked was not recorded (%s), so costs include the time for which they waited.",
				"Не записано, когда рабочие потоки бездействовали (%s), поэтому в издержки вошло ожидание.", off)
			break
		}
	}
	if g.steals > 0 {
		doubt("Stolen CFs go to the nodes that stole them in the recorded run.",
			"Украденные ФВ уходят туда же, куда и раньше.")
	}
	if r.res.Left > 0 {
		doubt("%s of the recorded run are missing here: they never get their inputs.",
			"Записанная программа исполнила ещё %s; здесь они не получают того, что им нужно.",
			count(r.res.Left, "CF"))
	}
	return list
}

// Missed warns where what is simulated of the recorded machine itself, predicted, is 5 % or more off.
func Missed(recorded, predicted int64) (warning words.Text, is bool) {
	off := float64(predicted)/float64(max(recorded, 1)) - 1
	return words.Say("For the recorded machine itself the prediction is %s, %s: expect other "+
		"predictions to be as far off.", "Для самой записанной машины предсказано %s (%s): "+
		"другие предсказания могут ошибаться так же.",
		words.Time(predicted), fmt.Sprintf("%+.0f %%", 100*off)), math.Abs(off) >= 0.05
}

// Pays gives the machine beyond which larger ones are hardly faster; nil where the largest still is, where
// there are too few to tell, or where both nodes and workers differ, so that there is no order.
func Pays(list []*Result) *Result {
	if len(list) < 3 {
		return nil
	}
	if last := list[len(list)-1]; list[0].Nodes != last.Nodes && list[0].Workers != last.Workers {
		return nil
	}
	for i, m := range list[:len(list)-1] {
		best := m.WallNS
		for _, larger := range list[i+1:] {
			best = min(best, larger.WallNS)
		}
		if float64(best) > 0.95*float64(m.WallNS) {
			return m
		}
	}
	return nil
}

// chain is the longest chain of executions, in nanoseconds of user code: each needs its values, the CF that
// created its own, and the execution of its own before it. They are taken in the order in which they
// started; where clocks put one before what it needs, that link of the chain does not count, and the bound
// is lower. With costs, it includes what structured CFs take to create others.
func (g *graph) chain(factor []float64, costs *Costs) (longest int64) {
	ended := make([]int64, len(g.cf))
	for _, x := range g.started {
		cf := g.cf[x]
		from := int64(0)
		if x > g.first[cf] {
			from = ended[x-1]
		} else if g.maker[cf] != 0 {
			from = ended[g.maker[cf]-1]
		}
		for _, v := range g.in[g.inAt[x]:g.inAt[x+1]] {
			if by := g.madeIn[v]; by != 0 {
				from = max(from, ended[by-1])
			}
		}
		if g.atomic(cf) {
			from += int64(float64(g.own[x]) * factor[g.m.CodeOf(model.CF(cf))])
		} else if costs != nil {
			from += int64(costs.CreateNS * float64(1+g.kidAt[x+1]-g.kidAt[x]))
		}
		ended[x] = from
		longest = max(longest, from)
	}
	return longest
}

// Codes are the names of the program's atomic code fragments that ran, in order.
func (s *Simulator) Codes() []string {
	var list []string
	for _, cf := range s.g.cf {
		if s.g.atomic(cf) {
			list = append(list, s.g.m.Codes[s.g.m.CodeOf(model.CF(cf))].Name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Has tells whether an atomic code fragment of that name ran.
func (s *Simulator) Has(code string) bool { return slices.Contains(s.Codes(), code) }
