package starpu

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"github.com/whyslow/whyslow/internal/convert/foreign"
	"io"
	"slices"
	"strconv"
	"strings"
)

type workerKey struct{ rank, worker int }

// worker is a worker as paje.trace has it.
type worker struct {
	stack  []string // its states, the inner one last
	since  int64    // when the last began
	sleeps []int64  // from, to, from, ...
	task   job      // that executes; paje.trace alone
	name   int32    // of its code
	begun  int64    // none: no task executes
}

type stateKey struct {
	rank int
	name string
}

// message is a transfer between ranks.
type message struct {
	from, to       int
	size, tag      int64
	sent, received int64 // none: not told
}

// executing is the state in which a worker executes a task; StarPU calls it after the task.
const executing = "Executing"

// Types of containers: W of workers, MPICt of threads that communicate.
const (
	ofWorker = `W`
	ofMPI    = `MPICt`
)

// container is what states belong to.
type container struct {
	kind   string
	worker workerKey
}

// paje goes through paje.trace. A Pajé trace first defines its kinds of events, each with a number and
// fields.
type paje struct {
	*run
	l          *foreign.Lines
	kinds      map[string]*pajeKind
	containers map[string]*container
	states     map[string]string // names of states of workers, by alias
	links      map[string]int32  // messages that have not arrived, by key
	tasksToo   bool
	words      [][]byte
	defining   *pajeKind
}

type pajeKind struct {
	name   string
	fields []string
}

// readPaje reads paje.trace; tasks too where nothing else tells them.
func (r *run) readPaje(l *foreign.Lines, tasksToo bool) error {
	p := &paje{run: r, l: l, kinds: map[string]*pajeKind{}, containers: map[string]*container{},
		states: map[string]string{}, links: map[string]int32{}, tasksToo: tasksToo}
	for {
		line, err := l.Read()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		if err := p.split(line); err != nil {
			return err
		}
		if line[0] == '%' {
			err = p.define()
		} else {
			err = p.event()
		}
		if err != nil {
			return err
		}
	}
	if len(r.workers) == 0 {
		return l.Fail("a Pajé trace without workers of StarPU")
	}
	for key, w := range r.workers {
		p.count(key, w, r.last)
		p.sleeps(w, r.last)
	}
	return nil
}

// split divides a line into words; what is in quotes is one.
func (p *paje) split(line []byte) error {
	p.words = p.words[:0]
	for len(line) > 0 {
		switch line[0] {
		case ' ', '\t':
			line = line[1:]
		case '"':
			end := bytes.IndexByte(line[1:], '"')
			if end < 0 {
				return p.l.Fail("a quotation mark is missing")
			}
			p.words = append(p.words, line[1:end+1])
			line = line[end+2:]
		default:
			end := bytes.IndexAny(line, " \t")
			if end < 0 {
				end = len(line)
			}
			p.words = append(p.words, line[:end])
			line = line[end:]
		}
	}
	return nil
}

// define takes a line of the definitions: "%EventDef PajeSetState 10", "% Time date", "%EndEventDef".
func (p *paje) define() error {
	switch first := string(p.words[0]); {
	case first == "%EventDef" && len(p.words) >= 3:
		p.defining = &pajeKind{name: string(p.words[1])}
		p.kinds[string(p.words[2])] = p.defining
	case first == "%" && len(p.words) >= 2 && p.defining != nil && len(p.defining.fields) < 64:
		p.defining.fields = append(p.defining.fields, string(p.words[1]))
	case first == "%EndEventDef":
		p.defining = nil
	default:
		return p.l.Fail("%.60q defines no event", bytes.Join(p.words, []byte{' '}))
	}
	return nil
}

// get gives a field of an event, by any of its names.
func (p *paje) get(k *pajeKind, names ...string) string {
	for i, f := range k.fields {
		if i+1 < len(p.words) && slices.Contains(names, f) {
			return string(p.words[i+1])
		}
	}
	return ""
}

func (p *paje) time(k *pajeKind) (int64, error) {
	t, ok := milliseconds([]byte(p.get(k, "Time")))
	if !ok || t < 0 {
		return 0, p.l.Fail("there is no time, or none in milliseconds")
	}
	return t, nil
}

func (p *paje) event() error {
	k := p.kinds[string(p.words[0])]
	if k == nil {
		return p.l.Fail("there is no kind of event %.40q", p.words[0])
	}
	switch k.name {
	case "PajeDefineEntityValue":
		if p.get(k, "Type", "EntityType") == "WS" {
			p.states[p.get(k, "Alias")] = p.get(k, "Name")
		}
	case "PajeCreateContainer":
		return p.create(k)
	case "PajeSetState", "PajePushState", "PajePopState":
		if p.get(k, "Type", "EntityType") == "WS" {
			return p.state(k)
		}
	case "PajeStartLink", "PajeEndLink":
		if p.get(k, "Type", "EntityType") == "MPIL" {
			return p.link(k)
		}
	}
	return nil
}

func (p *paje) create(k *pajeKind) error {
	alias := p.get(k, "Alias")
	c := &container{kind: p.get(k, "Type")}
	p.containers[alias] = c
	if c.kind != ofWorker && c.kind != ofMPI {
		return nil
	}
	// "1_w0" is worker 0 of rank 1, "w0" that of a run without MPI.
	prefix, rest, ok := strings.Cut(alias, "_")
	if !ok {
		prefix, rest = "0", alias
	}
	rank, err := strconv.Atoi(prefix)
	if err != nil || rank < 0 || rank >= mostRank {
		return p.l.Fail("%.40q is of no rank", alias)
	}
	c.worker = workerKey{rank, -1}
	if c.kind == ofMPI {
		return nil
	}
	n, err := strconv.Atoi(strings.TrimPrefix(rest, "w"))
	if err != nil || n < 0 || n >= mostRank {
		return p.l.Fail("%.40q is no worker", alias)
	}
	c.worker.worker = n
	t, err := p.time(k)
	if err != nil {
		return err
	}
	if p.workers[c.worker] == nil {
		p.workers[c.worker] = &worker{since: t, begun: none}
	}
	p.at(t)
	return nil
}

// at notes a time of the run.
func (p *paje) at(t int64) {
	if p.first == none {
		p.first, p.last = t, t
	}
	p.first, p.last = min(p.first, t), max(p.last, t)
}

// count adds the time up to t to the state in which a worker is.
func (p *paje) count(key workerKey, w *worker, t int64) {
	if n := len(w.stack); n > 0 && t > w.since {
		p.run.states[stateKey{key.rank, w.stack[n-1]}] += t - w.since
	}
	w.since = max(w.since, t)
}

// sleeping is the state of a worker whose thread waits to be woken up.
const sleeping = "Sleeping"

// sleeps notes whether a worker sleeps from t on.
func (p *paje) sleeps(w *worker, t int64) {
	asleep := len(w.stack) > 0 && w.stack[len(w.stack)-1] == sleeping
	if asleep != (len(w.sleeps)%2 == 1) {
		w.sleeps = append(w.sleeps, t)
	}
}

// state takes a change of a worker's state.
func (p *paje) state(k *pajeKind) error {
	c := p.containers[p.get(k, "Container")]
	if c == nil || c.kind != ofWorker {
		return p.l.Fail("%.40q is no worker", p.get(k, "Container"))
	}
	t, err := p.time(k)
	if err != nil {
		return err
	}
	w := p.workers[c.worker]
	p.at(t)
	p.count(c.worker, w, t)
	value := p.get(k, "Value")
	name := cmp.Or(p.states[value], value)
	id := p.get(k, "JobId")
	switch {
	case k.name == "PajePopState":
		if n := len(w.stack); n > 0 {
			w.stack = w.stack[:n-1]
		}
	case id != "":
		w.stack = append(w.stack[:0], executing)
		return p.begins(c.worker, w, t, id, name)
	case k.name == "PajePushState":
		if len(w.stack) > 1<<10 {
			return p.l.Fail("states are nested too deeply")
		}
		w.stack = append(w.stack, name)
	default:
		w.stack = append(w.stack[:0], name)
		if err := p.ends(c.worker, w, t); err != nil {
			return err
		}
	}
	p.sleeps(w, w.since)
	return nil
}

// begins notes that a worker executes a task.
func (p *paje) begins(key workerKey, w *worker, t int64, id, name string) error {
	if !p.tasksToo {
		return nil
	}
	j, ok := jobOf([]byte(id))
	if !ok {
		return p.l.Fail("%.40q is no number of a task", id)
	}
	if err := p.ends(key, w, t); err != nil {
		return err
	}
	w.task, w.name, w.begun = j, p.name([]byte(name)), t
	return nil
}

// ends notes that a worker's task has ended.
func (p *paje) ends(key workerKey, w *worker, t int64) error {
	if !p.tasksToo || w.begun == none {
		return nil
	}
	if len(p.tasks) == mostTasks {
		return p.l.Fail("there are more than %d tasks", mostTasks)
	}
	p.tasks = append(p.tasks, task{job: w.task%mostNumber + job(key.rank)*mostNumber, name: w.name,
		worker: int32(key.worker), submit: none, start: w.begun, end: max(t, w.begun)})
	w.begun = none
	return nil
}

// link takes an end of a message between ranks.
func (p *paje) link(k *pajeKind) error {
	t, err := p.time(k)
	if err != nil {
		return err
	}
	c := p.containers[p.get(k, "StartContainer", "EndContainer")]
	if c == nil || c.kind != ofMPI {
		return p.l.Fail("a message without its rank")
	}
	key := p.get(k, "Key")
	if k.name == "PajeEndLink" {
		if i, ok := p.links[key]; ok {
			// StarPU may note late that it has sent something, even after that was received.
			m := &p.messages[i]
			m.to, m.received, m.sent = c.worker.rank, t, min(m.sent, t)
			delete(p.links, key)
		}
		return nil
	}
	m := message{from: c.worker.rank, sent: t, received: none, tag: -1}
	if tag := p.get(k, "MPITAG"); tag != "" {
		if n, ok := foreign.Decimal([]byte(tag), 0); ok {
			m.tag = n
		}
	}
	if n, ok := foreign.Decimal([]byte(p.get(k, "Value")), 0); ok {
		m.size = max(n, 0)
	}
	if len(p.messages) == mostTasks {
		return p.l.Fail("there are more than %d messages", mostTasks)
	}
	p.links[key] = int32(len(p.messages))
	p.messages = append(p.messages, m)
	return nil
}

// told is how long the workers of each node were in which of StarPU's own states, as model.OwnStatesSetting
// has it.
func (r *run) told() string {
	var list []string
	for key, ns := range r.states {
		list = append(list, fmt.Sprintf("%d %d %s", key.rank, ns, strings.ReplaceAll(key.name, "\n", " ")))
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}
