// Pipedmodule is a profiling module that whyslow runs as a process: it names the longest call of user code on
// each worker. Neither whyslow nor the program that is profiled is built again.
//
//	go build -o build/longest_call ./examples/pipedmodule
//	WHYSLOW_MODULES=build whyslow run --modules=+longest_call examples/mxm/mxm.fa 8 100
package main

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/prof/piped"
)

func main() {
	piped.Serve(piped.Module{
		Name:   "longest_call",
		Doc:    "names the longest call of user code on each worker",
		Output: "a line per worker, at the end",
		Events: []string{"GlobalEvents.onForeignStarted", "GlobalEvents.onForeignEnded"},
		Params: []prof.Param{
			{Name: "file", Default: "", Doc: "where to write: a file, - for standard output, tcp://HOST:PORT; the" +
				" terminal if empty"},
		},
		Event:  event,
		Finish: finish,
	})
}

type worker struct{ node, stream int }

type call struct {
	started int64 // the running one
	longest int64
	at      int64
	what    string
}

var calls = map[worker]*call{}

func event(_ *piped.Host, e *piped.Event) error {
	at := worker{e.Node, e.Stream}
	if calls[at] == nil {
		calls[at] = &call{}
	}
	c := calls[at]
	if e.Name == "GlobalEvents.onForeignStarted" {
		c.started = e.Time
	} else if e.Time-c.started > c.longest {
		c.longest, c.at, c.what = e.Time-c.started, c.started, e.String("function")
	}
	return nil
}

func finish(h *piped.Host) error {
	for _, w := range slices.SortedFunc(maps.Keys(calls), func(a, b worker) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.stream, b.stream))
	}) {
		c := calls[w]
		h.Print("node %d worker %d: %s took %v, %v after the start\n", w.node, w.stream, c.what,
			time.Duration(c.longest), time.Duration(c.at-h.Run.StartNS))
	}
	return nil
}
