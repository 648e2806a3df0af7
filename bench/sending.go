package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/whyslow/whyslow/internal/record/collect"
	"github.com/whyslow/whyslow/internal/record/stream"
	"github.com/whyslow/whyslow/trace"
)

// sent is what it took to bring a trace from here to there, in ns.
type sent struct{ wall, cpu float64 }

// benchStream measures a sender and a collector beside a plain copy of the same bytes over TCP.
func benchStream(ctx context.Context, b *bench) error {
	dir, err := b.cholesky(ctx, b.pick(110, 10), 2, 2)
	if err != nil {
		return err
	}
	r, err := trace.Open(dir)
	if err != nil {
		return err
	}
	events := float64(r.Events())
	r.Close()
	size, err := diskBytes(dir)
	if err != nil {
		return err
	}
	to, err := b.temp()
	if err != nil {
		return err
	}
	far, err := b.serve(ctx, "serve", "--dir", to)
	if err != nil {
		return err
	}
	jobs := []struct {
		name string
		run  func() (sent, error)
	}{
		{"a copy over TCP into files", func() (sent, error) { return copied(b, dir) }},
		{"a sender and a collector", func() (sent, error) { return collected(ctx, b, dir) }},
		{"a sender, the collector in a process of its own",
			func() (sent, error) { return sendTo(ctx, dir, strings.TrimPrefix(far.url, "http://")) }},
	}
	err = func() error {
		wall, cpu := make([][]float64, len(jobs)), make([][]float64, len(jobs))
		for range b.pick(15, 2) {
			fmt.Fprint(b.log, ".")
			for i, j := range jobs {
				s, err := j.run()
				if err != nil {
					return fmt.Errorf("%s: %w", j.name, err)
				}
				wall[i], cpu[i] = append(wall[i], s.wall), append(cpu[i], s.cpu)
			}
		}
		t := b.table("From a sender to a collector",
			fmt.Sprintf("%.3g million events of the Cholesky example, %.3g MB, over the loopback interface, from "+
				"connecting until the collector confirms that everything is in its files. The plain copy has no "+
				"blocks, sums, definitions or confirmations. CPU time is that of this process: both ends in the first "+
				"two rows, the sender alone in the third; median of %d.", events/1e6,
				float64(size)/1e6, len(wall[0])),
			"", "M events/s", "MB/s", "ratio of wall times", "CPU ns/event", "M events per CPU second", "CPU ns/KB")
		for i, j := range jobs {
			w, c := median(wall[i]), median(cpu[i])
			t.row(j.name, events/w*1e3, float64(size)/w*1e3, ratio(w/median(wall[0])), c/events, events/c*1e3,
				c/float64(size)*1e3)
		}
		return nil
	}()
	return errors.Join(err, far.end())
}

// copied sends the files of a trace through a TCP connection, which writes them elsewhere and answers with a
// byte.
func copied(b *bench, dir string) (s sent, err error) {
	to, err := b.temp()
	if err != nil {
		return s, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.wst"))
	if err != nil {
		return s, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return s, err
	}
	defer func() { _ = l.Close() }()
	done := make(chan error, 1)
	one := func(c net.Conn, name string) error {
		defer func() { _ = c.Close() }()
		f, err := os.Create(filepath.Join(to, name))
		if err == nil {
			_, err = io.Copy(f, c)
			err = errors.Join(err, f.Close())
		}
		if err == nil {
			_, err = c.Write([]byte{1})
		}
		return err
	}
	go func() {
		for _, name := range names {
			c, err := l.Accept()
			if err == nil {
				err = one(c, filepath.Base(name))
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	watch := start()
	for _, name := range names {
		if err := copyFile(l.Addr().String(), name); err != nil {
			return s, err
		}
	}
	if err := <-done; err != nil {
		return s, err
	}
	s.wall, s.cpu = watch.stop()
	return s, os.RemoveAll(to)
}

func copyFile(addr, name string) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(c, f); err != nil {
		return err
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	_, err = io.ReadFull(c, make([]byte, 1))
	return err
}

// collected sends a trace to a collector in this process.
func collected(ctx context.Context, b *bench, dir string) (s sent, err error) {
	to, err := b.temp()
	if err != nil {
		return s, err
	}
	c, err := collect.New(collect.Config{Dir: to})
	if err != nil {
		return s, err
	}
	mux := http.NewServeMux()
	mux.Handle(stream.Path, c)
	server, err := collect.Server(mux, collect.Limits{}, nil)
	if err != nil {
		return s, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return s, err
	}
	go server.Serve(l) //nolint:errcheck // it ends with Close
	s, err = sendTo(ctx, dir, l.Addr().String())
	return s, errors.Join(err, c.Close(), server.Close(), os.RemoveAll(to))
}

// sendTo sends a finished trace, as another run each time.
func sendTo(ctx context.Context, dir, addr string) (s sent, err error) {
	info, err := trace.ReadRunInfo(dir)
	if err != nil {
		return s, err
	}
	info.ID = trace.NewRunID()
	if err := trace.WriteRunInfo(dir, info); err != nil {
		return s, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	watch := start()
	sender := stream.NewSender(stream.Config{Target: stream.Target{Addr: addr}, Source: stream.Folder(dir),
		Poll: time.Millisecond})
	sender.EndSource()
	err = sender.Run(ctx)
	s.wall, s.cpu = watch.stop()
	if st := sender.Stats(); err == nil && (!st.Done || st.Sent.Events == 0) {
		err = errors.New("not everything is there")
	}
	return s, err
}
