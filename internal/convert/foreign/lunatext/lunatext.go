// Package lunatext reads what LuNA's run-time system logs, a file for each rank, a line for each fact:
//
//	rank | seconds since start | message | file:line
//
// # What becomes what
//
// A rank is a node. A CF is known by its number until it ends; a number may then be that of another. Its
// code fragment is the block at which it was created, "block 5", or the place of its statement, where the
// log has places of the program. It is structured if a CF of it was the only one that ran while another was
// created.
//
// A CF goes from block to block, and a worker may turn to others in between. It is taken to execute from
// the Invoke of its last block to its end: blocks before that ask for what the last one needs. It is ready
// when it has come and the last thing that it asked for has. What it asked or waited for, and has not
// stored, are its inputs.
//
// No line tells the worker. A CF is executed by the first one that is free, so that there are as many
// workers as CFs that executed at the same time. Nor is it told when a DF is sent: that counts from when it
// was stored and had been asked for. Of CFs that migrate both ends are told.
package lunatext

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/whyslow/whyslow/internal/convert/foreign"
)

// Format is LuNA's text log: a file, or a folder with those of all ranks.
var Format = foreign.Format{Name: "luna", Is: is, Files: []string{pattern}, Read: read}

const pattern = "log.[0-9][0-9]*"

func is(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	_, ok := parse(line)
	return ok
}

// line is one of the log.
type line struct {
	rank    int
	t       int64 // nanoseconds since the start
	message string
	place   string // file:line
}

// parse reads a line.
func parse(text []byte) (l line, ok bool) {
	rank, rest, ok := bytes.Cut(text, []byte(" | "))
	if !ok {
		return l, false
	}
	seconds, rest, ok := bytes.Cut(rest, []byte(" | "))
	end := bytes.LastIndex(rest, []byte(" | "))
	if !ok || end < 0 {
		return l, false
	}
	n, ok := foreign.Decimal(bytes.TrimSpace(rank), 0)
	if !ok || n < 0 || n >= foreign.MostWorkers {
		return l, false
	}
	if l.t, ok = foreign.Decimal(bytes.TrimSpace(seconds), 9); !ok || l.t < 0 {
		return l, false
	}
	l.rank, l.message, l.place = int(n), string(rest[:end]), string(rest[end+3:])
	return l, true
}

// source is a file of the log, with its next line.
type source struct {
	*foreign.Lines
	next  line
	order int
}

// advance reads the next line; io.EOF after the last.
func (s *source) advance() error {
	for {
		text, err := s.Read()
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var ok bool
		if s.next, ok = parse(text); !ok {
			return s.Fail("%.60q is no line of a log: rank | seconds | message | file:line", text)
		}
		return nil
	}
}

// sources is a heap, by the time of the next line.
type sources []*source

func (h sources) Len() int      { return len(h) }
func (h sources) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h sources) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].next.t, h[j].next.t), cmp.Compare(h[i].order, h[j].order)) < 0
}
func (h *sources) Push(x any) { *h = append(*h, x.(*source)) }
func (h *sources) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// read merges the files by time.
func read(ctx context.Context, in io.Reader, to *foreign.Run) error {
	var all sources
	add := func(in io.Reader, name string) error {
		s := &source{Lines: foreign.NewLines(ctx, in, name), order: len(all)}
		if err := s.advance(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		heap.Push(&all, s)
		return nil
	}
	if to.Folder == nil {
		if err := add(in, ""); err != nil {
			return err
		}
	} else {
		names, _ := fs.Glob(to.Folder, pattern) // well-formed
		for _, name := range names {
			f, err := to.Folder.Open(name)
			if err != nil {
				return err
			}
			defer f.Close() //nolint:errcheck // it is only read
			if err := add(f, name); err != nil {
				return err
			}
		}
	}
	r := newRun(to)
	if len(all) > 0 {
		r.start = all[0].next.t
	}
	err := merge(&all, r)
	return cmp.Or(r.finish(), err)
}

// merge goes through the lines of all files. The clocks of ranks differ. So a line that tells of an arrival
// waits until the departure has been read, unless that is in no file.
func merge(all *sources, r *run) error {
	if all.Len() == 0 {
		return &foreign.Error{Offset: 0, Msg: "the log is empty"}
	}
	var aside sources
	for all.Len() > 0 || len(aside) > 0 {
		s := (*source)(nil)
		if all.Len() > 0 {
			if s = heap.Pop(all).(*source); r.early(&s.next) {
				aside = append(aside, s)
				continue
			}
		} else {
			heap.Init(&aside)
			s = heap.Pop(&aside).(*source)
		}
		departed := r.departed
		if err := r.line(&s.next); err != nil {
			return s.Fail("%v", err)
		}
		if err := s.advance(); err == nil {
			heap.Push(all, s)
		} else if !errors.Is(err, io.EOF) {
			return err
		}
		if r.departed != departed || all.Len() == 0 {
			for _, s := range aside {
				heap.Push(all, s)
			}
			aside = nil
		}
	}
	return nil
}

// cfOf reads "X : b" at the beginning of a text, and gives what follows.
func cfOf(text string) (name string, block int, rest string, err error) {
	name, rest, ok := strings.Cut(text, " : ")
	digits := 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	if !ok || name == "" || digits == 0 {
		return "", 0, "", errors.New("no CF: NAME : BLOCK is expected")
	}
	block, err = strconv.Atoi(rest[:digits])
	if err != nil || block > 1<<30 {
		return "", 0, "", errors.New("the number of the block is too large")
	}
	return name, block, rest[digits:], nil
}

// idOf reads "ID<0, 3, 1>" at the beginning of a text: the rank and the number of its name, then indices.
func idOf(text string) (id []int64, rest string, err error) {
	inner, ok := strings.CutPrefix(text, "ID<")
	inner, rest, closed := strings.Cut(inner, ">")
	if !ok || !closed {
		return nil, "", errors.New("no DF: ID<...> is expected")
	}
	if number, ok := strings.CutPrefix(inner, "#"); ok { // of a log of ours, of a DF without an identity
		n, err := strconv.ParseInt(number, 10, 64)
		return []int64{-1, n}, rest, err
	}
	for word := range strings.SplitSeq(inner, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
		if err != nil || len(id) == 1000 {
			return nil, "", errors.New("the identifier of a DF consists of numbers")
		}
		id = append(id, n)
	}
	return id, rest, nil
}

// sizeOf gives the size of a value that stands in a text, as "DF<size=88>(...)"; 0 where it is not told.
func sizeOf(text string) int64 {
	_, after, ok := strings.Cut(text, "DF<size=")
	digits, _, closed := strings.Cut(after, ">")
	if n, err := strconv.ParseInt(digits, 10, 64); ok && closed && err == nil && n >= 0 {
		return n
	}
	return 0
}
