// A consumer waits for a producer, three times, as programs in C++ do. It prints how long, in nanoseconds.

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <queue>
#include <thread>

using steady = std::chrono::steady_clock;

static std::mutex guard;
static std::condition_variable filled;
static std::queue<int> values;

static void spin(int ms) {
    auto end = steady::now() + std::chrono::milliseconds(ms);
    while (steady::now() < end) {
    }
}

static void produce(int n) {
    for (int i = 0; i < n; i++) {
        spin(30);
        {
            std::lock_guard<std::mutex> lock(guard);
            values.push(i);
        }
        filled.notify_one();
    }
}

int main() {
    long long waited = 0;
    int sum = 0;
    std::thread producer(produce, 3);
    std::thread consumer([&] {
        for (int i = 0; i < 3; i++) {
            std::unique_lock<std::mutex> lock(guard);
            auto since = steady::now();
            filled.wait(lock, [] { return !values.empty(); });
            waited += std::chrono::duration_cast<std::chrono::nanoseconds>(steady::now() - since).count();
            sum += values.front();
            values.pop();
        }
    });
    producer.join();
    consumer.join();
    std::printf("%lld %d\n", waited, sum);
    return 0;
}
