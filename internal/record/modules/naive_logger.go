//go:build !no_naive_logger_module

package modules

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/whyslow/whyslow/prof"
)

// NaiveName is the name of the module that logs events with the least thought.
const NaiveName = "naive_logger_module"

func init() {
	prof.RegisterModule(prof.ModuleInfo{
		Name:   NaiveName,
		Doc:    "opens a file, writes a line and closes it for every event: what other logging is compared with",
		Output: "a file of lines for each stream: FILE.NODE.STREAM",
		Cost:   "5 to 20 us per event; for comparisons only, see whyslow experiment naive",
		Events: []string{"*"},
		Params: []prof.Param{
			{Name: "file", Default: "naive.log", Doc: "beginning of the files' names"},
		},
		New: func() prof.Module { return &naiveLogger{} },
	})
}

// naiveLogger does what the sources call naive logging. Each stream has a file of its own, so that nothing
// waits for anything but the file system.
type naiveLogger struct {
	lines eventLog
	once  sync.Once
	host  *prof.Host
}

// naiveLine is a stream's file, and room for a line.
type naiveLine struct {
	path string
	text []byte
}

// Start connects the module.
func (l *naiveLogger) Start(h *prof.Host) error {
	h.WantDFs()
	l.host = h
	l.lines.start, l.lines.workers = h.Run().StartNS, h.Run().Workers
	base, err := filepath.Abs(h.String("file")) // user code may change the current folder
	if err != nil {
		return err
	}
	streams := prof.NewPerStream(h.Session(), func(s *prof.Stream, n *naiveLine) {
		n.path = base + "." + strconv.Itoa(s.Node()) + "." + strconv.Itoa(s.ID())
		_ = os.Remove(n.path) // of an earlier run, if at all
	})
	return h.ConnectMatching([]string{"*"}, func(s *prof.Stream, a *prof.Any) {
		n := streams.Get(s)
		n.text = textFormat{}.event(n.text[:0], &l.lines, s, a)
		if err := appendTo(n.path, n.text); err != nil {
			l.once.Do(func() { l.host.Fail(err) })
		}
	})
}

// Finish has nothing left to write.
func (l *naiveLogger) Finish() error { return nil }

// appendTo opens a file, writes and closes it.
func appendTo(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	if _, err := f.Write(line); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
