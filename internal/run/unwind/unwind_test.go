package unwind

import (
	"encoding/binary"
	"testing"
)

// frames is .eh_frame of some file that is mapped here, and an address in it; nothing if none has any.
func frames() (b []byte, at uint64) {
	for _, a := range mapped() {
		if o := objectOf(a); o != nil && len(o.frames) > 0 {
			return o.frames, o.at
		}
	}
	return nil, 0
}

// made is a description of one function, 0x1000 to 0x1010, which pushes register 6 and grows by 32 bytes.
func made() *object {
	record := func(b []byte) []byte {
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	}
	common := record([]byte{0, 0, 0, 0, 1, 0, 1, 0x78, 16, defCFA, 7, 8, offsetShort | 16, 1})
	one := binary.LittleEndian.AppendUint32(nil, uint32(len(common)+4))
	one = binary.LittleEndian.AppendUint64(one, 0x1000)
	one = binary.LittleEndian.AppendUint64(one, 0x10)
	one = append(one, advance|1, defCFAOffset, 16, offsetShort|6, 2, advance|4, defCFAOffset, 48, advance|10,
		defCFAOffset, 8, restoreShort|6)
	return &object{frames: append(common, record(one)...), at: 0x100, order: binary.LittleEndian}
}

// TestUp goes to the caller from each part of a function.
func TestUp(t *testing.T) {
	for _, c := range []struct{ offset, slots, saved uint64 }{{0x1000, 0, 0}, {0x1001, 1, 1}, {0x1005, 5, 1},
		{0x100e, 5, 1}, {0x100f, 0, 0}} {
		const sp = 0x7000
		words := map[uint64]uint64{sp + 8*c.slots: 0x4444} // the return address
		if c.saved != 0 {
			words[sp+8*c.slots-8] = 0x6666
		}
		r := Registers{}
		r.Set(7, sp)
		r.Set(6, 0x1111)
		ok := made().up(&r, c.offset, sp+0x100, func(a uint64) (uint64, bool) { v, ok := words[a]; return v, ok })
		want := uint64(0x1111)
		if c.saved != 0 {
			want = 0x6666
		}
		if got, _ := r.get(6); !ok || r.PC != 0x4444 || r.Value[7] != sp+8*c.slots+8 || got != want {
			t.Errorf("%x: %v, %x, %x, %x", c.offset, ok, r.PC, r.Value[7], got)
		}
	}
	if r := (Registers{}); made().row(0x1010) != nil || made().up(&r, 0x1000, 0x8000, Copied(0, nil)) {
		t.Error("something is known of nothing")
	}
}

// FuzzRow reads descriptions that are damaged.
func FuzzRow(f *testing.F) {
	f.Add(made().frames, uint64(0x1005))
	if b, at := frames(); len(b) > 0 {
		f.Add(b[:min(len(b), 4096)], at)
	}
	f.Fuzz(func(t *testing.T, b []byte, offset uint64) {
		o := &object{frames: b, at: 0x100, order: binary.LittleEndian}
		r := Registers{Known: ^uint64(0)}
		r.Value[7] = 0x7000
		if o.up(&r, offset, 0x8000, Copied(0x7000, b)) && (r.Value[StackPointer] < 0x7000 ||
			r.Value[StackPointer] > 0x8000) {
			t.Errorf("the stack pointer is %x", r.Value[StackPointer])
		}
	})
}
