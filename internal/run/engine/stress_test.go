package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/analysis/lifecycle"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/internal/run/placement"
	"github.com/whyslow/whyslow/internal/testkit/effort"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// graph is a random task graph as a LuNA program, and what it prints. Task i makes x[i] of two earlier ones.
type graph struct {
	src  string
	want map[string]bool
}

// mixed is what the code fragment mix computes.
func mixed(a, b int32) int32 { return int32(uint32(a)*1000003 + uint32(b)*31 + 7) }

// drawGraph makes a program of which everything that must not matter is random: in which kind of block a task
// stands, where it runs, where its result is stored, how long that is kept, and how the cells are written.
func drawGraph(t *rapid.T) graph {
	n := rapid.IntRange(2, 14).Draw(t, "tasks")
	flip := func(what string, percent int) bool { return rapid.IntRange(0, 99).Draw(t, what) < percent }
	small := func(what string) int { return rapid.IntRange(-3, 5).Draw(t, what) }
	rules := fmt.Sprintf("{ locator_cyclic x[i] => i * %d + %d; locator_cyclic t[i] => %d - i; locator_cyclic "+
		"w[i] => i; }", small("dx"), small("cx"), small("ct"))
	if flip("no map", 20) {
		rules = ""
	} else if flip("replicate", 10) {
		rules = "{ locator_replicating x[i] => all; locator_cyclic t[i] => i; locator_cyclic w[i] => i; }"
	}
	replicated := strings.Contains(rules, "replicating")
	at := ""
	if rules != "" {
		at = " @ " + rules
	}
	type task struct {
		args   [2]int
		text   [2]string
		pushed [2]bool
		reads  int
		fate   int // 0: kept, 1: counted, 2: deleted by its own task, 3: pushed and counted
		to     []int
	}
	tasks := make([]task, n)
	values := make([]int32, n)
	readers := make([][]int, n)
	for i := range tasks {
		k := &tasks[i]
		k.fate = rapid.IntRange(0, 3).Draw(t, "fate")
		if i < 2 {
			values[i] = int32(i + 1)
			continue
		}
		for j := range 2 {
			a := rapid.IntRange(0, i-1).Draw(t, "from")
			k.args[j] = a
			k.text[j] = fmt.Sprintf("x[%d]", a)
			if flip("other text", 15) {
				k.text[j] = fmt.Sprintf("x[%d + 1]", a-1)
			}
		}
		values[i] = mixed(values[k.args[0]], values[k.args[1]])
		for j := range 2 {
			from := &tasks[k.args[j]]
			if j == 1 && k.text[0] == k.text[1] {
				continue // one request for both
			}
			if from.fate == 3 && !(j == 1 && k.args[0] == k.args[1]) && k.args[0] != k.args[1] && flip("push", 60) {
				k.pushed[j] = true
				from.to = append(from.to, i)
				continue
			}
			from.reads++
			readers[k.args[j]] = append(readers[k.args[j]], i)
		}
	}
	var b, subs strings.Builder
	fmt.Fprintf(&b, "sub main()\n{\n\tdf x, t, w;\n")
	g := graph{want: map[string]bool{}}
	for i := range tasks {
		k := &tasks[i]
		// What is still wanted of x[i] when all tasks have read it: to be printed.
		printed := k.reads+len(k.to) == 0 || flip("print", 20)
		if printed {
			g.want[fmt.Sprintf("x%d=%d", i, values[i])] = true
			k.reads++
		}
		var own []string // rules of the task
		if k.fate == 3 {
			for _, to := range k.to {
				own = append(own, fmt.Sprintf("afterpush x[%d] => l%d", i, to))
			}
			if len(k.to) > 0 && k.reads == 0 {
				// only pushed
			} else if len(k.to) > 0 || k.reads > 0 {
				own = append(own, fmt.Sprintf("req_unlimited x[%d]", i))
			}
		}
		if k.fate == 1 && k.reads > 0 && !replicated {
			own = append(own, fmt.Sprintf("req_count x[%d] = %d", i, k.reads))
		}
		for j := range k.args {
			if k.pushed[j] {
				own = append(own, fmt.Sprintf("wait %s", k.text[j]))
			}
		}
		labelled := k.pushed[0] || k.pushed[1]
		if !labelled && flip("locator", 60) {
			e := fmt.Sprint(small("node"))
			if i >= 2 && flip("locator from data", 20) && tasks[k.args[0]].fate == 0 {
				e = fmt.Sprintf("x[%d] %% 5", k.args[0])
			}
			own = append(own, "locator_cyclic: "+e)
		}
		if flip("stealable", 40) {
			own = append(own, "stealable")
		}
		call := fmt.Sprintf("put(x[%d], %d)", i, values[i])
		if i >= 2 {
			call = fmt.Sprintf("mix(x[%d], %s, %s)", i, k.text[0], k.text[1])
		}
		call += fmt.Sprintf(" >> (t[%d])", i)
		if labelled {
			call = fmt.Sprintf("cf l%d: %s", i, call)
		}
		if len(own) > 0 {
			call += " @ { " + strings.Join(own, "; ") + "; }"
		}
		call += ";"
		kind := rapid.IntRange(0, 4).Draw(t, "block")
		if labelled || len(k.to) > 0 { // a label is seen in its block and those within
			kind = 0
		}
		switch kind {
		case 1:
			call = fmt.Sprintf("if 1 { %s }", call)
		case 2:
			call = fmt.Sprintf("for i = 1 .. 1 { %s }", call)
		case 3:
			fmt.Fprintf(&subs, "sub s%d(name x, name t) { %s }%s\n", i, call, at)
			call = fmt.Sprintf("s%d(x, t);", i)
		case 4:
			call = fmt.Sprintf("while i < 1, i = 0 .. out w[%d] { %s }", 100+i, call)
		}
		fmt.Fprintf(&b, "\t%s\n", call)
		if printed {
			where := ""
			if flip("print elsewhere", 50) {
				where = fmt.Sprintf(" @ { locator_cyclic: %d; }", small("node"))
			}
			fmt.Fprintf(&b, "\tout_i(\"x%d\", x[%d]) >> (t[%d])%s;\n", i, i, 100+i, where)
			readers[i] = append(readers[i], 100+i)
		}
		if k.fate == 2 && !replicated && k.reads > 0 {
			tokens := fmt.Sprintf("t[%d]", i)
			for _, r := range readers[i] {
				tokens += fmt.Sprintf(", t[%d]", r)
			}
			fmt.Fprintf(&b, "\tnone() @ { request %s; delete x[%d]; };\n", tokens, i)
		}
	}
	if flip("while", 50) {
		m := rapid.IntRange(0, 12).Draw(t, "tests")
		fmt.Fprintf(&b, "\tput(w[0], 0);\n\twhile w[i] + 0 * w[i + 0] < %d, i = 0 .. out w[-1] { put(w[i + 1], "+
			"w[i] + 1) @ { locator_cyclic: i / 2; stealable; }; } @ { locator_cyclic: %d * i; }\n", m, small("wander"))
		fmt.Fprintf(&b, "\tout_i(\"w\", w[-1]);\n")
		g.want[fmt.Sprintf("w=%d", m)] = true
	}
	fmt.Fprintf(&b, "}%s\n", at)
	g.src = subs.String() + b.String()
	return g
}

// check runs the program. With modules, rules emit events at every point, and all that handlers see is
// checked too.
func (g graph) check(t testing.TB, p *luna.Program, s shape, modules bool) []string {
	var l *ledger
	w := &seen{}
	if modules {
		set := s.set
		s.set = func(c *engine.Config) {
			set(c)
			c.DescribeDFs, c.Rules = true, checked(t, everyPoint("cf", "inputs", "input_bytes", "outputs", "label"))
		}
		s.session = func(ses *prof.Session) {
			l = keepLedger(t, ses)
			w.watch(t, ses, "User.*")
		}
	}
	o, faults := execute(t, p, s)
	if modules && o.err == nil {
		faults = append(faults, l.faults...)
		faults = append(faults, conserved(o, w, o.trace.kinds[trace.KindBlockMigrated])...)
		if b := l.balance(); b != "" {
			faults = append(faults, b)
		}
	}
	if o.err != nil {
		var b strings.Builder
		var e *engine.StuckError
		if errors.As(o.err, &e) {
			lifecycle.Explain(&b, &e.Stuck, true)
		}
		return append(faults, fmt.Sprintf("%v\n%s", o.err, b.String()))
	}
	got := map[string]bool{}
	for _, l := range o.lines() {
		got[l] = true
	}
	if len(o.lines()) != len(g.want) {
		faults = append(faults, fmt.Sprintf("%d lines, wanted %d", len(o.lines()), len(g.want)))
	}
	for l := range g.want {
		if !got[l] {
			faults = append(faults, "did not print "+l)
		}
	}
	return faults
}

func TestRandomPrograms(t *testing.T) {
	deadline := time.Now().Add(time.Duration(effort.Times(2, 7)) * time.Second)
	runs := 0
	defer engine.KeepAll()()
	rapid.Check(t, func(rt *rapid.T) {
		if time.Now().After(deadline) {
			return
		}
		g := drawGraph(rt)
		p := compile(t, "\n"+g.src)
		for range 2 {
			s := shape{nodes: rapid.IntRange(1, 5).Draw(rt, "nodes"), workers: rapid.IntRange(1, 3).Draw(rt,
				"workers"), apart: rapid.Bool().Draw(rt, "apart")}
			if s.apart && rapid.Bool().Draw(rt, "delays") {
				s.delays = rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
			}
			steal, latency := rapid.Bool().Draw(rt, "steal"),
				rapid.SampledFrom([]time.Duration{0, 0, 50 * time.Microsecond, time.Millisecond}).Draw(rt, "latency")
			var place *placement.Bound
			if rapid.Bool().Draw(rt, "placed") {
				place = anyPlacement(p, s.nodes, rapid.Uint64().Draw(rt, "places"))
			}
			balance, balanced := func(*engine.Config) {}, rapid.Bool().Draw(rt, "balanced")
			if balanced {
				balance = shuffled(rapid.Uint64().Draw(rt, "moves"))
			}
			s.set = func(c *engine.Config) {
				c.Steal, c.LinkLatency, c.Place = steal, latency, place
				balance(c)
				if latency > 0 {
					c.LinkBandwidth = 1e7
				}
			}
			runs++
			modules := !s.apart && rapid.Bool().Draw(rt, "modules")
			if faults := g.check(t, p, s, modules); len(faults) > 0 {
				rt.Fatalf("%v (stealing %v, latency %v, modules %v, placed %v, balanced %v): %s\n%s", s, steal,
					latency, modules, place != nil, balanced, strings.Join(faults, "\n"), g.src)
			}
		}
	})
	t.Logf("%d runs", runs)
}
