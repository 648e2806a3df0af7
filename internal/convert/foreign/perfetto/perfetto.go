// Package perfetto reads Perfetto's own format: protocol buffers with track events, as Perfetto's SDK, Chrome
// and whyslow itself write them.
//
// A track is a thread of package tracks, its slices are that package's, and so are its flows; a track of a
// counter is one of its counters. Names are texts, or numbers that packets of the same sequence have defined
// before. Times may be of a clock of the sequence's own, which snapshots relate to the common one. All else
// is counted and left out.
package perfetto

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/whyslow/whyslow/internal/convert/foreign"
	"github.com/whyslow/whyslow/internal/convert/foreign/tracks"
	"github.com/whyslow/whyslow/internal/convert/perfetto/wire"
)

// Format is Perfetto's.
var Format = foreign.Format{Name: "perfetto", Is: is, Read: read}

// packetTag begins every packet of a trace.
const packetTag = wire.TracePacket<<3 | byte(protowire.BytesType)

// is tells whether a file begins with a packet: what follows it, or is in it, makes sense too.
func is(head []byte) bool {
	if len(head) < 2 || head[0] != packetTag {
		return false
	}
	packet, n := protowire.ConsumeBytes(head[1:])
	if n < 0 {
		return false // the first packets of all programs are short
	}
	known := false
	err := each(packet, func(f protowire.Number, _ uint64, _ []byte) error {
		known = known || f == wire.PacketSequence || f == wire.PacketTimestamp || f == wire.PacketClocks
		return nil
	})
	rest := head[1+n:]
	return err == nil && known && (len(rest) == 0 || rest[0] == packetTag)
}

// each goes through the fields of a message: v is a number, b the bytes of a text or message.
func each(message []byte, f func(field protowire.Number, v uint64, b []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var v uint64
		var b []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			b, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := f(field, v, b); err != nil {
			return err
		}
	}
	return nil
}

// mostPacket is how many bytes a packet may have.
const mostPacket = 1 << 26

// trace is what was read.
type trace struct {
	*tracks.File
	to        *foreign.Run
	tracks    map[uint64]*track // that packets have described
	named     map[string]bool   // counters
	sequences map[uint64]*sequence
	begun     map[uint64]bool                // flows
	pending   map[*tracks.Thread][][]leaving // by thread and open slice: flows that leave at its end
}

type leaving struct {
	flow uint64
	name string
}

// sequence is what packets of one writer refer to.
type sequence struct {
	names  map[uint64]string
	track  uint64 // of events that name none
	clock  uint64 // of times that name none; 0: the common one
	clocks map[uint64]*clock
}

// clock is one of a sequence's own: at its time own it is common.
type clock struct {
	own, common, last uint64
	unit              uint64
	incremental       bool
}

func read(ctx context.Context, in io.Reader, to *foreign.Run) error {
	t := &trace{File: tracks.New(to), to: to, tracks: map[uint64]*track{}, named: map[string]bool{},
		sequences: map[uint64]*sequence{}, begun: map[uint64]bool{}, pending: map[*tracks.Thread][][]leaving{}}
	err := t.packets(ctx, bufio.NewReaderSize(in, 1<<20), false)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return cmp.Or(t.Write(), err)
}

// packets reads packets up to the end. within: they were compressed, as one packet.
func (t *trace) packets(ctx context.Context, in *bufio.Reader, within bool) error {
	var packet []byte
	offset := int64(0)
	wrong := func(format string, args ...any) error {
		return &foreign.Error{Offset: offset, Msg: fmt.Sprintf(format, args...)}
	}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		tag, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			if t.Empty() && !within {
				return wrong("there are no slices in it")
			}
			return nil
		}
		if err != nil {
			return err
		}
		if tag != packetTag {
			return wrong("here should be a packet")
		}
		size, err := binary.ReadUvarint(in)
		if err != nil {
			return wrong("the file ends within a packet")
		}
		if size > mostPacket {
			return wrong("a packet has %d bytes", size)
		}
		// A file that says so has not as many bytes yet.
		packet = packet[:0]
		for left := int(size); left > 0; {
			part := min(left, 1<<16)
			packet = append(packet, make([]byte, part)...)
			if _, err := io.ReadFull(in, packet[len(packet)-part:]); err != nil {
				return wrong("the file ends within a packet")
			}
			left -= part
		}
		compressed, err := t.packet(packet)
		if err == nil && compressed != nil {
			err = t.inflate(ctx, compressed, within)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return wrong("%v", err)
		}
		offset += 1 + int64(protowire.SizeVarint(size)) + int64(size)
	}
}

// inflate reads packets that are compressed.
func (t *trace) inflate(ctx context.Context, data []byte, within bool) error {
	if within {
		return errors.New("compressed packets within compressed packets")
	}
	in, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("compressed packets: %w", err)
	}
	const more = mostPacket + 1
	counted := &foreign.Counter{Reader: io.LimitReader(in, more)}
	err = t.packets(ctx, bufio.NewReader(counted), true)
	if counted.N == more {
		return fmt.Errorf("compressed packets have more than %d bytes", mostPacket)
	}
	if err != nil {
		return fmt.Errorf("compressed packets: %w", err)
	}
	return nil
}

// packet takes in a packet: first what others of its fields refer to. It returns packets that it has
// compressed.
func (t *trace) packet(packet []byte) (compressed []byte, err error) {
	var at, number, flags, onClock uint64
	var event, interned, defaults, clocks, described []byte
	known, other := false, false
	err = each(packet, func(f protowire.Number, v uint64, b []byte) error {
		switch f {
		case wire.PacketTimestamp:
			at = v
		case wire.PacketSequence:
			number = v
		case wire.PacketFlags:
			flags = v
		case wire.PacketClock:
			onClock = v
		case wire.PacketEvent:
			event = b
		case wire.PacketInterned:
			interned = b
		case wire.PacketDefaults:
			defaults = b
		case wire.PacketClocks:
			clocks = b
		case wire.PacketTrack:
			described = b
		case wire.PacketCompressed:
			compressed = b
		default:
			other = other || b != nil && !slices.Contains(ofTheTrace, f)
			return nil
		}
		known = known || b != nil
		return nil
	})
	if err != nil {
		return nil, err
	}
	if other && !known {
		t.to.Skip("packets")
	}
	s := t.sequences[number]
	if s == nil || flags&wire.StateCleared != 0 {
		old := s
		if s = (&sequence{names: map[uint64]string{}, clocks: map[uint64]*clock{}}); old != nil {
			s.clocks = old.clocks
		}
		t.sequences[number] = s
	}
	err = errors.Join(s.snapshot(clocks), s.intern(interned), s.setDefaults(defaults), t.describe(described))
	if err != nil || event == nil {
		return compressed, err
	}
	return compressed, t.event(s, number, s.time(at, cmp.Or(onClock, s.clock)), event)
}

// ofTheTrace are packets about the recording itself.
var ofTheTrace = []protowire.Number{wire.PacketSync, wire.PacketConfig, wire.PacketStats, wire.PacketSystem,
	wire.PacketService, wire.PacketUUID}

// snapshot notes how the clocks of a sequence stand.
func (s *sequence) snapshot(message []byte) error {
	common := uint64(0)
	own := map[uint64]*clock{}
	err := each(message, func(f protowire.Number, _ uint64, b []byte) error {
		if f != wire.Clocks {
			return nil
		}
		id, c := uint64(0), &clock{unit: 1}
		if err := each(b, func(f protowire.Number, v uint64, _ []byte) error {
			switch f {
			case wire.ClockID:
				id = v
			case wire.ClockTime:
				c.own, c.last = v, v
			case wire.ClockIncremental:
				c.incremental = v != 0
			case wire.ClockUnit:
				c.unit = max(v, 1)
			}
			return nil
		}); err != nil {
			return err
		}
		if id == wire.BootClock {
			common = c.own
		} else if id >= wire.OwnClocks && id < wire.OwnClocksEnd {
			own[id] = c
		}
		return nil
	})
	for id, c := range own {
		c.common = common
		s.clocks[id] = c
	}
	return err
}

// time gives the common time of a timestamp, in ns.
func (s *sequence) time(at, on uint64) int64 {
	if c := s.clocks[on]; c != nil {
		if c.incremental {
			c.last += at
			at = c.last
		}
		at = c.common + (at-c.own)*c.unit
	}
	return int64(min(at, math.MaxInt64>>12))
}

// intern takes in what names are.
func (s *sequence) intern(message []byte) error {
	return each(message, func(f protowire.Number, _ uint64, b []byte) error {
		if f != wire.InternedName {
			return nil
		}
		id, name := uint64(0), ""
		err := each(b, func(f protowire.Number, v uint64, b []byte) error {
			switch f {
			case wire.NameID:
				id = v
			case wire.NameText:
				name = string(b)
			}
			return nil
		})
		s.names[id] = name
		return err
	})
}

func (s *sequence) setDefaults(message []byte) error {
	return each(message, func(f protowire.Number, v uint64, b []byte) error {
		switch f {
		case wire.DefaultsClock:
			s.clock = v
		case wire.DefaultsEvent:
			return each(b, func(f protowire.Number, v uint64, _ []byte) error {
				if f == wire.EventDefaultsTrack {
					s.track = v
				}
				return nil
			})
		}
		return nil
	})
}

// event takes in a track event.
func (t *trace) event(s *sequence, number uint64, at int64, message []byte) error {
	var kind, value uint64
	track, name := s.track, ""
	var from, to []uint64 // flows that leave it, and that end in it
	float, legacy := false, false
	err := each(message, func(f protowire.Number, v uint64, b []byte) error {
		switch f {
		case wire.EventType:
			kind = v
		case wire.EventTrack:
			track = v
		case wire.EventName:
			name = s.names[v]
		case wire.EventNameText:
			name = string(b)
		case wire.EventFlow, wire.EventFlowOld:
			from = append(from, v)
		case wire.EventFlowEnd, wire.EventFlowEndOld:
			to = append(to, v)
		case wire.EventCounter:
			value, float = v, false
		case wire.EventDouble:
			value, float = v, true
		case wire.EventLegacy:
			legacy = true
		case wire.EventMoreCounters, wire.EventMoreDoubles:
			t.to.Skip("counters")
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case kind == wire.Counter:
		return t.counter(track, at, value, float)
	case kind == 0 && legacy:
		t.to.Skip("legacy")
		return nil
	case kind == 0:
		t.to.Skip("others")
		return nil
	case kind == wire.Instant && len(from)+len(to) == 0:
		t.to.Skip("instants")
		return nil
	}
	key := "track " + strconv.FormatUint(track, 16)
	if track == 0 {
		key = "sequence " + strconv.FormatUint(number, 16)
	}
	thread, err := t.Thread(key)
	if err != nil {
		return err
	}
	here := tracks.End{Thread: thread, At: at, Inside: true}
	for _, id := range to {
		t.Enters(flowID(id), here)
		delete(t.begun, id)
	}
	var leave []leaving
	for _, id := range from { // all events of a flow have its number; it leaves the first one
		if t.begun[id] {
			t.Enters(flowID(id), here)
		} else {
			t.begun[id] = true
			leave = append(leave, leaving{id, cmp.Or(name, "flow")})
		}
	}
	switch kind {
	case wire.SliceBegin:
		t.pending[thread] = append(t.pending[thread], leave)
		return t.Begin(thread, at, name)
	case wire.SliceEnd:
		if n := len(t.pending[thread]) - 1; n >= 0 {
			leave = append(leave, t.pending[thread][n]...)
			t.pending[thread] = t.pending[thread][:n]
		}
		err = t.End(thread, at)
	}
	for _, l := range leave {
		t.Leaves(flowID(l.flow), l.name, here)
	}
	return err
}

func flowID(id uint64) []byte { return binary.LittleEndian.AppendUint64(nil, id) }
