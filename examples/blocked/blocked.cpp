#include <chrono>
#include <mutex>
#include <thread>
#include <unistd.h>

// All CFs of locked() add to it, one at a time.
static std::mutex counter_mutex;
static long counter;
static volatile long sink;

static void work()
{
    for (int i = 0; i < 200000; i++)
        sink = sink + i;
}

extern "C" void nap(int)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    sink = 0;
}

// Whoever holds the lock sleeps, so that others come and wait for it.
extern "C" void locked(int i)
{
    std::lock_guard<std::mutex> hold(counter_mutex);
    counter += i;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

extern "C" void slow_read(int)
{
    int ends[2];
    if (pipe(ends) != 0)
        return;
    std::thread writer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        if (write(ends[1], "x", 1) != 1)
            return;
    });
    char c;
    if (read(ends[0], &c, 1) != 1)
        sink = 0;
    writer.join();
    close(ends[0]);
    close(ends[1]);
}

extern "C" void compute(int) { work(); }
