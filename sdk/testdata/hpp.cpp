// Scenarios for sdk/hpp_test.go. The first argument chooses one. hpp2.cpp is a second source file of the
// program.
#ifdef WHOLE
#define WHYSLOW_IMPLEMENTATION
#endif
#include "whyslow.hpp"

#include <algorithm>
#include <iostream>

#include <sys/wait.h>

using myTime = std::chrono::high_resolution_clock::time_point;
static myTime now() { return std::chrono::high_resolution_clock::now(); }

void emit_elsewhere();    // in hpp2.cpp
void busy(int us);        // uses the processor

// Listings 2 and 5, as printed.
class Printer : public IEventModule {
  public:
    void registerEvents() override {
    CONNECT_EVENT(CFEvents, onCreated, [](const char* message) {
        std::cout << message << std::endl;
    });
    }
};

class ForeignBlockTimerModule : public IEventModule {
  public:
    ~ForeignBlockTimerModule() {
        for (auto &b : blocks)
            std::cout << b.first << " " << (b.second > 0 ? "took time" : "took none") << std::endl;
    }
    void registerEvents() override {
        CONNECT_EVENT(GlobalEvents, onForeignStarted, [this](const char* func, myTime startT) {
            startBlock(func, startT);
        });
        CONNECT_EVENT(GlobalEvents, onForeignEnded, [this](const char* func, myTime endT) {
            endBlock(func, endT);
        });
    }

  private:
    void startBlock(const char *func, myTime t) {
        std::lock_guard<std::mutex> guard(mutex);
        starts[func] = t;
    }
    void endBlock(const char *func, myTime t) {
        std::lock_guard<std::mutex> guard(mutex);
        blocks[func] += (t - starts[func]).count();
    }
    std::mutex mutex;
    std::map<std::string, myTime> starts;
    std::map<std::string, long long> blocks;
};

WHYSLOW_MODULE(Printer, "printer_module");
WHYSLOW_MODULE(ForeignBlockTimerModule, "my_timer_module");

enum BlockRetStatus { EXIT };

static BlockRetStatus block_1() {
    EMIT_EVENT(GlobalEvents, onForeignStarted, __func__, std::chrono::high_resolution_clock::now());
    busy(2000);
    EMIT_EVENT(GlobalEvents, onForeignEnded, __func__, std::chrono::high_resolution_clock::now());
    EMIT_EVENT(GlobalEvents, onExited, __func__,
std::chrono::high_resolution_clock::now());
    return EXIT;
}

static int listings() {
    EMIT_EVENT(CFEvents, onCreated, "CF created");
    block_1();
    emit_elsewhere();
    return 0;
}

struct Named : IEventModule { // prints what it does
    std::string id, needs;
    explicit Named(std::string i, std::string n = "") : id(std::move(i)), needs(std::move(n)) {}
    ~Named() { std::cout << "destroy " << id << std::endl; }
    void registerEvents() override {
        std::cout << "start " << id << std::endl;
        CONNECT_EVENT(My, onOrder, [this](int i) { std::cout << id << " got " << i << std::endl; });
    }
    std::vector<std::string> requires_modules() const override {
        return needs.empty() ? std::vector<std::string>() : std::vector<std::string>(1, needs);
    }
    void finish() override {
        std::cout << "finish " << id << std::endl;
        EMIT_EVENT(My, onOrder, 100);
    }
};

static int order() {
    ModulesManager::instance()->add("c_module", new Named("c"));
    ModulesManager::instance()->add("b_module", new Named("b"));
    ModulesManager::instance()->add("a_module", new Named("a", "libc_module"));
    ModulesManager::instance()->add("d_module", new Named("d", "e_module"));
    ModulesManager::instance()->add("e_module", new Named("e", "f_module"));
    ModulesManager::instance()->add("f_module", new Named("f", "d_module"));
    ModulesManager::instance()->add("g_module", new Named("g", "no_module"));
    ModulesManager::instance()->add("off_module", new Named("off"));
    EMIT_EVENT(My, onOrder, 1);
    ModulesManager::instance()->add("late_module", new Named("late"));
    EMIT_EVENT(My, onOrder, 2);
    std::cout << (ModulesManager::instance()->get_module("a_module") ? "a is there, " : "")
              << (ModulesManager::instance()->get_module("d_module") ? "d" : "d is not") << std::endl;
    for (const std::string &n : ModulesManager::instance()->names()) std::cout << n << " ";
    std::cout << std::endl;
    return 0;
}

struct Point {
    int x, y;
};

static int types() {
    CONNECT_EVENT(T, onAll,
                  [](const std::string &s, long l, unsigned char c, bool b, double d, Point p) mutable {
                      std::cout << s << " " << l << " " << int(c) << " " << b << " " << d << " " << p.x << p.y
                                << std::endl;
                  });
    char buffer[] = "array";
    const char *null = nullptr;
    EMIT_EVENT(T, onAll, buffer, 1LL, static_cast<std::uint8_t>(2), true, 0.5, Point{3, 4});
    EMIT_EVENT(T, onAll, std::string("string") + "!", -1L, static_cast<unsigned char>(3), false, 1.5,
               Point{5, 6});
    EMIT_EVENT(T, onAll, null, 0L, static_cast<unsigned char>(3), false, 1.5, Point{5, 6});
    for (int i = 0; i < 2; i++)
        EMIT_EVENT(T, onAll, "int is no long", 1, static_cast<unsigned char>(3), false, 1.5, Point{5, 6});
    EMIT_EVENT(T, onAll, "too few");
    EMIT_EVENT(T, onAll);
    try {
        CONNECT_EVENT(T, onAll, [](int) {});
    } catch (const whyslow::EventTypeError &e) {
        std::cout << e.what() << std::endl;
    }
    CONNECT_EVENT(T, onNothing, [] { std::cout << "nothing" << std::endl; });
    EMIT_EVENT(T, onNothing);
    CONNECT_EVENT(T, onTime, [](myTime) {});
    EMIT_EVENT(T, onTime, 1);
    EventsManager::instance()->strict(true);
    try {
        EMIT_EVENT(T, onNothing, std::vector<int>());
    } catch (const whyslow::EventTypeError &e) {
        std::cout << std::string(e.what()).substr(std::string(e.what()).rfind('/') + 1) << std::endl;
    }
    int evaluated = 0;
    EMIT_EVENT(Off, onNever, ++evaluated);
    for (int i = 0; i < 2; i++) {
        EMIT_EVENT(Off, onLater, ++evaluated); // the site is known before there is a handler
        if (i == 0) CONNECT_EVENT(Off, onLater, [](int) {});
    }
    std::cout << "evaluated " << evaluated << std::endl;
    EMIT_EVENT(T, onSixteen, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    return 0;
}

static int failing() {
    CONNECT_EVENT(F, onX, [](int i) { std::cout << "before " << i << std::endl; });
    CONNECT_EVENT(F, onX, [](int i) {
        if (i == 2) throw std::runtime_error("two");
        if (i == 4) throw 4;
    });
    CONNECT_EVENT(F, onX, [](int i) { std::cout << "after " << i << std::endl; });
    CONNECT_EVENT(F, onLoop, [](int i) { EMIT_EVENT(F, onLoop, i + 1); });
    for (int i = 1; i < 4; i++) EMIT_EVENT(F, onX, i);
    EMIT_EVENT(F, onLoop, 0);
    EMIT_EVENT(F, onLoop, 0);
    return 3; // run.json has it
}

// Threads emit while others connect handlers, and some threads end early.
static int threads() {
    static std::atomic<long> seen(0), late(0);
    const int n = 4, events = 2000;
    CONNECT_EVENT(M, onStep, [](int, long) { seen++; });
    std::vector<std::thread> all;
    for (int t = 0; t < n; t++) {
        all.emplace_back([t] {
            for (int i = 0; i < events; i++) {
                EMIT_EVENT(M, onStep, t, static_cast<long>(i));
                if (i % 100 == 0) {
                    std::thread([] {
                        EMIT_EVENT(GlobalEvents, onForeignStarted, "short", now());
                        EMIT_EVENT(DFEvents, onCreateSize, std::size_t(100));
                        EMIT_EVENT(GlobalEvents, onForeignEnded, "short", now());
                        EMIT_EVENT(DFEvents, onDestroySize, std::size_t(100));
                    }).join();
                }
            }
        });
    }
    all.emplace_back([] {
        for (int i = 0; i < 50; i++) {
            CONNECT_EVENT(M, onStep, [](int, long) { late++; });
            std::this_thread::yield();
        }
        CONNECT_EVENT(M, onStep, [](int, long) { throw 1; });
    });
    for (std::thread &t : all) t.join();
    EMIT_EVENT(M, onStep, 0, 0L);
    std::cout << seen << " " << (late >= 50) << std::endl;
    return 0;
}

static int forking() {
    EMIT_EVENT(Fork, onX, 1);
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 100; i++) EMIT_EVENT(Fork, onX, 2);
        std::exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    EMIT_EVENT(Fork, onX, 3);
    std::cout << status << std::endl;
    return 0;
}

// The main thread starts work for a worker, which sleeps meanwhile.
static int starve() {
    EMIT_EVENT(CFEvents, onCreated, "never started");
    std::thread worker([] {
        for (int i = 0; i < 4; i++) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            busy(10000);
            EMIT_EVENT(CFEvents, onStarted, "task");
            block_1();
            EMIT_EVENT(CFEvents, onFinished, "task");
        }
    });
    worker.join();
    EMIT_EVENT(DFEvents, onCreate, "result", 10);
    EMIT_EVENT(DFEvents, onCreateSize, 10);
    EMIT_EVENT(DFEvents, onDestroy, "result", 10);
    EMIT_EVENT(SyncEvents, onWaitStarted, "lock");
    EMIT_EVENT(SyncEvents, onWaitEnded, "lock");
    EMIT_EVENT(GlobalEvents, onReadyQueue, 7u);
    EMIT_EVENT(GlobalEvents, onReadyQueue, 0);
    EMIT_EVENT(GlobalEvents, onIdle);
    EMIT_EVENT(GlobalEvents, onBusy);
    EMIT_EVENT(My, onStep, 1, 2u, 0.5, true, "text", std::chrono::milliseconds(3), Point{1, 2});
    EMIT_EVENT(My, onStep, "other types");
    return 0;
}

// The nanoseconds that the fastest of some rounds takes.
template <class F> static double fastest(int n, F f) {
    double best = 1e9;
    for (int round = 0; round < 20; round++) {
        const myTime a = now();
        for (int i = 0; i < n; i++) f(i);
        best = std::min(best, std::chrono::duration<double, std::nano>(now() - a).count() / n);
    }
    return best;
}

static int bench() {
    const myTime t = now();
    std::cout << "off " << fastest(1000000, [](int i) {
        EMIT_EVENT(Off, onNever, i);
        __asm__ __volatile__("" ::: "memory");
    }) << ", on " << fastest(20000, [](int i) { EMIT_EVENT(On, onStep, i); })
              << ", function " << fastest(10000, [t](int) {
        EMIT_EVENT(GlobalEvents, onForeignStarted, __func__, t);
        EMIT_EVENT(GlobalEvents, onForeignEnded, __func__, t);
    }) << ", DF " << fastest(20000, [](int) {
        EMIT_EVENT(DFEvents, onCreateSize, 800);
        EMIT_EVENT(DFEvents, onDestroySize, 800);
    }) << " ns" << std::endl;
    return 0;
}

#ifdef WHOLE
// Reads any files as either configuration.
static int configs(int n, char **files) {
    for (int i = 0; i < n; i++) {
        whyslow::detail::Config c;
        c.read_events(files[i]);
        whyslow::detail::Config d;
        d.read_modules(files[i]);
        std::cout << c.ok << d.ok << c.active("CFEvents::onCreated") << d.on("logger_module", false)
                  << std::endl;
    }
    return 0;
}
#endif

int main(int argc, char **argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "listings") return listings();
    if (what == "order") return order();
    if (what == "types") return types();
    if (what == "failing") return failing();
    if (what == "threads") return threads();
    if (what == "forking") return forking();
    if (what == "starve") return starve();
    if (what == "bench") return bench();
    if (what == "init") return whyslow::init(argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : "") ? 0 : 1;
#ifdef WHOLE
    if (what == "configs") return configs(argc - 2, argv + 2);
#endif
    return 2;
}
