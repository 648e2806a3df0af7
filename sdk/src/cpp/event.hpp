
// ---- Events ---------------------------------------------------------------------------------------

namespace whyslow {

class Event;
class IEventModule;

// ThreadState is kept for each thread that has emitted an event. No two living threads have the same index;
// threads that have ended leave theirs to new ones.
struct ThreadState {
    std::size_t index;
    std::atomic<std::uint64_t> generation; // how many threads had the index before
    std::atomic<int> depth; // nested emissions that the thread is in: handlers may emit
    std::atomic<bool> ended;
    ThreadState *next; // in the list of all
};

namespace detail {

// CallSite is one EMIT_EVENT in the source. It must be constant-initialised.
struct CallSite {
    static constexpr std::uintptr_t unknown = 1;
    std::atomic<std::uintptr_t> event; // 0: nobody wants it; 1: unknown; else an Event *
    const char *space, *name, *file;
    int line;
    std::atomic<bool> bad; // the types were wrong: off for good
    std::atomic<const void *> checked; // the list of handlers for which the types are known to be right
    CallSite *next;                    // in the event's list of sites

    constexpr CallSite(const char *s, const char *n, const char *f, int l)
        : event(1), space(s), name(n), file(f), line(l), bad(false), checked(nullptr), next(nullptr) {}
    bool on() const { return event.load(std::memory_order_acquire) != 0; }
};

// Fields are the values of an event of `whyslow run`, read one after the other.
struct Fields {
    virtual const char *text() = 0; // valid until the handler returns
    virtual std::int64_t integer() = 0;
    virtual double real() = 0;
    virtual std::int64_t time() = 0; // of the event, in nanoseconds
    virtual std::size_t values(Value *out) = 0; // all that are left

  protected:
    ~Fields() {}
};

// FromField reads a parameter of a handler; whole says that it takes no field.
template <class C, class Enable = void> struct FromField {
    static const std::size_t fields = 1;
    static C get(Fields &) {
        throw std::invalid_argument("whyslow run has no values of type " + Called<C>::name());
    }
};
template <class C>
struct FromField<C, typename std::enable_if<std::is_integral<C>::value || std::is_enum<C>::value>::type> {
    static const std::size_t fields = 1;
    static C get(Fields &f) { return static_cast<C>(f.integer()); }
};
template <class C> struct FromField<C, typename std::enable_if<std::is_floating_point<C>::value>::type> {
    static const std::size_t fields = 1;
    static C get(Fields &f) { return static_cast<C>(f.real()); }
};
template <> struct FromField<const char *> {
    static const std::size_t fields = 1;
    static const char *get(Fields &f) { return f.text(); }
};
template <class C> struct FromField<C, typename std::enable_if<IsTime<C>::value>::type> {
    static const std::size_t fields = 0; // it is the event's
    static C get(Fields &f) {
        return C(std::chrono::duration_cast<typename C::duration>(std::chrono::nanoseconds(f.time())));
    }
};
template <class C> struct FromField<C, typename std::enable_if<IsDuration<C>::value>::type> {
    static const std::size_t fields = 1;
    static C get(Fields &f) { return std::chrono::duration_cast<C>(std::chrono::nanoseconds(f.integer())); }
};
template <class... C> struct SumOf;
template <> struct SumOf<> {
    static const std::size_t fields = 0;
};
template <class C, class... More> struct SumOf<C, More...> {
    static const std::size_t fields = FromField<C>::fields + SumOf<More...>::fields;
};

// Apply calls a function. Its arguments are made from left to right, as braces promise.
struct Apply {
    template <class F, class... A> explicit Apply(F &f, const A &...args) { f(args...); }
};

// Handler is a function connected to an event, or through connect_matching to several.
struct Handler {
    IEventModule *owner; // may be null
    std::string owner_name;
    int priority;
    std::uint64_t order; // among handlers of equal priority
    const Signature *types; // null: a generic handler, which takes any types
    std::atomic<bool> dead; // it threw an exception, or its module has finished

    explicit Handler(const Signature *t) : owner(nullptr), priority(100), order(0), types(t), dead(false) {}
    virtual ~Handler() {}
    Handler(const Handler &) = delete;
    // from calls it with the fields of an event of `whyslow run`; fields is how many it takes.
    virtual void from(Fields &) {}
    virtual std::size_t fields() const { return 0; }
};

template <class... C> struct TypedHandler : Handler {
    TypedHandler() : Handler(signature<C...>()) {}
    virtual void call(const C &...) = 0;
};

template <class F, class... C> struct TypedFunction final : TypedHandler<C...> {
    F f;
    explicit TypedFunction(F g) : f(std::move(g)) {}
    void call(const C &...args) override { f(args...); }
    void from(Fields &in) override {
        (void)in; // of a handler without parameters
        Apply{f, FromField<C>::get(in)...};
    }
    std::size_t fields() const override { return SumOf<C...>::fields; }
};

struct GenericHandler : Handler {
    std::function<void(const Event &, const Value *, std::size_t)> f;
    explicit GenericHandler(std::function<void(const Event &, const Value *, std::size_t)> g)
        : Handler(nullptr), f(std::move(g)) {}
};

// HandlerList never changes once it is visible to emitters.
struct HandlerList {
    std::vector<Handler *> handlers; // in the order of calls
    const Signature *types;          // of the event, null: not fixed yet
    bool generic;                    // some handler takes Values
};

} // namespace detail

// Event is the object behind Namespace::onName. There is one for each name, and it lives until the program
// ends.
class Event {
  public:
    Event(const std::string &space, const std::string &name)
        : space_(space), name_(name), key_(space + "::" + name), list(nullptr), sites(nullptr),
          enabled(false) {}
    Event(const Event &) = delete;
    const std::string &space() const { return space_; } // "CFEvents"
    const std::string &name() const { return name_; }   // "onCreated"
    const std::string &key() const { return key_; }     // "CFEvents::onCreated"

  private:
    std::string space_, name_, key_;

  public: // for EventsManager and emissions only
    std::atomic<const detail::HandlerList *> list; // null: none
    detail::CallSite *sites;                       // under the manager's lock
    bool enabled;                                  // by the configuration
};

// EventsManager holds all events. Any thread may call its functions, and so may handlers.
class EventsManager {
  public:
    // instance returns the program's manager.
    static EventsManager *instance();

    // active tells whether the configuration lets an event through.
    virtual bool active(const std::string &space, const std::string &name) = 0;
    // connect connects a handler that takes any types. The Values are valid during the call. The handler has
    // the priority of the module whose registerEvents calls connect, or 100 outside of registerEvents.
    void connect(const std::string &space, const std::string &name,
                 std::function<void(const Event &, const Value *, std::size_t)> f) {
        add(space, name, new detail::GenericHandler(std::move(f)));
    }
    // connect_matching does the same for all events whose name "Namespace::onName" matches one of the
    // patterns (* and ?), including events that are first met later.
    virtual void connect_matching(const std::vector<std::string> &patterns,
                                  std::function<void(const Event &, const Value *, std::size_t)> f) = 0;
    // strict makes emissions with wrong types throw EventTypeError. By default they are reported once.
    virtual void strict(bool on) = 0;

    // For the macros.
    // add takes over h and throws EventTypeError.
    virtual void add(const std::string &space, const std::string &name, detail::Handler *h) = 0;
    virtual Event *resolve(detail::CallSite &site) = 0; // null: off
    virtual ThreadState *thread() = 0;                  // null: too many threads
    virtual void wrong_types(detail::CallSite &site, Event &e, const detail::Signature &is) = 0;
    virtual void failed(Event &e, detail::Handler &h, const char *what) = 0;
    virtual void too_deep(detail::CallSite &site) = 0;

  protected:
    ~EventsManager() {}
};

class ModulesManager;

namespace detail {

// Core leads from any binary to the one implementation. version must be the same in all binaries.
struct Core {
    static const int version = 2;
    EventsManager *events;
    ModulesManager *modules;
};

} // namespace detail
} // namespace whyslow

#if !defined(WHYSLOW_LUNA) && !defined(WHYSLOW_MODULE_LIBRARY)
// In a shared library the reference is weak: the library may be a module loaded by a program that does not
// export its symbols. There the module's entry point sets the pointer.
#if defined(__PIC__) && !defined(__PIE__)
extern "C" __attribute__((weak, visibility("default"))) whyslow::detail::Core *whyslow_core(void);
#else
// If the linker misses this function: one source file must define WHYSLOW_IMPLEMENTATION, see the top.
extern "C" __attribute__((visibility("default"))) whyslow::detail::Core *whyslow_core(void);
#endif
#endif

namespace whyslow {
namespace detail {

inline std::atomic<Core *> &core_slot() {
    static std::atomic<Core *> slot(nullptr);
    return slot;
}

#if defined(WHYSLOW_LUNA)
Core *luna_core();
inline Core *core() { return luna_core(); }
#elif defined(WHYSLOW_MODULE_LIBRARY)
// Whoever loads the library sets the pointer.
inline Core *core() {
    Core *c = core_slot().load(std::memory_order_acquire);
    if (!c) throw std::logic_error("whyslow.hpp: the module is not running");
    return c;
}
#else
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Waddress" // the reference is not always weak
#endif
inline Core *core() {
    Core *c = core_slot().load(std::memory_order_acquire);
    if (!c && &whyslow_core != nullptr) {
        c = whyslow_core();
        core_slot().store(c, std::memory_order_release);
    }
    if (!c)
        throw std::logic_error("whyslow.hpp: no source file of the program defines WHYSLOW_IMPLEMENTATION");
    return c;
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

inline ThreadState *&thread_slot() {
    static thread_local ThreadState *state = nullptr;
    return state;
}
inline ThreadState *thread_state() {
    ThreadState *&state = thread_slot();
    if (__builtin_expect(!state, 0)) state = core()->events->thread();
    return state;
}

// Inside marks a thread as being in an emission, so that no module is destroyed while its handler runs.
struct Inside {
    ThreadState *state;
    int depth;
    explicit Inside(ThreadState *t) : state(t), depth(t->depth.load(std::memory_order_relaxed)) {
        t->depth.store(depth + 1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~Inside() { state->depth.store(depth, std::memory_order_release); }
    Inside(const Inside &) = delete;
};

// deliver calls the handlers of an event. A handler that throws is disconnected; the others still run.
template <class... C> void deliver(Event &e, const HandlerList &list, const C &...args) {
    Value values[sizeof...(C) + 1];
    if (list.generic) {
        Value *v = values;
        const int fill[] = {0, (ValueOf<C>::set(*v, args), v++, 0)...};
        (void)fill, (void)v;
    }
    for (Handler *h : list.handlers) {
        if (h->dead.load(std::memory_order_acquire)) continue;
        try {
            if (h->types) static_cast<TypedHandler<C...> *>(h)->call(args...);
            else static_cast<GenericHandler *>(h)->f(e, values, sizeof...(C));
#if defined(__GLIBCXX__)
        } catch (abi::__forced_unwind &) {
            throw; // the thread is being cancelled
#endif
        } catch (const std::exception &x) {
            core()->events->failed(e, *h, x.what());
        } catch (...) {
            core()->events->failed(e, *h, "an exception of a type of its own");
        }
    }
}

// wanted is called when on() is true. At the first emission it looks the event up.
inline bool wanted(CallSite &site) {
    return site.event.load(std::memory_order_acquire) != CallSite::unknown || core()->events->resolve(site);
}

template <class... T> __attribute__((noinline)) void send_event(CallSite &site, const T &...args) {
    EventsManager *manager = core()->events;
    Event *e = reinterpret_cast<Event *>(site.event.load(std::memory_order_acquire));
    if (!e) return; // it was switched off meanwhile
    ThreadState *thread = thread_state();
    if (!thread) return;
    Inside inside(thread);
    if (inside.depth > 32) return manager->too_deep(site);
    const HandlerList *list = e->list.load(std::memory_order_acquire);
    if (!list) return;
    if (__builtin_expect(site.checked.load(std::memory_order_relaxed) != list, 0)) {
        const Signature *is = signature<typename Canonical<T>::type...>();
        if (list->types && !list->types->same(*is)) return manager->wrong_types(site, *e, *is);
        site.checked.store(list, std::memory_order_relaxed);
    }
    deliver<typename Canonical<T>::type...>(*e, *list, Carry<T>(args).get()...);
}

// connect finds out the types that a handler takes.
template <class F> struct CallOperator : CallOperator<decltype(&F::operator())> {};
template <class R, class... A> struct CallOperator<R(A...)> {
    template <class F> static Handler *make(F f) {
        return new TypedFunction<F, typename Canonical<A>::type...>(std::move(f));
    }
};
template <class R, class... A> struct CallOperator<R (*)(A...)> : CallOperator<R(A...)> {};
template <class R, class T, class... A> struct CallOperator<R (T::*)(A...)> : CallOperator<R(A...)> {};
template <class R, class T, class... A> struct CallOperator<R (T::*)(A...) const> : CallOperator<R(A...)> {};
#if defined(__cpp_noexcept_function_type)
template <class R, class... A> struct CallOperator<R (*)(A...) noexcept> : CallOperator<R(A...)> {};
template <class R, class T, class... A>
struct CallOperator<R (T::*)(A...) noexcept> : CallOperator<R(A...)> {};
template <class R, class T, class... A>
struct CallOperator<R (T::*)(A...) const noexcept> : CallOperator<R(A...)> {};
#endif

template <class F> void connect(const char *space, const char *name, F &&f) {
    typedef typename std::decay<F>::type Function;
    core()->events->add(space, name, CallOperator<Function>::make(Function(std::forward<F>(f))));
}

} // namespace detail

inline EventsManager *EventsManager::instance() { return detail::core()->events; }

} // namespace whyslow

// EMIT_EVENT(Namespace, onName, arguments...) calls the handlers of an event. It takes up to 16 arguments,
// and evaluates them only if somebody wants the event. Wrong types are reported once per place, and the event
// is then no longer emitted there.
#define EMIT_EVENT(...)                                                                                      \
    WHYSLOW_PICK(__VA_ARGS__, WHYSLOW_EMIT_N, WHYSLOW_EMIT_N, WHYSLOW_EMIT_N, WHYSLOW_EMIT_N,                \
                 WHYSLOW_EMIT_N, WHYSLOW_EMIT_N, WHYSLOW_EMIT_N, WHYSLOW_EMIT_N, WHYSLOW_EMIT_N,             \
                 WHYSLOW_EMIT_N, WHYSLOW_EMIT_N, WHYSLOW_EMIT_N, WHYSLOW_EMIT_N, WHYSLOW_EMIT_N,             \
                 WHYSLOW_EMIT_N, WHYSLOW_EMIT_N, WHYSLOW_EMIT_0, ~)(__VA_ARGS__)

// CONNECT_EVENT(Namespace, onName, handler) connects a handler: a function, a function object, or a lambda
// without auto parameters. It throws whyslow::EventTypeError if the event has handlers of other types.
// Handlers run in the thread that emits, so several may run at once.
#define CONNECT_EVENT(Namespace, onName, ...) ::whyslow::detail::connect(#Namespace, #onName, __VA_ARGS__)

// A strictly conforming way to tell an emission without arguments from one with some.
#define WHYSLOW_PICK(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, macro, \
                     ...) macro
#define WHYSLOW_EMIT_0(Namespace, onName) \
    WHYSLOW_EMIT(#Namespace, #onName, ::whyslow::detail::send_event(whyslow_site))
#define WHYSLOW_EMIT_N(Namespace, onName, ...) \
    WHYSLOW_EMIT(#Namespace, #onName, ::whyslow::detail::send_event(whyslow_site, __VA_ARGS__))
#define WHYSLOW_EMIT(space, name, call)                                                              \
    do {                                                                                             \
        static ::whyslow::detail::CallSite whyslow_site(space, name, __FILE__, __LINE__);            \
        if (__builtin_expect(whyslow_site.on(), 0) && ::whyslow::detail::wanted(whyslow_site)) call; \
    } while (0)
