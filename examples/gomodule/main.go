// Gomodule is a whyslow with one more profiling module, written in Go: longest_call_module names the longest
// call of user code on each worker.
//
//	go build -o build/mywhyslow ./examples/gomodule
//	build/mywhyslow run --modules=longest_call_module examples/mxm/mxm.fa 8 100
package main

import (
	"fmt"
	"time"

	"github.com/whyslow/whyslow/cli"
	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

func main() { cli.Main() }

func init() {
	prof.RegisterModule(prof.ModuleInfo{
		Name:   "longest_call_module",
		Doc:    "names the longest call of user code on each worker",
		Output: "a line per worker, at the end",
		Cost:   "two handlers of a few nanoseconds per call",
		Events: []string{"GlobalEvents.onForeignStarted", "GlobalEvents.onForeignEnded"},
		Params: []prof.Param{
			{Name: "file", Default: "", Doc: "where to write: a file, - for standard output, tcp://HOST:PORT; the " +
				"terminal if empty"},
		},
		New: func() prof.Module { return &longestCall{} },
	})
}

// longestCall is the module. Every worker has its own call, so handlers need no lock.
type longestCall struct {
	host  *prof.Host
	out   *prof.Output
	calls *prof.PerStream[call]
}

// call holds a worker's longest call so far, and the running one.
type call struct {
	started int64
	longest int64
	at      int64
	what    trace.Site
}

func (m *longestCall) Start(h *prof.Host) error {
	ses := h.Session()
	m.host, m.calls = h, prof.NewPerStream[call](ses, nil)
	var err error
	if m.out, err = h.Open(h.String("file")); err != nil {
		return err
	}
	if err := ses.ForeignStarted.Connect(h.Name(), h.Priority(), func(s *prof.Stream, t int64, _ trace.Site) {
		m.calls.Get(s).started = t
	}); err != nil {
		return err
	}
	return ses.ForeignEnded.Connect(h.Name(), h.Priority(), func(s *prof.Stream, t int64, site trace.Site) {
		if c := m.calls.Get(s); t-c.started > c.longest {
			c.longest, c.at, c.what = t-c.started, c.started, site
		}
	})
}

func (m *longestCall) Finish() error {
	start := m.host.Run().StartNS
	m.calls.All(func(s *prof.Stream, c *call) {
		fmt.Fprintf(m.out, "node %d worker %d: %s took %v, %v after the start\n", s.Node(), s.ID(),
			m.host.Describe().Site(s.Node(), c.what).Code, time.Duration(c.longest), time.Duration(c.at-start))
	})
	return m.out.Flush()
}
