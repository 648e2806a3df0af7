//go:build cgo

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/trace"
)

// The trace of a run of many processes: a folder that rank 0 makes, in which each rank writes the file of its node. Where they
// do not share a disk, or should not write to it while they run (--local-dir), each has a folder of its own, itself a trace
// of one node, until rank 0 gathers the files.

// seeFolder is how long a folder that another host has made may take to be seen.
const seeFolder = 3 * time.Second

// shareFolder tells all ranks where the trace is, and makes the folder of this rank's part where that is another one.
func (p *profiling) shareFolder(c *crew, localDir string) error {
	marker := ""
	var err error
	if c.speaks() {
		marker, err = markFolder(p.folder)
	}
	name, failed := procs.Broadcast(c.Group(), 0, []byte(marker))
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	marker = string(name)
	if !c.speaks() {
		p.folder = filepath.Dir(marker)
	}
	if localDir == "" {
		for until := time.Now().Add(seeFolder); marker != ""; time.Sleep(seeFolder / 60) {
			if _, err = os.Stat(marker); err == nil || time.Now().After(until) {
				break
			}
		}
		if err != nil {
			err = fmt.Errorf("does not see %s: all hosts must see the folder of the trace, or say --local-dir DIR", p.folder)
		}
	} else {
		err = p.makeLocal(c, localDir)
	}
	failed = procs.Barrier(c.Group())
	if c.speaks() && marker != "" {
		err = errors.Join(err, os.Remove(marker))
	}
	return errors.Join(err, failed)
}

// markFolder makes an empty file in a folder, by which others know that they see the same one, and returns its path.
func markFolder(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "rank0.*.tmp")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// makeLocal makes the folder of this rank's part.
func (p *profiling) makeLocal(c *crew, localDir string) error {
	dir, err := filepath.Abs(localDir)
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}
	if err == nil {
		base := strings.TrimSuffix(filepath.Base(p.folder), ".trace")
		p.local, err = os.MkdirTemp(dir, fmt.Sprintf("%s.node%d.*.trace", base, c.node()))
	}
	if err != nil {
		return fmt.Errorf("--local-dir: %w", fileError(err))
	}
	return nil
}

// describeMany fills in what run.json tells about the processes.
func (p *profiling) describeMany(c *crew, o *runOptions) {
	p.info.Hosts, p.info.Processes = c.hosts(), c.procs
	for i := range p.info.Nodes {
		n := &p.info.Nodes[i]
		n.Host, n.Process = c.procs[i].Host, i
	}
	p.info.Versions["mpi"] = mpiVersion()
	s := p.info.Settings
	s["ranks"], s["mpi_threads"] = fmt.Sprint(c.Size()), c.Threads()
	s["clock_sync"] = o.clock.sync
	if o.clock.sync == clockSyncs[0] {
		s["clock_precision"], s["clock_drift"] = o.clock.precision.String(), fmt.Sprintf("%g ppm", o.clock.drift)
	}
	if o.clock.skew != "" {
		s["clock_skew"] = o.clock.skew
	}
	if o.localDir != "" {
		s["local_dir"] = o.localDir
	}
}

// shareInfo gives all ranks what rank 0 knows of the run, and rank 0 where they write and what their clocks say.
func (p *profiling) shareInfo(c *crew) error {
	if c == nil {
		return nil
	}
	type place struct {
		Part  string
		Clock trace.ClockPair
	}
	begun := place{Clock: clockPair()}
	if p.local != "" {
		begun.Part = hostName() + ":" + p.local
	}
	own, err := json.Marshal(begun)
	if err != nil {
		return err
	}
	places, err := procs.Gather(c.Group(), 0, own)
	if err != nil {
		return err
	}
	for i, text := range places {
		if err := json.Unmarshal(text, &begun); err != nil {
			return err
		}
		p.info.Nodes[i].Part = begun.Part
		if q := &p.info.Processes[i]; p.info.Ended == "" {
			q.Monotonic = []trace.ClockPair{begun.Clock}
		}
	}
	text, err := json.Marshal(&p.info)
	if err != nil {
		return err
	}
	if text, err = procs.Broadcast(c.Group(), 0, text); err != nil {
		return err
	}
	if c.speaks() {
		return nil
	}
	p.info = trace.RunInfo{}
	return json.Unmarshal(text, &p.info)
}

// parts says where the parts of the trace are.
func (p *profiling) parts() string {
	var list []string
	for _, n := range p.info.Nodes {
		if n.Part != "" {
			list = append(list, n.Part)
		}
	}
	return strings.Join(list, ", ")
}

// gatherParts brings the files of all nodes into the folder of the trace, if they are not there. The parts are removed only
// when all have arrived.
func (m *manyRun) gatherParts(p *profiling) error {
	if p.local == "" {
		return nil
	}
	err := m.gather(p)
	if failed := procs.Agree(m.Group(), err); failed != nil {
		if !m.speaks() {
			return failed
		}
		for node := range m.Size() {
			if err := os.Remove(filepath.Join(p.folder, trace.FileName(node))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, err)
			}
		}
		return fmt.Errorf("its parts could not be gathered: %w; they are in %s", failed, p.parts())
	}
	p.old = p.local
	p.local = ""
	return nil
}

func (m *manyRun) gather(p *profiling) error {
	var size int64
	file, err := os.Open(filepath.Join(p.local, trace.FileName(m.node())))
	if err == nil {
		defer file.Close()
		var info fs.FileInfo
		if info, err = file.Stat(); err == nil {
			size = info.Size()
		}
	}
	read := func(b []byte, at int64) error {
		_, err := file.ReadAt(b, at)
		return err
	}
	return errors.Join(err, collectPieces(m.Group(), size, read, func(from int, b []byte) error {
		to, err := os.OpenFile(filepath.Join(p.folder, trace.FileName(from)), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
		if err != nil {
			return err
		}
		_, err = to.Write(b)
		return errors.Join(err, to.Close())
	}))
}

// sendPart sends what this process records to the collector of its group.
func (p *profiling) sendPart(c *crew, o *sendOptions, tell func(line string)) {
	mine := o.group(c.Rank(), c.Size())
	if c.Rank() > 0 && o.group(c.Rank()-1, c.Size()) == mine { // one of the group tells
		tell = nil
	}
	var source stream.Source = p.queue
	if p.queue == nil {
		p.source = stream.NewNodeFile(p.trace.Dir(), c.node(), p.copyInfo())
		source = p.source
	}
	p.send = startSending(o, o.targets[mine], source, tell)
}

// sentAll waits until what was recorded is sent, and tells what was, by collector. Parts that were gathered are not needed any more.
func (m *manyRun) sentAll(after context.Context, p *profiling) error {
	var r sent
	if p.send != nil {
		r = p.send.wait(after, m.io, p.send.opt.wait)
	}
	if p.old != "" {
		if err := os.RemoveAll(p.old); err != nil {
			m.io.say("warning: %v", fileError(err))
		}
	}
	if !m.o.send.on() || p.trace == nil {
		return nil
	}
	own, err := json.Marshal(r)
	if err != nil {
		return err
	}
	all, err := procs.Gather(m.Group(), 0, own)
	if err != nil || !m.speaks() {
		return err
	}
	for i, text := range all {
		var x sent
		if err := json.Unmarshal(text, &x); err != nil {
			return err
		}
		if i > 0 && x.To == r.To {
			r.Sent, r.Unsent, r.Dropped = r.Sent+x.Sent, r.Unsent+x.Unsent, r.Dropped+x.Dropped
			if r.Why == "" {
				r.Why = x.Why
			}
			continue
		}
		if i > 0 {
			p.send.report(m.io, m.o.quiet, r)
		}
		r = x
	}
	p.send.report(m.io, m.o.quiet, r)
	p.send = nil
	return nil
}
