package engine

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/run/luna"
	"github.com/whyslow/whyslow/trace"
)

func drawIdent(t *rapid.T) *ident {
	d := &ident{name: uint64(rapid.Uint16().Draw(t, "node"))<<48 | rapid.Uint64Max(1<<48-1).Draw(t, "number"),
		decl: luna.DeclID(rapid.IntRange(0, 1000).Draw(t, "decl"))}
	for range rapid.IntRange(0, 9).Draw(t, "indices") {
		d.push(rapid.Int32().Draw(t, "index"))
	}
	return d
}

func sameFrame(a, b *frame) bool {
	for a != nil && b != nil {
		if a.block != b.block || a.base != b.base || a.counter != b.counter || len(a.vals) != len(b.vals) {
			return false
		}
		for i := range a.vals {
			x, y := a.vals[i], b.vals[i]
			if x.set != y.set || x.typ != y.typ || x.i != y.i || math.Float64bits(x.f) != math.Float64bits(y.f) ||
				x.s != y.s || (x.id == nil) != (y.id == nil) {
				return false
			}
			if x.id != nil && !(x.id.equal(y.id) && x.id.decl == y.id.decl) {
				return false
			}
		}
		a, b = a.parent, b.parent
	}
	return a == nil && b == nil
}

// TestFramesOnTheWire sends chains of frames with every kind of value.
func TestFramesOnTheWire(t *testing.T) {
	p := &luna.Program{}
	for i := range 5 {
		p.Blocks = append(p.Blocks, &luna.Block{ID: i, Frame: true})
	}
	rapid.Check(t, func(t *rapid.T) {
		var f *frame
		for range rapid.IntRange(0, 4).Draw(t, "frames") {
			f = &frame{parent: f, block: p.Blocks[rapid.IntRange(0, 4).Draw(t, "block")],
				base: rapid.Uint64().Draw(t, "base"), counter: rapid.Int32().Draw(t, "counter")}
			for range rapid.IntRange(0, 4).Draw(t, "values") {
				var v value
				switch rapid.IntRange(0, 4).Draw(t, "type") {
				case 0:
					v = value{typ: luna.Int, set: true, i: rapid.Int32().Draw(t, "int")}
				case 1:
					v = value{typ: luna.Real, set: true, f: rapid.Float64().Draw(t, "real")}
				case 2:
					v = value{typ: luna.String, set: true, s: rapid.String().Draw(t, "string")}
				case 3:
					v = value{typ: luna.Dyn, set: true, id: drawIdent(t)}
				}
				f.vals = append(f.vals, v)
			}
		}
		id, m := drawIdent(t), maker{7, 9}
		k := packing(nil)
		k.frame(&f)
		k.ident(id)
		k.maker(&m)
		var g *frame
		var got ident
		var by maker
		k = unpacking(p, k.b)
		k.frame(&g)
		k.ident(&got)
		k.maker(&by)
		if !sameFrame(f, g) || len(k.b) != 0 {
			t.Fatalf("%+v came as %+v, %d bytes left", f, g, len(k.b))
		}
		if !got.equal(id) || got.decl != id.decl || got.hash() != id.hash() || by != m {
			t.Fatalf("%+v came as %+v", *id, got)
		}
	})
}

// TestIdentity checks that identities are equal exactly when their lists are, and that what shares a prefix
// does not share memory.
func TestIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawIdent(t), drawIdent(t)
		if rapid.Bool().Draw(t, "alike") {
			*b = ident{name: a.name}
			for i := range int(a.n) {
				b.push(a.at(i))
			}
			if b.n > 0 && rapid.Bool().Draw(t, "but one") {
				k := rapid.IntRange(0, int(b.n)-1).Draw(t, "which")
				c := ident{name: b.name}
				for i := range int(b.n) {
					c.push(b.at(i) ^ b2i(i == k))
				}
				*b = c
			}
		}
		if got, want := a.equal(b), reflect.DeepEqual(a.list(), b.list()); got != want {
			t.Fatalf("%v and %v: equal is %v", a.list(), b.list(), got)
		}
		if a.equal(b) && (a.hash() != b.hash() || a.key() != b.key()) {
			t.Fatalf("%v has two hashes", a.list())
		}
		before := a.list()
		x, y := *a, *a
		x.push(1)
		y.push(2)
		if !slices.Equal(a.list(), before) || x.at(int(a.n)) != 1 || y.at(int(a.n)) != 2 {
			t.Fatalf("%v, %v, %v share memory", a.list(), x.list(), y.list())
		}
	})
}

// TestQueue compares the queue of CFs, and the batches in it, with slices.
func TestQueue(t *testing.T) {
	e := &engine{static: []static{{}, {stealable: true, early: true}}, nodes: make([]*node, 2)}
	fixed, loose := &luna.Stmt{ID: 0}, &luna.Stmt{ID: 1}
	type queued struct {
		id    trace.CF
		loose bool
	}
	rapid.Check(t, func(t *rapid.T) {
		q := queue{workers: rapid.IntRange(1, 3).Draw(t, "workers")}
		w := &worker{actor: actor{n: &node{eng: e}}}
		var woken, created []queued
		id, taken, turn := trace.CF(0), 0, 0
		next := func() (*cf, queued) {
			id++
			c := &cf{id: id, st: fixed, placed: true}
			if rapid.Bool().Draw(t, "loose") {
				c.st = loose
			}
			return c, queued{id, c.st == loose}
		}
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			switch op := rapid.IntRange(0, 7).Draw(t, "op"); op {
			case 0:
				c, x := next()
				q.push(e, c)
				created = append(created, x)
			case 1:
				c, x := next()
				c.st, x.loose = fixed, false
				q.wake(e, c)
				if q.workers > 1 {
					woken = append(woken, x)
				} else {
					created = append(created, x)
				}
			case 2, 3:
				stmts := []*luna.Stmt{fixed, fixed, loose}[:rapid.IntRange(1, 3).Draw(t, "statements")]
				b := &batch{stmts: stmts, first: id + 1, loop: true, turns: &luna.Block{}}
				b.end = int64(len(stmts) * rapid.IntRange(1, 50).Draw(t, "turns"))
				for k := range b.end {
					created = append(created, queued{id + 1 + trace.CF(k), stmts[int(k)%len(stmts)] == loose})
				}
				id += trace.CF(b.end)
				q.create(e, item{b: b})
			case 4, 5, 6:
				for range rapid.IntRange(1, 50).Draw(t, "fewer") {
					list := &created
					begins := turn > 0 && len(created) > 0
					if !begins && len(woken) > 0 {
						list = &woken
						if taken++; taken == q.workers*mostWoken {
							taken, turn = 0, q.workers+1
						}
					}
					x, ok := q.pop()
					if ok != (len(*list) > 0) || x.turn != begins {
						t.Fatalf("popped %v of %d, in a turn: %v", ok, len(*list), x.turn)
					}
					if !ok {
						break
					}
					if c := w.take(x); c.id != (*list)[0].id || (c.st == loose) != (*list)[0].loose {
						t.Fatalf("popped CF %d, wanted %d", c.id, (*list)[0].id)
					}
					if *list = (*list)[1:]; begins && rapid.Bool().Draw(t, "runs") {
						q.turn.Add(-1)
						turn--
					}
				}
			case 7:
				i := len(created) - 1
				for i > 0 && !created[i].loose {
					i--
				}
				c := q.stealable(e)
				switch found := i > 0 && i >= len(created)-searchDepth; {
				case found != (c != nil) || found && c.id != created[i].id:
					t.Fatal("stolen another CF")
				case found:
					created = slices.Delete(slices.Clone(created), i, i+1)
				}
			}
			if q.len() != len(woken)+len(created) {
				t.Fatalf("length %d, wanted %d", q.len(), len(woken)+len(created))
			}
		}
	})
}
