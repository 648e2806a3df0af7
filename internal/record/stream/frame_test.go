package stream

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whyslow/whyslow/internal/tracefile"
	"github.com/whyslow/whyslow/trace"
)

func mustJSON(t testing.TB, typ Type, v any) []byte {
	t.Helper()
	b, err := AppendJSON(nil, typ, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const someRun = "0123456789abcdef0123456789abcdef"

// conversation is one frame of every type.
func conversation(t testing.TB) []byte {
	info := &trace.RunInfo{Program: "p.fa", Started: time.Unix(1e9, 5).UTC(),
		Nodes: []trace.NodeInfo{{Node: 2, Workers: 3}}}
	b := mustJSON(t, TypeHello, Hello{Format: FormatVersion, Run: someRun, Sender: "h:/p", Info: info})
	b = AppendNode(b, TypeOpen, 7)
	b = AppendBlock(b, 7, []byte("a block"))
	b = append(b, mustJSON(t, TypeInfo, info)...)
	b = AppendNode(b, TypeClose, 7)
	b = AppendEnd(b)
	b = AppendLost(b, Lost{7, 1 << 40, 2})
	b = AppendNumber(b, TypePing, 1e9)
	b = append(b, mustJSON(t, TypeWelcome, Welcome{"h", "p.001.trace", time.Second, DefaultMaxFrame})...)
	b = AppendHave(b, 7, tracefile.Have{Defs: 3, Streams: map[int]uint32{0: 5, 9: 1}})
	b = AppendNumber(b, TypeAck, 12)
	return append(b, mustJSON(t, TypeRefuse, Refusal{RefusedDisk, "full", false})...)
}

// parse reads the body of a frame and returns the frame made of that again.
func parse(t testing.TB, f Frame) ([]byte, error) {
	switch f.Type {
	case TypeHello:
		h, err := ParseHello(f.Body)
		if err != nil {
			return nil, err
		}
		return mustJSON(t, TypeHello, h), nil
	case TypeInfo:
		info, err := ParseInfo(f.Body)
		if err != nil {
			return nil, err
		}
		return mustJSON(t, TypeInfo, info), nil
	case TypeWelcome:
		w, err := ParseWelcome(f.Body)
		if err != nil {
			return nil, err
		}
		return mustJSON(t, TypeWelcome, w), nil
	case TypeRefuse:
		r, err := ParseRefusal(f.Body)
		if err != nil {
			return nil, err
		}
		return mustJSON(t, TypeRefuse, r), nil
	case TypeOpen, TypeClose:
		n, err := ParseNode(f.Body)
		return AppendNode(nil, f.Type, n), err
	case TypeBlock:
		n, block, err := ParseBlock(f.Body)
		return AppendBlock(nil, n, block), err
	case TypeEnd:
		return AppendEnd(nil), nil
	case TypeLost:
		l, err := ParseLost(f.Body)
		return AppendLost(nil, l), err
	case TypePing, TypeAck:
		v, err := ParseNumber(f.Body)
		return AppendNumber(nil, f.Type, v), err
	case TypeHave:
		n, h, err := ParseHave(f.Body)
		return AppendHave(nil, n, h), err
	}
	return nil, errors.New("unknown type")
}

// Frames come out as they went in.
func TestFramesRoundTrip(t *testing.T) {
	b := conversation(t)
	r := NewFrameReader(iotestOneByte{bytes.NewReader(b)}, DefaultMaxFrame)
	var again []byte
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		one, err := parse(t, f)
		if err != nil {
			t.Fatalf("%v: %v", f.Type, err)
		}
		if f.Type == TypeHave { // streams come in any order
			_, want, _ := ParseHave(f.Body)
			if _, got, _ := ParseHave(one[frameHeader:]); !cmp.Equal(got, want) {
				t.Errorf("%v became %v", want, got)
			}
			one = append(append(one[:0:0], one[:frameHeader]...), f.Body...)
		}
		again = append(again, one...)
	}
	if !bytes.Equal(again, b) {
		t.Errorf("%q\nbecame\n%q", b, again)
	}
}

// iotestOneByte gives one byte at a time.
type iotestOneByte struct{ r io.Reader }

func (o iotestOneByte) Read(b []byte) (int, error) { return o.r.Read(b[:min(len(b), 1)]) }

// What claims to be long costs nothing until it comes, and what is too long is refused.
func TestFrameClaimsToBeLong(t *testing.T) {
	head := []byte{0xff, 0xff, 0xff, 0, byte(TypeBlock)} // 16 MiB
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := NewFrameReader(bytes.NewReader(head), DefaultMaxFrame).Next()
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes were allocated for nothing", n)
	}
	_, err = NewFrameReader(bytes.NewReader(head), 1<<20).Next()
	if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(),
		"block frame of 16777215 bytes, 1048576 are allowed") {
		t.Error(err)
	}
}

func TestHelloRefused(t *testing.T) {
	for _, c := range []struct{ hello, code, text string }{
		{`{"format":2}`, RefusedVersion,
			"traces of version 2 are sent, this collector keeps version 1: use a newer whyslow for this collector"},
		{`{"format":0}`, RefusedVersion,
			"traces of version 0 are sent, this collector keeps version 1: use a newer whyslow for the sender"},
		{`{"format":1,"run":"../../etc"}`, RefusedHello, "32 hex digits"},
		{`{"format":1,"run":"` + someRun + `"}`, RefusedHello, "a sender's name"},
		{`{"format":1,"run":"` + someRun + `","sender":"x"}`, RefusedHello, "lacks what run.json says"},
		{`{"format":1,"run":"` + someRun + `","sender":"x","info":{"nodes":[{"node":-1}]}}`, RefusedHello,
			"node -1"},
		{`{"format":1,"run":"` + someRun + `","sender":"x","info":{"ended":"<b>"}}`, RefusedHello, "ended"},
		{`garbage`, RefusedHello, "bad hello"},
	} {
		_, err := ParseHello([]byte(c.hello))
		var r *Refusal
		if !errors.As(err, &r) || r.Code != c.code || !r.Final || !strings.Contains(r.Text, c.text) {
			t.Errorf("%s: %v", c.hello, err)
		}
	}
}

func TestParseTarget(t *testing.T) {
	for s, want := range map[string]string{
		"localhost:7568": "localhost:7568", "[::1]:80": "[::1]:80", "http://head:7568": "head:7568",
		"https://head:7568/": "head:7568 tls",
		"head":               "", "head:0": "", "head:99999": "", ":80": "", "ftp://h:1": "", "http://h:1/x": "",
		"http://u:p@h:1": "", "http://h": "", "": "", "h:p": "", "a b:1": "",
	} {
		got, err := ParseTarget(s)
		text := got.Addr
		if got.TLS != nil {
			text += " tls"
		}
		if (err != nil) != (want == "") || err == nil && text != want {
			t.Errorf("%q: %q, %v", s, text, err)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: %q is more than a line", s, err)
		}
	}
}

// The frame decoder and everything behind it: no panic, and what is taken is made again
// the same.
func FuzzFrames(f *testing.F) {
	f.Add(conversation(f))
	f.Add([]byte{0, 0, 0, 0, 6})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewFrameReader(bytes.NewReader(b), 1<<20)
		for {
			fr, err := r.Next()
			if err != nil {
				return
			}
			again, err := parse(t, fr)
			if err != nil || fr.Type == TypeHello || fr.Type == TypeInfo || fr.Type == TypeWelcome ||
				fr.Type == TypeRefuse || fr.Type == TypeHave || fr.Type == TypeEnd {
				continue
			}
			if !bytes.Equal(again[frameHeader:], fr.Body) {
				t.Fatalf("%v frame %q became %q", fr.Type, fr.Body, again[frameHeader:])
			}
		}
	})
}

func FuzzHello(f *testing.F) {
	f.Add(conversation(f)[frameHeader:300])
	f.Add([]byte(`{"format":1,"run":"` + someRun + `","sender":"x","info":{"nodes":[{"node":1}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHello(b)
		var r *Refusal
		if err != nil && (!errors.As(err, &r) || strings.Contains(err.Error(), "\n")) {
			t.Fatalf("%q", err)
		}
		if err != nil {
			return
		}
		if _, err := ParseHello(mustJSON(t, TypeHello, h)[frameHeader:]); err != nil {
			t.Fatalf("taken once, not twice: %v", err)
		}
	})
}

func FuzzTarget(f *testing.F) {
	f.Add("localhost:7568")
	f.Add("https://h:1")
	f.Fuzz(func(t *testing.T, s string) {
		if target, err := ParseTarget(s); err == nil {
			if _, err := ParseTarget(target.Addr); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(target.url(), " \r\n") {
				t.Fatalf("%q", target.url())
			}
		}
	})
}
