
// ---- In the C++ code of LuNA programs --------------------------------------------------------------

// `whyslow run` compiles the program's C++ code with WHYSLOW_LUNA. Configuration, modules and trace are then
// those of the run: an emission goes there, with the worker and the time. There is no second trace. Handlers
// that this code connects itself see the emissions of this code only.
#if defined(WHYSLOW_LUNA)

extern "C" {
// whyslow_luna_event returns what whyslow_luna_emit takes; types has a letter for each argument.
void *whyslow_luna_event(const char *space, const char *name, const char *types);
// whyslow_luna_emit has a word for each argument, of texts their lengths. 0: nobody wants the event.
int whyslow_luna_emit(void *event, const std::uint64_t *words, std::uint32_t count, const char *texts,
                      std::uint32_t size);
}

namespace whyslow {
namespace detail {

// LunaEvent is an event with what is known of it in the run.
struct LunaEvent : Event {
    struct Known {
        char types[17];
        void *event;
        Known *next;
    };
    std::atomic<Known *> known; // for each list of types that it was emitted with
    HandlerList all;            // the run, then handlers of this code

    LunaEvent(const std::string &space, const std::string &name) : Event(space, name), known(nullptr) {}

    // find returns what whyslow_luna_emit takes, null while static objects are constructed.
    void *find(const char *types) {
        for (Known *k = known.load(std::memory_order_acquire); k; k = k->next)
            if (std::strcmp(k->types, types) == 0) return k->event;
        void *event = whyslow_luna_event(space().c_str(), name().c_str(), types);
        if (!event) return nullptr;
        Known *k = new Known;
        std::strcpy(k->types, types);
        k->event = event;
        k->next = known.load(std::memory_order_relaxed);
        while (!known.compare_exchange_weak(k->next, k, std::memory_order_acq_rel)) {
        }
        return k->event;
    }
};

class LunaManager final : public EventsManager {
  public:
    static LunaManager &get() {
        static LunaManager *m = new LunaManager; // threads may outlive static objects
        return *m;
    }

    bool active(const std::string &, const std::string &) override { return true; }
    void strict(bool on) override { strict_ = on; }
    void connect_matching(const std::vector<std::string> &,
                          std::function<void(const Event &, const Value *, std::size_t)>) override {
        throw std::logic_error("connect_matching is for modules, which are libraries under whyslow run");
    }

    void add(const std::string &space, const std::string &name, Handler *h) override {
        std::lock_guard<std::mutex> guard(lock_);
        LunaEvent &e = event(space, name);
        const HandlerList *now = e.list.load(std::memory_order_relaxed);
        if (h->types && now->types && !now->types->same(*h->types)) {
            const std::string is = h->types->describe();
            delete h;
            throw EventTypeError("event " + e.key() + " has handlers that take " + now->types->describe() +
                                 "; this one takes " + is);
        }
        HandlerList *more = new HandlerList(*now); // emitters may be using the old one
        more->handlers.push_back(h);
        if (h->types) more->types = h->types;
        e.list.store(more, std::memory_order_release);
        e.enabled = true;
        for (CallSite *s = e.sites; s; s = s->next) on(*s, e);
    }

    Event *resolve(CallSite &site) override {
        std::lock_guard<std::mutex> guard(lock_);
        const std::uintptr_t now = site.event.load(std::memory_order_acquire);
        if (now != CallSite::unknown) return reinterpret_cast<Event *>(now);
        LunaEvent &e = event(site.space, site.name);
        site.next = e.sites;
        e.sites = &site;
        on(site, e);
        return &e;
    }

    ThreadState *thread() override {
        static std::atomic<std::size_t> count(0);
        static thread_local ThreadState state;
        state.index = std::min(count.fetch_add(1, std::memory_order_relaxed), max_threads - 1);
        return thread_slot() = &state;
    }

    void wrong_types(CallSite &site, Event &e, const Signature &is) override {
        const std::string text = "event " + e.key() + " has handlers that take " +
                                 e.list.load(std::memory_order_acquire)->types->describe() +
                                 ", but is emitted with " + is.describe();
        if (strict_) throw EventTypeError(text);
        if (site.bad.exchange(true)) return;
        site.event.store(0, std::memory_order_release);
        std::fprintf(stderr, "whyslow: %s:%d: %s; it is not emitted here\n", site.file, site.line,
                     text.c_str());
    }
    void failed(Event &e, Handler &h, const char *what) override {
        if (!h.dead.exchange(true))
            std::fprintf(stderr, "whyslow: a handler of %s is disconnected, because it threw: %s\n",
                         e.key().c_str(), what);
    }
    void too_deep(CallSite &site) override {
        if (!site.bad.exchange(true))
            std::fprintf(stderr, "whyslow: %s:%d: %s::%s triggers itself\n", site.file, site.line, site.space,
                         site.name);
    }

  private:
    // most_text is how much text an event may have; more is cut off.
    enum { most_arguments = 16, most_text = 4096 };

    LunaEvent &event(const std::string &space, const std::string &name) {
        std::unique_ptr<LunaEvent> &e = events_[std::make_pair(space, name)];
        if (!e) {
            e.reset(new LunaEvent(space, name));
            LunaEvent *made = e.get();
            made->all.types = nullptr;
            made->all.generic = true;
            made->all.handlers.push_back(new GenericHandler(
                [made, this](const Event &, const Value *v, std::size_t n) { send(*made, v, n); }));
            made->list.store(&made->all, std::memory_order_release);
        }
        return *e;
    }
    static void on(CallSite &site, LunaEvent &e) {
        if (!site.bad) site.event.store(reinterpret_cast<std::uintptr_t>(&e), std::memory_order_release);
    }

    void send(LunaEvent &e, const Value *v, std::size_t n) {
        char types[most_arguments + 1], texts[most_text];
        std::uint64_t words[most_arguments];
        std::size_t size = 0;
        for (std::size_t i = 0; i < n; i++) {
            types[i] = "iufbtTdo"[v[i].type];
            if (v[i].type == Value::Text) words[i] = put(texts, size, v[i].text, std::strlen(v[i].text));
            else if (v[i].type == Value::Other) {
                const std::string s = v[i].str();
                words[i] = put(texts, size, s.data(), s.size());
            } else {
                words[i] = v[i].u; // or the bits of another member
            }
        }
        types[n] = 0;
        if (!whyslow_luna_emit(e.find(types), words, static_cast<std::uint32_t>(n), texts,
                               static_cast<std::uint32_t>(size)))
            off(e);
    }
    static std::uint64_t put(char *texts, std::size_t &size, const char *s, std::size_t length) {
        length = std::min(length, most_text - size);
        std::memcpy(texts + size, s, length);
        size += length;
        return length;
    }
    // off is called when the run does not want the event.
    void off(LunaEvent &e) {
        std::lock_guard<std::mutex> guard(lock_);
        if (e.enabled) return; // this code has handlers
        for (CallSite *s = e.sites; s; s = s->next) s->event.store(0, std::memory_order_release);
    }

    std::mutex lock_;
    std::map<std::pair<std::string, std::string>, std::unique_ptr<LunaEvent>> events_;
    std::atomic<bool> strict_{false};
};

// LunaModules is empty: under whyslow run modules are libraries.
class LunaModules final : public ModulesManager {
  public:
    static LunaModules &get() {
        static LunaModules m;
        return m;
    }
    IEventModule *get_module(const std::string &) override { return nullptr; }
    bool add(const std::string &name, std::unique_ptr<IEventModule>) override {
        std::fprintf(stderr, "whyslow: module %s does not run: under whyslow run modules are libraries\n",
                     name.c_str());
        return false;
    }
    void offer(const std::string &name, std::unique_ptr<IEventModule> (*)()) override { add(name, nullptr); }
    std::vector<std::string> names() override { return std::vector<std::string>(); }
};

inline Core *luna_core() {
    static Core c = {&LunaManager::get(), &LunaModules::get()};
    return &c;
}

} // namespace detail

inline bool init(const std::string &, const std::string &) { return true; }
inline void finish() {}

} // namespace whyslow
#endif // WHYSLOW_LUNA
