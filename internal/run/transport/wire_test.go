package transport

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/run/cpp"
	_ "github.com/whyslow/whyslow/internal/testkit/effort"
)

var aValue = rapid.Custom(func(t *rapid.T) cpp.Value {
	switch cpp.Type(rapid.IntRange(0, int(cpp.Block)).Draw(t, "type")) {
	case cpp.Int:
		return cpp.IntValue(rapid.Int32().Draw(t, "int"))
	case cpp.Real:
		return cpp.RealValue(rapid.Float64().Draw(t, "real"))
	case cpp.String:
		return cpp.NewString(rapid.StringMatching("[a-z]{0,40}").Draw(t, "text"))
	case cpp.Block:
		return cpp.NewBlock(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes"))
	}
	return cpp.Value{}
})

func TestWire(t *testing.T) {
	before := cpp.Live()
	rapid.Check(t, func(t *rapid.T) {
		inline := rapid.IntRange(0, 50).Draw(t, "inline")
		var b []byte
		var sent []*Message
		for range rapid.IntRange(1, 4).Draw(t, "messages") {
			m := &Message{
				Kind: rapid.Byte().Draw(t, "kind"), Number: rapid.Uint64().Draw(t, "number"),
				Head:    rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "head"),
				Payload: rapid.SliceOfN(aValue, 0, 5).Draw(t, "payload"),
			}
			most := len(b) + m.WireSize(inline)
			if b = m.Append(b, inline); len(b) > most {
				t.Fatalf("the message takes more than %d bytes", most)
			}
			sent = append(sent, m)
		}
		for _, want := range sent {
			m, parts, rest, err := Cut(b)
			if err != nil {
				t.Fatal(err)
			}
			b = rest
			for _, p := range parts {
				if v := want.Payload[p.Index]; v.Size() <= int64(inline) || v.Size() != int64(p.Size) ||
					v.Type != p.Type {
					t.Fatalf("part %+v of %v", p, v)
				}
				m.Payload[p.Index] = cpp.Alloc(p.Type, p.Size)
				copy(m.Payload[p.Index].Memory(), want.Payload[p.Index].Memory())
			}
			if m.Kind != want.Kind || m.Number != want.Number || !bytes.Equal(m.Head, want.Head) ||
				len(m.Payload) != len(want.Payload) {
				t.Fatalf("%+v came as %+v", want, m)
			}
			for i, v := range m.Payload {
				if w := want.Payload[i]; v.Type != w.Type || !bytes.Equal(v.Memory(), w.Memory()) ||
					v.Memory() == nil && v.Bits != w.Bits {
					t.Fatalf("%v came as %v", w, v)
				}
				v.Release()
				want.Payload[i].Release()
			}
		}
		if len(b) > 0 {
			t.Fatalf("%d bytes are left", len(b))
		}
	})
	if cpp.Live() != before {
		t.Errorf("%d buffers are left", cpp.Live()-before)
	}
}

func FuzzCut(f *testing.F) {
	m := &Message{Kind: 3, Number: 1 << 48, Head: []byte("head"),
		Payload: []cpp.Value{cpp.IntValue(4), cpp.NewString("text"),
			cpp.NewBlock([]byte("twelve bytes")), {}, cpp.RealValue(1.5)}}
	f.Add(m.Append(nil, 100))
	f.Add(m.Append(m.Append(nil, 6), 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := cpp.Live()
		for len(b) > 0 {
			m, parts, rest, err := Cut(b)
			if err != nil {
				break
			}
			if len(rest) >= len(b) {
				t.Fatal("nothing was taken")
			}
			if len(parts) == 0 {
				again := m.Append(nil, 1<<30)
				if n, _, _, err := Cut(again); err != nil || !bytes.Equal(n.Append(nil, 1<<30), again) {
					t.Fatalf("what was read is written as something else: %v", err)
				} else {
					for _, v := range n.Payload {
						v.Release()
					}
				}
			}
			for _, v := range m.Payload {
				v.Release()
			}
			b = rest
		}
		if cpp.Live() != before {
			t.Fatalf("%d buffers are left", cpp.Live()-before)
		}
	})
}
