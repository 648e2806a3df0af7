// Ping-pong between two processes. Arguments: SIZE:TIMES:MS ... Each size is sent that many times per
// portion, for so many milliseconds. Prints the median over the portions of half a round trip, in
// nanoseconds.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEAST = 3, MOST = 10000 }; // portions

static int ascending(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv) {
	static double ns[MOST];
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int a = 1; a < argc; a++) {
		long size, times, ms;
		if (sscanf(argv[a], "%ld:%ld:%ld", &size, &times, &ms) != 3) MPI_Abort(MPI_COMM_WORLD, 2);
		char *b = calloc(1, size);
		double began = 0;
		int p = -1; // the first warms up
		for (int more = 1; more; MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD)) {
			double start = MPI_Wtime();
			for (long i = 0; i < times; i++) {
				if (rank == 0) {
					MPI_Send(b, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
					MPI_Recv(b, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
				} else {
					MPI_Recv(b, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
					MPI_Send(b, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
				}
			}
			double end = MPI_Wtime();
			if (p < 0) began = end;
			else ns[p] = (end - start) / times / 2 * 1e9;
			p++;
			more = p < LEAST || (end - began < ms * 1e-3 && p < MOST); // rank 0 decides
		}
		free(b);
		qsort(ns, p, sizeof *ns, ascending);
		if (rank == 0) printf("%ld %.1f\n", size, ns[p / 2]);
	}
	MPI_Finalize();
}
