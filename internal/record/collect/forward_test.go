package collect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

// A tree: two collectors of groups, with two senders each, forward to one for all. Both
// groups have a run of their own and a part of one that all take part in. In the end the
// root has what the programs recorded.
func TestTree(t *testing.T) {
	tmp := t.TempDir()
	root := serveAt(t, "", Config{Dir: filepath.Join(tmp, "root"), Token: "r"})
	to := stream.Target{Addr: root.addr, Token: "r"}
	common := trace.NewRunID()
	var sources []string
	var commonParts []string
	for g := range 2 {
		group := serveAt(t, "", Config{Dir: filepath.Join(tmp, fmt.Sprint("group", g)), Token: "g", Forward: to})
		for i := range 2 {
			src := filepath.Join(tmp, fmt.Sprintf("own%d%d", g, i))
			node := 2*g + i
			if i == 0 {
				writeTrace(t, src, []int{node}, 3000)
				sources = append(sources, src)
			} else {
				info := writeTrace(t, src, []int{node}, 3000, common)
				info.Program = "all.fa"
				writeInfo(t, src, info)
				commonParts = append(commonParts, src)
			}
			cfg := quick(group.addr, src)
			cfg.Target.Token = "g"
			send(t, cfg)
		}
	}
	until(t, "everything is forwarded", func() bool {
		runs := root.Runs()
		for _, r := range runs {
			if r.Ended != trace.EndedDone || r.Senders != 0 {
				return false
			}
		}
		return len(runs) == 3 && len(root.Sources(byID(root, common).Dir)) == 2
	})
	for _, src := range sources {
		same(t, byID(root, readInfo(t, src).ID).Dir, src)
	}
	// The run of both groups, put together.
	dir := byID(root, common).Dir
	info := readInfo(t, dir)
	if len(info.Nodes) != 2 || info.Nodes[0].Node != 1 || info.Nodes[1].Node != 3 {
		t.Errorf("%+v", info)
	}
	whole := filepath.Join(tmp, "whole")
	writeInfo(t, whole, info)
	for i, src := range commonParts {
		name := tracefile.FileName(2*i + 1)
		if err := os.Link(filepath.Join(src, name), filepath.Join(whole, name)); err != nil {
			t.Fatal(err)
		}
	}
	same(t, dir, whole)
}

func byID(s *server, id string) RunState {
	for _, r := range s.Runs() {
		if r.ID == id {
			return r
		}
	}
	return RunState{}
}

// A forwarding collector that is started again goes on where it stopped, with what came
// while the root was away, too; and what is forwarded is not sent again.
func TestForwardingGoesOn(t *testing.T) {
	tmp := t.TempDir()
	src := filepath.Join(tmp, "a.trace")
	info := &trace.RunInfo{ID: trace.NewRunID(), Program: "p.fa", Nodes: []trace.NodeInfo{{Node: 0, Workers: 2}}}
	writeInfo(t, src, info)
	w, err := trace.Create(src, 0, trace.Options{Run: info.ID, BufferBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	rootCfg := Config{Dir: filepath.Join(tmp, "root")}
	root := serveAt(t, "", rootCfg)
	rootAddr := root.addr
	cfg := Config{Dir: filepath.Join(tmp, "group"), Forward: stream.Target{Addr: rootAddr}}
	group := serveAt(t, "", cfg)
	sender, _ := start(t, quick(group.addr, src))
	burst := 0
	record := func() {
		for i := range 2000 {
			w.Stream(0).Emit(int64(burst*1e6+i), trace.KindReadyQueue, uint64(i))
		}
		burst++
	}
	events := func(s *server) int {
		runs := s.Runs()
		if len(runs) == 0 {
			return 0
		}
		r, err := trace.Open(runs[0].Dir)
		if err != nil {
			return 0
		}
		defer r.Close()
		return r.Events()
	}
	record()
	until(t, "some is at the root", func() bool { return events(root) > 1000 })
	root.stop()
	record()
	until(t, "more is at the group", func() bool { return events(group) > 3000 })
	groupAddr := group.addr
	group.stop()
	record()
	root = serveAt(t, rootAddr, rootCfg)
	group = serveAt(t, groupAddr, cfg)
	until(t, "all of it is at the root", func() bool { return events(root) > 5000 })
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	info.Ended = trace.EndedDone
	writeInfo(t, src, info)
	drain(t, sender)
	until(t, "the end is at the root", func() bool {
		return root.Runs()[0].Ended == trace.EndedDone && root.Runs()[0].Senders == 0
	})
	same(t, root.only(t), src)
	until(t, "that is known", func() bool {
		st, err := readState(group.only(t))
		return err == nil && st.Forwarded == rootAddr
	})
	group.stop()
	root.stop()
	var told lines
	cfg.Notify = told.add
	group = serveAt(t, groupAddr, cfg)
	group.stop()
	if told.text() != "" {
		t.Errorf("sent again: %s", told.text())
	}
}

// A file of another run is not sent, and the sender says so.
func TestForeignFileIsNotSent(t *testing.T) {
	s := serveAt(t, "", Config{Dir: t.TempDir()})
	src, other := filepath.Join(t.TempDir(), "a.trace"), filepath.Join(t.TempDir(), "b.trace")
	own := writeTrace(t, src, []int{0, 1}, 100)
	writeTrace(t, other, []int{1}, 100)
	name := tracefile.FileName(1)
	if err := os.Rename(filepath.Join(other, name), filepath.Join(src, name)); err != nil {
		t.Fatal(err)
	}
	var said []string
	cfg := quick(s.addr, src)
	cfg.Notify = func(line string) { said = append(said, line) }
	send(t, cfg)
	dir := byID(s, own.ID).Dir
	if _, err := os.Stat(filepath.Join(dir, tracefile.FileName(0))); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, tracefile.FileName(1))); err == nil {
		t.Error("the foreign file was sent")
	}
	if len(said) != 1 || !strings.Contains(said[0], "00001.wst: belongs to run ") {
		t.Errorf("%q", said)
	}
}
