package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/trace"
	"strconv"

	xtrace "golang.org/x/exp/trace"

	"github.com/whyslow/whyslow/internal/clock"
	"github.com/whyslow/whyslow/prof"
	ws "github.com/whyslow/whyslow/trace"
)

// The mix: what the engine tells about an atomic CF that reads a DF of four bytes and makes another one.
// Everyone records these ten facts per CF, each with a time of its own.
const perCF = 10

// recorder is one way to record the mix.
type recorder interface {
	cfs(from, n int) error // records n CFs, the first being number from, from 1
	close() error
	read() (events int, err error) // reads the whole file back, in the way its users do
}

// ours records with the event objects of package prof into a trace.
type ours struct {
	dir   string
	w     *ws.Writer
	ses   *prof.Session
	s     *prof.Stream
	name  ws.Name
	burst bool // one reading of the clock for all facts that the engine learns at once
	ins   [1]ws.DF
	idx   [1]int32
	id    [3]int64
}

func openOurs(dir string, burst bool) (*ours, error) {
	w, err := ws.Create(dir, 0, ws.Options{})
	if err != nil {
		return nil, err
	}
	o := &ours{dir: dir, w: w, ses: prof.New(), burst: burst, name: w.Name("x"), id: [3]int64{0, 1, 0}}
	o.s = o.ses.Stream(0, 0, w.Stream(0))
	file, label := w.Name("mix.fa"), w.Name("step")
	w.DefineCode(ws.CodeDef{Code: 1, Name: label, Kind: ws.Atomic, File: file, Line: 1, Col: 1})
	w.DefineSite(ws.SiteDef{Site: 1, Code: 1, Label: label, File: file, Line: 2, Col: 1,
		Text: w.Name("step(x[i - 1], x[i])")})
	o.ses.ProgramStarted.Emit(o.s, 0, 0)
	return o, nil
}

func (o *ours) cfs(from, n int) error {
	e, s := &o.ses.Events, o.s
	if o.burst {
		for i := from; i < from+n; i++ {
			cf, in, out := ws.MakeCF(0, uint64(i)), ws.DF(i), ws.DF(i+1)
			o.id[2], o.ins[0], o.idx[0] = int64(i), in, int32(i)
			t := clock.Now()
			e.CFCreated.EmitAt(s, t, cf, 1, 0, 1, 1, o.idx[:])
			e.DFRequested.EmitAt(s, t, in, cf, 0, 0)
			e.CFReady.EmitAt(s, t, cf, 0)
			t = clock.Now()
			e.CFStarted.EmitAt(s, t, cf, 1, o.ins[:])
			t = clock.Now()
			e.CFFinished.EmitAt(s, t, cf, 1, -1)
			o.w.DefineDF(out, o.name, o.id[:])
			e.DFCreate.EmitAt(s, t, out, 4, cf)
			e.DFStored.EmitAt(s, t, out, 4)
			e.DFDropped.EmitAt(s, t, in, 4)
			e.DFDestroy.EmitAt(s, t, in, 4, ws.Expired)
			e.CFDestroyed.EmitAt(s, t, cf)
		}
		return nil
	}
	for i := from; i < from+n; i++ {
		cf, in, out := ws.MakeCF(0, uint64(i)), ws.DF(i), ws.DF(i+1)
		o.id[2], o.ins[0], o.idx[0] = int64(i), in, int32(i)
		e.CFCreated.Emit(s, cf, 1, 0, 1, 1, o.idx[:])
		e.DFRequested.Emit(s, in, cf, 0, 0)
		e.CFReady.Emit(s, cf, 0)
		e.CFStarted.Emit(s, cf, 1, o.ins[:])
		e.CFFinished.Emit(s, cf, 1, -1)
		o.w.DefineDF(out, o.name, o.id[:])
		e.DFCreate.Emit(s, out, 4, cf)
		e.DFStored.Emit(s, out, 4)
		e.DFDropped.Emit(s, in, 4)
		e.DFDestroy.Emit(s, in, 4, ws.Expired)
		e.CFDestroyed.Emit(s, cf)
	}
	return nil
}

func (o *ours) close() error {
	o.ses.ProgramFinished.Emit(o.s, clock.ProcessCPU())
	if err := o.w.Close(); err != nil {
		return err
	}
	return ws.WriteRunInfo(o.dir, &ws.RunInfo{Program: "mix.fa", Ended: ws.EndedDone,
		Nodes:     []ws.NodeInfo{{Workers: 1}},
		Processes: []ws.ProcessInfo{{}}})
}

func (o *ours) read() (int, error) {
	r, err := ws.Open(o.dir)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	events := 0
	err = r.Each(1, func(b *ws.Batch) error { events += b.N; return nil })
	return events, err
}

// lines records the mix as text.
type lines struct{ *textLog }

func (l lines) cfs(from, n int) error {
	var err error
	note := func(e error) {
		if e != nil {
			err = e
		}
	}
	for i := from; i < from+n; i++ {
		cf, in, out := uint64(i), uint64(i), uint64(i+1)
		note(l.event(ws.KindCFCreated, cf, 1, 0, 1, math.Float64bits(1), 1, uint64(i)))
		note(l.event(ws.KindDFRequested, in, cf, 0, 0))
		note(l.event(ws.KindCFReady, cf, 0))
		note(l.event(ws.KindCFStarted, cf, 1, 1, in))
		note(l.event(ws.KindCFFinished, cf, 1, ^uint64(0)))
		note(l.event(ws.KindDFCreate, out, 4, cf))
		note(l.event(ws.KindDFStored, out, 4))
		note(l.event(ws.KindDFDropped, in, 4))
		note(l.event(ws.KindDFDestroy, in, 4, 0))
		note(l.event(ws.KindCFDestroyed, cf))
	}
	return err
}

// chrome records the mix in the JSON format of Chrome's trace viewer, buffered.
type chrome struct {
	path string
	file *os.File
	out  *bufio.Writer
	line []byte
	any  bool
}

func openChrome(dir string) (*chrome, error) {
	c := &chrome{path: filepath.Join(dir, "trace.json")}
	f, err := os.Create(c.path)
	if err != nil {
		return nil, err
	}
	c.file, c.out = f, bufio.NewWriterSize(f, 64<<10)
	_, err = c.out.WriteString("[\n")
	return c, err
}

// event writes an event of phase ph; args alternate with names.
func (c *chrome) event(name string, ph byte, names []string, args ...int64) error {
	b := c.line[:0]
	if c.any {
		b = append(b, ",\n"...)
	}
	c.any = true
	b = append(b, `{"name":"`...)
	b = append(b, name...)
	b = append(b, `","ph":"`...)
	b = append(b, ph)
	b = append(b, `","pid":0,"tid":0,"ts":`...)
	t := clock.Now()
	b = strconv.AppendInt(b, t/1000, 10)
	b = append(b, '.', byte('0'+t/100%10), byte('0'+t/10%10), byte('0'+t%10))
	if ph == 'i' {
		b = append(b, `,"s":"t"`...)
	}
	b = append(b, `,"args":{`...)
	for i, n := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, n...)
		b = append(b, `":`...)
		b = strconv.AppendInt(b, args[i], 10)
	}
	c.line = append(b, "}}"...)
	_, err := c.out.Write(c.line)
	return err
}

var (
	chromeCreated   = []string{"cf", "site", "parent", "execution", "weight", "index"}
	chromeRequested = []string{"df", "cf", "node", "request"}
	chromeReady     = []string{"cf", "late"}
	chromeStarted   = []string{"cf", "execution", "input"}
	chromeFinished  = []string{"cf", "execution", "cpu"}
	chromeCreate    = []string{"df", "size", "cf"}
	chromeStored    = []string{"df", "size"}
	chromeDestroy   = []string{"df", "size", "reason"}
	chromeDestroyed = []string{"cf"}
)

func (c *chrome) cfs(from, n int) error {
	var err error
	note := func(e error) {
		if e != nil {
			err = e
		}
	}
	for i := from; i < from+n; i++ {
		cf, in, out := int64(i), int64(i), int64(i+1)
		note(c.event("onCreated", 'i', chromeCreated, cf, 1, 0, 1, 1, int64(i)))
		note(c.event("onRequested", 'i', chromeRequested, in, cf, 0, 0))
		note(c.event("onReady", 'i', chromeReady, cf, 0))
		note(c.event("step", 'B', chromeStarted, cf, 1, in))
		note(c.event("step", 'E', chromeFinished, cf, 1, -1))
		note(c.event("onCreate", 'i', chromeCreate, out, 4, cf))
		note(c.event("onStored", 'i', chromeStored, out, 4))
		note(c.event("onDropped", 'i', chromeStored, in, 4))
		note(c.event("onDestroy", 'i', chromeDestroy, in, 4, 0))
		note(c.event("onDestroyed", 'i', chromeDestroyed, cf))
	}
	return err
}

func (c *chrome) close() error {
	if _, err := c.out.WriteString("\n]\n"); err != nil {
		return err
	}
	if err := c.out.Flush(); err != nil {
		return err
	}
	return c.file.Close()
}

func (c *chrome) read() (int, error) {
	f, err := os.Open(c.path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	if _, err := d.Token(); err != nil {
		return 0, err
	}
	events := 0
	for d.More() {
		var e struct {
			Name string           `json:"name"`
			Ph   string           `json:"ph"`
			TS   float64          `json:"ts"`
			PID  int              `json:"pid"`
			TID  int              `json:"tid"`
			Args map[string]int64 `json:"args"`
		}
		if err := d.Decode(&e); err != nil {
			return events, err
		}
		events++
	}
	return events, nil
}

// goTrace records the mix as user annotations of Go's execution tracer: the CF is a task, its execution a
// region, the rest are log messages, which hold the number of the CF or DF only.
type goTrace struct {
	path string
	file *os.File
}

func openGoTrace(dir string) (*goTrace, error) {
	g := &goTrace{path: filepath.Join(dir, "go.trace")}
	f, err := os.Create(g.path)
	if err != nil {
		return nil, err
	}
	g.file = f
	return g, trace.Start(f)
}

func (g *goTrace) cfs(from, n int) error {
	for i := from; i < from+n; i++ {
		ctx, task := trace.NewTask(context.Background(), "step")
		in, out := strconv.Itoa(i), strconv.Itoa(i+1)
		trace.Log(ctx, "requested", in)
		trace.Log(ctx, "ready", "")
		r := trace.StartRegion(ctx, "step")
		r.End()
		trace.Log(ctx, "create", out)
		trace.Log(ctx, "stored", out)
		trace.Log(ctx, "dropped", in)
		trace.Log(ctx, "destroy", in)
		task.End()
	}
	return nil
}

func (g *goTrace) close() error {
	trace.Stop()
	return g.file.Close()
}

func (g *goTrace) read() (int, error) {
	f, err := os.Open(g.path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return readGoTrace(bufio.NewReaderSize(f, 1<<20))
}

// readGoTrace reads a Go execution trace with golang.org/x/exp/trace and returns the number of events.
func readGoTrace(in io.Reader) (events int, err error) {
	r, err := xtrace.NewReader(in)
	if err != nil {
		return 0, err
	}
	for {
		if _, err := r.ReadEvent(); errors.Is(err, io.EOF) {
			return events, nil
		} else if err != nil {
			return events, err
		}
		events++
	}
}
