// Package wire has the numbers of the fields of Perfetto's protocol buffers that whyslow writes and reads.
// Their names and meanings are those of Perfetto's reference,
// https://perfetto.dev/docs/reference/trace-packet-proto: there is no well-kept Go package of them.
package wire

// TracePacket is the field of Trace: a packet.
const TracePacket = 1

// Fields of TracePacket.
const (
	PacketTimestamp = 8  // in ns, unless the clock is another one
	PacketSequence  = 10 // packets of one refer to names that it has defined
	PacketEvent     = 11
	PacketInterned  = 12
	PacketFlags     = 13
	PacketClock     = 58
	PacketDefaults  = 59
	PacketTrack     = 60
	// About the recording itself.
	PacketConfig  = 33
	PacketStats   = 35
	PacketSync    = 36
	PacketSystem  = 45
	PacketService = 69
	PacketUUID    = 89
)

// Flags of a packet.
const (
	StateCleared = 1 // names before it are forgotten
	NeedsState   = 2
)

// Fields of TrackDescriptor.
const (
	TrackID         = 1
	TrackName       = 2
	TrackProcess    = 3
	TrackThread     = 4
	TrackParent     = 5
	TrackCounter    = 8
	TrackStaticName = 10
)

// Fields of ProcessDescriptor and ThreadDescriptor.
const (
	ProcessPID  = 1
	ProcessName = 6
	ThreadPID   = 1
	ThreadTID   = 2
	ThreadName  = 5
)

// Fields of CounterDescriptor.
const (
	CounterUnit        = 4 // what values are multiplied by
	CounterIncremental = 5
)

// Fields of TracePacketDefaults and TrackEventDefaults.
const (
	DefaultsClock      = 58
	DefaultsEvent      = 11
	EventDefaultsTrack = 11
)

// Fields of TrackEvent.
const (
	EventCategory     = 3
	EventArg          = 4
	EventType         = 9
	EventName         = 10
	EventTrack        = 11
	EventCategoryText = 22
	EventNameText     = 23
	EventCounter      = 30
	EventFlow         = 47
	EventFlowEnd      = 48
	EventFlowOld      = 36
	EventFlowEndOld   = 42
	EventDouble       = 44
	EventLegacy       = 6  // of chrome://tracing's phases
	EventMoreCounters = 12 // values of other counters, with a slice
	EventMoreDoubles  = 46
)

// Types of TrackEvent.
const (
	SliceBegin = 1
	SliceEnd   = 2
	Instant    = 3
	Counter    = 4
)

// Fields of InternedData, each a message with NameID and NameText.
const (
	InternedCategory = 1
	InternedName     = 2
	InternedArg      = 3
	Interned         = 4 // more than these
	NameID           = 1
	NameText         = 2
)

// Fields of DebugAnnotation.
const (
	ArgName = 1
	ArgInt  = 4
	ArgText = 6
)

// Fields of ClockSnapshot, which is PacketClocks of a packet, and of the clocks in it.
const (
	PacketClocks     = 6
	PacketCompressed = 50
	Clocks           = 1
	ClockID          = 1
	ClockTime        = 2
	ClockIncremental = 3
	ClockUnit        = 4 // ns
)

// BootClock is the clock that timestamps are of, unless they say otherwise. From OwnClocks up to OwnClocksEnd
// a sequence has its own.
const (
	BootClock    = 6
	OwnClocks    = 64
	OwnClocksEnd = 128
)
