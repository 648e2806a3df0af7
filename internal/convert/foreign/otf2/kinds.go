package otf2

import (
	"strings"
	"sync"

	"github.com/whyslow/whyslow/sdk"
	"github.com/whyslow/whyslow/trace"
)

// Roles of regions, as in OTF2_Definitions.h.
const (
	roleLoop            = 3
	roleParallel        = 5
	roleSection         = 7
	roleWorkshare       = 8
	roleSingleBlock     = 10
	roleMaster          = 11
	roleCritical        = 12
	roleCriticalBlock   = 13
	roleBarrier         = 15
	roleImplicitBarrier = 16
	roleFlush           = 17
	roleOrdered         = 18
	roleOrderedBlock    = 19
	roleTask            = 20
	roleTaskCreate      = 21
	roleTaskWait        = 22
	roleOneToAll        = 23
	roleCollective      = 26
	roleFile            = 27
	roleMessage         = 28
	roleRMA             = 29
	roleThreadWait      = 33
	roleFileMeta        = 38
)

// Paradigms, as in OTF2_GeneralDefinitions.h.
const (
	paradigmOpenMP  = 3
	paradigmMPI     = 4
	paradigmMeasure = 6
	paradigmPthread = 7
	paradigmGASPI   = 11
	paradigmUPC     = 12
	paradigmShmem   = 13
)

// mpiKinds are the kinds of MPI's functions, as in whyslow's own library.
var mpiKinds = sync.OnceValue(func() map[string]trace.CodeKind {
	kinds := map[string]trace.CodeKind{}
	text, err := sdk.MPI.ReadFile("mpi/names.h")
	if err != nil {
		panic(err) // it is built in
	}
	byName := map[string]trace.CodeKind{}
	for k := trace.Function; k <= trace.IO; k++ {
		byName[strings.ToUpper(strings.ReplaceAll(k.String(), "-", "_"))] = k
	}
	for _, entry := range strings.Split(string(text), "WSS_NAME(")[1:] {
		entry, _, _ = strings.Cut(entry, ")")
		name, kind, _ := strings.Cut(entry, ", ")
		kinds[name] = byName[kind]
	}
	return kinds
})

// kind tells what the time of a region is spent for.
func (r *region) kind(name string) trace.CodeKind {
	if k, ok := mpiKinds()[name]; ok {
		return k
	}
	if r.paradigm == paradigmOpenMP || r.paradigm == paradigmPthread {
		switch r.role {
		case roleBarrier, roleImplicitBarrier, roleTaskWait, roleThreadWait, roleCritical, roleOrdered:
			return trace.Await // what is done in a critical section is in a region of its own
		case roleFlush, roleTaskCreate:
			return trace.Runtime
		}
		return trace.Function
	}
	switch {
	case r.role == roleBarrier || r.role == roleImplicitBarrier:
		return trace.Barrier
	case r.role >= roleOneToAll && r.role <= roleCollective:
		return trace.Collective
	case r.role == roleFile || r.role == roleFileMeta:
		return trace.IO
	case r.role == roleMessage:
		return trace.Message
	case r.role == roleRMA:
		return trace.Bulk
	case r.role == roleThreadWait:
		return trace.Await
	}
	switch r.paradigm {
	case paradigmMPI, paradigmShmem, paradigmGASPI, paradigmUPC, paradigmMeasure:
		return trace.Runtime
	}
	return trace.Function
}

// collectives are the operations, as in OTF2_Events.h, by the names of trace.KindCollective. Those that are
// missing are "other".
var collectives = map[uint64]string{0: "barrier", 1: "broadcast", 2: "gather", 3: "gather", 4: "scatter",
	5: "scatter", 6: "gather-all", 7: "gather-all", 8: "exchange", 9: "exchange", 10: "exchange",
	11: "all-reduce",
	12: "reduce", 13: "all-reduce", 14: prefixReduce, 15: prefixReduce, 16: "all-reduce", 17: "gather-all",
	19: "alloc", 20: "free", 21: "gather-all", 22: "barrier"}

const prefixReduce = "prefix-reduce"
