
// ---- Modules ----------------------------------------------------------------------------------------

namespace whyslow {

// Param is a parameter of a module, from "params" in modules_settings.json.
struct Param {
    enum Type { String, Number, Bool, Strings };
    Type type;
    std::string string;
    double number;
    bool flag;
    std::vector<std::string> strings;
};

// ModuleSettings holds the settings of a module in the configuration.
struct ModuleSettings {
    std::string name;
    int priority = 100; // modules with lower ones come first
    std::map<std::string, Param> params;
    std::function<void(const std::string &)> warn; // about a parameter
    mutable std::map<std::string, bool> asked;     // parameters that the module knows
};

// IEventModule is the base class of modules. A module is created once, connects its handlers in
// registerEvents and lives until the program ends. Then finish is called and the module is destroyed; it may
// write results in either. Handlers run in the threads that emit; PerThread provides state that needs no
// lock.
class IEventModule {
  public:
    virtual ~IEventModule() {}
    // registerEvents connects handlers, with CONNECT_EVENT or EventsManager::connect. If it throws, its
    // handlers are disconnected again and the module is off.
    virtual void registerEvents() = 0;
    // requires_modules names modules that must start and finish before this one. If one of them is missing or
    // off, so is this one.
    virtual std::vector<std::string> requires_modules() const { return std::vector<std::string>(); }
    // query answers modules that ask for a number by its name; false: there is none of that name.
    virtual bool query(const std::string &what, int node, double *value) {
        (void)what, (void)node, (void)value;
        return false;
    }
    // finish is called after the last event of the run. Modules with lower priority numbers and required
    // modules have finished by then, but still exist.
    virtual void finish() {}

    const std::string &name() const { return settings_.name; }
    int priority() const { return settings_.priority; }
    // The parameters, from registerEvents to finish. A parameter of the wrong type causes a warning and
    // yields the default. Parameters in the file that the module has never asked for are reported at the end.
    std::string text(const char *param, const std::string &otherwise) const;
    double number(const char *param, double otherwise) const;
    bool flag(const char *param, bool otherwise) const;
    std::vector<std::string> texts(const char *param, const std::vector<std::string> &otherwise) const;

    // For ModulesManager.
    std::vector<std::string> uses_; // by Info
    void configure_(const ModuleSettings &s) { settings_ = s; }
    const ModuleSettings &settings_of_() const { return settings_; }

  private:
    const Param *find(const char *param, Param::Type type, const char *wanted) const;
    ModuleSettings settings_;
};

inline const Param *IEventModule::find(const char *param, Param::Type type, const char *wanted) const {
    {
        static std::mutex lock; // handlers may ask as well
        std::lock_guard<std::mutex> guard(lock);
        settings_.asked[param] = true;
    }
    std::map<std::string, Param>::const_iterator i = settings_.params.find(param);
    if (i == settings_.params.end()) return nullptr;
    if (i->second.type == type) return &i->second;
    if (settings_.warn)
        settings_.warn("module " + settings_.name + ": parameter " + param + " must be " + wanted +
                       "; the default is taken");
    return nullptr;
}
inline std::string IEventModule::text(const char *param, const std::string &otherwise) const {
    const Param *p = find(param, Param::String, "a string");
    return p ? p->string : otherwise;
}
inline double IEventModule::number(const char *param, double otherwise) const {
    const Param *p = find(param, Param::Number, "a number");
    return p ? p->number : otherwise;
}
inline bool IEventModule::flag(const char *param, bool otherwise) const {
    const Param *p = find(param, Param::Bool, "true or false");
    return p ? p->flag : otherwise;
}
inline std::vector<std::string> IEventModule::texts(const char *param,
                                                    const std::vector<std::string> &otherwise) const {
    const Param *p = find(param, Param::Strings, "a list of strings");
    return p ? p->strings : otherwise;
}

// Info is what `whyslow run` is told about a module; programs know it from its code, all but uses.
class Info {
  public:
    // The events it listens to and emits, for `whyslow modules`, and modules that must run before this one.
    template <class... S> Info &events(S... s) { return append(events_, {s...}); }
    template <class... S> Info &emits(S... s) { return append(emits_, {s...}); }
    template <class... S> Info &uses(S... s) { return append(uses_, {s...}); }
    // A parameter with its default and meaning. Under `whyslow run` a module has no others.
    Info &param(const char *name, const char *value, const char *doc) { return add(name, 1, value, doc); }
    Info &param(const char *name, bool value, const char *doc) {
        return add(name, 4, value ? "true" : "false", doc);
    }
    Info &param(const char *name, int value, const char *doc) {
        return add(name, 2, std::to_string(value), doc);
    }
    Info &param(const char *name, double value, const char *doc) {
        std::ostringstream s;
        s.precision(17);
        s << value;
        return add(name, 3, s.str(), doc);
    }
    Info &doc(const char *s) { return doc_ = s, *this; }

    struct Param {
        std::string name, value, doc;
        std::uint32_t type; // one of WSM_PARAM_
    };
    std::string doc_;
    std::vector<std::string> events_, emits_, uses_;
    std::vector<Param> params_;

  private:
    Info &append(std::vector<std::string> &to, std::initializer_list<const char *> from) {
        to.insert(to.end(), from.begin(), from.end());
        return *this;
    }
    Info &add(const char *name, std::uint32_t type, const std::string &value, const char *doc) {
        params_.push_back(Param{name, value, doc, type});
        return *this;
    }
};

// ModulesManager holds all modules.
class ModulesManager {
  public:
    static ModulesManager *instance() { return detail::core()->modules; }

    // get_module returns the running module of that name ("logger_module" or "liblogger_module"), nullptr
    // if there is none.
    virtual IEventModule *get_module(const std::string &name) = 0;
    // add hands a module over to the manager. The module runs unless modules_settings.json switches it off by
    // name. add returns false if there is a module of this name, if it could not start, or if the program has
    // ended.
    virtual bool add(const std::string &name, std::unique_ptr<IEventModule> module) = 0;
    bool add(const std::string &name, IEventModule *module) {
        return add(name, std::unique_ptr<IEventModule>(module));
    }
    // offer makes a module known. It runs if modules_settings.json says so.
    virtual void offer(const std::string &name, std::unique_ptr<IEventModule> (*make)()) = 0;
    // names returns the names of the running modules in the order in which they started.
    virtual std::vector<std::string> names() = 0;

  protected:
    ~ModulesManager() {}
};

// init reads the configuration and starts the modules; without it, the first emission does. Empty paths mean
// config/events_config.json or ./events_config.json, and likewise modules_settings.json; the environment
// variables WHYSLOW_EVENTS and WHYSLOW_MODULES_SETTINGS override the paths. init returns false if something
// is wrong, and says what on standard error; the program can go on.
bool init(const std::string &events_config = "", const std::string &modules_settings = "");

// finish ends profiling, as exit does: modules finish and are destroyed, and emissions do nothing from then
// on.
void finish();

// PerThread is a T for each thread, created when the thread first asks for it and kept to the end. A thread
// that starts after another has ended may inherit the T of that thread.
template <class T> class PerThread {
  public:
    PerThread() {
        for (std::size_t i = 0; i < blocks; i++) table_[i] = nullptr;
    }
    ~PerThread() {
        for (std::size_t i = 0; i < blocks; i++) {
            Block *b = table_[i];
            for (std::size_t k = 0; b && k < per_block; k++) delete b->items[k].load();
            delete b;
        }
    }
    PerThread(const PerThread &) = delete;

    // get returns the calling thread's T, for use in handlers.
    T &get() {
        std::size_t i = detail::thread_state()->index;
        std::atomic<Block *> &slot = table_[i / per_block];
        Block *b = slot.load(std::memory_order_acquire);
        if (__builtin_expect(!b, 0)) {
            std::unique_ptr<Block> fresh(new Block);
            if (slot.compare_exchange_strong(b, fresh.get(), std::memory_order_acq_rel)) b = fresh.release();
        }
        std::atomic<T *> &item = b->items[i % per_block];
        T *t = item.load(std::memory_order_acquire);
        if (__builtin_expect(!t, 0)) item.store(t = new T(), std::memory_order_release);
        return *t;
    }
    // all calls f for each T. Call it in finish; at other times only if T consists of atomics.
    template <class F> void all(F f) {
        for (std::size_t i = 0; i < blocks; i++) {
            Block *b = table_[i].load(std::memory_order_acquire);
            for (std::size_t k = 0; b && k < per_block; k++)
                if (T *t = b->items[k].load(std::memory_order_acquire)) f(*t);
        }
    }

  private:
    static const std::size_t blocks = 256, per_block = 64;
    struct Block {
        std::atomic<T *> items[per_block];
        Block() {
            for (std::size_t k = 0; k < per_block; k++) items[k] = nullptr;
        }
    };
    std::atomic<Block *> table_[blocks];
};

namespace detail {
const std::size_t max_threads = 256 * 64; // at any one time

struct Offer {
    Offer(const char *name, std::unique_ptr<IEventModule> (*make)()) {
        ModulesManager::instance()->offer(name, make);
    }
};
template <class M> std::unique_ptr<IEventModule> make_module() {
    return std::unique_ptr<IEventModule>(new M());
}

} // namespace detail
} // namespace whyslow

// WHYSLOW_MODULE(Class, "name", "what it does", whyslow::Info()...) in a source file of the program makes a
// module known to the configuration; all after the name may be left out. With WHYSLOW_MODULE_LIBRARY the same
// source is a shared library with that one module, for programs and for `whyslow run`.
#define WHYSLOW_MODULE(...) WHYSLOW_PICK_MODULE(__VA_ARGS__, WHYSLOW_MODULE_4, WHYSLOW_MODULE_3, \
                                                WHYSLOW_MODULE_2, ~)(__VA_ARGS__)
#define WHYSLOW_PICK_MODULE(a1, a2, a3, a4, macro, ...) macro
#define WHYSLOW_MODULE_2(Class, name) WHYSLOW_MODULE_4(Class, name, "", ::whyslow::Info())
#define WHYSLOW_MODULE_3(Class, name, doc) WHYSLOW_MODULE_4(Class, name, doc, ::whyslow::Info())
#if defined(WHYSLOW_MODULE_LIBRARY)
#define WHYSLOW_MODULE_4(Class, name, about, ...)                                                         \
    WHYSLOW_EXPORT_MODULE(Class)                                                                          \
    extern "C" const wsm_module *whyslow_module(void) {                                                   \
        return ::whyslow::detail::RunModule::describe<Class>(name, (__VA_ARGS__).doc(about));             \
    }                                                                                                     \
    static const int whyslow_offer_##Class __attribute__((unused)) = 0
#else
#define WHYSLOW_MODULE_4(Class, name, about, ...)                                                         \
    static std::unique_ptr<::whyslow::IEventModule> whyslow_make_##Class() {                              \
        std::unique_ptr<::whyslow::IEventModule> m(new Class());                                          \
        m->uses_ = (__VA_ARGS__).uses_;                                                                   \
        return m;                                                                                         \
    }                                                                                                     \
    static ::whyslow::detail::Offer whyslow_offer_##Class(name, &whyslow_make_##Class)
#endif

// WHYSLOW_EXPORT_MODULE(Class) makes a module of a shared library:
//     g++ -std=c++11 -shared -fPIC mine.cpp -o libmine_module.so
// The library must be compiled with the compiler, the standard library and the whyslow.hpp of the program.
#define WHYSLOW_EXPORT_MODULE(Class)                                                                      \
    extern "C" __attribute__((visibility("default"))) ::whyslow::IEventModule *                           \
    whyslow_make_module(::whyslow::detail::Core *core, int version);                                      \
    extern "C" ::whyslow::IEventModule *whyslow_make_module(::whyslow::detail::Core *core, int version) { \
        if (version != ::whyslow::detail::Core::version) return nullptr;                                  \
        ::whyslow::detail::core_slot().store(core);                                                       \
        return new Class();                                                                               \
    }                                                                                                     \
    extern "C" __attribute__((visibility("default"))) int whyslow_module_version(void);                   \
    extern "C" int whyslow_module_version(void) { return ::whyslow::detail::Core::version; }

// The names without the prefix whyslow::. -DWHYSLOW_NO_GLOBAL_NAMES leaves them out.
#ifndef WHYSLOW_NO_GLOBAL_NAMES
using whyslow::EventsManager;
using whyslow::IEventModule;
using whyslow::ModulesManager;
#endif
