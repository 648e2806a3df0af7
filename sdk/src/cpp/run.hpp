
// ---- Start and end -------------------------------------------------------------------------------

#ifndef WHYSLOW_NO_DLOPEN
#include <dlfcn.h>
#endif
#include <limits.h>
#include <sys/syscall.h>

namespace whyslow {
namespace detail {

static void at_exit(int status, void *) {
    host().exit_status = status;
    host().end();
}
static void before_fork() { host().fork(0); }
static void in_parent() { host().fork(1); }
static void in_child() { host().fork(2); }

inline bool Host::start(const std::string &events, const std::string &settings) {
    Guard guard(lock_);
    if (state_ != New) return ok_;
    state_ = Starting;
    pid_ = ::getpid();
    pthread_atfork(before_fork, in_parent, in_child);
    const std::string events_path = find_config("WHYSLOW_EVENTS", events, "events_config.json");
    const std::string settings_path =
        find_config("WHYSLOW_MODULES_SETTINGS", settings, "modules_settings.json");
    if (!events_path.empty()) config_.read_events(events_path);
    if (!settings_path.empty()) config_.read_modules(settings_path);
    ok_ = config_.ok;
    for (const std::pair<const std::string, std::unique_ptr<Event>> &e : events_)
        e.second->enabled = config_.active(e.first);
    if (!ok_) modules_.clear();
    for (std::size_t i = modules_.size(); i > 0; i--) // modules that the program added
        if (!config_.on(modules_[i - 1].name, true))
            modules_.erase(modules_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    std::vector<std::string> wanted(1, "trace_writer_module");
    for (const std::pair<const std::string, Config::Module> &m : config_.modules)
        if (m.first != wanted[0]) wanted.push_back(m.first);
    for (const std::string &name : wanted) {
        if (!config_.ok || !config_.on(name, name == wanted[0]) || find(name)) continue;
        const Config::Module *m = config_.modules.count(name) ? &config_.modules[name] : nullptr;
        std::string error;
        std::unique_ptr<IEventModule> module;
        if (offers_.count(name) && (!m || m->library.empty())) module = offers_[name]();
        else module = load(name, m ? m->library : "", &error);
        if (module) modules_.push_back(Running{name, std::move(module), false, Running::Waiting, 0});
        else drop(name, error);
    }
    start_modules();
    state_ = Started;
    start_modules(); // those that modules have added
    for (const std::pair<const std::string, std::unique_ptr<Event>> &e : events_) update(*e.second);
    // Exit functions run in reverse order: ours is registered last, so it runs before that of whyslow.h,
    // which completes traces.
#if defined(__GLIBC__)
    on_exit(at_exit, nullptr);
#else
    std::atexit([] { at_exit(0, nullptr); });
#endif
    return ok_;
}

// load loads a module from a shared library, which stays loaded until the modules are destroyed.
inline std::unique_ptr<IEventModule> Host::load(const std::string &name, const std::string &library,
                                                std::string *error) {
#ifdef WHYSLOW_NO_DLOPEN
    (void)library;
    *error = "is not in the program, which cannot load libraries";
    return nullptr;
#else
    std::vector<std::string> paths, folders;
    if (!config_.dir.empty()) folders.push_back(config_.dir);
    if (!library.empty()) {
        if (library[0] == '/') paths.push_back(library);
        else folders.push_back(".");
    } else {
        char exe[PATH_MAX + 1];
        const ssize_t n = ::readlink("/proc/self/exe", exe, PATH_MAX);
        const std::string path(exe, static_cast<std::size_t>(n > 0 ? n : 0));
        if (n > 0) folders.push_back(path.substr(0, path.rfind('/') + 1));
        std::istringstream list(std::getenv("WHYSLOW_MODULES") ? std::getenv("WHYSLOW_MODULES") : "");
        for (std::string dir; std::getline(list, dir, ':');)
            if (!dir.empty()) folders.push_back(dir);
    }
    const std::string file = library.empty() ? "lib" + name + ".so" : library;
    if (paths.empty())
        for (const std::string &dir : folders)
            paths.push_back(dir + (dir[dir.size() - 1] == '/' ? "" : "/") + file);
    for (const std::string &path : paths) {
        if (::access(path.c_str(), F_OK) != 0) continue;
        void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle) libraries_.push_back(handle);
        if (!handle) {
            *error = std::string("cannot be loaded: ") + ::dlerror();
            return nullptr;
        }
        void *entry = ::dlsym(handle, "whyslow_make_module");
        IEventModule *(*make)(Core *, int);
        if (!entry) {
            *error = "cannot be loaded: " + path + " is no module: it has no WHYSLOW_EXPORT_MODULE";
            return nullptr;
        }
        std::memcpy(&make, &entry, sizeof make);
        std::unique_ptr<IEventModule> module;
        try {
            module.reset(make(&core, Core::version));
            if (!module)
                *error = "cannot be loaded: " + path + " was compiled with another version of whyslow.hpp";
        } catch (const std::exception &x) {
            *error = std::string("cannot be made: ") + x.what();
        }
        return module;
    }
    *error = "is not in the program, and there is no " + file + " in";
    for (const std::string &dir : folders) *error += " " + dir;
    if (paths.size() == 1 && folders.empty()) *error = "cannot be loaded: there is no file " + file;
    return nullptr;
#endif
}

// requirements tells whether a module can ever start; ready tells whether it can start now.
inline bool Host::requirements(const Running &r, bool *ready) {
    *ready = true;
    std::vector<std::string> needs = r.module->requires_modules();
    needs.insert(needs.end(), r.module->uses_.begin(), r.module->uses_.end());
    for (const std::string &need : needs) {
        const Running *other = find(Config::module_name(need));
        if (!other) {
            say("module \"" + r.name + "\" needs module \"" + Config::module_name(need) +
                "\", which is off or not there; it is off");
            return ok_ = false;
        }
        *ready = *ready && other->state != Running::Waiting;
    }
    return true;
}

inline void Host::drop(const std::string &name, const std::string &why) {
    say("module \"" + name + "\" " + why + "; it is off");
    ok_ = false;
}

// start_modules starts the modules that wait. Among those whose requirements are met, the lowest priority
// number goes first.
inline void Host::start_modules() {
    for (;;) {
        std::string next;
        int priority = 0;
        bool waiting = false;
        for (std::size_t i = 0; i < modules_.size();) {
            Running &r = modules_[i];
            bool ready = false;
            if (r.state == Running::Waiting && !requirements(r, &ready)) {
                modules_.erase(modules_.begin() + static_cast<std::ptrdiff_t>(i));
                i = 0, next = "", waiting = false; // others may need the dropped one
                continue;
            }
            i++;
            if (r.state != Running::Waiting) continue;
            waiting = true;
            const int p = config_.modules.count(r.name)     ? config_.modules[r.name].settings.priority
                          : r.name == "trace_writer_module" ? 0
                                                            : 100;
            if (ready && (next.empty() || p < priority)) next = r.name, priority = p;
        }
        if (!waiting) return;
        if (!next.empty()) {
            start_module(next);
            continue;
        }
        // Every module waits for one that waits, so following the requirements leads round a circle.
        std::vector<std::string> path;
        for (const Running &r : modules_)
            if (r.state == Running::Waiting && path.empty()) path.push_back(r.name);
        for (;;) {
            std::string need;
            for (const std::string &n : find(path.back())->module->requires_modules())
                if (find(Config::module_name(n))->state == Running::Waiting) need = Config::module_name(n);
            const std::size_t from =
                static_cast<std::size_t>(std::find(path.begin(), path.end(), need) - path.begin());
            path.push_back(need);
            if (from == path.size() - 1) continue;
            std::string circle;
            for (std::size_t i = from; i < path.size(); i++)
                circle += (circle.empty() ? "" : " needs ") + path[i];
            drop(need, "is in a circle of modules: " + circle);
            for (std::size_t i = 0; i < modules_.size(); i++)
                if (modules_[i].name == need)
                    modules_.erase(modules_.begin() + static_cast<std::ptrdiff_t>(i));
            break;
        }
    }
}

inline void Host::start_module(const std::string &name) {
    IEventModule *m = find(name)->module.get();
    ModuleSettings s;
    if (config_.modules.count(name)) s = config_.modules[name].settings;
    else if (name == "trace_writer_module") s.priority = 0;
    s.name = name;
    m->configure_(s);
    find(name)->state = Running::On;
    find(name)->started = ++order_;
    IEventModule *outer = registering_;
    registering_ = m;
    std::string why;
    try {
        m->registerEvents();
    } catch (const std::exception &x) {
        why = x.what();
    } catch (...) {
        why = "an exception of a type of its own";
    }
    registering_ = outer;
    if (!why.empty()) {
        drop(name, "cannot start: " + why);
        disconnect(m);
        Running *r = find(name);
        failed_.push_back(std::move(r->module)); // another thread may still be in one of its handlers
        modules_.erase(modules_.begin() + (r - &modules_[0]));
    }
}

// unasked reports parameters that the module has never asked for.
inline void Host::unasked(const IEventModule &m) {
    std::vector<std::string> known;
    for (const std::pair<const std::string, bool> &p : m.settings_of_().asked) known.push_back(p.first);
    for (const std::pair<const std::string, Param> &p : m.settings_of_().params)
        if (!has(known, p.first))
            say("module \"" + m.name() + "\" has no parameter \"" + p.first + "\"" +
                suggestion(p.first, known));
}

inline ThreadState *Host::thread() {
    static thread_local Ender ender;
    if (mine()) return mine();
    Guard guard(lock_);
    ThreadState *t = threads_.load();
    while (t && !t->ended.load(std::memory_order_acquire)) t = t->next;
    if (!t) {
        if (thread_count_ == max_threads) {
            static bool told;
            if (!told)
                say("more than " + std::to_string(max_threads) +
                    " threads: what the others do is not profiled");
            told = true;
            return nullptr;
        }
        t = new ThreadState;
        t->index = thread_count_++, t->generation = 0, t->depth = 0, t->next = threads_.load();
        threads_.store(t, std::memory_order_release);
    } else {
        t->generation++;
    }
    t->ended.store(false, std::memory_order_relaxed);
    ender.state = t; // without effect in a thread that is ending: nobody inherits its state
    return thread_slot() = mine() = t;
}

// quiet waits until no other thread is in a handler, for a second at most, and tells whether it succeeded.
// The handlers have been taken off the lists before; an emitter that still saw them has marked itself by the
// end of the first sleep.
inline bool Host::quiet() {
    const ThreadState *self = thread_slot();
    for (int i = 0; i < 5000; i++) {
        bool busy = false, others = false;
        for (ThreadState *t = threads_.load(std::memory_order_acquire); t; t = t->next) {
            if (t == self || t->ended.load(std::memory_order_acquire)) continue;
            others = true;
            busy = busy || t->depth.load(std::memory_order_acquire) > 0;
        }
        if (!others || (i > 0 && !busy)) return true;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return false;
}

inline void Host::end() {
    {
        Guard guard(lock_);
        if (state_ != Started || pid_ != ::getpid()) return;
        state_ = Ending; // nothing is added any more
        std::sort(modules_.begin(), modules_.end(),
                  [](const Running &a, const Running &b) { return a.started < b.started; });
    }
    for (std::size_t i = 0; i < modules_.size(); i++) {
        {
            Guard guard(lock_);
            disconnect(modules_[i].module.get());
        }
        all_quiet = quiet() && all_quiet;
        try {
            modules_[i].module->finish();
        } catch (const std::exception &x) {
            say("module \"" + modules_[i].name + "\" failed at the end: " + x.what());
        } catch (...) {
            say("module \"" + modules_[i].name + "\" failed at the end");
        }
        unasked(*modules_[i].module);
    }
    {
        Guard guard(lock_);
        state_ = Ended;
        for (const std::pair<const std::string, std::unique_ptr<Event>> &e : events_) update(*e.second);
    }
    if (!quiet() || !all_quiet)
        return say("a thread was still in a handler when the program ended; modules are not destroyed");
    for (Running &r : modules_) {
        std::unique_ptr<IEventModule> m;
        const IEventModule *owner = r.module.get();
        {
            Guard guard(lock_);
            m.swap(r.module);
        }
        m.reset();
        Guard guard(lock_);
        for (std::unique_ptr<Handler> &h : handlers_)
            if (h && h->owner == owner) h.reset();
    }
    unload();
}

// unload unloads the libraries. What of theirs is in lists goes first: their emissions and the types of their
// handlers. Modules that failed at the start were kept, as threads might have been in them; they go, too.
inline void Host::unload() {
    Guard guard(lock_);
    failed_.clear();
    for (std::unique_ptr<Handler> &h : handlers_) h.reset();
    for (const std::pair<const std::string, std::unique_ptr<Event>> &e : events_) {
        e.second->list.store(nullptr);
        e.second->sites = nullptr; // each is off by now, for good
    }
#ifndef WHYSLOW_NO_DLOPEN
    while (!libraries_.empty()) {
        ::dlclose(libraries_.back());
        libraries_.pop_back();
    }
#endif
}

} // namespace detail

bool init(const std::string &events_config, const std::string &modules_settings) {
    return detail::host().start(events_config, modules_settings);
}

void finish() { detail::host().end(); }

} // namespace whyslow
