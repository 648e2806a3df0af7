package api

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/model/query"
	"github.com/whyslow/whyslow/internal/procs"
	"github.com/whyslow/whyslow/internal/show/live"
	"github.com/whyslow/whyslow/internal/tracefile/twin"
	"github.com/whyslow/whyslow/trace"
)

// long answers a question at any length, without a time limit. What write returns before it has written
// anything is answered as an error; later the connection is cut, so that nobody mistakes a part for the
// whole.
func (s *Server) long(w http.ResponseWriter, r *http.Request, write func(q *question, w *longAnswer) error) {
	run := s.runOf(w, r)
	if run == nil {
		return
	}
	q := &question{params: newParams(r), ctx: r.Context(), run: run}
	defer q.release()
	out := &longAnswer{ResponseWriter: w}
	err := procs.Guard(func() error { return write(q, out) })
	switch {
	case err == nil:
	case !out.begun:
		w.Header().Del("Content-Disposition")
		s.failed(w, r, err)
	default:
		if s.cfg.Log != nil && r.Context().Err() == nil {
			s.cfg.Log(r.URL.Path + ": " + err.Error())
		}
		panic(http.ErrAbortHandler)
	}
}

// longAnswer is an answer that knows whether any of it was written.
type longAnswer struct {
	http.ResponseWriter
	begun bool
}

func (a *longAnswer) Write(b []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(b)
}

func download(w http.ResponseWriter, kind, name string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Disposition", "attachment; filename="+strconv.Quote(name))
}

// export sends an interval as a trace in an archive: its events, what its division needs of the rest of the
// run, and the definitions they use, as whyslow dump and dump --parse make it.
func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	s.long(w, r, func(q *question, w *longAnswer) error {
		snap, err := q.snapshot()
		if err != nil {
			return err
		}
		from, to := q.span(snap.Model.Wall())
		if q.err != nil {
			return q.err
		}
		base := strings.TrimSuffix(filepath.Base(q.run.Dir()), ".trace")
		name := fmt.Sprintf("%s.%d-%d.trace", base, from, to)
		in := trace.Span{From: from + snap.Model.Start, To: to + snap.Model.Start}
		if snap.Reader.EventsIn(in) == 0 {
			return query.Bad("there are no events from %d to %d", from, to)
		}
		dir, err := os.MkdirTemp("", "whyslow-export-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		done, err := snap.Turn(q.ctx, int64(snap.Reader.EventsIn(in))*exportBytes)
		if err != nil {
			return err
		}
		err = cut(q.ctx, snap, filepath.Join(dir, name), from, to)
		done()
		if err == nil {
			err = copyMarks(q.run.Dir(), filepath.Join(dir, name), model.Interval(in))
		}
		if err != nil {
			return err
		}
		download(w, "application/gzip", name+".tar.gz")
		return archive(w, dir)
	})
}

// exportBytes is about how much memory an event takes while a part of a run is exported.
const exportBytes = 256

// cut makes a trace of an interval, with what its division needs of the rest of the run.
func cut(ctx context.Context, snap *live.Snapshot, dir string, from, to int64) error {
	r := snap.Reader
	x, err := newExcerpt(ctx, snap.Model, from, to)
	if err != nil {
		return err
	}
	text, pipe := io.Pipe()
	stop := context.AfterFunc(ctx, func() { pipe.CloseWithError(ctx.Err()) })
	defer stop()
	go func() { pipe.CloseWithError(twin.Dump(pipe, r, twin.Options{Keep: x.keep})) }()
	err = twin.ParseFew(text, dir, len(r.Streams()))
	text.CloseWithError(err) // ends Dump if Parse gave up
	if err != nil {
		return err
	}
	part := *snap.Model.Info
	if old := part.Interval; old != nil { // a part of a part
		from, to = max(from, old.FromNS), min(to, old.ToNS)
	}
	if part.Interval != nil || from > 0 || to < snap.Model.Wall() {
		part.Interval = &trace.IntervalInfo{FromNS: from, ToNS: to}
	}
	return trace.WriteRunInfo(dir, &part)
}

// archive writes what is in a folder as a compressed tar file.
func archive(w io.Writer, dir string) error {
	zip := gzip.NewWriter(w)
	out := tar.NewWriter(zip)
	if err := out.AddFS(os.DirFS(dir)); err != nil {
		return err
	}
	return errors.Join(out.Close(), zip.Close())
}
