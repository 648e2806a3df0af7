//go:build mpi && cgo

package cli

import "syscall"

// endWithParent has this process asked to end when mpirun, or its daemon on this host, is gone: nobody else would then.
func endWithParent() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0)
}
