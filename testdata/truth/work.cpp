// Code fragments of the programs beside this file. They compute: the same for the same number, however it is
// divided among CFs.
#include "ucenv.h"
#include <condition_variable>
#include <mutex>
#include <thread>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned long long spin(int us)
{
    unsigned long long x = us;
    for (long i = 0; i < 850L * us; i++) x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    return x;
}

static volatile unsigned long long sink;

// Both save and load take it.
static std::mutex table_mutex;

// A CF of await waits for one of signal.
static std::mutex signals_mutex;
static std::condition_variable signals;
static int signalled;

extern "C" {

void c_put(OutputDF &c, int v) { c.setValue(v); }
void c_work(int us) { sink = spin(us); }
// It computes on a core. Its thread may serve another node next, so it gives the core up.
void c_work_on(int core, int us)
{
    cpu_set_t before, one;
    sched_getaffinity(0, sizeof before, &before);
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
    sink = spin(us);
    sched_setaffinity(0, sizeof before, &before);
}
void c_step(OutputDF &c, int before, int us) { sink = spin(us); c.setValue(before + 1); }
void c_mix(OutputDF &c, int a, int b, int us) { sink = spin(us); c.setValue((a + b) % 1000); }
void c_make(OutputDF &c, int bytes, int us) { sink = spin(us); c.create<char>(bytes)[0] = 1; }
void c_grow(OutputDF &c, const InputDF &, int bytes, int us) { c_make(c, bytes, us); }
void c_eat(const InputDF &, int us) { sink = spin(us); }

// What follows waits for so many microseconds: however busy the machine is, the wait stays the reason.
void c_nap(int us)
{
    if (us > 0) usleep(us);
    sink = 0;
}

// Nobody ever sends anything.
void c_receive(int us)
{
    int ends[2];
    timeval limit = {us / 1000000, us % 1000000};
    char c;
    if (us <= 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sink = read(ends[0], &c, 1);
    close(ends[0]);
    close(ends[1]);
}

// It calls no function of which whyslow takes note.
void c_unseen(int us)
{
    timespec t = {us / 1000000, us % 1000000 * 1000L};
    if (us > 0) syscall(SYS_nanosleep, &t, nullptr);
}

// It makes a file and reads some pages of it from the disk so many times.
void c_pages(int times)
{
    const size_t size = 4 << 20;
    char path[] = "/var/tmp/whyslow-truth-XXXXXX";
    int f = mkstemp(path);
    if (f < 0) return;
    unlink(path);
    char *zero = static_cast<char *>(calloc(1, size));
    if (write(f, zero, size) == ssize_t(size) && fsync(f) == 0)
        for (int i = 0; i < times; i++) {
            posix_fadvise(f, 0, 0, POSIX_FADV_DONTNEED);
            char *p = static_cast<char *>(mmap(nullptr, size, PROT_READ, MAP_SHARED, f, 0));
            if (p == MAP_FAILED) break;
            madvise(p, size, MADV_RANDOM);
            for (size_t k = 0; k < size; k += 1 << 16) sink = sink + p[k];
            munmap(p, size);
        }
    free(zero);
    close(f);
}

void c_save(int us)
{
    std::lock_guard<std::mutex> hold(table_mutex);
    c_nap(us);
}

void c_load(int us)
{
    std::lock_guard<std::mutex> hold(table_mutex);
    c_nap(us);
}

void c_signal(int us, int times)
{
    c_nap(us);
    std::lock_guard<std::mutex> hold(signals_mutex);
    signalled += times;
    signals.notify_all();
}

// It gives up after a second: all workers may be here.
void c_await(int)
{
    std::unique_lock<std::mutex> hold(signals_mutex);
    signals.wait_for(hold, std::chrono::seconds(1), [] { return signalled > 0; });
    signalled--;
}

void c_thread(int us)
{
    std::thread helper([us] { c_nap(us); });
    helper.join();
    sink = 0;
}

}
