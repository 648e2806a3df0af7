#include "rts.hpp"

#include <condition_variable>
#include <deque>
#include <thread>

namespace {
std::mutex lock;
std::condition_variable changed;
std::deque<CF *> queue; // CFs that can go on
int alive;              // CFs that have not ended

// execute runs a CF until it ends or has to wait. A waiting CF belongs to whoever produces the DF.
void execute(CF *cf) {
    for (;;) {
        BlockRetStatus status = cf->next(*cf);
        if (status == CONTINUE) continue;
        if (status == WAIT) return;
        break;
    }
    delete cf;
    std::lock_guard<std::mutex> guard(lock);
    if (--alive == 0) changed.notify_all();
}

void work() {
    for (;;) {
        CF *cf;
        {
            std::unique_lock<std::mutex> guard(lock);
            changed.wait(guard, [] { return !queue.empty() || alive == 0; });
            if (queue.empty()) return;
            cf = queue.front();
            queue.pop_front();
        }
        execute(cf);
    }
}
} // namespace

double *DF::create(std::size_t count) {
    value.resize(count);
    EMIT_EVENT(DFEvents, onCreateSize, count * sizeof(double));
    return value.data();
}

void DF::release() {
    if (value.empty()) return;
    EMIT_EVENT(DFEvents, onDestroySize, value.size() * sizeof(double));
    std::vector<double>().swap(value);
}

bool CF::have(DF &df) {
    std::lock_guard<std::mutex> guard(df.lock);
    if (!df.ready) df.waiting.push_back(this);
    return df.ready;
}

void CF::post(DF &df) {
    std::vector<CF *> go;
    {
        std::lock_guard<std::mutex> guard(df.lock);
        df.ready = true;
        go.swap(df.waiting);
    }
    for (CF *cf : go) Rts::ready(cf);
}

void CF::done(DF &df) {
    std::lock_guard<std::mutex> guard(df.lock);
    if (--df.uses == 0) df.release();
}

void Rts::submit(const CF &cf) {
    {
        std::lock_guard<std::mutex> guard(lock);
        alive++;
    }
    ready(new CF(cf));
}

void Rts::ready(CF *cf) {
    std::lock_guard<std::mutex> guard(lock);
    queue.push_back(cf);
    changed.notify_one();
}

void Rts::run(int threads) {
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++) pool.emplace_back(work);
    for (std::thread &t : pool) t.join();
}
