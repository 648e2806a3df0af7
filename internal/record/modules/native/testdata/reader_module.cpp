// A module in C++ that queries other modules, and receives events through typed handlers.
#include "whyslow_module.hpp"

#include <atomic>
#include <cstdlib>

namespace {

struct PlainApi { // as in plain_module.c
    long (*handled)(const void *self);
    const void *self;
};

class Reader : public whyslow::Module {
    std::atomic<long> calls_{0};
    std::atomic<int64_t> busy_{0};
    whyslow::Time last_;
    whyslow::Peer plain_, state_, nobody_;
    std::string mode_;
    const wsm_spec *seen_;

public:
    ~Reader() override { print("destroyed\n"); }

private:
    void registerEvents() override {
        mode_ = text("mode");
        plain_ = get_module("plain_module");
        state_ = get_module("test_state_module");
        nobody_ = get_module("nobody");
        seen_ = define("ReaderEvents.onSeen(what:Name node:Node share:Float cfs:DFs)");
        if (mode_ == "throw at start") throw std::runtime_error("no luck");
        if (mode_ == "too many fields")
            CONNECT_EVENT(GlobalEvents, onForeignStarted, [](const char *, int, int) {});
        if (mode_ == "bad name") connect("nonsense", [](const whyslow::Event &) {});
        CONNECT_EVENT(GlobalEvents, onForeignStarted, [this](const char *func, whyslow::Time start) {
            last_ = start;
            print(std::string("start ") + func + "\n");
        });
        CONNECT_EVENT(GlobalEvents, onForeignEnded, [this](const std::string &func, whyslow::Time end) {
            print("end " + func + " " +
                  std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(end - last_).count()) +
                  "\n");
        });
        CONNECT_EVENT(CFEvents, onStarted, [this](const whyslow::Event &e, uint64_t cf, int execution,
                                                  whyslow::List inputs) {
            calls_++;
            uint64_t sum = 0;
            for (uint64_t df : inputs) sum += df;
            if (mode_ == "throw") throw std::runtime_error("went wrong");
            if (mode_ == "throw int") throw 5;
            if (mode_ == "no such field") e.integer("weight");
            if (mode_ == "crash") std::abort();
            if (mode_ == "bad emit") e.emit(seen_, 1, 2, 3, 4);
            if (mode_ == "short emit") e.emit(seen_, "x");
            if (mode_ == "emit")
                e.emit(seen_, std::string("cf ") + std::to_string(wsm_cf_number(cf)), e.node(),
                       execution * 0.5, inputs);
            busy_ += static_cast<int64_t>(sum);
        });
        connect("CFEvents.onCreated",
                [](const whyslow::Event &e, uint64_t, uint64_t, uint64_t, uint64_t, float weight) {
                    if (e.real("weight") != weight || e.word(static_cast<uint32_t>(3)) != 1)
                        throw std::runtime_error("fields are wrong");
                });
        connect("SumEvents.*", [this](const char *of, unsigned sum, double half, whyslow::List both) {
            char line[128];
            std::snprintf(line, sizeof line, "sum of %s: %u %g, %zu %d\n", of, sum, half, both.size(),
                          static_cast<int>(both[1]));
            print(line);
        });
    }
    void finish() override {
        double handled = -1, ready = -1, weight = -1, x = -1;
        plain_.query("handled", 1, handled);
        bool known = plain_.query("nonsense", 0, x) || nobody_.query("x", 0, x);
        state_.query("ready", 1, ready);
        state_.query("Weight", 1, weight);
        const PlainApi *api = plain_.api<PlainApi>();
        char line[200];
        std::snprintf(line, sizeof line, "%ld calls, %lld; plain: %g %ld, state: %g %g; %d %d\n",
                      calls_.load(), static_cast<long long>(busy_.load()), handled,
                      api ? api->handled(api->self) : -1, ready, weight, known, static_cast<bool>(nobody_));
        print(line);
        if (mode_ == "throw at end") throw std::runtime_error("too late");
    }
    bool query(const std::string &what, int, double &value) override {
        if (what == "throw") throw std::runtime_error("do not ask");
        value = static_cast<double>(calls_);
        return what == "calls";
    }
};

} // namespace

WHYSLOW_MODULE(Reader, "reader_module", "reads others",
               whyslow::Info()
                   .uses("plain_module")
                   .param("file", "", "output")
                   .param("mode", "", "what it does wrong")
                   .param("tiny", 1e-9, "a small number"))
