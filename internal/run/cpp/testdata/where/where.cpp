// Calls that do not return until finish is called, each in a function of its own.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>
#include <poll.h>
#include <time.h>
#include <unistd.h>

static volatile int over;
static volatile double sum;
static std::mutex twice;
static int ends[2];

#define OWN static __attribute__((noinline))

OWN void spins()
{
	while (!over) sum = sum + 1;
	sum = sum + 1;
}

OWN void computes_in_library()
{
	while (!over) {
		char text[64];
		sum = sum + snprintf(text, sizeof text, "%.17g", (double)sum + 1e100);
	}
	sum = sum + 1;
}

OWN void asks_the_clock()
{
	timespec t;
	do clock_gettime(CLOCK_MONOTONIC, &t);
	while (!over && t.tv_nsec >= 0);
	sum = sum + 1;
}

OWN void sleeps()
{
	const timespec t = {0, 50000000};
	while (!over) nanosleep(&t, nullptr);
	sum = sum + 1;
}

OWN void locks_twice()
{
	twice.lock();
	twice.lock();
	twice.unlock();
	sum = sum + 1;
}

OWN void reads()
{
	char c;
	ssize_t n = read(ends[0], &c, 1);
	sum = sum + (double)n;
}

OWN void reads_in_library()
{
	FILE *f = fdopen(dup(ends[0]), "r");
	int n = 0;
	if (fscanf(f, "%d", &n) == 1) sum = sum + n;
	fclose(f);
}

OWN void polls()
{
	pollfd p = {ends[0], POLLIN, 0};
	while (poll(&p, 1, 50) == 0 && !over) {}
	sum = sum + 1;
}

OWN void grows(int n)
{
	volatile char space[n];
	space[n - 1] = 1;
	const timespec t = {0, 50000000};
	while (!over) nanosleep(&t, nullptr);
	sum = sum + space[n - 1];
}

extern "C" {
void begin()
{
	over = 0;
	if (pipe(ends) != 0) _exit(1);
}
void stay(int how)
{
	switch (how) {
	case 0: spins(); break;
	case 1: computes_in_library(); break;
	case 2: asks_the_clock(); break;
	case 3: sleeps(); break;
	case 4: locks_twice(); break;
	case 5: reads(); break;
	case 6: reads_in_library(); break;
	case 7: polls(); break;
	case 8: grows(3000); break;
	}
	sum = sum + 1; // no tail call
}
void finish(int how)
{
	over = 1;
	if (how == 4) twice.unlock();
	if (write(ends[1], "1 ", 2) != 2) _exit(1);
	close(ends[1]);
}
}
