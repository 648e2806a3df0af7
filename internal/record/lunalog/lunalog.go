// Package lunalog writes events as LuNA's run-time system logs them, a line per fact:
//
//	rank | seconds since start | message | file:line
//
// LuNA names a CF by an address and the number of the block it is at; here these are the CF's id and its
// statement's number ("_main : 0" for the program's first CF). The place is that of the statement in the
// program, where LuNA gives one in its own source; "-" where no CF is concerned. Of values the size is known
// only, and how often a DF is to be served is not, so that it reads as "until destroyed" (-1).
package lunalog

import (
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/whyslow/whyslow/prof"
	"github.com/whyslow/whyslow/trace"
)

// Kinds are the events that give lines. CFs whose onCreated was not seen have block 0 and no place.
var Kinds = []trace.Kind{
	trace.KindCFCreated, trace.KindCFStarted, trace.KindCFFinished,
	trace.KindCFWaiting, trace.KindCFMigrated, trace.KindCFStolen,
	trace.KindCFReceived, trace.KindCFDestroyed, trace.KindDFCreate,
	trace.KindDFRequested, trace.KindDFReceived, trace.KindDFStored,
	trace.KindDFDestroy,
}

// Describer is the part of prof.Describer that is needed.
type Describer interface {
	Site(node int, s trace.Site) prof.Site
	DF(node int, df trace.DF) (name string, identity []int64)
}

// Log turns events into lines, for all nodes, from several goroutines. CFs are in parts of a table with a
// lock each: often one goroutine creates a CF and another runs it.
type Log struct {
	start     int64
	describer func() Describer
	works     []atomic.Int64 // by node: CFs that exist there
	parts     [parts]shard
}

const parts = 64

type shard struct {
	mu     sync.Mutex
	cfs    map[trace.CF]cf
	places map[siteKey]string
	_      [64]byte // locks of other parts are in other lines of the cache
}

type siteKey struct {
	node int
	site trace.Site
}

type cf struct {
	id    trace.CF
	block uint32
	main  bool
	place string // file:line, "-": unknown
}

// New makes a log of a run that started at the time start, for nodes below the given number.
func New(start int64, nodes int, describer func() Describer) *Log {
	l := &Log{start: start, describer: describer, works: make([]atomic.Int64, nodes)}
	for i := range l.parts {
		l.parts[i].cfs, l.parts[i].places = map[trace.CF]cf{}, map[siteKey]string{}
	}
	return l
}

func (l *Log) part(id trace.CF) *shard { return &l.parts[uint64(id)%parts] }

// create notes what is known of a CF.
func (l *Log) create(node int, id trace.CF, site trace.Site, parent trace.CF) cf {
	p := l.part(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	key := siteKey{node, site}
	place, ok := p.places[key]
	if !ok {
		place = "-"
		if s := l.describer().Site(node, site); s.File != "" {
			place = filepath.Base(s.File) + ":" + strconv.Itoa(s.Line)
		}
		p.places[key] = place
	}
	c := cf{id: id, block: uint32(site), main: parent == 0, place: place}
	if c.main {
		c.block = 0
	}
	p.cfs[id] = c
	return c
}

func (l *Log) cf(id trace.CF) cf {
	p := l.part(id)
	p.mu.Lock()
	c, ok := p.cfs[id]
	p.mu.Unlock()
	if !ok {
		c = cf{id: id, place: "-"}
	}
	return c
}

func (l *Log) destroy(id trace.CF) {
	p := l.part(id)
	p.mu.Lock()
	delete(p.cfs, id)
	p.mu.Unlock()
}

// Append appends an event's lines, if its kind has any. words are its fields; a list has its length first.
func (l *Log) Append(dst []byte, node int, t int64, kind trace.Kind, words []uint64) []byte {
	e := event{dst: dst, l: l, node: node, since: max(0, t-l.start), c: cf{place: "-"}}
	switch kind {
	case trace.KindCFCreated: // cf, site, parent, execution, weight, indices
		e.c = l.create(node, trace.CF(words[0]), trace.Site(words[1]), trace.CF(words[2]))
		e.work(1, "created")
		e.line("Create CF ").cf().end()
	case trace.KindCFStarted: // cf, execution, inputs
		e.about(words[0]).line("Invoke CF ").cf().end()
	case trace.KindCFFinished: // cf, execution, cpu
		e.about(words[0]).line("Finish CF ").cf().end()
	case trace.KindCFWaiting: // cf, awaited
		e.about(words[0])
		for _, df := range words[2:] {
			e.line("Wait ").df(df).text(" by CF ").cf().end()
		}
	case trace.KindCFMigrated, trace.KindCFStolen: // cf, to or by, bytes, weight
		what := "Migrate CF "
		if kind == trace.KindCFStolen {
			what = "Stealing job CF "
		}
		e.about(words[0]).line(what).cf().text(" to ").number(int64(words[1])).end()
		e.work(-1, "destroyed")
	case trace.KindCFReceived: // cf, from, bytes, weight
		e.about(words[0]).work(1, "created")
		e.line("Receive CF ").cf().end()
	case trace.KindCFDestroyed: // cf
		e.about(words[0]).work(-1, "destroyed")
		l.destroy(e.c.id)
	case trace.KindDFCreate: // df, size, cf
		e.about(words[2]).line("Store ").df(words[0]).text(" := ").value(words[1]).end()
	case trace.KindDFRequested: // df, cf, node, request
		e.about(words[1]).line("requested\t").df(words[0]).text(" by CF ").cf().end()
	case trace.KindDFReceived: // df, from, bytes, message, request, cf
		if words[5] != 0 {
			e.about(words[5]).line("responded ").df(words[0]).text("=").value(words[2]).text(" for CF ").cf().end()
		}
	case trace.KindDFStored: // df, size
		e.line("POST ").df(words[0]).text(" := ").value(words[1]).text(" &-1").end()
	case trace.KindDFDestroy: // df, size, reason
		e.line("Destroyed ").df(words[0]).end()
	}
	return e.dst
}

// event is an event being written.
type event struct {
	dst   []byte
	l     *Log
	node  int
	since int64
	c     cf // the CF concerned
}

func (e *event) text(s string) *event  { e.dst = append(e.dst, s...); return e }
func (e *event) number(n int64) *event { e.dst = strconv.AppendInt(e.dst, n, 10); return e }

// about says which CF is concerned.
func (e *event) about(id uint64) *event { e.c = e.l.cf(trace.CF(id)); return e }

// line begins a line, end ends it.
func (e *event) line(message string) *event {
	e.number(int64(e.node)).text(" | ").number(e.since / 1e9).text(".")
	at := len(e.dst)
	e.dst = append(e.dst, "000000"...)
	for i, rest := at+5, e.since%1e9/1000; rest > 0; i, rest = i-1, rest/10 {
		e.dst[i] = '0' + byte(rest%10)
	}
	return e.text(" | ").text(message)
}

func (e *event) end() { e.text(" | ").text(e.c.place).text("\n") }

// cf is the CF as LuNA names it: caption or number, and block.
func (e *event) cf() *event {
	if e.c.main {
		e.text("_main")
	} else {
		e.dst = strconv.AppendUint(e.dst, uint64(e.c.id), 10)
	}
	return e.text(" : ").number(int64(e.c.block))
}

// df is the identity of a DF: rank and number of its name, then indices.
func (e *event) df(df uint64) *event {
	_, identity := e.l.describer().DF(e.node, trace.DF(df))
	if len(identity) == 0 {
		return e.text("ID<#").number(int64(df)).text(">")
	}
	e.text("ID<")
	for i, v := range identity {
		if i > 0 {
			e.text(", ")
		}
		e.number(v)
	}
	return e.text(">")
}

func (e *event) value(size uint64) *event {
	return e.text("DF<size=").number(int64(size)).text(">(...)")
}

// work counts the CFs that exist on the node.
func (e *event) work(change int64, what string) {
	sum := e.l.works[e.node].Add(change)
	e.line("WORKLOAD + ").number(change).text(" => ").number(sum).end()
	e.line("WORKLOAD: CF ").text(what).end()
}
