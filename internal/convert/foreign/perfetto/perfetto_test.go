package perfetto_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/internal/convert/foreign/perfetto"
	written "github.com/whyslow/whyslow/internal/convert/perfetto"
	"github.com/whyslow/whyslow/internal/convert/perfetto/wire"
	"github.com/whyslow/whyslow/internal/testkit/foreigntest"
	"github.com/whyslow/whyslow/internal/testkit/sloutest"
	"github.com/whyslow/whyslow/internal/testkit/traceprocessor"
	"github.com/whyslow/whyslow/trace"
)

// field is a field of a message: a number, a text or a message.
func field(n protowire.Number, v any) []byte {
	switch v := v.(type) {
	case int:
		return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), uint64(v))
	case uint64:
		return protowire.AppendFixed64(protowire.AppendTag(nil, n, protowire.Fixed64Type), v)
	case string:
		return protowire.AppendString(protowire.AppendTag(nil, n, protowire.BytesType), v)
	default:
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), v.([]byte))
	}
}

// message joins fields.
func message(fields ...[]byte) []byte { return bytes.Join(fields, nil) }

func packet(fields ...[]byte) []byte {
	return field(wire.TracePacket, message(append(fields, field(wire.PacketSequence, 3))...))
}

func event(at int, fields ...[]byte) []byte {
	return packet(field(wire.PacketTimestamp, at), field(wire.PacketEvent, message(fields...)))
}

func load(data []byte, dir string) (bool, error) {
	return foreign.Import(context.Background(), perfetto.Format, bytes.NewReader(data), nil, dir, trace.RunInfo{})
}

// tell says in a line each what executed, on which worker, from when to when, and with which inputs.
func tell(t sloutest.TB, dir string) string {
	m := sloutest.Load(t, dir)
	var b strings.Builder
	for id, w := range m.AllWorkers() {
		for e := w.First; e < w.End; e++ {
			fmt.Fprintf(&b, "%d %s %d-%d", id.Worker, m.CFTitle(m.ExecCF[e]), m.ExecStart[e]-m.Start, m.EndOf(e)-m.Start)
			for _, df := range m.Inputs(e) {
				fmt.Fprintf(&b, ", %s", m.DFNameOf(df))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// begin and end are those of slices on a track.
func begin(at, track int, name []byte, more ...[]byte) []byte {
	return event(at, append(more, field(wire.EventType, wire.SliceBegin), field(wire.EventTrack, track),
		name)...)
}

func end(at, track int) []byte {
	return event(at, field(wire.EventType, wire.SliceEnd), field(wire.EventTrack, track))
}

// small is a file with names as texts and as numbers, flows, a counter, and a clock of its own.
func small() []byte {
	text := func(s string) []byte { return field(wire.EventNameText, s) }
	entry := message(field(wire.NameID, 7), field(wire.NameText, "make"))
	clock := func(fields ...[]byte) []byte { return field(wire.Clocks, message(fields...)) }
	return message(
		packet(field(wire.PacketFlags, wire.StateCleared),
			field(wire.PacketInterned, field(wire.InternedName, entry))),
		packet(field(wire.PacketClocks, message(clock(field(wire.ClockID, 6), field(wire.ClockTime, 100000)),
			clock(field(wire.ClockID, 64), field(wire.ClockTime, 5), field(wire.ClockIncremental, 1),
				field(wire.ClockUnit, 1000))))),
		begin(100000, 1, field(wire.EventName, 7), field(wire.EventFlow, uint64(9))),
		begin(101000, 1, text("inside")), end(102000, 1),
		event(101500, field(wire.EventType, wire.Counter), field(wire.EventTrack, 5), field(wire.EventCounter, 3)),
		end(104000, 1),
		begin(106000, 2, text("use"), field(wire.EventFlowEnd, uint64(9))), end(107000, 2),
		packet(field(wire.PacketDefaults, message(field(wire.DefaultsClock, 64),
			field(wire.DefaultsEvent, field(wire.EventDefaultsTrack, 2))))),
		event(10, field(wire.EventType, wire.SliceBegin), text("late")), // 10 us after the snapshot
		event(2, field(wire.EventType, wire.SliceEnd)))
}

// TestRead: outermost slices become tasks, flows dependences, whatever way names and times are given.
func TestRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x.trace")
	if !perfetto.Format.Is(small()) {
		t.Error("not known by its first bytes")
	}
	if made, err := load(small(), dir); !made || err != nil {
		t.Fatal(made, err)
	}
	const want = `0 make 0-4000, not told
1 use 6000-7000, make
1 late 10000-12000, not told
`
	if diff := cmp.Diff(want, tell(t, dir)); diff != "" {
		t.Error(diff)
	}
	foreigntest.Consistent(t, dir)
}

// deflated makes a packet of packets.
func deflated(t testing.TB, packets ...[]byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, err := w.Write(message(packets...))
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return packet(field(wire.PacketCompressed, b.Bytes()))
}

// beside is a file with slices and counters of every kind, some of it compressed.
func beside(t testing.TB) []byte {
	track := func(id int, fields ...[]byte) []byte {
		return packet(field(wire.PacketTrack, message(append(fields, field(wire.TrackID, id))...)))
	}
	value := func(at, track int, v []byte) []byte {
		return event(at, field(wire.EventType, wire.Counter), field(wire.EventTrack, track), v)
	}
	counter := func(fields ...[]byte) []byte { return field(wire.TrackCounter, message(fields...)) }
	name := func(s string) []byte { return field(wire.TrackName, s) }
	number := func(v int) []byte { return field(wire.EventCounter, v) }
	return message(
		track(1, field(wire.TrackProcess, message(field(wire.ProcessPID, 7), field(wire.ProcessName, "server")))),
		track(2, field(wire.TrackThread, message(field(wire.ThreadPID, 7), field(wire.ThreadTID, 7))),
			field(wire.TrackParent, 1)),
		track(3, name("heap size"), counter(field(wire.CounterUnit, 1024)), field(wire.TrackParent, 1)),
		deflated(t, begin(100000, 2, field(wire.EventNameText, "task")), value(101000, 3, number(2))),
		track(4, name("jobs"), counter(field(wire.CounterIncremental, 1))),
		track(5, name("jobs"), counter()),
		value(102000, 4, number(3)),
		deflated(t, value(103000, 4, number(1)), end(104000, 2)),
		value(104000, 5, field(wire.EventDouble, math.Float64bits(0.5))),
		event(104000, field(wire.EventType, wire.Instant), field(wire.EventTrack, 2)),
		packet(field(1, "ftrace")))
}

// TestBeside: counters become events of user namespaces, whatever their descriptions say; packets may be
// compressed. What is left out is counted. Perfetto's own trace processor reads the same values.
func TestBeside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x.trace")
	if made, err := load(beside(t), dir); !made || err != nil {
		t.Fatal(made, err)
	}
	const want = `101 Counter.heap_size_of_server 2048
102 Counter.jobs 3
103 Counter.jobs 4
104 Counter.jobs_5 0.5
1 instants, 1 packets`
	if diff := cmp.Diff(want, foreigntest.UserEvents(t, dir)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("0 task 0-4000, not told\n", tell(t, dir)); diff != "" {
		t.Error(diff)
	}
	foreigntest.Consistent(t, dir)
	file := filepath.Join(t.TempDir(), "x.pftrace")
	if err := os.WriteFile(file, beside(t), 0o644); err != nil {
		t.Fatal(err)
	}
	a := traceprocessor.Ask(t, map[string]string{
		"values": "select t.name, ts, value from counter join counter_track t on counter.track_id = t.id order by ts, t.name",
		"slices": "select name, ts, dur from slice where dur > 0"}, file)[0]
	var b strings.Builder
	for _, r := range append(a["values"], a["slices"]...) {
		fmt.Fprintln(&b, r["name"], r["ts"], r["value"], r["dur"])
	}
	const theirs = `heap size 101000 2048 <nil>
jobs 102000 3 <nil>
jobs 103000 4 <nil>
jobs 104000 0.5 <nil>
task 100000 <nil> 4000
`
	if diff := cmp.Diff(theirs, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestOwn: what whyslow writes for Perfetto is read: calls of user code take as long as they did.
func TestOwn(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := sloutest.Build(r, sloutest.Random(r).Text())
		if m.Executions() == 0 {
			return
		}
		var b bytes.Buffer
		if err := written.Write(context.Background(), &b, m); err != nil {
			r.Fatal(err)
		}
		if !perfetto.Format.Is(b.Bytes()[:min(b.Len(), foreign.HeadBytes)]) {
			r.Error("not known by its first bytes")
		}
		dir := filepath.Join(t.TempDir(), "x.trace")
		if made, err := load(b.Bytes(), dir); !made || err != nil {
			r.Fatal(made, err)
		}
		var want, got int64
		for e := range m.Executions() {
			want += m.EndOf(e) - m.ExecStart[e]
		}
		again := sloutest.Load(r, dir)
		for e := range again.Executions() {
			switch again.Codes[again.CodeOf(again.ExecCF[e])].Name {
			case "send", "receive", "wait", "lock":
			default:
				got += again.EndOf(e) - again.ExecStart[e]
			}
		}
		if got < want {
			r.Errorf("%d ns of %d", got, want)
		}
	})
}

// TestDamaged: errors tell where; what is before is kept.
func TestDamaged(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want string
		made bool
	}{
		"cut":        {small()[:len(small())-3], "the file ends within a packet", true},
		"not one":    {append(small(), 0x20), "here should be a packet", true},
		"large":      {append(small(), 0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f), "a packet has", true},
		"bad":        {append(small(), 0x0a, 1, 0xff), "byte ", true},
		"compressed": {append(small(), packet(field(wire.PacketCompressed, "x"))...), "compressed packets: ", true},
		"cut within": {append(small(), deflated(t, small()[:9])...), "compressed packets: byte ", true},
		"deep":       {append(small(), deflated(t, deflated(t, small()))...), "within compressed packets", true},
		"bomb": {append(small(), deflated(t, bytes.Repeat(field(wire.TracePacket, make([]byte, 1<<20)), 65))...),
			"byte ", true},
		"nothing": {packet(), "there are no slices in it", false},
	} {
		dir := filepath.Join(t.TempDir(), "x.trace")
		made, err := load(c.data, dir)
		var damaged *foreign.Error
		if !errors.As(err, &damaged) || !strings.Contains(err.Error(), c.want) || made != c.made || damaged.Offset < 1 {
			t.Errorf("%s: made %v, %v; not %s", name, made, err, c.want)
		}
	}
	for _, head := range []string{"", "\n", "\nabc", "\n\x02ab", "[{}]", "go 1.22 trace", "\n\x02\x08\x01\n"} {
		if perfetto.Format.Is([]byte(head)) {
			t.Errorf("%q is taken for one", head)
		}
	}
}

// TestNames: names that we write are read again as they are.
func TestNames(t *testing.T) {
	var file bytes.Buffer
	if err := written.Write(t.Context(), &file, sloutest.Build(t, sloutest.Named())); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "x.trace")
	if made, err := load(file.Bytes(), dir); !made || err != nil {
		t.Fatal(made, err)
	}
	if got := sloutest.Executed(sloutest.Load(t, dir)); !slices.Equal(got, sloutest.Names) {
		t.Errorf("%q", got)
	}
}

// FuzzRead: whatever the bytes are, there is an error that tells where, or a trace that can be read.
func FuzzRead(f *testing.F) {
	f.Add(small())
	f.Add(beside(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		perfetto.Format.Is(data)
		dir := filepath.Join(t.TempDir(), "x.trace")
		made, err := load(data, dir)
		var damaged *foreign.Error
		if err != nil && !errors.As(err, &damaged) {
			t.Fatal(err)
		}
		if made {
			sloutest.Load(t, dir)
		}
	})
}
