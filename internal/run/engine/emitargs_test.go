package engine_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/whyslow/whyslow/internal/run/config"
	"github.com/whyslow/whyslow/internal/run/engine"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// What events emitted by rule carry.

func TestRuleArgs(t *testing.T) {
	const src = `
		sub main()
		{
			df x, n;
			put(x[7], 5) >> (x[8]);
			for i = 1 .. 2 { cf job[i][i + 10]: add(x[7], x[8], n[i]) @ { weight: 2.5 * i; }; }
			two(x[0], x[1], 1);
			block(x[2], 10, 1);
			while k < 2, k = 0 .. out n { none(); }
		}`
	args := []string{"__func__", "pid", "node", "worker", "cf", "parent", "code", "file", "line", "block",
		"execution", "label", "index0", "index1", "index2", "weight"}
	sizes := []string{"__func__", "inputs", "input_bytes", "outputs", "output_bytes", `"a \"b\""`, "-7", "2.5",
		`"c"`, "0x10"}
	for _, s := range []shape{one, {nodes: 1, workers: 4}} {
		o, w := watched(t, src, s, []config.EventState{
			{Namespace: "A", Name: "onExit", Rule: ahead("return EXIT"), Args: args},
			{Namespace: "A", Name: "onGone", Rule: behind("return EXIT"), Args: args},
			{Namespace: "A", Name: "onSizes", Rule: behind("return EXIT"), Args: sizes},
			{Namespace: "A", Name: "onCall", Rule: ahead("foreign call"), Args: sizes},
			{Namespace: "A", Name: "onCalled", Rule: behind("foreign call"), Args: sizes},
		})
		if o.err != nil {
			t.Fatal(o.err)
		}
		cfs := map[string]string{} // of main and the loops
		for _, name := range []string{"A.onExit", "A.onGone"} {
			for _, x := range w.events[name] {
				cfs[x.args["func"].(string)] = x.args["cf"].(string)
			}
			for _, x := range w.events[name] {
				a := x.args
				if a["pid"] != strconv.Itoa(os.Getpid()) || a["node"] != "0" || a["worker"] != strconv.Itoa(x.stream) ||
					a["code"] != a["func"] || a["file"] != "t.fa" || a["block"] != "2" {
					t.Errorf("%v", a)
				}
				f := a["func"].(string)
				want := map[string][]string{ // label, indices, weight, line, parent, execution
					"main":    {"", "0", "0", "1", "2", "-", "1"},
					"put":     {"", "0", "0", "1", "5", cfs["main"], "1"},
					"for i":   {"", "0", "0", "1", "6", cfs["main"], "1"},
					"two":     {"", "0", "0", "1", "7", cfs["main"], "1"},
					"block":   {"", "0", "0", "1", "8", cfs["main"], "1"},
					"while k": {"", "0", "0", "1", "9", cfs["main"], "3"},
					"none":    {"", "0", "0", "1", "9", cfs["while k"], "1"},
				}[f]
				if f == "add" {
					i := a["index0"].(string)
					weight := map[string]string{"1": "2.5", "2": "5"}[i]
					want = []string{"job[" + i + "][1" + i + "]", i, "1" + i, weight, "6", cfs["for i"], "1"}
				}
				got := fmt.Sprint(a["label"], ",", a["index0"], ",", a["index1"], ",", a["weight"], ",", a["line"], ",",
					a["parent"], ",", a["execution"])
				if w := strings.Join(want, ","); got != w || a["index2"] != "0" {
					t.Errorf("%s of %s: %s, wanted %s", name, f, got, w)
				}
			}
		}
		for name, want := range map[string]map[string]string{ // inputs, bytes, outputs, bytes
			"A.onCall": {"put": "0 0 0 0", "add": "2 8 0 0", "two": "0 0 0 0", "block": "0 0 0 0",
				"none": "0 0 0 0"},
			"A.onCalled": {"put": "0 0 1 4", "add": "2 8 1 4", "two": "0 0 2 8", "block": "0 0 1 40",
				"none": "0 0 0 0"},
			"A.onSizes": {"put": "0 0 2 8", "add": "2 8 1 4", "two": "0 0 2 8", "block": "0 0 1 40",
				"none": "0 0 0 0", "main": "0 0 0 0", "for i": "0 0 0 0", "while k": "0 0 1 4"},
		} {
			for _, x := range w.events[name] {
				a := x.args
				f := a["func"].(string)
				if got := fmt.Sprint(a["inputs"], " ", a["input_bytes"], " ", a["outputs"], " ",
					a["output_bytes"]); got != want[f] {
					t.Errorf("%s of %s: %s, wanted %s", name, f, got, want[f])
				}
				if got := fmt.Sprint(a["text"], a["value"], a["value2"], a["text2"],
					a["value3"]); got != `a "b"-72.5c16` {
					t.Errorf("constants %s", got)
				}
			}
		}
	}
}

// TestRuleClocks compares what clock expressions give with the clocks, and with the times of the events.
func TestRuleClocks(t *testing.T) {
	p := compile(t, `sub main() { df x; for i = 1 .. 20 { put(x[i], i); busy(x[i] * 20); } nap(30); }`)
	ses := prof.New()
	w := &seen{}
	w.watch(t, ses, "A.*", "GlobalEvents.onForeignStarted", "GlobalEvents.onProgramStarted")
	var rules []config.EventState
	for _, at := range []string{"foreign call", "return EXIT"} {
		for _, before := range []bool{true, false} {
			rules = append(rules, config.EventState{Namespace: "A", Name: eventName(at, before),
				Rule: &config.Rule{Before: before, Point: at},
				Args: []string{"system_clock::now()", "high_resolution_clock::now()", "std::chrono::steady_clock::now()",
					"now", "tid", "queue"}})
		}
	}
	var mono, monoEnd unix.Timespec
	wall := time.Now().UnixNano()
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Run(t.Context(), engine.Config{Program: p, Library: open(t, p), Nodes: 1, Workers: 1,
		Session: ses, Rules: checked(t, rules)}); err != nil {
		t.Fatal(err)
	}
	wallEnd := time.Now().UnixNano()
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &monoEnd); err != nil {
		t.Fatal(err)
	}
	num := func(x sight, field string) int64 {
		n, err := strconv.ParseInt(x.args[field].(string), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const slack = 2_000_000 // the clocks are read one after the other
	queued := false
	for name, list := range w.events {
		for _, x := range list {
			if !strings.HasPrefix(name, "A.") {
				continue
			}
			if s := num(x, "time"); s != num(x, "time2") || s < wall-slack || s > wallEnd+slack {
				t.Errorf("%s: system time %d, run from %d to %d", name, s, wall, wallEnd)
			}
			if s := num(x, "time3"); s < mono.Nano()-slack || s > monoEnd.Nano()+slack {
				t.Errorf("%s: steady time %d, run from %d to %d", name, s, mono.Nano(), monoEnd.Nano())
			}
			if n := num(x, "now"); n != x.t-w.events["GlobalEvents.onProgramStarted"][0].t {
				t.Errorf("%s: %d after the start", name, n)
			}
			if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", num(x, "tid"))); err != nil {
				t.Errorf("%s: thread %d", name, num(x, "tid"))
			}
			queued = queued || num(x, "queue") > 0
		}
	}
	if !queued {
		t.Error("the queue was always empty")
	}
	// A rule before user code has the time of the standard event, also where both are recorded after the call.
	calls, std := w.events["A.beforecall"], w.events["GlobalEvents.onForeignStarted"]
	same := 0
	for i := range calls {
		if calls[i].t == std[i].t {
			same++
		}
	}
	if len(calls) != 41 || same < 16 {
		t.Errorf("%d calls, %d at the time of the standard event", len(calls), same)
	}
}

// TestRuleRecorded checks that events of rules are in the trace like all others, in a standard namespace too.
func TestRuleRecorded(t *testing.T) {
	rules := []config.EventState{{Namespace: "GlobalEvents", Name: "onReturned", Rule: behind("foreign call"),
		Args: []string{"__func__", "output_bytes", "label"}}}
	o := run(t, known, shape{nodes: 2, workers: 2, set: func(c *engine.Config) { c.Rules = checked(t, rules) }})
	if o.err != nil {
		t.Fatal(o.err)
	}
	r, err := trace.Open(o.trace.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := map[string]int{}
	for _, e := range o.trace.events {
		if e.kind < trace.FirstUserKind {
			continue
		}
		d := r.Defs(e.node)
		spec := d.Kind(e.kind)
		n[fmt.Sprint(spec.String(), spec.Signature(), d.Name(trace.Name(e.a[0])), e.a[1])]++
	}
	if got := fmt.Sprint(n); got != "map[GlobalEvents.onReturned(func Name, output_bytes Bytes, label "+
		"Name)none0:3 GlobalEvents.onReturned(func Name, output_bytes Bytes, label Name)put4:3]" {
		t.Error(got)
	}
}
