package collect

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/trace"
)

// The processes of a run send the files of their nodes, from a common folder or each from its own: the
// collector has the trace that they write together.
func TestSendersOfNodeFiles(t *testing.T) {
	src := filepath.Join(t.TempDir(), "a.trace")
	final := writeTrace(t, src, []int{0, 1, 2}, 5000)
	begun := *final
	begun.Ended = ""
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	var files []*stream.NodeFile
	var senders []*stream.Sender
	for node := range 3 {
		f := stream.NewNodeFile(src, node, &begun)
		cfg := quick(s.addr, "")
		cfg.Source = f
		sender, _ := start(t, cfg)
		files, senders = append(files, f), append(senders, sender)
	}
	until(t, "something of each is kept", s.keeps(3))
	for i, f := range files {
		f.SetInfo(final)
		drain(t, senders[i])
		if got := readInfo(t, s.only(t)); (got.Ended == trace.EndedDone) != (i == 2) {
			t.Errorf("after sender %d: ended %q", i, got.Ended)
		}
	}
	same(t, s.only(t), src)
	if diff := cmp.Diff(final, readInfo(t, s.only(t))); diff != "" {
		t.Error(diff)
	}
}
