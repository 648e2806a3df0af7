// Calls of user code that may give the core up. The linker leads them here (--wrap, see build.go), and the
// host learns what the thread waited for, where, and how long. Calls that libraries make themselves are not
// seen; the kernel's figures tell that the thread was blocked.
//
// Names are weak: a system may lack one. Then no user code calls it.
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <istream>
#include <mutex>
#include <ostream>
#include <thread>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <whyslow_wrap.h>

namespace {

// Wait reports a call when it goes out of scope: user code may throw, and the call then ends so.
struct Wait {
	int64_t since;
	Wait(int reason, const void *site, const void *frame, const void *object = nullptr, int fd = -1,
		int holder = 0)
	{
		const ws_host *h = luna::ucenv::detail::host;
		since = h ? h->blocking(reason, site, frame, object, fd, holder) : 0;
	}
	~Wait()
	{
		if (since) luna::ucenv::detail::host->blocked(since);
	}
	Wait(const Wait &) = delete;
};

#ifdef __GLIBC__
int owner(const pthread_mutex_t *m) { return __atomic_load_n(&m->__data.__owner, __ATOMIC_RELAXED); }
int owner(const pthread_rwlock_t *l) { return __atomic_load_n(&l->__data.__cur_writer, __ATOMIC_RELAXED); }
#else
template <class T> int owner(const T *) { return 0; }
#endif

} // namespace

#define WS_FRONT(RESULT, NAME, PARAMS) \
	extern "C" RESULT __real_##NAME PARAMS __attribute__((weak)); \
	extern "C" __attribute__((visibility("hidden"))) RESULT __wrap_##NAME PARAMS

#define WS_HERE __builtin_return_address(0), __builtin_frame_address(0)

// WS_WAIT wraps a function: the reason, then what Wait's constructor takes after the site.
#define WS_WAIT(RESULT, NAME, PARAMS, ARGS, REASON, ...) \
	WS_FRONT(RESULT, NAME, PARAMS) \
	{ \
		Wait wait(REASON, WS_HERE, __VA_ARGS__); \
		return __real_##NAME ARGS; \
	}
#define WS_SYNC(RESULT, NAME, PARAMS, ARGS, OBJECT) WS_WAIT(RESULT, NAME, PARAMS, ARGS, WS_LOCK, OBJECT)
#define WS_NAP(RESULT, NAME, PARAMS, ARGS) WS_WAIT(RESULT, NAME, PARAMS, ARGS, WS_SLEEP, nullptr)
#define WS_FILE(RESULT, NAME, PARAMS, ARGS, FD) WS_WAIT(RESULT, NAME, PARAMS, ARGS, WS_IO, nullptr, FD)

// WS_TAKE wraps a function that takes a lock. Where TRY gets it at once, nothing is measured.
#define WS_TAKE(NAME, TRY, PARAMS, ARGS) \
	WS_FRONT(int, NAME, PARAMS) \
	{ \
		int r = TRY(l); \
		if (r != EBUSY) return r; \
		Wait wait(WS_LOCK, WS_HERE, l, -1, owner(l)); \
		return __real_##NAME ARGS; \
	}

typedef pthread_mutex_t mutex;
typedef pthread_rwlock_t rwlock;
typedef const struct timespec *when;
typedef struct sockaddr *addr;
typedef const struct sockaddr *caddr;

WS_TAKE(pthread_mutex_lock, pthread_mutex_trylock, (mutex * l), (l))
WS_TAKE(pthread_mutex_timedlock, pthread_mutex_trylock, (mutex * l, when t), (l, t))
WS_TAKE(pthread_mutex_clocklock, pthread_mutex_trylock, (mutex * l, clockid_t c, when t), (l, c, t))
WS_TAKE(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, (rwlock * l), (l))
WS_TAKE(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, (rwlock * l), (l))

WS_SYNC(int, pthread_cond_wait, (pthread_cond_t * c, mutex *m), (c, m), c)
WS_SYNC(int, pthread_cond_timedwait, (pthread_cond_t * c, mutex *m, when t), (c, m, t), c)
WS_SYNC(int, pthread_cond_clockwait, (pthread_cond_t * c, mutex *m, clockid_t k, when t), (c, m, k, t), c)
WS_SYNC(int, pthread_join, (pthread_t t, void **r), (t, r), nullptr)
WS_SYNC(int, pthread_barrier_wait, (pthread_barrier_t * b), (b), b)
WS_SYNC(int, sem_wait, (sem_t * s), (s), s)
WS_SYNC(int, sem_timedwait, (sem_t * s, when t), (s, t), s)
// Locks that are files.
WS_WAIT(int, flock, (int f, int how), (f, how), WS_LOCK, nullptr, f)
WS_WAIT(int, lockf, (int f, int how, off_t n), (f, how, n), WS_LOCK, nullptr, f)

WS_NAP(unsigned, sleep, (unsigned s), (s))
WS_NAP(int, usleep, (useconds_t t), (t))
WS_NAP(int, nanosleep, (when t, struct timespec *left), (t, left))
WS_NAP(int, clock_nanosleep, (clockid_t c, int how, when t, struct timespec *left), (c, how, t, left))

WS_FILE(ssize_t, read, (int f, void *p, size_t n), (f, p, n), f)
WS_FILE(ssize_t, write, (int f, const void *p, size_t n), (f, p, n), f)
WS_FILE(ssize_t, pread, (int f, void *p, size_t n, off_t o), (f, p, n, o), f)
WS_FILE(ssize_t, pwrite, (int f, const void *p, size_t n, off_t o), (f, p, n, o), f)
WS_FILE(ssize_t, readv, (int f, const struct iovec *v, int n), (f, v, n), f)
WS_FILE(ssize_t, writev, (int f, const struct iovec *v, int n), (f, v, n), f)
WS_FILE(int, fsync, (int f), (f), f)
WS_FILE(int, fdatasync, (int f), (f), f)
WS_FILE(ssize_t, recv, (int f, void *p, size_t n, int k), (f, p, n, k), f)
WS_FILE(ssize_t, recvfrom, (int f, void *p, size_t n, int k, addr a, socklen_t *l), (f, p, n, k, a, l), f)
WS_FILE(ssize_t, recvmsg, (int f, struct msghdr *m, int k), (f, m, k), f)
WS_FILE(ssize_t, send, (int f, const void *p, size_t n, int k), (f, p, n, k), f)
WS_FILE(ssize_t, sendto, (int f, const void *p, size_t n, int k, caddr a, socklen_t l), (f, p, n, k, a, l), f)
WS_FILE(ssize_t, sendmsg, (int f, const struct msghdr *m, int k), (f, m, k), f)
WS_FILE(int, accept, (int f, addr a, socklen_t *l), (f, a, l), f)
WS_FILE(int, connect, (int f, caddr a, socklen_t l), (f, a, l), f)
// Without a descriptor these are sleeps.
WS_WAIT(int, poll, (struct pollfd * p, nfds_t n, int t), (p, n, t), n ? WS_IO : WS_SLEEP, nullptr,
	n == 1 ? p->fd : -1)
WS_WAIT(int, select, (int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t), (n, r, w, e, t),
	r || w || e ? WS_IO : WS_SLEEP, nullptr)
WS_FILE(int, epoll_wait, (int f, struct epoll_event *e, int n, int t), (f, e, n, t), -1)

WS_FILE(size_t, fread, (void *p, size_t size, size_t n, FILE *f), (p, size, n, f), fileno(f))
WS_FILE(size_t, fwrite, (const void *p, size_t size, size_t n, FILE *f), (p, size, n, f), fileno(f))
WS_FILE(char *, fgets, (char *p, int n, FILE *f), (p, n, f), fileno(f))
WS_FILE(ssize_t, getline, (char **p, size_t *n, FILE *f), (p, n, f), fileno(f))
WS_FILE(int, fflush, (FILE * f), (f), f ? fileno(f) : -1)
WS_FILE(int, fclose, (FILE * f), (f), -1)

// What the C++ library does not define in its headers.
typedef std::unique_lock<std::mutex> unique;
typedef std::istream input;
typedef std::ostream output;
typedef std::streamsize count;

WS_SYNC(void, _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE,
	(std::condition_variable * c, unique &l), (c, l), c)
WS_SYNC(void, _ZNSt6thread4joinEv, (std::thread * t), (t), nullptr)
WS_FILE(input &, _ZNSi4readEPcl, (input * s, char *p, count n), (s, p, n), -1)
WS_FILE(output &, _ZNSo5writeEPKcl, (output * s, const char *p, count n), (s, p, n), -1)
WS_FILE(output &, _ZNSo5flushEv, (output * s), (s), -1)
WS_FILE(input &,
	_ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE,
	(input & s, std::string &line), (s, line), -1)
