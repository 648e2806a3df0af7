// Package mpi connects the processes that mpirun has started, with Open MPI. It is empty without the build
// tag mpi.
package mpi
