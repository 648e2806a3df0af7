// A module in C++. It counts events by kind and node, tells other modules whenever a worker reaches a round
// number of one kind, and writes a table at the end. From the root of the repository:
//
//     make -C examples/module
//     whyslow run --modules examples/module/modules_settings.json examples/mxm/mxm.fa 4 50
//
// sdk/whyslow_module.hpp and sdk/whyslow_module.h say what a module can do.

#include "whyslow_module.hpp"

#include <map>
#include <mutex>

namespace {

class EventCounter : public whyslow::IEventModule {
    // Handlers run on all workers at once. Each worker has its own part (unless there are more workers than
    // parts), so the part's lock is nearly always free.
    struct Part {
        std::mutex lock;
        std::map<std::pair<const wsm_spec *, int>, uint64_t> count; // by kind and node
    };
    enum { parts = 64 };
    Part part_[parts];
    const wsm_spec *on_count_;
    uint64_t every_;

    Part &part(const whyslow::Event &e) {
        return part_[(static_cast<unsigned>(e.node()) * 31 + static_cast<unsigned>(e.stream())) % parts];
    }

    void registerEvents() override {
        if (integer("every") < 1) throw std::invalid_argument("parameter every is to be 1 or more");
        every_ = static_cast<uint64_t>(integer("every"));
        on_count_ = define("CounterEvents.onCount(kind:Name count:Uint)");
        for (const std::string &pattern : texts("events"))
            connect(pattern.c_str(), [this](const whyslow::Event &e) { count(e); });
    }

    void count(const whyslow::Event &e) {
        if (e.spec() == on_count_) return; // one's own
        uint64_t n;
        Part &p = part(e);
        {
            std::lock_guard<std::mutex> hold(p.lock);
            n = ++p.count[{e.spec(), e.node()}];
        }
        if (n % every_ == 0) e.emit(on_count_, std::string(e.ns()) + "." + e.name(), n);
    }

    // By name of kind and node, over all workers.
    std::map<std::pair<std::string, int>, uint64_t> sum() {
        std::map<std::pair<std::string, int>, uint64_t> all;
        for (Part &p : part_) {
            std::lock_guard<std::mutex> hold(p.lock);
            for (const auto &c : p.count) all[{std::string(c.first.first->ns) + "." + c.first.first->name,
                c.first.second}] += c.second;
        }
        return all;
    }

    void finish() override {
        char line[128];
        for (const auto &c : sum()) {
            std::snprintf(line, sizeof line, "%-32s node %-4d %10llu\n", c.first.first.c_str(),
                c.first.second, static_cast<unsigned long long>(c.second));
            print(line);
        }
    }

    // Other modules may ask for the number of events of a kind, or "total".
    bool query(const std::string &what, int node, double &value) override {
        value = 0;
        for (const auto &c : sum())
            if (c.first.second == node && (what == "total" ||
                what == c.first.first)) value += static_cast<double>(c.second);
        return what == "total" || value > 0;
    }
};

} // namespace

WHYSLOW_MODULE(EventCounter, "event_counter_module", "counts events by kind and node",
               whyslow::Info()
                   .events("*")
                   .emits("CounterEvents.onCount(kind:Name count:Uint)")
                   .output("a line for each kind and node, at the end")
                   .cost("about 100 ns an event")
                   .param("file", "", "where the table goes; empty: the terminal")
                   .param("every", 1000, "CounterEvents.onCount is emitted at each multiple of this number")
                   .param("events", std::vector<std::string>{"CFEvents.*", "DFEvents.*"},
                       "what is counted; * stands for any text"))
