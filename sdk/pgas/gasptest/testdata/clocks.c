/* clocks.c: UPC threads that are processes, on hosts that differ by name, by what Linux calls a running
 * system, and by clock. Arguments: the number of processes, the number of UPC threads in each, what they do,
 * and the number of hosts (default: one for each process). "one name": all hosts have the same; "own names":
 * each process has one; "own time": each process is in a container with a time of its own. The clock
 * of process p is p * 30 ms ahead when the right clock shows CLOCKS_BEGIN ns; it gains p * 40 us a second.
 */
#include "hooks.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 8, MOST = 8 };
static struct shared {
    int64_t slots[MOST][SLOTS];
    int64_t begun;
    int arrived;
} *all;
static int process, per, hosts = 1;
static const char *mode;
static __thread int barriers;

static int is(const char *m) { return !strcmp(mode, m); }

/* These three replace the C library's functions. */
int clock_gettime(clockid_t id, struct timespec *t) {
    int result = (int)syscall(SYS_clock_gettime, id, t);
    if (id != CLOCK_MONOTONIC || result || !all) return result;
    int64_t now = t->tv_sec * (int64_t)1000000000 + t->tv_nsec;
    now += process * (30000000 + (now - all->begun) * 40 / 1000000);
    t->tv_sec = now / 1000000000, t->tv_nsec = now % 1000000000;
    return 0;
}

static int host(void) { return hosts > 1 ? process / (threads / per / hosts) : 0; }

int uname(struct utsname *u) {
    memset(u, 0, sizeof *u);
    int number = is("one name") ? 0 : is("own names") ? process : host();
    snprintf(u->nodename, sizeof u->nodename, "host%d", number);
    return 0;
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int access = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    int system = all && !strcmp(path, "/proc/sys/kernel/random/boot_id");
    int ahead = all && !strcmp(path, "/proc/self/timens_offsets");
    if (!system && !ahead) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, access);
    int fd = (int)syscall(SYS_memfd_create, "pretended", 0);
    dprintf(fd, "%d\n", system ? host() : is("own time") ? process : 0);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

#ifndef NO_TALK
void whyslow_upc_put(int thread, int slot, int64_t value) {
    static __thread int said;
    if (!strcmp(mode, "mute") && me == 1 && said++) return;
    __atomic_store_n(&all->slots[thread][slot], value, __ATOMIC_SEQ_CST);
}

int64_t whyslow_upc_get(int thread, int slot) {
    return __atomic_load_n(&all->slots[thread][slot], __ATOMIC_SEQ_CST);
}
#endif

static void meet(void) { /* a meeting that no tool is told about */
    int least = ++barriers * threads;
    for (__atomic_fetch_add(&all->arrived, 1, __ATOMIC_SEQ_CST);
         __atomic_load_n(&all->arrived, __ATOMIC_SEQ_CST) < least;)
        usleep(100);
}

static void tell(gasp_context_t g, int tag, int type) {
    gasp_event_notify(g, (unsigned)tag, type, "clocks.upc", barriers, 0, 0, 0);
}

static void barrier(gasp_context_t g, int told) {
    if (told) {
        tell(g, GASP_BUPC_NOTIFY, GASP_START), tell(g, GASP_BUPC_NOTIFY, GASP_END);
        tell(g, GASP_BUPC_WAIT, GASP_START);
    }
    meet();
    if (told) tell(g, GASP_BUPC_WAIT, GASP_END);
}

static void *upc_thread(void *arg) {
    me = process * per + (int)(intptr_t)arg;
    gasp_context_t g = gasp_init(GASP_MODEL_UPC, NULL, NULL);
    if (is("switched") && me == 1) gasp_control(g, 0);
    if (!is("none")) {
        barrier(g, !(is("odd") && me == 1)); /* odd: there the barrier is not instrumented */
        if (is("odd") && me == 1) usleep(300000);
        for (int i = 0; i < 20; i++) {
            if (me == i % threads) usleep(2000);
            barrier(g, 1);
        }
    }
    if (is("one by one")) usleep(100000 * (unsigned)me);
    tell(g, GASP_BUPC_COLLECTIVE_EXIT, GASP_START);
    if (!is("one by one")) meet();
    tell(g, GASP_BUPC_COLLECTIVE_EXIT, GASP_END);
    return NULL;
}

int main(int argc, char **argv) {
    int processes = atoi(argv[1]), status = 0;
    per = atoi(argv[2]), mode = argc > 3 ? argv[3] : "";
    threads = processes * per, per_process = per;
    hosts = argc > 4 ? atoi(argv[4]) : processes;
    if (threads > MOST) return 2;
    const int access = PROT_READ | PROT_WRITE;
    struct shared *memory = mmap(NULL, sizeof *all, access, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 2;
    memory->begun = atoll(getenv("CLOCKS_BEGIN"));
    for (int p = 0; p < processes; p++) {
        if (fork()) continue;
        process = p, all = memory;
        if (is("off") && p == 1) setenv("WHYSLOW_OFF", "1", 1);
        if (is("off 0") && p == 0) setenv("WHYSLOW_OFF", "1", 1);
        pthread_t ids[MOST];
        for (int i = 1; i < per; i++) pthread_create(&ids[i], NULL, upc_thread, (void *)(intptr_t)i);
        upc_thread(NULL);
        for (int i = 1; i < per; i++) pthread_join(ids[i], NULL);
        exit(0);
    }
    for (int p = 0, s; p < processes; p++)
        if (wait(&s) < 0 || s) status = 1;
    return status;
}
