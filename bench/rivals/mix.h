/* The common part of the C programs: portions of code fragments, each timed, with pauses in which others can
 * write.
 *
 * Usage: PROGRAM FOLDER PORTIONS CFS PAUSE_US. It prints "portion NANOSECONDS" for each, then "cpu
 * NANOSECONDS". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int64_t cpu(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000LL +
		(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000LL;
}

/* Records the events of CF number i, from 1: it reads DF i and makes DF i + 1. */
static void cf(uint64_t i);

static void portions(char **argv)
{
	const long n = atol(argv[2]), cfs = atol(argv[3]), pause = atol(argv[4]);
	const struct timespec rest = {pause / 1000000, pause % 1000000 * 1000};
	uint64_t i = 1;
	for (long p = 0; p < n; p++) {
		int64_t t = now();
		for (long k = 0; k < cfs; k++) cf(i++);
		printf("portion %lld\n", (long long)(now() - t));
		if (pause > 0) nanosleep(&rest, NULL);
	}
}
