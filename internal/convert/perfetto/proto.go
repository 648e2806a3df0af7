package perfetto

import (
	"bufio"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/whyslow/whyslow/internal/convert/perfetto/wire"
)

// proto writes packets of Perfetto's own format. All are of one sequence, on which names are numbered as they
// come up.
type proto struct {
	out      *bufio.Writer
	lanes    map[int]*lane
	tracks   map[counterOf]uint64
	names    [wire.Interned]map[string]uint64
	begun    bool
	packet   []byte
	interned []byte
	event    []byte
	b        []byte // of messages in messages
}

// lane is a thread with slices whose ends are not yet written.
type lane struct {
	track uint64
	open  []int64
}

type counterOf struct {
	node int
	name string
}

// Numbers of tracks: processes first, then threads, then counters.
const (
	threadTracks  = 1 << 32
	counterTracks = 2 << 32
)

func newProto(out *bufio.Writer) *proto {
	p := &proto{out: out, lanes: map[int]*lane{}, tracks: map[counterOf]uint64{}}
	for i := range p.names {
		p.names[i] = map[string]uint64{}
	}
	return p
}

func number64(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func bytesOf(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func stringOf(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// put writes a packet with a message in it.
func (p *proto) put(field protowire.Number, message []byte, at int64) {
	p.packet = p.packet[:0]
	if at >= 0 {
		p.packet = number64(p.packet, wire.PacketTimestamp, uint64(at))
	}
	p.packet = number64(p.packet, wire.PacketSequence, 1)
	flags := uint64(wire.NeedsState)
	if !p.begun {
		flags, p.begun = wire.StateCleared, true
	}
	p.packet = number64(p.packet, wire.PacketFlags, flags)
	if len(p.interned) > 0 {
		p.packet = bytesOf(p.packet, wire.PacketInterned, p.interned)
		p.interned = p.interned[:0]
	}
	p.packet = bytesOf(p.packet, field, message)
	_, _ = p.out.Write(bytesOf(p.b[:0], wire.TracePacket, p.packet)) // Flush tells
}

// name numbers a name of a kind. One that is new is defined by the packet that is written next.
func (p *proto) name(kind int, name string) uint64 {
	id, ok := p.names[kind][name]
	if !ok {
		id = uint64(len(p.names[kind]) + 1)
		p.names[kind][name] = id
		entry := stringOf(number64(nil, wire.NameID, id), wire.NameText, name)
		p.interned = bytesOf(p.interned, protowire.Number(kind), entry)
	}
	return id
}

func (p *proto) process(node int, name string) {
	of := stringOf(number64(nil, wire.ProcessPID, uint64(node)+1), wire.ProcessName, name)
	p.put(wire.PacketTrack, bytesOf(number64(nil, wire.TrackID, uint64(node)+1), wire.TrackProcess, of), -1)
}

func (p *proto) thread(node, tid int, name string) {
	l := &lane{track: threadTracks + uint64(tid)}
	p.lanes[tid] = l
	of := number64(number64(nil, wire.ThreadPID, uint64(node)+1), wire.ThreadTID, uint64(tid))
	track := number64(number64(nil, wire.TrackID, l.track), wire.TrackParent, uint64(node)+1)
	p.put(wire.PacketTrack, bytesOf(track, wire.TrackThread, stringOf(of, wire.ThreadName, name)), -1)
}

func (p *proto) slice(s *slice) {
	l := p.lanes[s.tid]
	p.close(l, s.from)
	e := number64(p.event[:0], wire.EventType, wire.SliceBegin)
	e = number64(e, wire.EventTrack, l.track)
	e = number64(e, wire.EventCategory, p.name(wire.InternedCategory, s.category))
	e = number64(e, wire.EventName, p.name(wire.InternedName, s.name))
	for _, a := range s.args {
		of := number64(p.b[:0], wire.ArgName, p.name(wire.InternedArg, a.name))
		if a.isNumber {
			of = number64(of, wire.ArgInt, uint64(a.number))
		} else {
			of = stringOf(of, wire.ArgText, a.text)
		}
		e = bytesOf(e, wire.EventArg, of)
		p.b = of
	}
	if s.flow != 0 {
		field := protowire.Number(wire.EventFlowEnd)
		if s.out {
			field = wire.EventFlow
		}
		e = protowire.AppendFixed64(protowire.AppendTag(e, field, protowire.Fixed64Type), uint64(s.flow))
	}
	p.event = e
	p.put(wire.PacketEvent, e, s.from)
	l.open = append(l.open, s.to)
}

// close ends the slices of a lane that end before something begins, or with it.
func (p *proto) close(l *lane, at int64) {
	for n := len(l.open); n > 0 && l.open[n-1] <= at; n-- {
		e := number64(p.event[:0], wire.EventType, wire.SliceEnd)
		p.event = number64(e, wire.EventTrack, l.track)
		p.put(wire.PacketEvent, p.event, l.open[n-1])
		l.open = l.open[:n-1]
	}
}

func (p *proto) counter(node int, name string, at, value int64) {
	key := counterOf{node, name}
	track, ok := p.tracks[key]
	if !ok {
		track = counterTracks + uint64(len(p.tracks))
		p.tracks[key] = track
		of := number64(number64(nil, wire.TrackID, track), wire.TrackParent, uint64(node)+1)
		p.put(wire.PacketTrack, bytesOf(stringOf(of, wire.TrackName, name), wire.TrackCounter, nil), -1)
	}
	e := number64(p.event[:0], wire.EventType, wire.Counter)
	e = number64(e, wire.EventTrack, track)
	p.event = number64(e, wire.EventCounter, uint64(value))
	p.put(wire.PacketEvent, p.event, at)
}

func (p *proto) end() {
	for _, l := range p.lanes {
		if n := len(l.open); n > 0 {
			p.close(l, l.open[0])
		}
	}
}
