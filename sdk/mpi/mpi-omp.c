//go:build ignore

/* libwhyslow-mpi-omp records what libwhyslow-mpi records, and the threads of each rank: see mpi.c. */
#define WSM_OPENMP
#include "mpi.c"
