
// ---- Modules for `whyslow run` -----------------------------------------------------------------------

// With WHYSLOW_MODULE_LIBRARY a source file that has a module and WHYSLOW_MODULE becomes a shared library,
// for `whyslow run` as well as for programs with whyslow.hpp:
//
//     g++ -std=c++11 -shared -fPIC -DWHYSLOW_MODULE_LIBRARY mine.cpp -o libmine_module.so
//
// Under `whyslow run` events come from the run: a handler's parameters are the fields of docs/events.md in
// their order, a time is that of the event. Where CFEvents::onCreated has a text in a program, here it is the
// CF.
#if defined(WHYSLOW_MODULE_LIBRARY)

namespace whyslow {
namespace detail {

// RunApi is how modules of this kind find each other under `whyslow run`: what their function api returns.
struct RunApi {
    char mark[16];
    int version;
    IEventModule *module;
};
static const char run_api_mark[16] = "whyslow.hpp api";

// RunFields reads the fields of an event of the run.
class RunFields final : public Fields {
  public:
    RunFields(const wsm_event *e, std::uint32_t skip) : e_(e), next_(skip) {}
    const char *text() override {
        const std::uint32_t i = field();
        char small[128];
        const std::size_t n = e_->host->text(e_, i, small, sizeof small);
        texts_.emplace_back(new char[n + 1]);
        if (n < sizeof small) std::memcpy(texts_.back().get(), small, n + 1);
        else e_->host->text(e_, i, texts_.back().get(), n + 1);
        return texts_.back().get();
    }
    std::int64_t integer() override {
        const std::uint32_t i = field();
        return e_->spec->field[i].type == WSM_FLOAT ? static_cast<std::int64_t>(wsm_float(e_, i))
                                                    : wsm_int(e_, i);
    }
    double real() override {
        const std::uint32_t i = field();
        return e_->spec->field[i].type == WSM_FLOAT ? wsm_float(e_, i) : static_cast<double>(wsm_int(e_, i));
    }
    std::int64_t time() override { return e_->time; }
    std::size_t values(Value *out) override {
        std::size_t n = 0;
        for (; next_ < e_->spec->fixed && n < WSM_MAX_FIELDS; n++) {
            switch (e_->spec->field[next_].type) {
            case WSM_FLOAT: out[n].type = Value::Float, out[n].f = real(); break;
            case WSM_INT:
            case WSM_NODE:
            case WSM_BYTES: out[n].type = Value::Int, out[n].i = integer(); break;
            case WSM_NS: out[n].type = Value::Duration, out[n].i = integer(); break;
            case WSM_UINT: out[n].type = Value::Uint, out[n].i = integer(); break;
            default: out[n].type = Value::Text, out[n].text = text();
            }
        }
        return n;
    }

  private:
    std::uint32_t field() {
        if (next_ >= e_->spec->fixed)
            throw std::out_of_range(std::string(e_->spec->ns) + "::" + e_->spec->name + " has only " +
                                    std::to_string(e_->spec->fixed) + " values");
        return next_++;
    }
    const wsm_event *e_;
    std::uint32_t next_;
    std::vector<std::unique_ptr<char[]>> texts_;
};

// RunPeer stands for a module of the run that is not of this kind.
class RunPeer final : public IEventModule {
  public:
    RunPeer(const wsm_host *host, const wsm_peer *peer) : host_(host), peer_(peer) {}
    void registerEvents() override {}
    bool query(const std::string &what, int node, double *value) override {
        return host_->query(host_, peer_, what.c_str(), node, value) != 0;
    }

  private:
    const wsm_host *host_;
    const wsm_peer *peer_;
};

// RunHost leads the macros of a library to `whyslow run`. There is one for each run of the module.
class RunHost final : public EventsManager, public ModulesManager {
  public:
    Core core;
    std::unique_ptr<IEventModule> module;
    RunApi api;

    explicit RunHost(const wsm_host *host) : host_(host) {
        core.events = this, core.modules = this;
        std::memcpy(api.mark, run_api_mark, sizeof api.mark);
        api.version = Core::version, api.module = nullptr;
    }
    ~RunHost() {
        module.reset();
        for (const std::pair<const std::string, std::unique_ptr<Own>> &e : own_)
            for (CallSite *s = e.second->sites; s; s = s->next) {
                s->checked.store(nullptr);
                s->event.store(CallSite::unknown);
            }
        core_slot().store(nullptr);
    }

    bool active(const std::string &, const std::string &) override { return true; }
    void strict(bool on) override { strict_ = on; }
    void connect_matching(const std::vector<std::string> &patterns,
                          std::function<void(const Event &, const Value *, std::size_t)> f) override {
        for (std::string p : patterns) {
            const std::size_t colons = p.find("::");
            if (colons != std::string::npos) p.replace(colons, 2, ".");
            listen(p, new GenericHandler(f), 0);
        }
    }
    void add(const std::string &space, const std::string &name, Handler *h) override {
        const std::uint32_t skip = name == "onCreateSize" || name == "onDestroySize" ? 1 : 0; // the DF
        const std::string key = space + "." + name;
        const wsm_spec *spec = host_->spec(host_, key.c_str());
        if (spec && h->types && h->fields() + skip > spec->fixed) {
            const std::string takes = h->types->describe();
            delete h;
            throw EventTypeError("a handler of " + space + "::" + name + " takes " + takes +
                                 "; under whyslow run it has " + std::to_string(spec->fixed - skip) +
                                 " values and a time");
        }
        listen(key, h, skip);
    }

    Event *resolve(CallSite &site) override {
        std::lock_guard<std::mutex> guard(lock_);
        if (site.event.load() != CallSite::unknown) return reinterpret_cast<Event *>(site.event.load());
        std::unique_ptr<Own> &e = own_[std::string(site.space) + "." + site.name];
        if (!e) {
            e.reset(new Own(site.space, site.name));
            Own *made = e.get();
            made->handler.reset(new GenericHandler(
                [made, this](const Event &, const Value *v, std::size_t n) { emit(*made, v, n); }));
            made->all.handlers.push_back(made->handler.get());
            made->list.store(&made->all);
        }
        site.next = e->sites;
        e->sites = &site;
        site.event.store(reinterpret_cast<std::uintptr_t>(e.get()), std::memory_order_release);
        return e.get();
    }
    ThreadState *thread() override {
        static std::atomic<std::size_t> count(0);
        static thread_local ThreadState state;
        state.index = std::min(count.fetch_add(1, std::memory_order_relaxed), max_threads - 1);
        return thread_slot() = &state;
    }
    void wrong_types(CallSite &site, Event &e, const Signature &) override {
        quit(site, e.key() + " has other types");
    }
    void failed(Event &, Handler &h, const char *what) override {
        if (!h.dead.exchange(true)) host_->fail(host_, what);
    }
    void too_deep(CallSite &site) override { quit(site, std::string(site.name) + " triggers itself"); }

    IEventModule *get_module(const std::string &name) override {
        std::lock_guard<std::mutex> guard(lock_);
        std::unique_ptr<IEventModule> &known = peers_[name];
        const std::string plain = name.compare(0, 3, "lib") == 0 ? name.substr(3) : name;
        if (plain == module_name) return module.get();
        const wsm_peer *peer = host_->get_module(host_, plain.c_str());
        if (!peer) return nullptr;
        const RunApi *other = static_cast<const RunApi *>(peer->api);
        if (other && std::memcmp(other->mark, run_api_mark, sizeof other->mark) == 0 &&
            other->version == Core::version)
            return other->module;
        if (!known) known.reset(new RunPeer(host_, peer));
        return known.get();
    }
    bool add(const std::string &name, std::unique_ptr<IEventModule>) override {
        host_->warn(host_, (name + " does not run: under whyslow run each module is a library").c_str());
        return false;
    }
    void offer(const std::string &, std::unique_ptr<IEventModule> (*)()) override {}
    std::vector<std::string> names() override { return std::vector<std::string>(1, module_name); }

    static std::string module_name;

  private:
    struct Own : Event { // an event that the module emits
        HandlerList all;
        std::unique_ptr<Handler> handler;
        std::map<std::string, const wsm_spec *> specs; // by types
        Own(const std::string &s, const std::string &n) : Event(s, n) {
            all.types = nullptr, all.generic = true;
        }
    };
    struct Listener {
        std::unique_ptr<Handler> handler;
        std::uint32_t skip;
    };

    void listen(const std::string &key, Handler *h, std::uint32_t skip) {
        listeners_.emplace_back(new Listener{std::unique_ptr<Handler>(h), skip});
        if (host_->connect(host_, key.c_str(), handle, listeners_.back().get()) != 0)
            throw std::runtime_error("cannot connect to " + key); // the run knows why
    }
    static void handle(const wsm_event *e, void *user) {
        const wsm_event *&now = current();
        const wsm_event *outer = now;
        now = e;
        Listener *l = static_cast<Listener *>(user);
        try {
            RunFields fields(e, l->skip);
            if (l->handler->types) {
                l->handler->from(fields);
            } else {
                Value values[WSM_MAX_FIELDS];
                const std::size_t n = fields.values(values);
                const Event event(e->spec->ns, e->spec->name);
                static_cast<GenericHandler *>(l->handler.get())->f(event, values, n);
            }
        } catch (const std::exception &x) {
            e->host->fail(e->host, ("the handler of " + std::string(e->spec->ns) + "." + e->spec->name +
                                    " threw an exception: " + x.what())
                                       .c_str());
        } catch (...) {
            e->host->fail(e->host, "a handler threw an exception that is no std::exception");
        }
        now = outer;
    }
    // current is the event that this thread handles: the module's own events go out with it.
    static const wsm_event *&current() {
        static thread_local const wsm_event *e = nullptr;
        return e;
    }

    void emit(Own &own, const Value *v, std::size_t n) {
        const wsm_event *in = current();
        if (!in)
            return host_->warn(host_, (own.key() + " is not emitted: no event is being handled").c_str());
        std::string types;
        std::vector<std::uint64_t> words;
        std::vector<std::string> kept;
        std::vector<const char *> texts;
        kept.reserve(n);
        for (std::size_t i = 0; i < n; i++) {
            static const char *const names[] = {"Int", "Uint", "Float", "Uint", "Name", "NS", "NS", "Name"};
            types += (i ? " arg" : "arg") + std::to_string(i + 1) + ":" + names[v[i].type];
            if (v[i].type == Value::Text || v[i].type == Value::Other) {
                kept.push_back(v[i].str());
                words.push_back(texts.size());
                texts.push_back(kept.back().c_str());
            } else {
                words.push_back(v[i].u);
            }
        }
        const wsm_spec *spec;
        {
            std::lock_guard<std::mutex> guard(lock_);
            const wsm_spec *&known = own.specs[types];
            if (!known)
                known = host_->define(host_, (own.space() + "." + own.name() + "(" + types + ")").c_str());
            spec = known;
        }
        if (spec)
            host_->emit(in, spec, 0, words.data(), static_cast<std::uint32_t>(words.size()), texts.data(),
                        static_cast<std::uint32_t>(texts.size()));
    }
    void quit(CallSite &site, const std::string &why) {
        site.event.store(0, std::memory_order_release);
        if (!site.bad.exchange(true))
            host_->warn(host_, (std::string(site.file) + ":" + std::to_string(site.line) + ": " + why +
                                "; nothing is emitted from here")
                                   .c_str());
    }

    const wsm_host *host_;
    std::mutex lock_;
    std::atomic<bool> strict_{false};
    std::map<std::string, std::unique_ptr<Own>> own_;
    std::map<std::string, std::unique_ptr<IEventModule>> peers_;
    std::vector<std::unique_ptr<Listener>> listeners_;
};
std::string RunHost::module_name;

// RunModule describes the module of a library to `whyslow run`.
struct RunModule {
    std::string name;
    Info info;
    std::vector<const char *> events, emits, uses;
    std::vector<wsm_param> params;
    wsm_module module;

    template <class M> static const wsm_module *describe(const char *name, const Info &info) {
        static RunModule *d = new RunModule(name, info, &start<M>);
        return &d->module;
    }

  private:
    RunModule(const char *n, const Info &i, void *(*start)(const wsm_host *)) : name(n), info(i), module() {
        RunHost::module_name = name;
        const auto list = [](const std::vector<std::string> &from) {
            std::vector<const char *> to;
            for (const std::string &s : from) to.push_back(s.c_str());
            to.push_back(nullptr);
            return to;
        };
        events = list(info.events_), emits = list(info.emits_), uses = list(info.uses_);
        for (const Info::Param &p : info.params_) {
            wsm_param q = wsm_param();
            q.name = p.name.c_str(), q.type = p.type, q.value = p.value.c_str(), q.doc = p.doc.c_str();
            params.push_back(q);
        }
        params.push_back(wsm_param());
        module.version = WSM_VERSION, module.name = name.c_str(), module.doc = info.doc_.c_str();
        module.events = events.data(), module.emits = emits.data(), module.uses = uses.data();
        module.params = params.data(), module.start = start, module.finish = finish, module.release = release;
        module.query = query, module.api = api;
    }
    template <class F> static void guard(const wsm_host *host, const char *where, F f) {
        try {
            f();
        } catch (const std::exception &x) {
            host->fail(host, (std::string(where) + " threw an exception: " + x.what()).c_str());
        } catch (...) {
            host->fail(host, (std::string(where) + " threw an exception that is no std::exception").c_str());
        }
    }
    static const wsm_host *&host() {
        static const wsm_host *h = nullptr;
        return h;
    }
    template <class M> static void *start(const wsm_host *h) {
        host() = h;
        RunHost *r = new RunHost(h);
        core_slot().store(&r->core, std::memory_order_release);
        guard(h, "registerEvents", [r, h]() {
            r->module.reset(new M());
            r->api.module = r->module.get();
            ModuleSettings s;
            s.name = RunHost::module_name;
            for (const wsm_param *p = whyslow_module()->params; p->name; p++)
                s.params[p->name] = param(h, *p);
            s.warn = [h](const std::string &text) { h->warn(h, text.c_str()); };
            r->module->configure_(s);
            r->module->registerEvents();
        });
        return r;
    }
    static Param param(const wsm_host *h, const wsm_param &p) {
        const wsm_value *v = h->param(h, p.name);
        Param out = {Param::String, "", 0, false, {}};
        switch (p.type) {
        case WSM_PARAM_STRING: out.string = v->text; break;
        case WSM_PARAM_BOOL: out.type = Param::Bool, out.flag = v->integer != 0; break;
        case WSM_PARAM_STRINGS:
            out.type = Param::Strings;
            for (const char *const *t = v->texts; *t; t++) out.strings.push_back(*t);
            break;
        default: out.type = Param::Number, out.number = v->real;
        }
        return out;
    }
    static void finish(void *self) {
        guard(host(), "finish", [self]() { static_cast<RunHost *>(self)->module->finish(); });
    }
    static void release(void *self) { delete static_cast<RunHost *>(self); }
    static int query(void *self, const char *what, int node, double *value) {
        bool known = false;
        guard(host(), "query", [&]() {
            known = static_cast<RunHost *>(self)->module->query(what, node, value);
        });
        return known;
    }
    static const void *api(void *self) { return &static_cast<RunHost *>(self)->api; }
};

} // namespace detail
} // namespace whyslow
#endif // WHYSLOW_MODULE_LIBRARY
