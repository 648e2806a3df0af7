//go:build mpi && cgo

package crew

import (
	"syscall"

	"github.com/whyslow/whyslow/internal/run/transport/mpi"
)

func init() {
	mpiVersion = mpi.Version
	startWorld = func() (World, error) {
		// Ask to be ended when mpirun, or its daemon on this host, is gone: nobody else would do it then.
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0)
		w, err := mpi.Init()
		if err != nil {
			return nil, err
		}
		return w, nil
	}
}
