package trace

import (
	"math"
	"strconv"
)

// Kind is the number of a kind of event. Standard kinds are below FirstUserKind,
// the kinds of user namespaces from there on, numbered per file.
type Kind uint16

const (
	// FirstUserKind is the first number given to kinds of user namespaces.
	FirstUserKind Kind = 256
	// MaxKind is the highest kind that can be recorded.
	MaxKind Kind = 1<<kindBits - 1
	// MaxFields is the highest number of fields of a kind.
	MaxFields = 16
)

// FieldType is the type of a field of an event. Every value is one 64-bit word.
type FieldType uint8

// Field types. The numbers are part of the format.
const (
	FieldInt     FieldType = 1 + iota // int64
	FieldUint                         // uint64
	FieldFloat                        // float64, its bits
	FieldCF                           // CF
	FieldDF                           // DF
	FieldSite                         // Site
	FieldName                         // Name
	FieldNode                         // int, a node
	FieldMessage                      // uint64, see MakeMessage; also requests
	FieldNS                           // int64, nanoseconds
	FieldBytes                        // int64, bytes
	FieldReason                       // Reason
	FieldInts                         // list of int32 or int64
	FieldDFs                          // list of DF
	fieldTypes
)

var fieldTypeNames = [fieldTypes]string{
	FieldInt: "Int", FieldUint: "Uint", FieldFloat: "Float", FieldCF: "CF", FieldDF: "DF", FieldSite: "Site",
	FieldName: "Name",
	FieldNode: "Node", FieldMessage: "Message", FieldNS: "NS", FieldBytes: "Bytes", FieldReason: "Reason",
	FieldInts: "Ints", FieldDFs: "DFs",
}

func (t FieldType) String() string {
	if t.Valid() {
		return fieldTypeNames[t]
	}
	return "?"
}

// Valid reports a type this package knows.
func (t FieldType) Valid() bool { return t >= FieldInt && t < fieldTypes }

// List reports a list type. A kind has at most one list, its last field.
func (t FieldType) List() bool { return t == FieldInts || t == FieldDFs }

// Field is one field of a kind.
type Field struct {
	Name string
	Type FieldType
	Doc  string
	// Default is the word taken where a file of an older version or a line of
	// the text twin does not give the field.
	Default uint64
}

// KindSpec describes a kind of event.
type KindSpec struct {
	Kind      Kind
	Namespace string
	Name      string
	Alias     []string // other names in the same namespace
	Fields    []Field
	Doc       string
}

// String is "Namespace.onName".
func (s *KindSpec) String() string { return s.Namespace + "." + s.Name }

// List returns whether the last field is a list, and the number of fields before it.
func (s *KindSpec) List() (fixed int, list bool) {
	n := len(s.Fields)
	if n > 0 && s.Fields[n-1].Type.List() {
		return n - 1, true
	}
	return n, false
}

// Standard kinds. The numbers are part of the format.
const (
	KindCFCreated Kind = 1 + iota
	KindCFReady
	KindCFStarted
	KindCFFinished
	KindCFWaiting
	KindCFMigrated
	KindCFStolen
	KindCFReceived
	KindCFDestroyed
	KindCFHeld
	KindCFResumed
)

// Where locators want CFs and DFs.
const (
	KindCFPlaced Kind = 20
	KindDFPlaced Kind = 50
)

// Standard kinds of DFEvents.
const (
	KindDFCreate Kind = 32 + iota
	KindDFRequested
	KindDFRequestReceived
	KindDFSent
	KindDFReceived
	KindDFStored
	KindDFDropped
	KindDFDestroy
	KindDFDuplicate
)

// Standard kinds of GlobalEvents.
const (
	KindBlockStarted Kind = 64 + iota
	KindBlockExited
	KindBlockWaiting
	KindBlockMigrated
	KindBlockContinued
	KindForeignStarted
	KindForeignEnded
	KindProgramStarted
	KindProgramFinished
	KindIdle
	KindBusy
	KindReadyQueue
	KindSendQueue
	KindRelations
	KindClockSync
	KindLost
	KindThreadTime
	KindBalanced
	KindUsage
)

// Standard kinds of SyncEvents.
const (
	KindWaitStarted Kind = 96 + iota
	KindWaitEnded
	KindCollective
	KindAcquired
	KindReleased
	KindBlocked
	KindGroup
)

// Standard kinds of RegionEvents.
const (
	KindEntered Kind = 112 + iota
	KindExited
)

// Standard kinds of MessageEvents.
const (
	KindPut Kind = 120 + iota
	KindGet
	KindRemoteAtomic
	KindCompleted
	KindSent
	KindReceived
)

// minusOne is the default of fields where -1 means not measured.
const minusOne = ^uint64(0)

var (
	fCF        = Field{Name: "cf", Type: FieldCF, Doc: "the CF"}
	fExecution = Field{Name: "execution", Type: FieldUint, Default: 1,
		Doc: "number of the execution, from 1 (a `while` runs several times)"}
	fWeight   = Field{Name: "weight", Type: FieldFloat, Default: math.Float64bits(1), Doc: "the CF's weight"}
	fMoved    = Field{Name: "bytes", Type: FieldBytes, Doc: "bytes sent for it"}
	fDF       = Field{Name: "df", Type: FieldDF, Doc: "the DF"}
	fSize     = Field{Name: "size", Type: FieldBytes, Doc: "size of its value"}
	fFunction = Field{Name: "function", Type: FieldSite, Doc: "the function"}
	fBlock    = Field{Name: "block", Type: FieldUint, Doc: "number of the block in the function"}
	fRequest  = Field{Name: "request", Type: FieldMessage, Doc: "the request"}
	fMessage  = Field{Name: "message", Type: FieldMessage, Doc: "the message"}
	fLength   = Field{Name: "length", Type: FieldUint, Doc: "entries in the queue"}
	fCPU      = Field{Name: "cpu", Type: FieldNS, Doc: "CPU time of the process so far"}
	fRegion   = Field{Name: "region", Type: FieldSite, Doc: "the region, and where it is called"}
	fPlace    = Field{Name: "place", Type: FieldInt,
		Doc: "the value of its locator, before it is taken modulo the number of nodes"}
	fLock     = Field{Name: "lock", Type: FieldUint, Doc: "the lock, the same number on all nodes"}
	fTransfer = Field{Name: "transfer", Type: FieldUint,
		Doc: "0: it ends with its region; otherwise it lasts until `onCompleted` with the same number"}
	fTag  = Field{Name: "tag", Type: FieldInt, Doc: "its tag"}
	fComm = Field{Name: "comm", Type: FieldUint,
		Doc: "the communicator, the same number on both nodes: messages of one sender, receiver, tag and" +
			" communicator do not overtake each other"}
	fWaitName = Field{Name: "name", Type: FieldName, Doc: "name of the lock, resource or collective"}
)

func field(f Field, name, doc string) Field {
	f.Name, f.Doc = name, doc
	return f
}

func node(name, doc string) Field { return Field{Name: name, Type: FieldNode, Doc: doc} }

var kinds = []KindSpec{
	{KindCFCreated, "CFEvents", "onCreated", nil, []Field{fCF,
		{Name: "site", Type: FieldSite, Doc: "the statement that it executes"},
		field(fCF, "parent", "the structured CF that created it, - for none"),
		field(fExecution, "execution", "execution of the parent"), fWeight,
		{Name: "indices", Type: FieldInts, Doc: "indices of its label"}}, "A CF exists on this node."},
	{KindCFReady, "CFEvents", "onReady", nil, []Field{fCF,
		{Name: "late", Type: FieldNS, Doc: "how long it had been ready before this event, with all" +
			" inputs here; " +
			"ready time = time - late"}},
		"Everything the CF needs to run is on this node."},
	{KindCFStarted, "CFEvents", "onStarted", nil, []Field{fCF, fExecution,
		{Name: "inputs", Type: FieldDFs, Doc: "its input DFs"}}, "A worker starts to execute the CF."},
	{KindCFFinished, "CFEvents", "onFinished", nil, []Field{fCF, fExecution,
		{Name: "cpu", Type: FieldInt, Default: minusOne, Doc: "thread CPU time of the execution in" +
			" nanoseconds, " +
			"-1 if not measured"}}, "The execution has ended."},
	{KindCFWaiting, "CFEvents", "onWaiting", nil, []Field{fCF,
		{Name: "awaited", Type: FieldDFs, Doc: "the DFs it waits for"}},
		"The CF cannot continue before these DFs arrive."},
	{KindCFMigrated, "CFEvents", "onMigrated", nil, []Field{fCF, node("to", "the node it goes to"), fMoved,
		fWeight}, "The CF leaves for another node."},
	{KindCFStolen, "CFEvents", "onStolen", nil, []Field{fCF, node("by", "the node that takes it"), fMoved,
		fWeight}, "An idle node takes the CF away (instead of `onMigrated`)."},
	{KindCFReceived, "CFEvents", "onReceived", nil, []Field{fCF, node("from", "the node it comes from"),
		fMoved,
		fWeight}, "The CF has arrived from another node."},
	{KindCFDestroyed, "CFEvents", "onDestroyed", nil, []Field{fCF}, "The CF will not run again."},
	{KindCFHeld, "CFEvents", "onHeld", nil, []Field{fCF}, "A debugger stops the CF."},
	{KindCFResumed, "CFEvents", "onResumed", nil, []Field{fCF}, "The CF continues after `onHeld`."},
	{KindCFPlaced, "CFEvents", "onPlaced", nil, []Field{fCF, fPlace}, "The CF is about to be executed at" +
		" another node than its locator names: there is no node of that number, or the CF was stolen."},

	{KindDFCreate, "DFEvents", "onCreate", []string{"onCreateSize"},
		[]Field{fDF, fSize, field(fCF, "cf", "the CF that produced it")}, "The DF gets its value."},
	{KindDFRequested, "DFEvents", "onRequested", nil, []Field{fDF, field(fCF, "cf", "the CF that needs it"),
		node("node", "the node asked"), fRequest}, "This node asks another one for the DF."},
	{KindDFRequestReceived, "DFEvents", "onRequestReceived", nil,
		[]Field{fDF, node("from", "the asking node"),
			fRequest}, "A request for the DF has arrived."},
	{KindDFSent, "DFEvents", "onSent", nil, []Field{fDF, node("to", "the receiver"), fMoved, fMessage,
		field(fRequest, "request", "the request answered, - for a push"),
		field(fCF, "cf", "the CF that pushes it, - otherwise")}, "The DF leaves for another node."},
	{KindDFReceived, "DFEvents", "onReceived", nil, []Field{fDF, node("from", "the sender"), fMoved, fMessage,
		field(fRequest, "request", "the request answered, - for a push"),
		field(fCF, "cf", "for a push the CF that pushed it, for an answer the CF that requested it, -"+
			" otherwise")},
		"The DF has arrived from another node."},
	{KindDFStored, "DFEvents", "onStored", nil, []Field{fDF, fSize}, "From now on this node holds a copy."},
	{KindDFDropped, "DFEvents", "onDropped", nil, []Field{fDF, fSize}, "This node releases its copy."},
	{KindDFDestroy, "DFEvents", "onDestroy", []string{"onDestroySize"}, []Field{fDF, fSize,
		{Name: "reason", Type: FieldReason, Doc: "`expired`: read as often as announced; `deleted` by the " +
			"program; `end`: held to the end of the run"}}, "The DF is destroyed."},
	{KindDFDuplicate, "DFEvents", "onDuplicate", nil,
		[]Field{fDF, field(fCF, "first", "the CF that produced it"),
			field(fCF, "second", "the CF that produced it again")}, "A DF was assigned twice."},
	{KindDFPlaced, "DFEvents", "onPlaced", nil, []Field{fDF, fPlace}, "The DF is about to be kept at another" +
		" node than its locator names: there is no node of that number."},

	{KindBlockStarted, "GlobalEvents", "onStarted", nil, []Field{fFunction, fBlock},
		"A block of a function starts."},
	{KindBlockExited, "GlobalEvents", "onExited", nil, []Field{fFunction, fBlock},
		"The function ends in this block."},
	{KindBlockWaiting, "GlobalEvents", "onWaiting", nil, []Field{fFunction, fBlock},
		"The block ends because " +
			"a DF has not arrived yet."},
	{KindBlockMigrated, "GlobalEvents", "onMigrated", nil, []Field{fFunction, fBlock},
		"The function continues on another node."},
	{KindBlockContinued, "GlobalEvents", "onContinued", nil, []Field{fFunction, fBlock},
		"The function continues with this block."},
	{KindForeignStarted, "GlobalEvents", "onForeignStarted", nil, []Field{fFunction}, "User code is called."},
	{KindForeignEnded, "GlobalEvents", "onForeignEnded", nil, []Field{fFunction}, "User code has returned."},
	{KindProgramStarted, "GlobalEvents", "onProgramStarted", nil, []Field{
		{Name: "process", Type: FieldUint, Doc: "index of the OS process in run.json"}, fCPU},
		"The program is loaded and starts; first event of every worker."},
	{KindProgramFinished, "GlobalEvents", "onProgramFinished", nil, []Field{fCPU}, "The program has ended; " +
		"last event of every worker."},
	{KindIdle, "GlobalEvents", "onIdle", nil, nil, "The worker has nothing to do and parks."},
	{KindBusy, "GlobalEvents", "onBusy", nil, nil, "The parked worker continues."},
	{KindReadyQueue, "GlobalEvents", "onReadyQueue", nil, []Field{field(fLength, "length", "how many")},
		"How many CFs are ready here and have not started."},
	{KindSendQueue, "GlobalEvents", "onSendQueue", nil, []Field{node("peer", "the receiver"), fLength},
		"Length of the queue of messages to a peer."},
	{KindRelations, "GlobalEvents", "onRelations", nil, []Field{
		{Name: "inner", Type: FieldInt, Doc: "change in edges with both ends on this node"},
		{Name: "outer", Type: FieldInt, Doc: "change in edges with one end on this node"}},
		"The number of edges between CFs and DFs has changed."},
	{KindClockSync, "GlobalEvents", "onClockSync", nil, []Field{
		{Name: "offset", Type: FieldInt, Doc: "nanoseconds to add to this node's times to get the" +
			" common clock"},
		{Name: "error", Type: FieldNS, Doc: "largest error of the offset"}},
		"The clock was compared with node 0's."},
	{KindLost, "GlobalEvents", "onLost", nil, []Field{
		{Name: "count", Type: FieldUint, Doc: "events lost"},
		{Name: "first", Type: FieldNS, Doc: "time of the first"},
		{Name: "last", Type: FieldNS, Doc: "time of the last"},
		{Name: "stream", Type: FieldUint, Doc: "stream they belonged to"}},
		"Events were dropped because the writer could not keep up."},
	{KindThreadTime, "GlobalEvents", "onThreadTime", nil, []Field{
		{Name: "ago", Type: FieldNS, Doc: "how long ago the span ended; it lasted for `span`"},
		{Name: "span", Type: FieldNS, Doc: "length of the span"},
		{Name: "cpu", Type: FieldNS, Doc: "CPU time of the thread in it"},
		{Name: "queued", Type: FieldInt, Default: minusOne,
			Doc: "time in which the thread waited for a core, in nanoseconds; -1 if the kernel does not tell"},
		{Name: "faulted", Type: FieldNS, Doc: "time in which it waited for major page faults"}},
		"How the worker's thread spent a span of time. For the rest of it, the thread was blocked. Spans do not " +
			"overlap."},
	{KindBalanced, "GlobalEvents", "onBalanced", nil, []Field{
		field(fFunction, "site", "the statement that the CFs execute"),
		node("to", "the node they go to"),
		{Name: "count", Type: FieldUint, Doc: "how many CFs"},
		{Name: "ahead", Type: FieldNS, Doc: "work ahead of this node when it was decided"},
		{Name: "there", Type: FieldNS, Doc: "work ahead of the other node"}},
		"A balancer has CFs moved to another node."},
	{KindUsage, "GlobalEvents", "onUsage", nil, []Field{
		{Name: "load", Type: FieldUint, Doc: "CPU time since the last such event, in percent of a core"},
		{Name: "resident", Type: FieldBytes, Doc: "memory of the process that is in use"},
		{Name: "arenas", Type: FieldBytes, Doc: "memory that the run-time system keeps for itself and for DFs"},
		{Name: "threads", Type: FieldUint, Doc: "threads of the process"}},
		"What the node's process uses; emitted by `system_module`."},

	{KindWaitStarted, "SyncEvents", "onWaitStarted", nil, []Field{fWaitName},
		"The worker waits for a lock, " +
			"exclusive resource or collective."},
	{KindWaitEnded, "SyncEvents", "onWaitEnded", nil, []Field{fWaitName}, "The wait is over."},
	{KindCollective, "SyncEvents", "onCollective", nil, []Field{
		{Name: "kind", Type: FieldName, Doc: "what it does: `barrier`, `notify`, `wait`, `broadcast`," +
			" `scatter`, " +
			"`gather`, `reduce`, `gather-all`, `exchange`, `permute`, `all-reduce`, `collect`," +
			" `prefix-reduce`, " +
			"`alloc`, `free`, `start`, `finish`"},
		{Name: "sync", Type: FieldName, Doc: "which data may be used before all have entered and after" +
			" one has " +
			"left, as `IN/OUT` of `all`, `my` and `no`; empty if the interface has no such modes"},
		node("start", "the first member"),
		{Name: "stride", Type: FieldUint, Default: 1, Doc: "distance between members"},
		{Name: "size", Type: FieldUint, Doc: "number of members"},
		{Name: "root", Type: FieldInt, Default: minusOne,
			Doc: "the node that data comes from (`broadcast`, " +
				"`scatter`, `permute`: for this member) or goes to (`gather`, `reduce`), or that has the first" +
				" element " +
				"(`prefix-reduce`); -1 if there is none or it is unknown"},
		{Name: "sent", Type: FieldBytes, Doc: "bytes this member sends to others"},
		{Name: "received", Type: FieldBytes, Doc: "bytes it receives from others"}},
		"The region just entered is a collective operation of these nodes."},
	{KindAcquired, "SyncEvents", "onAcquired", nil, []Field{fLock}, "The worker has acquired the lock; " +
		"recorded before it leaves the region that requested it."},
	{KindReleased, "SyncEvents", "onReleased", nil, []Field{fLock},
		"The worker releases the lock; recorded " +
			"when it enters the region that does so."},
	{KindBlocked, "SyncEvents", "onBlocked", nil, []Field{fCF,
		{Name: "span", Type: FieldNS, Doc: "how long it was blocked"},
		{Name: "reason", Type: FieldName, Doc: "`lock` (also condition variables, semaphores, threads), `io` or" +
			" `sleep`"},
		{Name: "what", Type: FieldName, Doc: "address of the lock, as `FILE+0xOFFSET`; name of the file; empty if" +
			" unknown"},
		{Name: "site", Type: FieldName, Doc: "address of the call, as `FILE+0xOFFSET`; empty if unknown"},
		field(fCF, "holder", "the CF that held the lock, - if unknown")},
		"User code of the CF was blocked in a call up to this time."},
	{KindGroup, "SyncEvents", "onGroup", nil, []Field{
		{Name: "group", Type: FieldUint, Doc: "its number on this node"},
		{Name: "members", Type: FieldInts, Doc: "the nodes, by their place in the group; none if this stream" +
			" has given them before"}},
		"The members of the collective just described are those of a group that start, stride and size cannot" +
			" describe."},

	{KindEntered, "RegionEvents", "onEntered", nil, []Field{fRegion}, "The worker enters a region: a" +
		" function " +
		"of the program or an operation of its run-time system."},
	{KindExited, "RegionEvents", "onExited", nil, []Field{fRegion}, "The worker leaves it."},

	{KindPut, "MessageEvents", "onPut", nil, []Field{node("to", "the node whose memory is written"),
		{Name: "bytes", Type: FieldBytes, Doc: "bytes written"}, fTransfer},
		"The region just entered writes to another node's memory, or its own through the same interface."},
	{KindGet, "MessageEvents", "onGet", nil, []Field{node("from", "the node whose memory is read"),
		{Name: "bytes", Type: FieldBytes, Doc: "bytes read"}, fTransfer},
		"The region just entered reads another node's memory, or its own through the same interface."},
	{KindRemoteAtomic, "MessageEvents", "onRemoteAtomic", nil,
		[]Field{node("on", "the node whose memory is changed"), {Name: "bytes", Type: FieldBytes,
			Doc: "size of the value"}},
		"The region just entered atomically changes a value in another node's memory, or its own."},
	{KindCompleted, "MessageEvents", "onCompleted", nil,
		[]Field{field(fTransfer, "transfer", "the transfer; 0: all that this worker has started")},
		"The transfer has ended; recorded before the worker leaves the region that waited for it."},
	{KindSent, "MessageEvents", "onSent", nil, []Field{node("to", "the receiver"),
		{Name: "bytes", Type: FieldBytes, Doc: "its size"}, fTag, fComm, fTransfer},
		"The region just entered sends a message."},
	{KindReceived, "MessageEvents", "onReceived", nil, []Field{node("from", "the sender"),
		{Name: "bytes", Type: FieldBytes, Doc: "its size"}, fTag, fComm,
		{Name: "receive", Type: FieldUint, Doc: "number of the receive on this node, in the order in which" +
			" receives were posted"},
		{Name: "posted", Type: FieldNS, Doc: "how long ago the receive was posted"}},
		"A message has arrived; recorded before the worker leaves the region that waited for it."},
}

// Kinds returns the standard kinds in the order of their numbers. The caller must
// not change what it points to.
func Kinds() []KindSpec { return kinds[:len(kinds):len(kinds)] }

var (
	byNumber [FirstUserKind]*KindSpec
	byName   = map[[2]string]Kind{}
)

func init() {
	for i := range kinds {
		s := &kinds[i]
		byNumber[s.Kind] = s
		byName[[2]string{s.Namespace, s.Name}] = s.Kind
		for _, a := range s.Alias {
			byName[[2]string{s.Namespace, a}] = s.Kind
		}
	}
}

// KindByName finds a standard kind by namespace and name or alias.
func KindByName(ns, name string) (Kind, bool) {
	k, ok := byName[[2]string{ns, name}]
	return k, ok
}

// Spec returns the description of a standard kind, nil for any other.
func (k Kind) Spec() *KindSpec {
	if k >= FirstUserKind {
		return nil
	}
	return byNumber[k]
}

// String is "Namespace.onName" for a standard kind, its number for others.
func (k Kind) String() string {
	if s := k.Spec(); s != nil {
		return s.String()
	}
	return "kind " + strconv.Itoa(int(k))
}
