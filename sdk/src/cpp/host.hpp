
// ---- Events and modules of the program -----------------------------------------------------------
//
// One recursive lock guards all lists: modules connect, add modules and emit while they are being started
// under it. It is not held while handlers or finish run.

namespace whyslow {
namespace detail {

static int64_t monotonic_ns() {
    struct timespec t;
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}
static const int64_t process_start = monotonic_ns(); // when the program was loaded

static std::unique_ptr<IEventModule> make_trace_writer();

struct Running {
    std::string name;
    std::unique_ptr<IEventModule> module;
    bool unasked; // added by the program
    enum { Waiting, On } state;
    uint64_t started; // its place in the order of starts
};

class Host final : public EventsManager, public ModulesManager {
  public:
    Core core;
    int exit_status = 0;
    bool all_quiet = true; // no thread was still in a handler at the end

    Host() {
        core.events = this, core.modules = this;
        offers_["logger_module"] = &make_module<LoggerModule>;
        offers_["cf_events_module"] = &make_module<CFEventsModule>;
        offers_["df_events_module"] = &make_module<DFEventsModule>;
        offers_["global_events_module"] = &make_module<GlobalEventsModule>;
        offers_["cf_counter_events_module"] = &make_module<CFCounterModule>;
        offers_["df_sizer_events_module"] = &make_module<DFSizerModule>;
        offers_["perfetto_module"] = &make_module<PerfettoModule>;
        offers_["foreign_block_timer_module"] = &make_module<ForeignBlockTimerModule>;
        offers_["trace_writer_module"] = &make_trace_writer;
    }

    // Events.

    bool active(const std::string &space, const std::string &name) override {
        Guard guard(lock_);
        start("", "");
        return config_.active(space + "::" + name);
    }

    void add(const std::string &space, const std::string &name, Handler *handler) override {
        Guard guard(lock_);
        std::unique_ptr<Handler> h(handler);
        if (state_ == New) start("", "");
        Event &e = event(space, name);
        const HandlerList *old = e.list.load();
        fill(*h);
        if (old && old->types && h->types && !old->types->same(*h->types))
            throw EventTypeError("event " + e.key() + ": " + h->owner_name + " connects a handler of " +
                                 h->types->describe() + ", but the event has been " + old->types->describe() +
                                 " since " + first_typed(*old) + " connected one");
        insert(e, h.release());
    }

    void connect_matching(const std::vector<std::string> &patterns,
                          std::function<void(const Event &, const Value *, std::size_t)> f) override {
        Guard guard(lock_);
        if (state_ == New) start("", "");
        Matcher m = {patterns, std::move(f), registering_};
        for (std::string &p : m.patterns) {
            const std::string key = event_key(p);
            if (!key.empty()) p = key;
        }
        matchers_.push_back(m);
        for (const std::pair<const std::string, std::unique_ptr<Event>> &e : events_) apply(m, *e.second);
    }

    void strict(bool on) override { strict_ = on; }

    Event *resolve(CallSite &site) override {
        Guard guard(lock_);
        if (site.event.load() != CallSite::unknown) return reinterpret_cast<Event *>(site.event.load());
        start("", "");
        Event &e = event(site.space, site.name);
        site.next = e.sites;
        e.sites = &site;
        site.event.store(wanted(e), std::memory_order_release);
        return reinterpret_cast<Event *>(wanted(e));
    }

    ThreadState *thread() override;

    void wrong_types(CallSite &site, Event &e, const Signature &is) override {
        Guard guard(lock_);
        const HandlerList *list = e.list.load();
        const std::string what = std::string(site.file) + ":" + std::to_string(site.line) + ": event " +
                                 e.key() + " is emitted with " + is.describe() + ", but its handlers take " +
                                 (list && list->types ? list->types->describe() : "others");
        if (strict_) throw EventTypeError(what);
        if (site.bad.exchange(true)) return;
        site.event.store(0, std::memory_order_release);
        say(what + "; nothing is emitted from here");
    }

    void failed(Event &e, Handler &h, const char *what) override {
        if (h.dead.exchange(true)) return;
        say("event " + e.key() + ": a handler of " + h.owner_name + " failed: " + what +
            "; it is disconnected");
        Guard guard(lock_);
        remove(e, [&h](const Handler *x) { return x == &h; });
    }

    void too_deep(CallSite &site) override {
        if (!site.bad.exchange(true))
            say(std::string(site.file) + ":" + std::to_string(site.line) + ": event " + site.space +
                "::" + site.name + " causes itself through its handlers; nothing is emitted from here");
        site.event.store(0, std::memory_order_release);
    }

    // Modules.

    IEventModule *get_module(const std::string &name) override {
        Guard guard(lock_);
        start("", "");
        Running *r = find(Config::module_name(name));
        return r && r->state != Running::Waiting ? r->module.get() : nullptr;
    }

    using ModulesManager::add;
    bool add(const std::string &name, std::unique_ptr<IEventModule> module) override {
        Guard guard(lock_);
        const std::string n = Config::module_name(name);
        if (state_ >= Ending || find(n) || !module) {
            say("module \"" + n + "\" is not added: " +
                (!module   ? "there is none"
                 : find(n) ? "there is one of this name"
                           : "the program has ended"));
            return false;
        }
        modules_.push_back(Running{n, std::move(module), true, Running::Waiting, 0});
        if (state_ != Started) return true;
        start_modules();
        return find(n) != nullptr;
    }

    void offer(const std::string &name, std::unique_ptr<IEventModule> (*make)()) override {
        Guard guard(lock_);
        const std::string n = Config::module_name(name);
        offers_[n] = make;
        if (state_ == Started && config_.modules.count(n) && config_.on(n, false) && !find(n)) {
            modules_.push_back(Running{n, make(), false, Running::Waiting, 0});
            start_modules();
        }
    }

    std::vector<std::string> names() override {
        Guard guard(lock_);
        std::map<uint64_t, std::string> started;
        for (const Running &r : modules_)
            if (r.state != Running::Waiting) started[r.started] = r.name;
        std::vector<std::string> out;
        for (const std::pair<const uint64_t, std::string> &r : started) out.push_back(r.second);
        return out;
    }

    // start reads the configuration and starts the modules, at the first call only.
    bool start(const std::string &events, const std::string &settings);
    // end finishes the modules.
    void end();

    void fork(int side) { // 0 before, 1 in the parent, 2 in the child, which is not profiled
        if (side == 0) return lock_.lock();
        if (side == 1) return lock_.unlock();
        new (&lock_) std::recursive_mutex;
        if (state_ == New) return;
        state_ = Ended;
        for (const std::pair<const std::string, std::unique_ptr<Event>> &e : events_) update(*e.second);
    }

    struct Ender { // notices when its thread ends
        ThreadState *state = nullptr;
        ~Ender() {
            if (!state) return;
            thread_slot() = nullptr;
            mine() = nullptr;
            state->ended.store(true, std::memory_order_release);
        }
    };
    static ThreadState *&mine() {
        static thread_local ThreadState *m = nullptr;
        return m;
    }

  private:
    typedef std::lock_guard<std::recursive_mutex> Guard;
    struct Matcher {
        std::vector<std::string> patterns;
        std::function<void(const Event &, const Value *, std::size_t)> f;
        IEventModule *owner;
    };

    std::uintptr_t wanted(const Event &e) const {
        const HandlerList *list = e.list.load();
        return e.enabled && list && !list->handlers.empty() && state_ != Ended
                   ? reinterpret_cast<std::uintptr_t>(&e)
                   : 0;
    }

    void update(Event &e) {
        for (CallSite *s = e.sites; s; s = s->next)
            if (!s->bad.load()) s->event.store(wanted(e), std::memory_order_release);
    }

    Event &event(const std::string &space, const std::string &name) {
        std::unique_ptr<Event> &e = events_[space + "::" + name];
        if (e) return *e;
        e.reset(new Event(space, name));
        Event &fresh = *e;
        fresh.enabled = config_.active(fresh.key());
        for (const Matcher &m : matchers_) apply(m, fresh);
        return fresh;
    }

    void fill(Handler &h, IEventModule *owner = nullptr) {
        h.owner = owner ? owner : registering_;
        h.owner_name = h.owner ? "module " + h.owner->name() : "the program";
        if (h.owner) h.priority = h.owner->priority();
        h.order = ++order_;
    }

    void apply(const Matcher &m, Event &e) {
        for (const std::string &p : m.patterns) {
            if (!matches(p.c_str(), e.key().c_str())) continue;
            GenericHandler *h = new GenericHandler(m.f);
            fill(*h, m.owner);
            return insert(e, h);
        }
    }

    static std::string first_typed(const HandlerList &list) {
        const Handler *first = nullptr;
        for (const Handler *h : list.handlers)
            if (h->types && (!first || h->order < first->order)) first = h;
        return first ? first->owner_name : "a handler";
    }

    void replace(Event &e, std::vector<Handler *> handlers, const Signature *types) {
        HandlerList *list = new HandlerList{std::move(handlers), types, false};
        for (const Handler *h : list->handlers) list->generic = list->generic || !h->types;
        lists_.emplace_back(list);
        e.list.store(list, std::memory_order_release);
        update(e);
    }

    void insert(Event &e, Handler *h) {
        handlers_.emplace_back(h);
        const HandlerList *old = e.list.load();
        std::vector<Handler *> all = old ? old->handlers : std::vector<Handler *>();
        std::size_t i = all.size();
        while (i > 0 && all[i - 1]->priority > h->priority) i--;
        all.insert(all.begin() + static_cast<std::ptrdiff_t>(i), h);
        replace(e, std::move(all), old && old->types ? old->types : h->types);
    }

    template <class P> void remove(Event &e, P gone) {
        const HandlerList *old = e.list.load();
        if (!old) return;
        std::vector<Handler *> rest;
        for (Handler *h : old->handlers) {
            if (gone(h)) h->dead.store(true, std::memory_order_release);
            else rest.push_back(h);
        }
        if (rest.size() != old->handlers.size()) replace(e, std::move(rest), old->types);
    }

    void disconnect(const IEventModule *owner) {
        for (std::size_t i = matchers_.size(); i > 0; i--)
            if (matchers_[i - 1].owner == owner)
                matchers_.erase(matchers_.begin() + static_cast<std::ptrdiff_t>(i - 1));
        for (const std::pair<const std::string, std::unique_ptr<Event>> &e : events_)
            remove(*e.second, [owner](const Handler *h) { return h->owner == owner; });
    }

    Running *find(const std::string &name) {
        for (Running &r : modules_)
            if (r.name == name) return &r;
        return nullptr;
    }

    void start_modules();
    void start_module(const std::string &name);
    static void unasked(const IEventModule &m);
    void drop(const std::string &name, const std::string &why);
    bool requirements(const Running &r, bool *ready);
    std::unique_ptr<IEventModule> load(const std::string &name, const std::string &library,
                                       std::string *error);
    bool quiet();
    void unload();

    std::recursive_mutex lock_;
    enum { New, Starting, Started, Ending, Ended } state_ = New;
    bool ok_ = true;
    std::atomic<bool> strict_{false};
    Config config_;
    std::map<std::string, std::unique_ptr<Event>> events_;
    std::vector<std::unique_ptr<HandlerList>> lists_; // all there have ever been
    std::vector<std::unique_ptr<Handler>> handlers_;  // likewise
    std::vector<Matcher> matchers_;
    std::map<std::string, std::unique_ptr<IEventModule> (*)()> offers_;
    std::vector<Running> modules_;
    std::vector<std::unique_ptr<IEventModule>> failed_;
    std::vector<void *> libraries_; // that were loaded
    IEventModule *registering_ = nullptr;
    uint64_t order_ = 0;
    pid_t pid_ = 0;
    std::atomic<ThreadState *> threads_{nullptr};
    std::size_t thread_count_ = 0;
};

// The one Host is never destroyed: threads may emit until the process is gone.
static Host &host() {
    static Host *h = new Host;
    return *h;
}

} // namespace detail
} // namespace whyslow

extern "C" whyslow::detail::Core *whyslow_core(void) { return &whyslow::detail::host().core; }
