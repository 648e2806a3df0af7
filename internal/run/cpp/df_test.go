//go:build cgo && linux

package cpp

import (
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSignatures(t *testing.T) {
	noLeaks(t)
	f := get(t, dfFixture)
	for _, c := range []struct{ name, want string }{
		{"sig_exact", `1 2.500000 text DF<size=2>(41, 42)`},
		{"sig_other", `1 2.500000 #ext DF<size=2>(21, 42)`},
		{"sig_df", `1 2.500000 text DF<size=2>(41, 42)`},
		{"sig_value", `1 2.500000 text DF<size=2>(41, 42)`},
		{"sig_pointer", `1 2.500000 text DF<size=2>(41, 42)`},
	} {
		args := []Value{IntValue(1), RealValue(2.5), NewString("text"), NewBlock([]byte("AB")), IntValue(99)}
		f.call(t, c.name, args...)
		if got := args[4].Str(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if s := args[2].Str(); s != "text" {
			t.Errorf("%s: the routine's string is not private: %q", c.name, s)
		}
		for _, a := range args {
			a.Release()
		}
	}
	f.call(t, "sig_ignored", IntValue(3))
	f.call(t, "nothing")
	for _, c := range []struct {
		name string
		args []Value
		want Value
	}{
		{"sig_fewer", []Value{{}, IntValue(1), NewString("x")}, IntValue(1)},
		{"rand", []Value{{}}, IntValue(4)},
		{"unset_out", []Value{IntValue(5)}, Value{}},
	} {
		f.call(t, c.name, c.args...)
		if c.args[0] != c.want {
			t.Errorf("%s: got %v, want %v", c.name, c.args[0], c.want)
		}
		for _, a := range c.args {
			a.Release()
		}
	}
	args := make([]Value, 19)
	for i := range 8 {
		args[i] = IntValue(int32(i))
		args[8+i] = RealValue(float64(i) + 0.5)
	}
	args[16] = RealValue(-1)
	args[17] = NewString(strings.Repeat("long ", 30))
	f.call(t, "many", args...)
	if got, want := args[18].Str(), "012345670.51.52.53.54.55.56.57.5-1"+strings.Repeat("long ",
		30); got != want {
		t.Errorf("many: got %q, want %q", got, want)
	}
	args[17].Release()
	args[18].Release()
}

func TestEmbeddedSub(t *testing.T) {
	f := get(t, dfFixture)
	args := []Value{IntValue(1), {}}
	f.call(t, "printf", args...)
	if args[1] != IntValue(6) {
		t.Errorf("got %v", args[1])
	}
}

func TestMembers(t *testing.T) {
	noLeaks(t)
	f := get(t, dfFixture)
	args := []Value{{}}
	f.call(t, "report", args...)
	want := `DF<unset>010
DF<int>(-5)-5-541-5-5
DF<real>(2.500000)2.52.5822 2.52.500000
DF<string>(abc)abc43abc171.5
DF<size=20>(41, FF, 41, 41, 41, 41, 41, 41, 41, 41, ...)20204110
DF<size=12>(01, 00, 00, 00, 01, 00, 00, 00, 01, 00, ...)121160.51
DF<size=0>()01
DF<size=0>()DF<int>(7)DF<real>(1.500000)DF<string>(t)DF<size=2>(78, 79)(df)
DF<int>(3)DF<real>(2.000000)DF<string>(q)DF<size=2>(78, 79)DF<int>(9)
DF<int>(9)DF<int>(5)DF<int>(14)DF<int>(3)DF<int>(1)DF<real>(7.500000)DF<real>(0.250000)DF<real>(14.000000)DF<int>(8)
0101101
DF<int>(-2147483648)
`
	if d := cmp.Diff(want, args[0].Str()); d != "" {
		t.Error(d)
	}
	args[0].Release()
	args[0] = Value{}
	f.call(t, "includes", args...)
	if got := args[0].Str(); got != "x12111221abci" {
		t.Errorf("includes: %q", got)
	}
	args[0].Release()
}

func TestFailures(t *testing.T) {
	f := get(t, dfFixture)
	for i, want := range []string{
		"Unsupported type in setValue: f",
		"Unsupported type in setValue: A4_c",
		"not an int: DF<real>(2.500000)",
		"not a real: DF<int>(5)",
		"getValue returns int or double, not f: DF<int>(5)",
		"Cannot get_data of int",
		"Cannot get_data of real",
		"Cannot get_size of string",
		"Cannot getSize(), df is unset",
		"Cannot get_data of (unset)",
		"Cannot getData: the size of DF<size=13>(30, 31, 32, 33, 34, 35, 36, 37, 38, 39, ...) is not a " +
			"multiple of 8",
		"get_int failed for type real",
		"get_real failed for type int",
		"get_string failed for type value",
		"cast to string failed: DF<size=13>(30, 31, 32, 33, 34, 35, 36, 37, 38, 39, ...)",
		"no conversion to int: DF<string>(abc)",
		"no conversion to real: DF<string>(x1)",
		"no conversion to int: DF<unset>",
		"Operand(s) unset",
		"Unsupported operand types: string + int",
		"Unsupported operand types: real % real",
		"Unsupported operand types: value == value",
		"Out of memory: cannot create a data fragment of 18446744073709551615 bytes",
		"Out of memory: cannot create a data fragment of 18446744073709551575 bytes",
		"own 3 ",
	} {
		var tm Times
		o := Call(f.fn("fail"), []Value{IntValue(int32(i))}, &tm, false)
		if o.Kind != Aborted || !strings.HasPrefix(o.Msg, want) || i != 24 && o.Msg != want {
			t.Errorf("%d: got %v %q, want %q", i, o.Kind, o.Msg, want)
		}
	}
}

func TestSharing(t *testing.T) {
	noLeaks(t)
	f := get(t, dfFixture)
	a := []Value{IntValue(3), {}}
	f.call(t, "make", a...)
	v := a[1]
	for _, name := range []string{"alias", "alias_copy", "grow"} {
		b := []Value{v, {}}
		f.call(t, name, b...)
		if b[1].Bits != v.Bits || b[1].Type != Block {
			t.Errorf("%s: %v does not share the buffer of %v", name, b[1], v)
		}
		f.call(t, "bump", b[1])
		if b[1].Bytes()[0] != v.Bytes()[0] {
			t.Errorf("%s: a change through one handle is not seen through the other", name)
		}
		b[1].Release()
	}
	if v.Bytes()[0] != 3 || v.Size() != 12 {
		t.Errorf("got %v", v)
	}
	b := []Value{v, {}}
	f.call(t, "reassign", b...)
	if v.Size() != 12 || b[1].Str() != "other" {
		t.Errorf("assignment to an input must not change it: %v, %v", v, b[1])
	}
	b[1].Release()
	// What user code keeps outlives the caller's reference.
	f.call(t, "keep", v)
	v.Release()
	c := []Value{{}}
	f.call(t, "get_kept", c...)
	if c[0].Size() != 12 || c[0].Bytes()[0] != 3 {
		t.Errorf("got %v", c[0])
	}
	c[0].Release()
}

// Who wants to write to a buffer that is being read waits; who reads does not.
func TestFrozen(t *testing.T) {
	noLeaks(t)
	f := get(t, dfFixture)
	v := NewBlock([]byte{7, 0, 0, 0})
	v.Freeze()
	v.Freeze()
	alias := []Value{v, {}}
	f.call(t, "alias", alias...) // its reader, and another handle
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		f.call(t, "bump", alias[1])
	}()
	v.Thaw()
	select {
	case <-wrote:
		t.Error("a buffer is changed while it is being read")
	case <-time.After(20 * time.Millisecond):
	}
	if v.Bytes()[0] != 7 {
		t.Errorf("got %v", v)
	}
	v.Thaw()
	<-wrote
	if v.Bytes()[0] != 8 {
		t.Errorf("got %v", v)
	}
	alias[1].Release()
	v.Release()
}

// Many threads copy handles of one buffer and drop them.
func TestSharedByThreads(t *testing.T) {
	noLeaks(t)
	f := get(t, dfFixture)
	v := AllocBlock(64)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 300 {
				b := []Value{v, {}}
				f.call(t, "grow", b...)
				b[1].Retain()
				b[1].Release()
				b[1].Release()
			}
		})
	}
	wg.Wait()
	if n := v.head().refs; n != 1 {
		t.Errorf("%d references left", n)
	}
	v.Release()
}

func TestValues(t *testing.T) {
	noLeaks(t)
	rapid.Check(t, func(t *rapid.T) {
		i, r := rapid.Int32().Draw(t, "i"), rapid.Float64().Draw(t, "r")
		s, b := rapid.String().Draw(t, "s"), rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		if v := IntValue(i); v.Int() != i || v.Size() != 4 || v.Type != Int || v.Bytes() != nil {
			t.Fatalf("%v", v)
		}
		if v := RealValue(r); math.Float64bits(v.Real()) != math.Float64bits(r) || v.Size() != 8 {
			t.Fatalf("%v", v)
		}
		v := NewString(s)
		if v.Str() != s || v.Size() != int64(len(s)+1) || v.String() != "DF<string>("+s+")" {
			t.Fatalf("%v", v)
		}
		v.Release()
		v = NewBlock(b)
		if string(v.Bytes()) != string(b) || v.Size() != int64(len(b)) {
			t.Fatalf("%v", v)
		}
		v.Retain()
		v.Release()
		if string(v.Bytes()) != string(b) {
			t.Fatal("freed too early")
		}
		v.Release()
	})
	if v := (Value{}); v.Size() != 0 || v.String() != "DF<unset>" {
		t.Error(v)
	}
}
