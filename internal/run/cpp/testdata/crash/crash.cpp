#include "ucenv.h"
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <thread>
#include <unistd.h>

struct Marker {
	std::string text;
	~Marker() { printf("%s\n", text.c_str()); }
};
static Marker marker; // prints when the library is unloaded

static int deep(volatile char *p)
{
	volatile char frame[4096];
	frame[0] = *p;
	return deep(frame) + frame[1];
}

extern "C" {
void empty() {}
void empty2(const InputDF &, const InputDF &) {}
void out1(int i, OutputDF &o) { o.setValue(i); }
void out_block(int i, OutputDF &o) { o.create(i); }
void mark(const char *s) { marker.text = s; }
void print(const char *s) { printf("%s\n", s); }
void crash(int how)
{
	volatile int zero = 0;
	switch (how) {
	case 0: abort();
	case 1: *reinterpret_cast<volatile int *>(16) = 1; break;
	case 2: zero = 7 / zero; break;
	case 3: __builtin_trap();
	case 4: assert(zero == 1); break;
	case 5: std::terminate();
	case 6: { char c = 1; deep(&c); break; }
	case 7: raise(SIGSEGV); break;
	case 8: [] () noexcept { throw 1; }(); break;
	case 9: *reinterpret_cast<volatile long *>(0x8000000000000000ul) = 1; break; // non-canonical
	case 10: printf("printed before exit"); exit(3);
	case 11: _exit(4);
	case 12: std::_Exit(5);
	case 13: std::quick_exit(6);
	case 14: exit(0);
	case 15: throw std::runtime_error("went wrong");
	case 16: throw std::string("a string");
	case 17: throw "a C string";
	case 18: throw 42;
	case 19: throw DF(3);
	case 21: { // damage that malloc finds while it holds its lock
		char *p = static_cast<char *>(malloc(5000)), *q = static_cast<char *>(malloc(5000)),
			*r = static_cast<char *>(malloc(5000));
		memset(p + 5000, 0x55, 24);
		free(q);
		free(r);
		break;
	}
	case 22: // the same as a fault: links of a free chunk that lead nowhere
	case 23: { // damage that only those find who allocate later
		char *p = static_cast<char *>(malloc(5000)), *volatile q = static_cast<char *>(malloc(5000));
		free(p);
		reinterpret_cast<volatile long *>(p)[0] = 0x1000;
		reinterpret_cast<volatile long *>(p)[1] = 0x1000;
		if (how == 23) break;
		free(q);
		for (int i = 0; i < 10; i++) q = static_cast<char *>(malloc(5000 + 500 * i));
		break;
	}
	case 20: { std::vector<int> v; v.at(3); break; }
	}
}
void later(int how)
{
	std::thread([how] {
		switch (how) {
		case 0: *reinterpret_cast<volatile int *>(16) = 1; break;
		case 1: abort();
		case 2: DF().getSize(); break;
		case 3: exit(9);
		case 4: throw std::runtime_error("in a thread");
		}
	}).detach();
}
void locked() { flockfile(stdout); abort(); }
void scratch()
{
	static thread_local std::vector<int> v;
	v.push_back(1);
}
void nap(int us) { usleep(us); }
void doze(int how, int us)
{
	timeval t = {0, us};
	pollfd p = {-1, 0, 0};
	switch (how) {
	case 0: select(0, nullptr, nullptr, nullptr, &t); break;
	case 1: poll(nullptr, 0, us / 1000); break;
	case 2: poll(&p, 1, us / 1000); break;
	case 3: {
		// The same file, opened twice, is locked against itself, and given back from a thread.
		int f = open("/", O_RDONLY), g = open("/", O_RDONLY);
		flock(f, LOCK_EX);
		std::thread later([=] { usleep(us); flock(f, LOCK_UN); });
		flock(g, LOCK_EX);
		close(g);
		later.join();
		close(f);
	}
	}
}
void spin(int us)
{
	timespec a, b; // this thread's CPU time
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	while ((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000 < us);
}
}
