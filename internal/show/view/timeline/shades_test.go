package timeline

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/model"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
)

// TestShades: every nanosecond of a tile has the class that its definition gives the CF there, and boxes have
// the same.
func TestShades(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomRun(t)
		tl, res := made(t, m)
		if m.Wall() < 2 {
			t.Skip("too short")
		}
		lanes := brute(t, m, nullOf(&res.Factors))
		// The program's own numbers: each worker tells the time, every three nanoseconds.
		own := func(_ context.Context, tell func(int, int64, float64)) error {
			for lane := range lanes {
				for at := int64(0); at < m.Wall(); at += 3 {
					tell(lane, at, float64(at))
				}
			}
			tell(len(lanes), 1, 1e9)
			tell(-1, 1, 1e9)
			return nil
		}
		for _, by := range []string{"origin", "late", "value.weight", "value.my.event.field"} {
			s, err := tl.Shades(context.Background(), by, own)
			if err != nil {
				t.Fatal(err)
			}
			data, err := tl.Tile(TileQuery{To: m.Wall(), Width: int(m.Wall()), Shades: s})
			if err != nil {
				t.Fatal(err)
			}
			for lane := range lanes {
				row := data[8+3*int(m.Wall())*lane:]
				for at, k := range lanes[lane] {
					got := binary.LittleEndian.Uint16(row[2*at:])
					if k.exec < 0 {
						if got != k.code && k.code != 0 {
							t.Fatalf("%s: lane %d at %d: class %x of no CF, by code %x", by, lane, at, got, k.code)
						}
						continue
					}
					if want := wantShade(m, s, k.exec, lanes[lane]); got != want {
						t.Fatalf("%s: lane %d at %d: class %d, want %d of %v", by, lane, at, got, want, s.Edges)
					}
				}
			}
			boxes, err := tl.Boxes(BoxQuery{To: m.Wall(), Shades: s})
			if err != nil || len(boxes.CFs.Class) != len(boxes.CFs.Lane) {
				t.Fatalf("%s: %v, %d classes of %d boxes", by, err, len(boxes.CFs.Class), len(boxes.CFs.Lane))
			}
		}
	})
}

// wantShade is the class of an execution from its definition.
func wantShade(m *model.Model, s *Shades, e int, lane []known1) uint16 {
	cf, v := m.ExecCF[e], math.NaN()
	switch s.By {
	case "origin":
		return uint16(m.CFID(cf).Node()) + 1
	case "late":
		first := int64(math.MaxInt64)
		for i, other := range m.ExecCF {
			if other == cf {
				first = min(first, m.ExecStart[i])
			}
		}
		if r := m.Ready[cf]; r != model.None && r <= first {
			v = float64(first - r)
		}
	case "value.weight":
		v = m.Weight(cf)
	default: // the last multiple of three, up to its end, that no later execution began before
		for at := int64(0); at < m.Wall(); at += 3 {
			last := -1
			w, _ := m.WorkerOf(e)
			for i := w.First; i < w.End; i++ {
				if m.Atomic(m.ExecCF[i]) && m.ExecStart[i]-m.Start <= at {
					last = i
				}
			}
			if last == e && at <= m.Occupied(w, e).To-m.Start {
				v = float64(at)
			}
		}
	}
	if math.IsNaN(v) || len(s.Edges) < 2 {
		return 0
	}
	for i := 1; i < len(s.Edges)-1; i++ {
		if v < s.Edges[i] {
			return uint16(i)
		}
	}
	return uint16(len(s.Edges) - 1)
}

// TestShadesOfLostNode: a CF whose creator's file is missing has no node of origin, and is drawn all the
// same.
func TestShadesOfLostNode(t *testing.T) {
	m := sloutest.Build(t, strings.ReplaceAll(smallRun, "0.3", "70.3"))
	tl, _ := made(t, m)
	s, err := tl.Shades(context.Background(), "origin", nil)
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for e, cf := range m.ExecCF {
		if n := m.CFID(cf).Node(); n == 70 {
			lost++
			if s.class[e] != 0 {
				t.Errorf("class %d", s.class[e])
			}
		} else if int(s.class[e]) != n+1 {
			t.Errorf("class %d of node %d", s.class[e], n)
		}
	}
	if lost == 0 {
		t.Error("no CF of the missing node")
	}
	if _, err := tl.Tile(TileQuery{To: m.Wall(), Width: 50, Shades: s}); err != nil {
		t.Error(err)
	}
}

// TestShadesRefused: what cannot be a colour is said to be none.
func TestShadesRefused(t *testing.T) {
	tl := &Timeline{m: &model.Model{}}
	for _, by := range []string{"", "code", "colour", "value.no.such.field"} {
		if _, err := tl.Shades(context.Background(), by, nil); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", by, err)
		}
	}
}
