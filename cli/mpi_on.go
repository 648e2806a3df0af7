//go:build mpi && cgo

package cli

import "github.com/whyslow/whyslow/internal/run/transport/mpi"

func init() {
	mpiVersion = mpi.Version
	startWorld = func() (world, error) {
		endWithParent()
		w, err := mpi.Init()
		if err != nil {
			return nil, err
		}
		return w, nil
	}
}
