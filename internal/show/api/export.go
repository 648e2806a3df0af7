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
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/model/query"

	"github.com/whyslow/whyslow/trace"
)

// long answers a question at any length, without a time limit. prepare checks the question and returns what
// writes the answer, whose status has been sent by then.
func (s *Server) long(w http.ResponseWriter, r *http.Request,
	prepare func(q *question) (func() error, error)) {
	run := s.cfg.Runs.Get(r.PathValue("id"))
	if run == nil {
		fail(w, http.StatusNotFound, "no such run is shown")
		return
	}
	q := &question{params: newParams(r), ctx: r.Context(), run: run}
	defer q.release()
	write, err := prepare(q)
	if err == nil {
		err = q.err
	}
	if err != nil {
		s.failed(w, r, err)
		return
	}
	if err := write(); err != nil && r.Context().Err() == nil {
		if s.cfg.Log != nil {
			s.cfg.Log(r.URL.Path + ": " + err.Error())
		}
		// Cut the connection, so that nobody mistakes a part for the whole.
		panic(http.ErrAbortHandler)
	}
}

func download(w http.ResponseWriter, kind, name string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Disposition", "attachment; filename="+strconv.Quote(name))
}

// export sends an interval as a trace in an archive: its events and the definitions they use, as whyslow dump
// and dump --parse make it.
func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	s.long(w, r, func(q *question) (func() error, error) {
		snap, err := q.snapshot()
		if err != nil {
			return nil, err
		}
		from, to := q.span(snap.Model.Wall())
		if q.err != nil {
			return nil, q.err
		}
		base := strings.TrimSuffix(filepath.Base(q.run.Dir()), ".trace")
		name := fmt.Sprintf("%s.%d-%d.trace", base, from, to)
		in := trace.Span{From: from + snap.Model.Start, To: to + snap.Model.Start}
		if snap.Reader.EventsIn(in) == 0 {
			return nil, query.Bad("there are no events from %d to %d", from, to)
		}
		dir, err := os.MkdirTemp("", "whyslow-export-")
		if err != nil {
			return nil, err
		}
		err = cut(q.ctx, snap.Reader, filepath.Join(dir, name), in, snap.Model.Info)
		var nothing *trace.SyntaxError
		if errors.As(err, &nothing) { // blocks overlap the interval, but have no event in it
			err = query.Bad("there are no events from %d to %d", from, to)
		}
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		download(w, "application/gzip", name+".tar.gz")
		return func() error { return errors.Join(archive(w, dir, name), os.RemoveAll(dir)) }, nil
	})
}

// cut makes a trace of the events of some times.
func cut(ctx context.Context, r *trace.Reader, dir string, in trace.Span, info *trace.RunInfo) error {
	text, twin := io.Pipe()
	stop := context.AfterFunc(ctx, func() { twin.CloseWithError(ctx.Err()) })
	defer stop()
	go func() { twin.CloseWithError(trace.Dump(twin, r, trace.DumpOptions{In: &in})) }()
	err := trace.Parse(text, dir)
	text.CloseWithError(err) // ends Dump if Parse gave up
	if err != nil {
		return err
	}
	part := *info
	return trace.WriteRunInfo(dir, &part)
}

// archive writes dir/name as a compressed tar file.
func archive(w io.Writer, dir, name string) error {
	zip := gzip.NewWriter(w)
	out := tar.NewWriter(zip)
	entries, err := os.ReadDir(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := pack(out, filepath.Join(dir, name, e.Name()), path.Join(name, e.Name())); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), zip.Close())
}

func pack(out *tar.Writer, file, name string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	head := &tar.Header{Name: name, Mode: 0o644, Size: st.Size(), ModTime: st.ModTime()}
	if err := out.WriteHeader(head); err != nil {
		return err
	}
	_, err = io.Copy(out, f)
	return err
}
