// Package graphs makes random LuNA programs of which it is known what they print.
package graphs

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// Graph is a random task graph as a sub of a LuNA program, with the subs it calls, and the lines that it
// prints, in any order. Task i makes x[i] of two earlier ones.
type Graph struct {
	Src  string
	Want map[string]bool
}

// Codes are the code fragments that graphs call. The tests of the engine have their own.
const Codes = `C++ sub put(name c, int v) ${{ c.setValue(v); $}}
C++ sub mix(name c, int a, int b) ${{ c.setValue((int)((unsigned)a * 1000003u + (unsigned)b * 31u + 7u)); $}}
C++ sub none() ${{ $}}
C++ sub out_i(string s, int v) ${{ printf("%s=%d\n", s, v); $}}
`

// mixed is what the code fragment mix computes.
func mixed(a, b int32) int32 { return int32(uint32(a)*1000003 + uint32(b)*31 + 7) }

// Draw makes a sub of that name of which everything that must not matter is random: in which kind of block a
// task stands, where it runs, where its result is stored, how long that is kept, and how the cells are
// written.
func Draw(t *rapid.T, name string) *Graph {
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
	fmt.Fprintf(&b, "sub %s()\n{\n\tdf x, t, w;\n", name)
	g := &Graph{Want: map[string]bool{}}
	prefix := ""
	if name != "main" {
		prefix = name
	}
	for i := range tasks {
		k := &tasks[i]
		// What is still wanted of x[i] when all tasks have read it: to be printed.
		printed := k.reads+len(k.to) == 0 || flip("print", 20)
		if printed {
			g.Want[fmt.Sprintf("%sx%d=%d", prefix, i, values[i])] = true
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
			fmt.Fprintf(&subs, "sub %ss%d(name x, name t) { %s }%s\n", prefix, i, call, at)
			call = fmt.Sprintf("%ss%d(x, t);", prefix, i)
		case 4:
			call = fmt.Sprintf("while i < 1, i = 0 .. out w[%d] { %s }", 100+i, call)
		}
		fmt.Fprintf(&b, "\t%s\n", call)
		if printed {
			where := ""
			if flip("print elsewhere", 50) {
				where = fmt.Sprintf(" @ { locator_cyclic: %d; }", small("node"))
			}
			fmt.Fprintf(&b, "\tout_i(\"%sx%d\", x[%d]) >> (t[%d])%s;\n", prefix, i, i, 100+i, where)
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
		fmt.Fprintf(&b, "\tout_i(\"%sw\", w[-1]);\n", prefix)
		g.Want[fmt.Sprintf("%sw=%d", prefix, m)] = true
	}
	fmt.Fprintf(&b, "}%s\n", at)
	g.Src = subs.String() + b.String()
	return g
}
