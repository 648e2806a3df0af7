package trace

import (
	"math/bits"
	"strconv"

	"github.com/whyslow/whyslow/internal/tracefile"
)

// CF identifies a computational fragment: the node that created it in the upper
// 16 bits, that node's counter, from 1, in the lower 48. 0 is no CF.
type CF uint64

const counterBits = 48

// MaxNode is the highest node number.
const MaxNode = tracefile.MaxNode

// MakeCF joins a node and a counter. Bits that do not fit are cut off.
func MakeCF(node int, counter uint64) CF {
	return CF(uint64(uint16(node))<<counterBits | counter&(1<<counterBits-1))
}

// Node is the node that created the CF.
func (c CF) Node() int { return int(c >> counterBits) }

// Counter is the CF's number at its node.
func (c CF) Counter() uint64 { return uint64(c) & (1<<counterBits - 1) }

// String is "node.counter", "-" for no CF.
func (c CF) String() string { return string(c.Append(nil)) }

// Append appends what String returns.
func (c CF) Append(b []byte) []byte {
	if c == 0 {
		return append(b, '-')
	}
	b = strconv.AppendInt(b, int64(c.Node()), 10)
	return strconv.AppendUint(append(b, '.'), c.Counter(), 10)
}

// MakeMessage makes the number of a message or request from its sender and the
// sender's counter, from 1. 0 is no message.
func MakeMessage(node int, counter uint64) uint64 { return uint64(MakeCF(node, counter)) }

// DF is the small number of a DF in one node's file, from 1. 0 is no DF.
type DF uint32

// Site is the number of a statement of the program in one node's file, from 1. 0 is no site.
type Site uint32

// Name is the number of a string in one node's file, from 1. 0 is "".
type Name uint32

// Reason says why a DF was destroyed.
type Reason uint8

// Reasons of DFEvents.onDestroy.
const (
	Expired Reason = iota // served as often as was announced
	Deleted               // deleted by the program
	End                   // still held when the program ended
)

var reasonNames = []string{"expired", "deleted", "end"}

func (r Reason) String() string { return enumName(reasonNames, uint64(r)) }

// CodeKind is the kind of a code fragment.
type CodeKind uint8

// Kinds of code fragments: user code, and the structured ones run by the system.
const (
	Atomic CodeKind = iota
	Sub
	Call
	For
	While
	If
)

// Kinds of regions (RegionEvents), which are defined like code fragments: functions of the program, and
// operations of its run-time system by what their time is spent for.
const (
	Function     CodeKind = 16 + iota
	Barrier               // all wait for all
	Collective            // data goes between all
	Lock                  // locks asked for and given back
	Memory                // shared memory and locks allocated and freed
	Bulk                  // a block of bytes goes to or from another node's memory
	Access                // a single value does
	RemoteAtomic          // a value in another node's memory is changed at once
	Completion            // wait for the worker's own transfers
	Await                 // wait for a value to be changed by others
	Runtime               // start, end and everything else
	Message               // messages are sent and received, and waited for
	IO                    // files are read and written
)

var codeKindNames = []string{"atomic", "sub", "call", "for", "while", "if", Function: "function",
	Barrier: "barrier", Collective: "collective", Lock: "lock", Memory: "memory", Bulk: "bulk", Access: "access",
	RemoteAtomic: "remote-atomic", Completion: "completion", Await: "await", Runtime: "runtime",
	Message: "message", IO: "io"}

func (k CodeKind) String() string { return enumName(codeKindNames, uint64(k)) }

func enumName(names []string, v uint64) string {
	if v < uint64(len(names)) && names[v] != "" {
		return names[v]
	}
	return strconv.FormatUint(v, 10)
}

// IdentityID is the 64-bit id of a DF: a hash of its identity list (node and number of its name, then the
// indices), the same on every node and in every run. It is never 0.
func IdentityID(identity []int64) uint64 {
	const k0, k1 = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	h := uint64(len(identity)) * k1
	for _, v := range identity {
		hi, lo := bits.Mul64(h^uint64(v)^k0, k1)
		h = bits.RotateLeft64(h, 23) ^ hi ^ lo
	}
	h ^= h >> 32
	h *= k0
	h ^= h >> 29
	if h == 0 {
		return k0
	}
	return h
}
