package engine

import (
	"encoding/binary"
	"math"

	"github.com/whyslow/whyslow/internal/run/luna"
)

// codec packs values into bytes, or unpacks them again: the same calls in the same order do both, each with
// the place that a value is taken from or put into. Numbers are varints (encoding/binary, zigzag where
// signed). Bytes come from our own process or a peer of the same build, so nothing is checked again.
type codec struct {
	b         []byte
	p         *luna.Program
	unpacking bool
	paths     bool // CFs have paths: there is a placement
}

// packing is a codec that appends to b.
func packing(b []byte) *codec { return &codec{b: b} }

// unpacking is a codec that reads b; frames and statements are those of p.
func unpacking(p *luna.Program, b []byte) *codec { return &codec{b: b, p: p, unpacking: true} }

type integer interface {
	~uint8 | ~int32 | ~uint32 | ~int | ~int64 | ~uint64
}

// count carries a number that is not negative.
func count[T integer](k *codec, v *T) {
	if !k.unpacking {
		k.b = binary.AppendUvarint(k.b, uint64(*v))
		return
	}
	x, n := binary.Uvarint(k.b)
	*v, k.b = T(x), k.b[n:]
}

// signed carries any number.
func signed[T integer](k *codec, v *T) {
	if !k.unpacking {
		k.b = binary.AppendVarint(k.b, int64(*v))
		return
	}
	x, n := binary.Varint(k.b)
	*v, k.b = T(x), k.b[n:]
}

// list carries a list; each carries one item.
func list[T any](k *codec, l *[]T, each func(*T)) {
	n := len(*l)
	count(k, &n)
	if k.unpacking && n > 0 {
		*l = make([]T, n)
	}
	for i := range *l {
		each(&(*l)[i])
	}
}

func (k *codec) byte(v *byte) {
	if !k.unpacking {
		k.b = append(k.b, *v)
		return
	}
	*v, k.b = k.b[0], k.b[1:]
}

func (k *codec) bool(v *bool) {
	x := byte(b2i(*v))
	if k.byte(&x); k.unpacking {
		*v = x == 1
	}
}

// name carries the number of a name: its node, then that node's counter.
func (k *codec) name(v *uint64) {
	node, number := *v>>48, *v&(1<<48-1)
	count(k, &node)
	if count(k, &number); k.unpacking {
		*v = node<<48 | number
	}
}

func (k *codec) ident(d *ident) {
	n := d.n
	k.name(&d.name)
	count(k, &d.decl)
	count(k, &n)
	for i := range int(n) {
		var x int32
		if !k.unpacking {
			x = d.at(i)
		}
		if signed(k, &x); k.unpacking {
			d.push(x)
		}
	}
}

func (k *codec) maker(m *maker) {
	count(k, &m.id)
	count(k, &m.site)
}

func (k *codec) stmt(st **luna.Stmt) {
	id := 0
	if !k.unpacking {
		id = (*st).ID
	}
	if count(k, &id); k.unpacking {
		*st = k.p.Stmts[id]
	}
}

// frame carries a chain of frames, innermost first.
func (k *codec) frame(f **frame) {
	block := 0 // 0: the end
	if *f != nil {
		block = (*f).block.ID + 1
	}
	if count(k, &block); block == 0 {
		return
	}
	if k.unpacking {
		*f = &frame{block: k.p.Blocks[block-1]}
	}
	x := *f
	k.name(&x.base)
	signed(k, &x.counter)
	list(k, &x.vals, k.value)
	k.frame(&x.parent)
}

// unsetValue stands for the type of a value that is not set.
const unsetValue = 255

func (k *codec) value(v *value) {
	typ := byte(unsetValue)
	if v.set {
		typ = byte(v.typ)
	}
	if k.byte(&typ); typ == unsetValue {
		return
	}
	if k.unpacking {
		v.set, v.typ = true, luna.Type(typ)
	}
	switch v.typ {
	case luna.Int:
		signed(k, &v.i)
	case luna.Real:
		if !k.unpacking {
			k.b = binary.LittleEndian.AppendUint64(k.b, math.Float64bits(v.f))
			return
		}
		v.f, k.b = math.Float64frombits(binary.LittleEndian.Uint64(k.b)), k.b[8:]
	case luna.String:
		n := len(v.s)
		if count(k, &n); !k.unpacking {
			k.b = append(k.b, v.s...)
			return
		}
		v.s, k.b = string(k.b[:n]), k.b[n:]
	case luna.Dyn:
		if k.unpacking {
			v.id = &ident{}
		}
		k.ident(v.id)
	}
}

// isGuest goes along with the stage of a CF.
const isGuest = 1 << 7

// cf carries a CF between two stages, without its inputs.
func (k *codec) cf(c *cf) {
	count(k, &c.id)
	k.stmt(&c.st)
	count(k, &c.parent)
	count(k, &c.pexec)
	count(k, &c.exec)
	if k.unpacking {
		c.setUp()
	}
	if k.paths {
		count(k, &c.path)
	}
	stage := c.stage
	if c.guest {
		stage |= isGuest
	}
	if k.byte(&stage); k.unpacking {
		c.stage = stage &^ isGuest
		c.guest = c.stage != stage
	}
	k.frame(&c.frame)
	loops := c.iter != nil
	if k.bool(&loops); !loops {
		return
	}
	if k.unpacking {
		c.iter = &frame{parent: c.frame, block: c.st.Body}
	}
	signed(k, &c.iter.counter)
}

// remains carries what is left on a node, CFs with only what explains them.
func (k *codec) remains(r *remains) {
	list(k, &r.cfs, func(l **leftover) {
		if k.unpacking {
			*l = &leftover{cf: &cf{}, node: r.node}
		}
		x := *l
		count(k, &x.id)
		k.stmt(&x.st)
		k.bool(&x.executed)
		f := x.ctx()
		if k.frame(&f); k.unpacking {
			x.frame = f
		}
		list(k, &x.asks, func(a *ask) {
			count(k, &a.k)
			count(k, &a.number)
			k.ident(&a.id)
			k.bool(&a.late)
			k.bool(&a.have)
		})
	})
	list(k, &r.foreign, func(f *foreign) {
		count(k, &f.number)
		k.ident(&f.id)
	})
	list(k, &r.stored, func(s *storedDF) {
		k.ident(&s.id)
		count(k, &s.maker.id)
		signed(k, &s.maker.site)
	})
}
