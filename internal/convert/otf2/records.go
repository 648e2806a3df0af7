// Package otf2 reads and writes OTF2 archives, the traces of Score-P, TAU, Extrae and others, with libotf2.
// It needs cgo and the build tag otf2; without them it says so (HasOTF2).
//
// # Reading
//
// libotf2 ends, or is ended, by some damaged archives. So a process of its own reads the archive and writes
// what it has as records to a pipe, which it was given as standard output: definitions, and then the events
// of one process after the other. A record is a word, of which the lowest 8 bits are its kind and the rest
// the number of words that follow, and these. Records has the other end of the pipe; package foreign/otf2
// makes a trace of the records. Words are those of the machine, least significant byte first.
package otf2

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Kind is the kind of a record.
type Kind uint8

// Kinds of records, with their words. Everything is numbered as in the archive; events begin with their time,
// in ticks of the clock.
const (
	End   Kind = 1 + iota // the archive was read to its end
	Error                 // 0, text: it was not

	String   // number, text
	Clock    // ticks per second, time of the first event, ticks until the last, start in ns since 1970
	Host     // a node of the tree of hosts: number, name, name of its class, parent
	Process  // a group of locations: number, name, type, host
	Location // number, name, type, events, process
	Region   // number, name, role, paradigm, file, line
	Group    // number, type, paradigm, members
	Comm     // number, group
	Inter    // a communicator between two groups: number, group, group
	Window   // number, communicator

	Events // location: the events that follow are its; those of a process come in the order of time

	Enter         // region
	Leave         // region
	Send          // receiver, communicator, tag, bytes
	Isend         // likewise, request
	IsendDone     // request
	Posted        // a receive: request
	Receive       // sender, communicator, tag, bytes
	Ireceive      // likewise, request
	Cancelled     // request
	Collective    // operation, communicator, root, bytes sent, bytes received
	Fork          // paradigm
	Join          // paradigm
	TeamBegin     // team
	TeamEnd       // team
	TaskCreate    // team, thread, number
	TaskSwitch    // team, thread, number
	TaskEnd       // team, thread, number
	Locked        // paradigm, lock
	Unlocked      // paradigm, lock
	Put           // window, other, bytes, transfer
	Get           // likewise
	Atomic        // likewise
	RMACollective // operation, window, root, bytes sent, bytes received
	Acquire       // window, other, lock, type
	Release       // window, other, lock
	TransferDone  // window, transfer

	CollectiveBegin // written alone: what begins tells nothing
	RMACollectiveBegin
	lastKind
)

// Undefined stands for numbers of definitions that are not given. In words of 64 bits it is UndefinedLong.
const (
	Undefined     = 1<<32 - 1
	UndefinedLong = 1<<64 - 1
)

// least is how many words a record of a kind has at least.
var least = [lastKind]int{Error: 2, String: 2, Clock: 4, Host: 4, Process: 4, Location: 5, Region: 6,
	Group: 3,
	Comm:  2, Inter: 3, Window: 2, Events: 1, Enter: 2, Leave: 2, Send: 5, Isend: 6, IsendDone: 2, Posted: 2,
	Receive: 5, Ireceive: 6, Cancelled: 2, Collective: 6, Fork: 2, Join: 2,
	TeamBegin: 2, TeamEnd: 2, TaskCreate: 4, TaskSwitch: 4, TaskEnd: 4, Locked: 3, Unlocked: 3, Put: 5, Get: 5, Atomic: 5, RMACollective: 6, Acquire: 5, Release: 4, TransferDone: 3, CollectiveBegin: 1,
	RMACollectiveBegin: 1}

// mostWords of a record.
const mostWords = 1<<20 + 2

// Reader reads records.
type Reader struct {
	in    *bufio.Reader
	Kind  Kind
	Words []uint64 // of the last record, until the next Next
	bytes []byte
}

// NewReader gives a reader of records.
func NewReader(in io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(in, 1<<20)} }

// errDamaged is that what was read are no records.
var errDamaged = errors.New("damaged")

// Next reads a record. It returns io.ErrUnexpectedEOF where there is none, as End is the last.
func (r *Reader) Next() error {
	head, err := r.in.Peek(8)
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	word := binary.LittleEndian.Uint64(head)
	_, _ = r.in.Discard(8) // they are there
	r.Kind = Kind(word)
	n := word >> 8
	if r.Kind == 0 || r.Kind >= lastKind || n > mostWords || int(n) < least[r.Kind] {
		return fmt.Errorf("%w: a record %d of %d words", errDamaged, r.Kind, n)
	}
	r.Words = r.Words[:0]
	for left := int(n) * 8; left > 0; {
		b, err := r.in.Peek(min(left, 1<<16))
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		for i := 0; i < len(b); i += 8 {
			r.Words = append(r.Words, binary.LittleEndian.Uint64(b[i:]))
		}
		_, _ = r.in.Discard(len(b))
		left -= len(b)
	}
	return nil
}

// Text is the text of a String or an Error.
func (r *Reader) Text() string {
	bytes := r.bytes[:0]
	for _, w := range r.Words[2:] {
		bytes = binary.LittleEndian.AppendUint64(bytes, w)
	}
	r.bytes = bytes
	return string(bytes[:min(uint64(len(bytes)), r.Words[1])])
}
