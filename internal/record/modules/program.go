package modules

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/prof/piped"
)

// Modules that are programs of their own.
//
// Such a module is a process that whyslow starts twice: once to read the line in which it describes itself,
// once for the run. Lines of JSON go both ways, those of prof/piped. Events are collected by stream and
// merged in order of time, as those of a log are. From there a goroutine writes them to the pipe. So workers
// never wait for a module: what it does not take stays in memory, up to a limit. Beyond it, events are
// dropped and counted.
//
// A process may end, hang or print anything at any time. One goroutine reads what it says and keeps how it
// ended. Callers wait for the process as long as it takes lines or says something, and then for
// programPatience.

var (
	// programPatience is how long a module may neither take an event nor say anything, while it is waited for.
	programPatience = 30 * time.Second
	// programBacklog is how many bytes of events may wait for a module.
	programBacklog = 64 << 20
)

// longestReply is how many bytes a line of a module may have.
const longestReply = 1 << 20

// OpenProgram asks the program at path what module it is.
func OpenProgram(path string) (prof.ModuleInfo, error) {
	info, err := describeProgram(path)
	if err != nil {
		return prof.ModuleInfo{}, fmt.Errorf("module program %s %w", path, err)
	}
	return info, nil
}

func describeProgram(path string) (info prof.ModuleInfo, err error) {
	p, err := startProgram(path)
	if err != nil {
		return info, err
	}
	defer p.kill()
	d, err := p.description(nil)
	if err != nil {
		return info, err
	}
	if info, err = programInfo(d); err != nil {
		return info, err
	}
	_ = p.in.Close() // which ends it
	if err := p.wait(nil, func() bool { return p.over }); err != nil {
		return info, fmt.Errorf("does not end when its standard input does: %w", err)
	}
	info.New = func() prof.Module { return &programModule{path: path, info: info, first: d} }
	return info, nil
}

var programName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// programInfo is what a module says of itself.
func programInfo(d *piped.Description) (prof.ModuleInfo, error) {
	info := prof.ModuleInfo{Name: d.Name, Doc: d.Doc, Output: d.Output, Cost: d.Cost, Events: d.Events}
	switch {
	case d.Version != piped.Version:
		return info, fmt.Errorf("speaks version %d of the lines between whyslow and modules, and this whyslow"+
			" version %d: build it again", d.Version, piped.Version)
	case !programName.MatchString(d.Name) || strings.HasPrefix(d.Name, "lib"):
		return info, fmt.Errorf("calls its module %q: names are letters, digits and _, not starting with a digit"+
			" or lib", d.Name)
	}
	for _, m := range prof.Modules() {
		if m.Name == d.Name || slices.Contains(m.Aliases, d.Name) {
			return info, fmt.Errorf("calls its module %s, which is one of whyslow's own", d.Name)
		}
	}
	for i := range d.Params {
		p := &d.Params[i]
		value, err := p.Value(p.Default)
		if err == nil && info.Param(p.Name) != nil {
			err = errors.New("there are two of that name")
		}
		if err != nil {
			return info, fmt.Errorf("has a wrong parameter %q: %w", p.Name, err)
		}
		info.Params = append(info.Params, prof.Param{Name: p.Name, Default: value, Choices: p.Choices, Doc: p.Doc})
	}
	return info, nil
}

// programModule is a run of such a module.
type programModule struct {
	path  string
	info  prof.ModuleInfo
	first *piped.Description // what it said when it was asked
	h     *prof.Host
	out   *prof.Output
	p     *process
	log   eventLog
}

// Start starts the process, tells it of the run, and connects it to its events.
func (m *programModule) Start(h *prof.Host) error {
	h.WantDFs()
	m.h = h
	where := ""
	if p := m.info.Param("file"); p != nil {
		where = h.String("file")
	}
	var err error
	if m.out, err = h.Open(where); err != nil {
		return err
	}
	if m.p, err = startProgram(m.path); err != nil {
		return fmt.Errorf("program %s %w", m.path, err)
	}
	if err = m.begin(); err == nil {
		m.log = eventLog{log: newOrdered(h.Session(), m.p, 1<<16), start: h.Run().StartNS,
			workers: h.Run().Workers, format: jsonFormat{}}
		err = h.ConnectMatching(standardNames(m.info.Events), m.log.handle)
	}
	if err == nil {
		err = m.p.wait(h.Run().Asked, func() bool { return m.p.ready })
	}
	if err != nil {
		m.p.kill()
		return fmt.Errorf("program %s %w", m.path, err)
	}
	return nil
}

// begin tells the process of the run.
func (m *programModule) begin() error {
	run := m.h.Run()
	d, err := m.p.description(run.Asked)
	if err != nil {
		return err
	}
	if d.Name != m.first.Name {
		return fmt.Errorf("was module %s a moment ago and is %s now", m.first.Name, d.Name)
	}
	begin := piped.Begin{Params: map[string]json.RawMessage{}, Run: piped.Run{
		Program: run.Program, Args: run.Args, Nodes: run.Nodes, Node: run.Node, Workers: run.Workers,
		Processes: max(run.Processes, 1), StartNS: run.StartNS}}
	for _, p := range m.info.Params {
		var value any
		switch p.Default.(type) {
		case string:
			value = m.h.String(p.Name)
		case int:
			value = m.h.Int(p.Name)
		case float64:
			value = m.h.Float(p.Name)
		case bool:
			value = m.h.Bool(p.Name)
		default:
			value = m.h.Strings(p.Name)
		}
		if begin.Params[p.Name], err = json.Marshal(value); err != nil {
			return fmt.Errorf("cannot be told parameter %s: %w", p.Name, err)
		}
	}
	line, err := json.Marshal(begin)
	if err != nil {
		return err
	}
	p := m.p
	p.mu.Lock()
	p.print = m.out
	p.fail = m.failed
	p.mu.Unlock()
	p.send(append(line, '\n'))
	return nil
}

// failed tells the user, once, that the module has ended while the program runs.
func (m *programModule) failed(err error) {
	m.h.Session().Disconnect(m.h.Name())
	m.h.Warn(fmt.Sprintf("module %s failed and is disconnected: program %s %v", m.h.Name(), m.path, err))
}

// Finish lets the process take the rest and write its results.
func (m *programModule) Finish() error {
	p := m.p
	defer p.kill()
	m.log.log.flush()
	p.mu.Lock()
	failed := p.err != nil
	p.finishing = true
	p.mu.Unlock()
	if failed {
		return nil // the user was told
	}
	p.send([]byte(piped.FinishLine + "\n"))
	err := p.wait(m.h.Run().Asked, func() bool { return p.done })
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dropped > 0 {
		m.h.Warn(fmt.Sprintf("module %s: %d of %d events were dropped: it handles them more slowly than the "+
			"program emits them", m.info.Name, p.dropped, p.lines))
	}
	if err != nil {
		return fmt.Errorf("program %s %w", m.path, err)
	}
	return nil
}

// process is a running module.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu      sync.Mutex
	changed sync.Cond // of everything below
	first   *piped.Description
	ready   bool
	done    bool
	over    bool         // it has ended
	err     error        // what went wrong
	moved   int          // how often something came or went
	print   *prof.Output // nil: nothing is expected yet
	fail    func(error)  // tells the user what went wrong while the program runs
	// what waits to be written; closed: nothing is written any more
	pending        []byte
	closed         bool
	finishing      bool
	lines, dropped int
}

// startProgram starts a process that is to be a module. It is not among those that Ctrl+C in a terminal ends,
// so that it can write its results.
func startProgram(path string) (*process, error) {
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", piped.Variable, piped.Version))
	cmd.Stderr = os.Stderr
	apart(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		if path := (*os.PathError)(nil); errors.As(err, &path) {
			err = path.Err
		}
		return nil, fmt.Errorf("cannot be started: %w", err)
	}
	p := &process{cmd: cmd, in: in}
	p.changed.L = &p.mu
	go p.read(out)
	go p.write()
	return p, nil
}

// read takes what the process says, and how it ends.
func (p *process) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, longestReply)
	var wrong error
	for wrong == nil && lines.Scan() {
		wrong = p.take(lines.Bytes())
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		wrong = fmt.Errorf("printed a line of more than %d bytes", longestReply)
	}
	if wrong != nil {
		_ = p.cmd.Process.Kill() // it may just have ended
	}
	_, _ = io.Copy(io.Discard, out)
	ended := p.cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over, p.closed = true, true
	if wrong == nil && !p.done && p.print != nil {
		wrong = errors.New("ended before it had finished")
		if ended != nil {
			wrong = fmt.Errorf("ended before it had finished (%w)", ended)
		}
	}
	p.err = cmp.Or(p.err, wrong)
	if p.err != nil && p.ready && !p.finishing {
		go p.fail(p.err) // it takes locks that whoever sends may hold
	}
	p.changed.Broadcast()
}

// take takes a line of the process.
func (p *process) take(line []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved++
	defer p.changed.Broadcast()
	if p.first == nil {
		d, err := parseDescription(line)
		p.first = d
		return err
	}
	r, err := parseReply(line)
	switch {
	case err != nil:
		return err
	case r.Error != "":
		return fmt.Errorf("failed: %s", r.Error)
	case r.Print != "" && p.print != nil:
		_, _ = p.print.Write([]byte(r.Print)) // the Output keeps the error, and tells
	}
	p.ready, p.done = p.ready || r.Ready, p.done || r.Done
	return nil
}

func parseDescription(line []byte) (*piped.Description, error) {
	var d piped.Description
	if err := json.Unmarshal(line, &d); err != nil || d.Version == 0 {
		return nil, fmt.Errorf("is not a module: its first line is %s", shortLine(line))
	}
	return &d, nil
}

func parseReply(line []byte) (r piped.Reply, err error) {
	if json.Unmarshal(line, &r) != nil || r == (piped.Reply{}) {
		return r, fmt.Errorf("printed %s, which whyslow does not understand; text goes to standard error",
			shortLine(line))
	}
	return r, nil
}

// shortLine quotes the beginning of a line.
func shortLine(line []byte) string {
	if len(line) > 60 {
		return fmt.Sprintf("%q...", line[:60])
	}
	return fmt.Sprintf("%q", line)
}

// write writes what is pending to the process.
func (p *process) write() {
	var chunk []byte
	for {
		p.mu.Lock()
		for len(p.pending) == 0 && !p.closed {
			p.changed.Wait()
		}
		if p.closed {
			p.mu.Unlock()
			return
		}
		chunk, p.pending = p.pending, chunk[:0]
		p.mu.Unlock()
		for rest := chunk; len(rest) > 0; {
			n, err := p.in.Write(rest[:min(len(rest), 1<<16)])
			rest = rest[n:]
			p.mu.Lock()
			p.moved++
			p.closed = p.closed || err != nil // read tells how it ended
			closed := p.closed
			p.changed.Broadcast()
			p.mu.Unlock()
			if closed {
				return
			}
		}
	}
}

// send appends lines to what is pending, whatever is there.
func (p *process) send(lines []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, lines...)
	p.changed.Broadcast()
}

// Write takes lines of events, or drops them if too many wait.
func (p *process) Write(lines []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := bytes.Count(lines, []byte("\n"))
	p.lines += n
	switch {
	case p.closed:
	case len(p.pending)+len(lines) > programBacklog:
		p.dropped += n
	default:
		p.pending = append(p.pending, lines...)
		p.changed.Broadcast()
	}
	return len(lines), nil
}

// Flush does nothing: what is pending is on its way.
func (p *process) Flush() error { return nil }

// description waits for the first line.
func (p *process) description(asked <-chan struct{}) (*piped.Description, error) {
	if err := p.wait(asked, func() bool { return p.first != nil }); err != nil {
		return nil, err
	}
	return p.first, nil
}

// wait waits until something is so, as long as the process takes lines or says something. Once the user has
// asked for the end, it has a bit less than prof.Patience.
func (p *process) wait(asked <-chan struct{}, so func() bool) error {
	stop := make(chan struct{})
	defer close(stop)
	var hurried time.Time
	go func() {
		select {
		case <-asked:
			p.mu.Lock()
			hurried = time.Now().Add(prof.Patience * 3 / 4)
			p.mu.Unlock()
			time.AfterFunc(prof.Patience*3/4, p.wake)
		case <-stop:
		}
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	moved, since := p.moved, time.Now()
	// It begins after since is read: when it wakes the loop, the patience is over.
	timeout := time.AfterFunc(programPatience, p.wake)
	defer timeout.Stop()
	for {
		switch now := time.Now(); {
		case so():
			return nil
		case p.err != nil:
			return p.err
		case p.over:
			return errors.New("ended without a word")
		case p.moved != moved:
			moved, since = p.moved, now
			timeout.Reset(programPatience)
		case now.Sub(since) >= programPatience:
			return fmt.Errorf("has neither read an event nor written anything for %v; it was killed", programPatience)
		case !hurried.IsZero() && !now.Before(hurried):
			return fmt.Errorf("was killed: %w", prof.ErrLeft)
		}
		p.changed.Wait()
	}
}

// wake lets those who wait look again.
func (p *process) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed.Broadcast()
}

// kill ends the process, if it has not ended.
func (p *process) kill() {
	p.mu.Lock()
	p.closed, p.finishing = true, true
	p.changed.Broadcast()
	p.mu.Unlock()
	_ = p.in.Close()
	_ = p.cmd.Process.Kill() // it may have ended
}
