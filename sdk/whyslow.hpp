/* Made by sdk/gen from sdk/src/cpp and the table in trace/kinds.go; change those, then: go generate ./sdk */

// whyslow.hpp: configurable profiling of C++ run-time systems, with traces for whyslow.
//
// How to use it. Copy this file and whyslow.h. In exactly one source file of the program write
//
//     #define WHYSLOW_IMPLEMENTATION
//     #include "whyslow.hpp"
//
// and plain #include "whyslow.hpp" in the others. C++11, GCC or Clang, POSIX; link with -pthread, and
// with -ldl where the C library is older than glibc 2.34. docs/cpp-sdk.md has a whole example.
//
//     EMIT_EVENT(CFEvents, onCreated, "CF created");                  // where something happens
//     CONNECT_EVENT(CFEvents, onCreated, [](const char *message) {   // in registerEvents of a module
//         std::cout << message << std::endl;
//     });
//
// Problem. A run-time system emits events from all over its source, and a configuration file says at the
// start of each run which of them matter. An event that is off must cost next to nothing. An event that is on
// runs handlers whose types were unknown when the emission was compiled, from many threads at once and
// without a lock. A handler that fails must not take the program down.
//
// Plan. Every emission has a call site: a constant-initialised static object with one atomic word. The word
// is 0 while nobody wants the event (a load and a branch; arguments are not evaluated), 1 before the first
// emission, and otherwise the Event object. The first emission adds the site to the list of its event, which
// from then on keeps the words of all its sites up to date. An Event has an immutable list of handlers in
// order of priority. The list is replaced as a whole, under a lock, when a handler is added or removed;
// emitters only load the pointer. Old lists are kept to the end: there are few. The types of an emission are
// compared with those of the event once per site and list.
//
// Everything that is slow, reads files or loads libraries is behind the interfaces EventsManager and
// ModulesManager, implemented in that one source file. Modules in shared libraries reach them through
// pointers, so they need no symbol of the program.
//
// The C++ code of a LuNA program includes the same header, and emits into the run: luna.hpp of the parts. A
// module compiled with WHYSLOW_MODULE_LIBRARY is a library for `whyslow run`, too: library.hpp.
//
// Nothing starts before the first emission (or whyslow::init), because modules may register themselves while
// static objects are constructed, in any order. Profiling ends at exit: modules finish in order of priority.

#ifndef WHYSLOW_HPP
#define WHYSLOW_HPP

#if defined(WHYSLOW_IMPLEMENTATION) && !defined(WHYSLOW_LUNA)
#include "whyslow.h" // before others, so that it may choose feature macros
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>
#if __cplusplus >= 201703L
#include <string_view>
#endif
#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#if defined(WHYSLOW_MODULE_LIBRARY)
#include "whyslow_module.h"
#elif !defined(WHYSLOW_LUNA)
#include "whyslow.h"
#endif

namespace whyslow {

// EventTypeError is thrown when a handler, or in strict mode an emission, has other types than the event. The
// message names the event and both signatures.
class EventTypeError : public std::runtime_error {
  public:
    explicit EventTypeError(const std::string &what) : std::runtime_error(what) {}
};

// Value is an argument of an event, as a handler that takes any types sees it. It is valid during the call.
struct Value {
    enum Type { Int, Uint, Float, Bool, Text, Time, Duration, Other };
    Type type;
    union {
        std::int64_t i;   // Int; Time and Duration: nanoseconds
        std::uint64_t u;  // Uint, Bool
        double f;         // Float
        const char *text; // Text
        const void *p;    // Other: the argument
    };
    void (*print)(std::ostream &, const void *); // Other

    // str returns the value as text.
    std::string str() const;
    // size returns an Int or Uint that is not negative, otherwise -1.
    std::int64_t size() const {
        if (type == Int) return i >= 0 ? i : -1;
        return type == Uint && u <= static_cast<std::uint64_t>(INT64_MAX) ? static_cast<std::int64_t>(u) : -1;
    }
};

namespace detail {

// Canonical is the type that stands for T in a signature. Strings become const char *; integers become the
// fixed-width type of their width and sign, so that long and long long are the same; other types decay.
template <class T, class Enable = void> struct CanonicalOf { typedef T type; };
template <> struct CanonicalOf<char *> { typedef const char *type; };
template <> struct CanonicalOf<std::string> { typedef const char *type; };
#if __cplusplus >= 201703L
template <> struct CanonicalOf<std::string_view> { typedef const char *type; };
#endif

template <std::size_t Size, bool Signed> struct Integer;
template <> struct Integer<1, true> { typedef std::int8_t type; };
template <> struct Integer<1, false> { typedef std::uint8_t type; };
template <> struct Integer<2, true> { typedef std::int16_t type; };
template <> struct Integer<2, false> { typedef std::uint16_t type; };
template <> struct Integer<4, true> { typedef std::int32_t type; };
template <> struct Integer<4, false> { typedef std::uint32_t type; };
template <> struct Integer<8, true> { typedef std::int64_t type; };
template <> struct Integer<8, false> { typedef std::uint64_t type; };

// IsInteger excludes the integral types that stand for themselves: bool, char and the wide characters.
template <class T> struct IsInteger {
    static const bool value = std::is_integral<T>::value && sizeof(T) <= 8 && !std::is_same<T, bool>::value &&
                              !std::is_same<T, char>::value && !std::is_same<T, wchar_t>::value &&
                              !std::is_same<T, char16_t>::value && !std::is_same<T, char32_t>::value;
};
template <class T> struct CanonicalOf<T, typename std::enable_if<IsInteger<T>::value>::type> {
    typedef typename Integer<sizeof(T), std::is_signed<T>::value>::type type;
};
template <class T> struct Canonical {
    typedef typename CanonicalOf<typename std::decay<T>::type>::type type;
};

// Carry holds an argument in its canonical type while handlers run.
template <class T, class C = typename Canonical<T>::type> struct Carry {
    const C value;
    explicit Carry(const T &v) : value(static_cast<C>(v)) {}
    const C &get() const { return value; }
};
template <class T> struct Carry<T, T> {
    const T &value;
    explicit Carry(const T &v) : value(v) {}
    const T &get() const { return value; }
};
template <class T> struct CarryText {
    const char *value;
    explicit CarryText(const char *v) : value(v ? v : "") {}
    const char *const &get() const { return value; }
};
template <> struct Carry<const char *, const char *> : CarryText<void> {
    explicit Carry(const char *v) : CarryText<void>(v) {}
};
template <> struct Carry<char *, const char *> : CarryText<void> {
    explicit Carry(const char *v) : CarryText<void>(v) {}
};
template <std::size_t N> struct Carry<char[N], const char *> : CarryText<void> {
    explicit Carry(const char *v) : CarryText<void>(v) {}
};
template <> struct Carry<std::string, const char *> : CarryText<void> {
    explicit Carry(const std::string &v) : CarryText<void>(v.c_str()) {}
};
#if __cplusplus >= 201703L
template <> struct Carry<std::string_view, const char *> {
    std::string copy;
    const char *value;
    explicit Carry(std::string_view v) : copy(v), value(copy.c_str()) {}
    const char *const &get() const { return value; }
};
#endif

// type_name returns the name of a type for messages.
std::string inline type_name(const std::type_info &t) {
#if defined(__GLIBCXX__) || defined(_LIBCPP_VERSION)
    int status = 0;
    std::unique_ptr<char, void (*)(void *)> text(abi::__cxa_demangle(t.name(), nullptr, nullptr, &status),
                                                 std::free);
    if (text) return text.get();
#endif
    return t.name();
}

// Names of types that messages spell differently from the compiler.
template <class T> struct Called {
    static std::string name() { return type_name(typeid(T)); }
};
template <> struct Called<const char *> {
    static std::string name() { return "const char*"; }
};
template <class D> struct Called<std::chrono::time_point<std::chrono::system_clock, D>> {
    static std::string name() { return "std::chrono::system_clock::time_point"; }
};
template <class D> struct Called<std::chrono::time_point<std::chrono::steady_clock, D>> {
    static std::string name() { return "std::chrono::steady_clock::time_point"; }
};

// Signature is the list of types of an event. Each binary has one object per list.
struct Signature {
    std::size_t count;
    const std::type_info *const *types;
    std::string (*describe)();

    bool same(const Signature &o) const {
        if (this == &o) return true;
        if (count != o.count) return false;
        for (std::size_t i = 0; i < count; i++)
            if (*types[i] != *o.types[i]) return false;
        return true;
    }
};

template <class... C> std::string describe() {
    const std::string names[] = {Called<C>::name()..., std::string()};
    std::string s = "(";
    for (std::size_t i = 0; i < sizeof...(C); i++) s += (i ? ", " : "") + names[i];
    return s + ")";
}

template <class... C> const Signature *signature() {
    static const std::type_info *const types[] = {&typeid(C)..., nullptr};
    static const Signature s = {sizeof...(C), types, &describe<C...>};
    return &s;
}

template <class T> class Prints { // whether T can be written to a stream
    template <class U> static auto test(int)
        -> decltype(std::declval<std::ostream &>() << std::declval<const U &>(), std::true_type());
    template <class> static std::false_type test(...);

  public:
    static const bool value = decltype(test<T>(0))::value;
};
template <class T, bool = Prints<T>::value> struct Print {
    static void to(std::ostream &out, const void *p) { out << *static_cast<const T *>(p); }
};
template <class T> struct Print<T, false> {
    static void to(std::ostream &out, const void *) { out << type_name(typeid(T)); }
};

// value makes a Value from a canonical argument.
template <class T> struct IsTime : std::false_type {};
template <class C, class D> struct IsTime<std::chrono::time_point<C, D>> : std::true_type {};
template <class T> struct IsDuration : std::false_type {};
template <class R, class P> struct IsDuration<std::chrono::duration<R, P>> : std::true_type {};

template <class D> std::int64_t nanoseconds(const D &d) {
    return static_cast<std::int64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(d).count());
}

template <class T, class Enable = void> struct ValueOf {
    static void set(Value &v, const T &x) { v.type = Value::Other, v.p = &x, v.print = &Print<T>::to; }
};
template <class T>
struct ValueOf<T, typename std::enable_if<IsInteger<T>::value && std::is_signed<T>::value>::type> {
    static void set(Value &v, T x) { v.type = Value::Int, v.i = x; }
};
template <class T>
struct ValueOf<T, typename std::enable_if<IsInteger<T>::value && std::is_unsigned<T>::value>::type> {
    static void set(Value &v, T x) { v.type = Value::Uint, v.u = x; }
};
template <class T> struct ValueOf<T, typename std::enable_if<std::is_enum<T>::value>::type> {
    static void set(Value &v, T x) { v.type = Value::Int, v.i = static_cast<std::int64_t>(x); }
};
template <class T> struct ValueOf<T, typename std::enable_if<std::is_floating_point<T>::value>::type> {
    static void set(Value &v, T x) { v.type = Value::Float, v.f = static_cast<double>(x); }
};
template <> struct ValueOf<bool> {
    static void set(Value &v, bool x) { v.type = Value::Bool, v.u = x; }
};
template <> struct ValueOf<const char *> {
    static void set(Value &v, const char *x) { v.type = Value::Text, v.text = x; }
};
template <class T> struct ValueOf<T, typename std::enable_if<IsTime<T>::value>::type> {
    static void set(Value &v, const T &x) { v.type = Value::Time, v.i = nanoseconds(x.time_since_epoch()); }
};
template <class T> struct ValueOf<T, typename std::enable_if<IsDuration<T>::value>::type> {
    static void set(Value &v, const T &x) { v.type = Value::Duration, v.i = nanoseconds(x); }
};

} // namespace detail

inline std::string Value::str() const {
    std::ostringstream s;
    switch (type) {
    case Int: s << i; break;
    case Uint: s << u; break;
    case Float: s << f; break;
    case Bool: s << (u ? "true" : "false"); break;
    case Text: s << text; break;
    case Time:
    case Duration: s << i << " ns"; break;
    case Other: print(s, p); break;
    }
    return s.str();
}

} // namespace whyslow


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


// ---- Standard modules; you may derive from them ---------------------------------------------------------

namespace whyslow {

// Output is where a module writes, from its parameter file: a file, "-" for standard output,
// "tcp://HOST:PORT" for whoever listens there; the default is standard error.
class Output {
  public:
    Output() : f_(nullptr), socket_(-1), error_(0) {}
    ~Output() { close(); }
    Output(const Output &) = delete;
    // open creates or replaces the file, or connects. It throws std::runtime_error if the file cannot be
    // written, if another module or another run is writing it, or if nobody listens.
    void open(const std::string &file) {
        if (file.empty() || file == "-") {
            f_ = file.empty() ? stderr : stdout;
            return;
        }
        if (file.compare(0, 6, "tcp://") == 0) {
            connect(file);
            return;
        }
        const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0) throw std::runtime_error("cannot write " + file + ": " + std::strerror(errno));
        struct stat st;
        const bool regular = !::fstat(fd, &st) && S_ISREG(st.st_mode);
        if (regular && ::flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
            ::close(fd);
            throw std::runtime_error(
                file + " is being written by another module or another run: name another file");
        }
        if ((regular && ::ftruncate(fd, 0)) || !(f_ = ::fdopen(fd, "w"))) {
            const int why = errno;
            ::close(fd);
            throw std::runtime_error("cannot write " + file + ": " + std::strerror(why));
        }
    }
    // write writes whole lines.
    void write(const std::string &s) {
        if (f_) std::fwrite(s.data(), 1, s.size(), f_);
        if (socket_ < 0) return;
        waiting_ += s;
        if (waiting_.size() >= 1 << 16) send();
    }
    void close() {
        const bool own = f_ && f_ != stderr && f_ != stdout;
        int error = f_ && std::fflush(f_) ? errno : 0;
        if (own) {
            ::flock(::fileno(f_), LOCK_UN); // a forked process would keep the lock
            if (std::fclose(f_) && !error) error = errno;
            if (error)
                std::fprintf(stderr, "whyslow: a file of results is incomplete: %s\n",
                             std::strerror(error));
        }
        f_ = nullptr;
        if (socket_ < 0) return;
        send();
        if (::close(socket_) && !error_) error_ = errno;
        socket_ = -1;
        if (error_)
            std::fprintf(stderr, "whyslow: results sent over the network are incomplete: %s\n",
                         std::strerror(error_));
    }

  private:
    std::FILE *f_;
    int socket_, error_; // error_: the first errno of the connection; nothing is sent after it
    std::string waiting_;

    // connect waits at most five seconds for each address of the host, and as long for each later send.
    void connect(const std::string &where) {
        const std::size_t colon = where.rfind(':');
        std::string host = where.substr(6, colon > 6 ? colon - 6 : 0);
        if (host.size() > 1 && host[0] == '[' && host[host.size() - 1] == ']')
            host = host.substr(1, host.size() - 2);
        addrinfo wanted, *list = nullptr;
        std::memset(&wanted, 0, sizeof wanted);
        wanted.ai_socktype = SOCK_STREAM;
        const int wrong = ::getaddrinfo(host.c_str(), where.c_str() + colon + 1, &wanted, &list);
        if (wrong) throw std::runtime_error("cannot connect to " + where + ": " + ::gai_strerror(wrong));
        timeval limit;
        limit.tv_sec = 5, limit.tv_usec = 0;
        int why = 0;
        for (addrinfo *a = list; a && socket_ < 0; a = a->ai_next) {
            const int fd = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
            if (fd >= 0) ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
            if (fd >= 0 && !::connect(fd, a->ai_addr, a->ai_addrlen)) {
                socket_ = fd;
                continue;
            }
            why = errno;
            if (fd >= 0) ::close(fd);
        }
        ::freeaddrinfo(list);
        if (socket_ < 0) throw std::runtime_error("cannot connect to " + where + ": " + std::strerror(why));
    }

    void send() {
        for (std::size_t at = 0; at < waiting_.size() && !error_;) {
            const ssize_t n = ::send(socket_, waiting_.data() + at, waiting_.size() - at, MSG_NOSIGNAL);
            if (n >= 0) at += static_cast<std::size_t>(n);
            else if (errno != EINTR) error_ = errno;
        }
        waiting_.clear();
    }
};

// LoggerModule is logger_module: one line for each event. Its parameters are file; format, "text" or "csv";
// and events, a list of patterns, by default all. Derive from it to change the lines. cf_events_module,
// df_events_module and global_events_module do the same for the events of one namespace.
class LoggerModule : public IEventModule {
  public:
    explicit LoggerModule(const char *pattern = "*")
        : pattern_(pattern), csv_(false), start_(std::chrono::steady_clock::now()) {}
    void registerEvents() override {
        out_.open(text("file", ""));
        const std::string format = text("format", "text");
        csv_ = format == "csv";
        if (!csv_ && format != "text")
            throw std::runtime_error("parameter format is \"" + format +
                                     "\": it must be \"text\" or \"csv\"");
        out_.write(header());
        const std::vector<std::string> patterns = texts("events", std::vector<std::string>(1, pattern_));
        EventsManager::instance()->connect_matching(patterns, [this](const Event &e, const Value *v,
                                                                     std::size_t n) {
            const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
            const std::string s = line(e, v, n, seconds.count());
            std::lock_guard<std::mutex> guard(lock_);
            out_.write(s);
        });
    }
    void finish() override { out_.close(); }

  protected:
    // header returns the first line; line returns that of an event, seconds after the start. Both end with
    // "\n".
    virtual std::string header() const { return csv_ ? "time,thread,event,arguments\n" : ""; }
    virtual std::string line(const Event &e, const Value *v, std::size_t n, double seconds) const {
        std::ostringstream s;
        s.setf(std::ios::fixed);
        s.precision(6);
        const char separator = csv_ ? ',' : ' ';
        s << seconds << separator << std::this_thread::get_id() << separator << e.key();
        for (std::size_t i = 0; i < n; i++) s << separator << (csv_ ? quoted(v[i].str()) : v[i].str());
        s << '\n';
        return s.str();
    }
    static std::string quoted(const std::string &s) {
        if (s.find_first_of(",\"\r\n") == std::string::npos) return s;
        std::string q = "\"";
        for (char c : s) q += c == '"' ? std::string("\"\"") : std::string(1, c);
        return q + "\"";
    }

  private:
    std::string pattern_;
    bool csv_;
    std::chrono::steady_clock::time_point start_;
    std::mutex lock_;
    Output out_;
};

struct CFEventsModule : LoggerModule {
    CFEventsModule() : LoggerModule("CFEvents::*") {}
};
struct DFEventsModule : LoggerModule {
    DFEventsModule() : LoggerModule("DFEvents::*") {}
};
struct GlobalEventsModule : LoggerModule {
    GlobalEventsModule() : LoggerModule("GlobalEvents::*") {}
};

// CFCounterModule is cf_counter_events_module: how often CFs were created, started, waited and finished.
class CFCounterModule : public IEventModule {
  public:
    void registerEvents() override {
        out_.open(text("file", ""));
        for (int i = 0; i < 4; i++)
            EventsManager::instance()->connect(
                "CFEvents", event(i), [this, i](const Event &, const Value *, std::size_t) {
                    std::atomic<std::uint64_t> &n = counts_.get().n[i]; // only this thread writes it
                    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
                });
    }
    void finish() override {
        static const char *const words[] = {"created", "started", "waiting", "finished"};
        for (int i = 0; i < 4; i++)
            out_.write(std::string("CF ") + words[i] + ": " + std::to_string(count(i)) + "\n");
        out_.close();
    }
    // count returns the number so far of events 0 created, 1 started, 2 waiting or 3 finished.
    std::uint64_t count(int i) {
        std::uint64_t sum = 0;
        counts_.all([&sum, i](Counts &c) { sum += c.n[i].load(std::memory_order_relaxed); });
        return sum;
    }

  private:
    static const char *event(int i) {
        static const char *const names[] = {"onCreated", "onStarted", "onWaiting", "onFinished"};
        return names[i];
    }
    struct Counts {
        std::atomic<std::uint64_t> n[4];
        Counts() {
            for (std::atomic<std::uint64_t> &c : n) c = 0;
        }
    };
    PerThread<Counts> counts_;
    Output out_;
};

// DFSizerModule is df_sizer_events_module: bytes of DFs created and destroyed. The size is the last argument
// of onCreate or onCreateSize, and of onDestroy or onDestroySize. A program emits one of the two for each DF.
class DFSizerModule : public IEventModule {
  public:
    void registerEvents() override {
        out_.open(text("file", ""));
        static const char *const names[] = {"onCreate", "onCreateSize", "onDestroy", "onDestroySize"};
        for (int i = 0; i < 4; i++)
            EventsManager::instance()->connect(
                "DFEvents", names[i], [this, i](const Event &e, const Value *v, std::size_t n) {
                    const std::int64_t size = n ? v[n - 1].size() : -1;
                    if (size < 0) throw std::runtime_error(e.key() + " has no size as its last argument");
                    std::atomic<std::int64_t> &bytes = sums_.get().bytes[i / 2];
                    bytes.store(bytes.load(std::memory_order_relaxed) + size, std::memory_order_relaxed);
                });
    }
    void finish() override {
        out_.write("Total DF size created: " + std::to_string(created()) + " bytes\n" +
                   "Total DF size destroyed: " + std::to_string(destroyed()) + " bytes\n");
        out_.close();
    }
    std::int64_t created() { return sum(0); }   // so far
    std::int64_t destroyed() { return sum(1); } // so far

  private:
    struct Sums {
        std::atomic<std::int64_t> bytes[2];
        Sums() { bytes[0] = bytes[1] = 0; }
    };
    std::int64_t sum(int i) {
        std::int64_t sum = 0;
        sums_.all([&sum, i](Sums &s) { sum += s.bytes[i].load(std::memory_order_relaxed); });
        return sum;
    }
    PerThread<Sums> sums_;
    Output out_;
};

// ForeignBlockTimerModule is foreign_block_timer_module: the time of user functions by function and thread,
// from the times that onForeignStarted and onForeignEnded carry.
class ForeignBlockTimerModule : public IEventModule {
  public:
    void registerEvents() override {
        out_.open(text("file", ""));
        EventsManager *events = EventsManager::instance();
        events->connect("GlobalEvents", "onForeignStarted", [this](const Event &e, const Value *v,
                                                                   std::size_t n) {
            check(e, v, n);
            Thread &t = threads_.get();
            t.open.push_back(Open{t.find(v[0].text), v[1].i});
        });
        events->connect("GlobalEvents", "onForeignEnded", [this](const Event &e, const Value *v,
                                                                 std::size_t n) {
            check(e, v, n);
            Thread &t = threads_.get();
            const std::size_t f = t.find(v[0].text);
            for (std::size_t i = t.open.size(); i > 0; i--) {
                if (t.open[i - 1].function != f) continue;
                t.functions[f].total += v[1].i - t.open[i - 1].start;
                t.open.resize(i - 1); // calls above it that an exception left open have no end
                break;
            }
        });
    }
    void finish() override {
        std::map<std::pair<std::string, std::uint64_t>, std::int64_t> all; // function, thread
        threads_.all([&all](Thread &t) {
            for (const Function &f : t.functions) all[std::make_pair(f.name, f.thread)] += f.total;
        });
        for (const auto &p : all)
            out_.write("Func: " + p.first.first + ", PID: " + std::to_string(::getpid()) +
                       ", TID: " + std::to_string(p.first.second) + " => " +
                       std::to_string((p.second + 500000) / 1000000) + " ms total\n");
        out_.close();
    }

  private:
    struct Function {
        const char *pointer;
        std::string name;
        std::uint64_t thread;
        std::int64_t total;
    };
    struct Open {
        std::size_t function;
        std::int64_t start;
    };
    struct Thread {
        std::vector<Open> open;
        std::vector<Function> functions;

        // Most names are the same pointer each time, but the text decides.
        std::size_t find(const char *name) {
            const std::uint64_t self = thread_number();
            for (std::size_t i = 0; i < functions.size(); i++)
                if (functions[i].pointer == name && functions[i].thread == self && functions[i].name == name)
                    return i;
            for (std::size_t i = 0; i < functions.size(); i++)
                if (functions[i].thread == self && functions[i].name == name)
                    return functions[i].pointer = name, i;
            functions.push_back(Function{name, name, self, 0});
            return functions.size() - 1;
        }
    };
    static std::uint64_t thread_number() { return (std::uint64_t)::pthread_self(); }
    static void check(const Event &e, const Value *v, std::size_t n) {
        if (n != 2 || v[0].type != Value::Text || v[1].type != Value::Time)
            throw std::runtime_error(e.key() + " must have a function's name and a time as its arguments");
    }
    PerThread<Thread> threads_;
    Output out_;
};

// PerfettoModule is perfetto_module: a JSON file for ui.perfetto.dev. Calls of user functions are intervals
// of their thread, the bytes of DFs created and destroyed so far are counters. Times are when events came, in
// microseconds since the start. Threads pass their text on 64 kB at a time.
class PerfettoModule : public IEventModule {
  public:
    PerfettoModule() : start_(std::chrono::steady_clock::now()), created_(0), destroyed_(0) {}
    void registerEvents() override {
        out_.open(text("file", "perfetto.json"));
        out_.write("[\n{\"name\":\"process_name\",\"ph\":\"M\"," + place(0) +
                   ",\"args\":{\"name\":\"program\"}}");
        EventsManager *events = EventsManager::instance();
        events->connect("GlobalEvents", "onForeignStarted", [this](const Event &e, const Value *v,
                                                                   std::size_t n) {
            mine().open.push_back(std::make_pair(function(e, v, n), now()));
        });
        events->connect("GlobalEvents", "onForeignEnded", [this](const Event &e, const Value *v,
                                                                 std::size_t n) {
            Thread &t = mine();
            const std::string name = function(e, v, n);
            for (std::size_t i = t.open.size(); i > 0; i--) {
                if (t.open[i - 1].first != name) continue;
                interval(t, name, t.open[i - 1].second, "{}");
                t.open.resize(i - 1);
                break;
            }
        });
        for (const char *name : {"onCreate", "onCreateSize"}) size(name, created_);
        for (const char *name : {"onDestroy", "onDestroySize"}) size(name, destroyed_);
    }
    void finish() override {
        threads_.all([this](Thread &t) {
            for (const std::pair<std::string, double> &f : t.open)
                interval(t, f.first, f.second, "{\"unfinished\":true}");
            out_.write(t.text);
        });
        out_.write("\n]\n");
        out_.close();
    }

  private:
    struct Thread {
        std::vector<std::pair<std::string, double>> open; // functions that have not returned, and since when
        std::string text;
        std::size_t id = 0;
    };
    Thread &mine() {
        Thread &t = threads_.get();
        t.id = detail::thread_state()->index + 1;
        return t;
    }
    static std::string function(const Event &e, const Value *v, std::size_t n) {
        if (n == 0 || v[0].type != Value::Text)
            throw std::runtime_error(e.key() + " must have a function's name as its first argument");
        return v[0].text;
    }
    double now() const {
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_).count();
    }
    static std::string place(std::size_t thread) {
        return "\"pid\":" + std::to_string(::getpid()) + ",\"tid\":" + std::to_string(thread);
    }
    void size(const char *name, std::atomic<std::int64_t> &sum) {
        EventsManager::instance()->connect(
            "DFEvents", name, [this, &sum](const Event &e, const Value *v, std::size_t n) {
                const std::int64_t bytes = n ? v[n - 1].size() : -1;
                if (bytes < 0) throw std::runtime_error(e.key() + " has no size as its last argument");
                sum += bytes;
                Thread &t = mine();
                put(t, "{\"name\":\"DFSizer\",\"cat\":\"DF\",\"ph\":\"C\",\"ts\":" +
                           std::to_string(now()) + ",\"dur\":0," + place(t.id) +
                           ",\"args\":{\"created\":" + std::to_string(created_.load()) +
                           ",\"destroyed\":" + std::to_string(destroyed_.load()) + "}}");
            });
    }
    void interval(Thread &t, const std::string &name, double from, const char *args) {
        put(t, "{\"name\":" + json(name) + ",\"cat\":\"ForeignBlock\",\"ph\":\"X\",\"ts\":" +
                   std::to_string(from) + ",\"dur\":" + std::to_string(now() - from) + "," + place(t.id) +
                   ",\"args\":" + args + "}");
    }
    void put(Thread &t, const std::string &record) {
        t.text += ",\n" + record;
        if (t.text.size() < 65536) return;
        std::lock_guard<std::mutex> guard(lock_);
        out_.write(t.text);
        t.text.clear();
    }
    static std::string json(const std::string &s) {
        std::string out = "\"";
        for (char c : s) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned char>(c));
            if (c == '"' || c == '\\') out += std::string("\\") + c;
            else out += static_cast<unsigned char>(c) < 0x20 ? std::string(code) : std::string(1, c);
        }
        return out + "\"";
    }
    std::chrono::steady_clock::time_point start_;
    std::atomic<std::int64_t> created_, destroyed_;
    PerThread<Thread> threads_;
    std::mutex lock_;
    Output out_;
};

} // namespace whyslow

#endif // WHYSLOW_HPP

#if defined(WHYSLOW_IMPLEMENTATION) && !defined(WHYSLOW_HPP_IMPLEMENTED) && !defined(WHYSLOW_LUNA)
#define WHYSLOW_HPP_IMPLEMENTED

#define WHYSLOW_STANDARD_EVENTS "CFEvents::onCreated", "CFEvents::onReady", "CFEvents::onStarted",           \
    "CFEvents::onFinished", "CFEvents::onWaiting", "CFEvents::onMigrated", "CFEvents::onStolen",             \
    "CFEvents::onReceived", "CFEvents::onDestroyed", "CFEvents::onHeld", "CFEvents::onResumed",              \
    "CFEvents::onPlaced", "DFEvents::onCreate", "DFEvents::onRequested", "DFEvents::onRequestReceived",      \
    "DFEvents::onSent", "DFEvents::onReceived", "DFEvents::onStored", "DFEvents::onDropped",                 \
    "DFEvents::onDestroy", "DFEvents::onDuplicate", "DFEvents::onPlaced", "GlobalEvents::onStarted",         \
    "GlobalEvents::onExited", "GlobalEvents::onWaiting", "GlobalEvents::onMigrated",                         \
    "GlobalEvents::onContinued", "GlobalEvents::onForeignStarted", "GlobalEvents::onForeignEnded",           \
    "GlobalEvents::onProgramStarted", "GlobalEvents::onProgramFinished", "GlobalEvents::onIdle",             \
    "GlobalEvents::onBusy", "GlobalEvents::onReadyQueue", "GlobalEvents::onSendQueue",                       \
    "GlobalEvents::onRelations", "GlobalEvents::onClockSync", "GlobalEvents::onLost",                        \
    "GlobalEvents::onThreadTime", "GlobalEvents::onBalanced", "GlobalEvents::onUsage",                       \
    "SyncEvents::onWaitStarted", "SyncEvents::onWaitEnded", "SyncEvents::onCollective",                      \
    "SyncEvents::onAcquired", "SyncEvents::onReleased", "SyncEvents::onBlocked", "SyncEvents::onGroup",      \
    "RegionEvents::onEntered", "RegionEvents::onExited", "MessageEvents::onPut", "MessageEvents::onGet",     \
    "MessageEvents::onRemoteAtomic", "MessageEvents::onCompleted", "MessageEvents::onSent",                  \
    "MessageEvents::onReceived"


// ---- JSON with comments and trailing commas -----------------------------------------------------------

#include <algorithm>
#include <fstream>

namespace whyslow {
namespace detail {

// Json is a value with its place in the file, for warnings.
struct Json {
    enum Type { Null, Bool, Number, String, List, Object };
    Type type = Null;
    bool flag = false;
    double number = 0;
    std::string string;
    std::vector<Json> items;       // elements of a List, values of an Object
    std::vector<std::string> keys; // of an Object, in their order; may repeat
    std::vector<Json> key_places;  // where the keys are
    int line = 1, column = 1;

    const char *called() const {
        static const char *const names[] = {"null", "true or false", "a number", "a string", "a list",
                                            "an object"};
        return names[type];
    }
};

class JsonParser {
  public:
    // parse returns false if the text is not JSON; error is then "line:column: what".
    static bool parse(const std::string &text, Json *out, std::string *error) {
        JsonParser p(text);
        if (text.compare(0, 3, "\xEF\xBB\xBF") == 0) p.at_ = p.line_start_ = 3;
        bool ok = p.value(out, 0) && p.space();
        if (ok && p.at_ < text.size()) ok = p.fail("there is more text after the end");
        if (!ok) *error = p.error_;
        return ok;
    }

  private:
    explicit JsonParser(const std::string &text) : s_(text), at_(0), line_start_(0), line_(1) {}

    int peek() const { return at_ < s_.size() ? static_cast<unsigned char>(s_[at_]) : -1; }
    int column() const { return static_cast<int>(at_ - line_start_) + 1; }
    bool fail(const std::string &what) {
        if (error_.empty()) error_ = std::to_string(line_) + ":" + std::to_string(column()) + ": " + what;
        return false;
    }
    void newline() {
        line_++;
        line_start_ = at_ + 1;
    }

    // space skips blanks and comments.
    bool space() {
        for (;; at_++) {
            int c = peek();
            if (c == '\n') newline();
            else if (c == '/') {
                const int next = at_ + 1 < s_.size() ? s_[at_ + 1] : 0;
                if (next == '/') {
                    while (peek() != -1 && peek() != '\n') at_++;
                    at_--;
                } else if (next == '*') {
                    const std::size_t end = s_.find("*/", at_ + 2);
                    if (end == std::string::npos) return fail("a comment is not closed");
                    for (; at_ < end; at_++)
                        if (peek() == '\n') newline();
                    at_ = end + 1;
                } else {
                    return true;
                }
            } else if (c != ' ' && c != '\t' && c != '\r') {
                return true;
            }
        }
    }

    bool value(Json *v, int depth) {
        if (!space()) return false;
        v->line = line_, v->column = column();
        if (depth > 200) return fail("too deeply nested");
        const int c = peek();
        if (c == '{') return members(v, depth, '}');
        if (c == '[') return members(v, depth, ']');
        if (c == '"') {
            v->type = Json::String;
            return string(&v->string);
        }
        if (c == '-' || (c >= '0' && c <= '9')) return number(v);
        if (word("true")) return v->type = Json::Bool, v->flag = true;
        if (word("false")) return v->type = Json::Bool, true;
        if (word("null")) return true;
        return fail(c < 0 ? "the file ends before a value" : "this is not a JSON value");
    }

    bool word(const char *w) {
        const std::size_t n = std::strlen(w);
        if (s_.compare(at_, n, w) != 0) return false;
        at_ += n;
        return true;
    }

    bool members(Json *v, int depth, char close) {
        v->type = close == '}' ? Json::Object : Json::List;
        at_++;
        for (;;) {
            if (!space()) return false;
            if (peek() == close) return at_++, true;
            if (close == '}') {
                Json key;
                key.line = line_, key.column = column();
                if (peek() != '"') return fail("a key in quotation marks or } is missing");
                if (!string(&key.string) || !space()) return false;
                if (peek() != ':') return fail("a colon is missing");
                at_++;
                v->keys.push_back(key.string);
                v->key_places.push_back(key);
            }
            v->items.push_back(Json());
            Json item;
            if (!value(&item, depth + 1) || !space()) return false;
            v->items.back() = std::move(item);
            if (peek() == ',') at_++;
            else if (peek() != close) return fail(std::string("a comma or ") + close + " is missing");
        }
    }

    bool number(Json *v) {
        const std::size_t from = at_;
        if (peek() == '-') at_++;
        const std::size_t digits = at_;
        while (peek() >= '0' && peek() <= '9') at_++;
        bool ok = at_ > digits && (s_[digits] != '0' || at_ == digits + 1);
        if (ok && peek() == '.') {
            const std::size_t point = ++at_;
            while (peek() >= '0' && peek() <= '9') at_++;
            ok = at_ > point;
        }
        if (ok && (peek() == 'e' || peek() == 'E')) {
            at_++;
            if (peek() == '+' || peek() == '-') at_++;
            const std::size_t exponent = at_;
            while (peek() >= '0' && peek() <= '9') at_++;
            ok = at_ > exponent;
        }
        if (!ok) return fail("this is not a number");
        std::istringstream in(s_.substr(from, at_ - from)); // with a decimal point, whatever the locale
        in.imbue(std::locale::classic());
        in >> v->number;
        v->type = Json::Number;
        return true;
    }

    static void utf8(std::string *out, unsigned c) {
        if (c < 0x80) {
            *out += static_cast<char>(c);
            return;
        }
        const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        static const unsigned first[] = {0, 0xC0, 0xE0, 0xF0};
        *out += static_cast<char>(first[more] | c >> 6 * more);
        for (int i = more - 1; i >= 0; i--) *out += static_cast<char>(0x80 | (c >> 6 * i & 0x3F));
    }

    bool hex(unsigned *v) {
        *v = 0;
        for (int i = 0; i < 4; i++, at_++) {
            const int c = peek();
            const int d = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
            if (d < 0) return fail("four hexadecimal digits are missing");
            *v = *v << 4 | static_cast<unsigned>(d);
        }
        return true;
    }

    bool string(std::string *out) {
        for (at_++;;) {
            const int c = peek();
            if (c < 0x20) return fail("a string is not closed");
            at_++;
            if (c == '"') return true;
            if (c != '\\') {
                *out += static_cast<char>(c);
                continue;
            }
            static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
            const char *p = peek() > 0 ? std::strchr(from, peek()) : nullptr;
            if (p) {
                *out += to[p - from];
                at_++;
            } else if (peek() == 'u') {
                unsigned a, b;
                at_++;
                if (!hex(&a)) return false;
                if (a >= 0xD800 && a < 0xDC00 && s_.compare(at_, 2, "\\u") == 0) {
                    const std::size_t back = at_;
                    at_ += 2;
                    if (!hex(&b)) return false;
                    if (b >= 0xDC00 && b < 0xE000) a = 0x10000 + ((a - 0xD800) << 10) + (b - 0xDC00);
                    else at_ = back;
                }
                utf8(out, a >= 0xD800 && a < 0xE000 ? 0xFFFD : a);
            } else {
                return fail("there is no such escape in a string");
            }
        }
    }

    const std::string &s_;
    std::size_t at_, line_start_;
    int line_;
    std::string error_;
};

} // namespace detail
} // namespace whyslow


// ---- The configuration -----------------------------------------------------------------------------------

namespace whyslow {
namespace detail {

inline void say(const std::string &line) {
    const std::string s = "whyslow: " + line + "\n";
    std::fwrite(s.data(), 1, s.size(), stderr); // in one piece, even if others write
}

// match tells whether a text matches a pattern with * and ?.
static bool matches(const char *pattern, const char *text) {
    const char *star = nullptr, *from = nullptr;
    while (*text) {
        if (*pattern == '*') star = pattern++, from = text;
        else if (*pattern == '?' || *pattern == *text) pattern++, text++;
        else if (star) pattern = star + 1, text = ++from;
        else return false;
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

// event_key returns "Namespace::onName" for this and for "Namespace.onName", and "" for anything else.
static std::string event_key(const std::string &s) {
    const std::size_t colons = s.find("::"), point = s.find('.');
    const std::size_t at = colons != std::string::npos ? colons : point;
    if (at == std::string::npos) return "";
    const std::string space = s.substr(0, at), name = s.substr(at + (at == colons ? 2 : 1));
    return space.empty() || name.empty() || name.find_first_of(".:") != std::string::npos
               ? ""
               : space + "::" + name;
}

// main_name returns the main name of an event that has two.
static std::string main_name(const std::string &key) {
    if (key == "DFEvents::onCreateSize") return "DFEvents::onCreate";
    return key == "DFEvents::onDestroySize" ? "DFEvents::onDestroy" : key;
}

// distance returns how many letters must be changed, added or removed to turn a into b.
static std::size_t distance(const std::string &a, const std::string &b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); j++) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); i++) {
        std::size_t corner = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); j++) {
            const std::size_t up = row[j];
            row[j] = std::min(std::min(up, row[j - 1]) + 1, corner + (a[i - 1] != b[j - 1]));
            corner = up;
        }
    }
    return row[b.size()];
}

// suggestion returns ` (did you mean "x"?)` if one of the words is similar to s, otherwise "".
static std::string suggestion(const std::string &s, const std::vector<std::string> &words) {
    std::string best;
    std::size_t least = s.size() / 3 + 1;
    for (const std::string &w : words) {
        const std::size_t d = distance(s, w);
        if (d <= least && (best.empty() || d < least)) best = w, least = d;
    }
    return best.empty() ? "" : " (did you mean \"" + best + "\"?)";
}

static const std::vector<std::string> &standard_events() {
    static const std::vector<std::string> keys = {WHYSLOW_STANDARD_EVENTS, "DFEvents::onCreateSize",
                                                  "DFEvents::onDestroySize"};
    return keys;
}

static bool has(const std::vector<std::string> &list, const std::string &s) {
    return std::find(list.begin(), list.end(), s) != list.end();
}

static bool standard_space(const std::string &space) {
    return space == "CFEvents" || space == "DFEvents" || space == "GlobalEvents" || space == "SyncEvents";
}

// ConfigFile reads a file and prints a warning, with its place, for everything wrong in it.
class ConfigFile {
  public:
    std::string path;
    Json root;

    void warn(const Json &at, const std::string &what) const {
        say(path + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + what);
    }

    // read returns false, after a message, if there is no such file or it is not a JSON object.
    bool read() {
        std::ifstream in(path.c_str(), std::ios::binary);
        if (!in) {
            say("cannot read " + path + ": " + std::strerror(errno) + "; nothing is profiled");
            return false;
        }
        const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
        std::string error;
        if (!JsonParser::parse(text, &root, &error)) {
            say(path + ":" + error + "; nothing is profiled");
            return false;
        }
        if (root.type != Json::Object) {
            warn(root,
                 std::string("the file must hold an object, not ") + root.called() + "; nothing is profiled");
            return false;
        }
        return true;
    }

    // is tells whether a value has the required type, and otherwise prints a warning.
    bool is(const Json &v, Json::Type type, const std::string &key) const {
        if (v.type == type) return true;
        Json wanted;
        wanted.type = type;
        warn(v, "\"" + key + "\" must be " + wanted.called() + ", not " + v.called() + "; skipped");
        return false;
    }
    void unknown(const Json &place, const std::vector<std::string> &known) const {
        warn(place, "unknown key \"" + place.string + "\"" + suggestion(place.string, known) + "; skipped");
    }
};

// Config is the content of both files. Without a file of events, all events are on.
class Config {
  public:
    struct Module {
        ModuleSettings settings;
        std::string library;
        bool enabled = true;
        int override = -1; // overrideEnabled: -1 not given
    };
    std::map<std::string, Module> modules;
    bool global = true; // globalSettings.enabled
    std::string dir; // the folder of modules_settings.json, searched for libraries
    bool ok = true;

    bool active(const std::string &key) const {
        if (!limited_) return ok;
        const std::string k = main_name(key);
        if (!on_.count(k)) return false;
        std::map<std::string, bool>::const_iterator g = grouped_.find(k);
        return g == grouped_.end() || g->second;
    }

    // on tells whether a module runs. Unasked modules, which the program itself added, also run if the file
    // does not list them.
    bool on(const std::string &name, bool unasked) const {
        std::map<std::string, Module>::const_iterator i = modules.find(name);
        if (i == modules.end()) return unasked;
        return i->second.enabled && (i->second.override >= 0 ? i->second.override == 1 : unasked || global);
    }

    void read_events(const std::string &path) {
        limited_ = true;
        ConfigFile f;
        f.path = path;
        if (!(ok = ok && f.read())) return;
        const std::vector<std::string> known = {"eventsSettings", "groups", "$schema"};
        for (std::size_t i = 0; i < f.root.items.size(); i++) {
            if (!has(known, f.root.keys[i])) f.unknown(f.root.key_places[i], known);
            if (f.root.keys[i] == known[0] && f.is(f.root.items[i], Json::Object, known[0]))
                event_settings(f, f.root.items[i]);
        }
        for (std::size_t i = 0; i < f.root.items.size(); i++)
            if (f.root.keys[i] == known[1] && f.is(f.root.items[i], Json::Object, known[1]))
                groups(f, f.root.items[i]);
    }

    void read_modules(const std::string &path) {
        ConfigFile f;
        f.path = path;
        if (!(ok = ok && f.read())) return;
        const std::size_t slash = path.rfind('/');
        dir = slash == std::string::npos ? "." : path.substr(0, slash + 1);
        for (std::size_t i = 0; i < f.root.items.size(); i++)
            if (f.root.keys[i] == "globalSettings" && f.is(f.root.items[i], Json::Object, "globalSettings"))
                flag(f, f.root.items[i], {"enabled"}, &global);
        for (std::size_t i = 0; i < f.root.items.size(); i++)
            if (f.root.keys[i] != "globalSettings" && f.root.keys[i] != "$schema" &&
                f.is(f.root.items[i], Json::Object, f.root.keys[i]))
                module(f, i);
    }

    // module_name drops a leading "lib" and maps the second spelling of one module to the first.
    static std::string module_name(const std::string &s) {
        const std::string name = s.compare(0, 3, "lib") == 0 && s.size() > 3 ? s.substr(3) : s;
        return name == "prefetto_module" ? "perfetto_module" : name;
    }

  private:
    // flag reads "enabled" of an object whose allowed keys are known.
    static void flag(const ConfigFile &f, const Json &object, const std::vector<std::string> &known,
                     bool *value) {
        for (std::size_t i = 0; i < object.items.size(); i++) {
            if (!has(known, object.keys[i])) f.unknown(object.key_places[i], known);
            if (object.keys[i] == "enabled" && f.is(object.items[i], Json::Bool, "enabled"))
                *value = object.items[i].flag;
        }
    }

    void event_settings(const ConfigFile &f, const Json &spaces) {
        for (std::size_t i = 0; i < spaces.items.size(); i++) {
            if (!f.is(spaces.items[i], Json::Object, spaces.keys[i])) continue;
            spaces_.push_back(spaces.keys[i]);
            for (std::size_t k = 0; k < spaces.items[i].items.size(); k++)
                event(f, spaces.keys[i], spaces.items[i].key_places[k], spaces.items[i].items[k]);
        }
    }

    void event(const ConfigFile &f, const std::string &space, const Json &name, const Json &v) {
        const std::string key = space + "::" + name.string;
        bool enabled = true, rule = false;
        if (v.type == Json::Bool) {
            enabled = v.flag;
        } else if (v.type == Json::Object) {
            static const std::vector<std::string> known = {"enabled", "rule", "args", "functions"};
            for (std::size_t i = 0; i < v.items.size(); i++) {
                if (!has(known, v.keys[i])) f.unknown(v.key_places[i], known);
                if (v.keys[i] == "enabled" && f.is(v.items[i], Json::Bool, "enabled"))
                    enabled = v.items[i].flag;
                rule = rule || v.keys[i] == "rule";
            }
        } else {
            f.warn(v, "event \"" + key + "\" must be true, false or an object, not " +
                          std::string(v.called()) + "; skipped");
            return;
        }
        if (!check(f, name, key, rule)) return;
        if (enabled) on_.insert(std::make_pair(main_name(key), true));
    }

    // check warns about an event that nobody emits.
    bool check(const ConfigFile &f, const Json &place, const std::string &key, bool rule) {
        if (!standard_space(key.substr(0, key.find("::"))) || has(standard_events(), key) || rule)
            return known_.insert(std::make_pair(key, true)), true;
        if (known_.count(key)) return true;
        f.warn(place, "there is no event " + key + suggestion(key, standard_events()) + "; skipped");
        return false;
    }

    void groups(const ConfigFile &f, const Json &all) {
        std::map<std::string, bool> seen;
        for (std::size_t i = 0; i < all.items.size(); i++) {
            const Json &g = all.items[i];
            if (!seen.insert(std::make_pair(all.keys[i], true)).second) {
                f.warn(all.key_places[i], "there is a group \"" + all.keys[i] + "\" already; skipped");
                continue;
            }
            if (!f.is(g, Json::Object, all.keys[i])) continue;
            bool enabled = true;
            flag(f, g, {"enabled", "events"}, &enabled);
            for (std::size_t k = 0; k < g.items.size(); k++) {
                if (g.keys[k] != "events" || !f.is(g.items[k], Json::List, "events")) continue;
                for (const Json &e : g.items[k].items) {
                    if (!f.is(e, Json::String, "event of a group")) continue;
                    const std::string key = event_key(e.string);
                    if (key.empty())
                        f.warn(e, "\"" + e.string + "\" is not an event: write Namespace::onName; skipped");
                    else if (check(f, e, key, false)) {
                        grouped_[main_name(key)] |= enabled;
                        const std::string space = key.substr(0, key.find("::"));
                        if (!standard_space(space) && !has(spaces_, space))
                            f.warn(e, "there is no namespace " + space + suggestion(space, spaces_));
                    }
                }
            }
        }
    }

    void module(const ConfigFile &f, std::size_t at) {
        const std::string name = module_name(f.root.keys[at]);
        if (modules.count(name))
            return f.warn(f.root.key_places[at], "module \"" + name + "\" has settings already; skipped");
        const Json &v = f.root.items[at];
        Module m;
        m.settings.name = name;
        m.settings.warn = [](const std::string &text) { say(text); };
        static const std::vector<std::string> known = {"enabled", "overrideEnabled", "priority", "params",
                                                       "library"};
        for (std::size_t i = 0; i < v.items.size(); i++) {
            const std::string &key = v.keys[i];
            const Json &x = v.items[i];
            if (!has(known, key)) f.unknown(v.key_places[i], known);
            if (key == "enabled" && f.is(x, Json::Bool, key)) m.enabled = x.flag;
            if (key == "overrideEnabled" && f.is(x, Json::Bool, key)) m.override = x.flag;
            if (key == "library" && f.is(x, Json::String, key)) m.library = x.string;
            if (key == "params" && f.is(x, Json::Object, key)) params(f, x, &m.settings.params);
            if (key == "priority" && f.is(x, Json::Number, key)) {
                if (x.number == static_cast<int>(std::max(-1e9, std::min(1e9, x.number))))
                    m.settings.priority = static_cast<int>(x.number);
                else f.warn(x, "\"priority\" must be a whole number; skipped");
            }
        }
        modules[name] = m;
    }

    static void params(const ConfigFile &f, const Json &v, std::map<std::string, Param> *out) {
        for (std::size_t i = 0; i < v.items.size(); i++) {
            const Json &x = v.items[i];
            Param p = {Param::String, x.string, x.number, x.flag, {}};
            bool ok = true;
            if (x.type == Json::Number) p.type = Param::Number;
            else if (x.type == Json::Bool) p.type = Param::Bool;
            else if (x.type == Json::List) {
                p.type = Param::Strings;
                for (const Json &item : x.items) {
                    ok = ok && item.type == Json::String;
                    p.strings.push_back(item.string);
                }
            } else {
                ok = x.type == Json::String;
            }
            if (ok) (*out)[v.keys[i]] = p;
            else
                f.warn(x, "parameter \"" + v.keys[i] +
                              "\" must be a string, a number, true, false or a list of strings; skipped");
        }
    }

    bool limited_ = false;              // there is a file of events
    std::map<std::string, bool> on_;      // enabled events
    std::map<std::string, bool> grouped_; // events in groups: whether any of their groups is enabled
    std::map<std::string, bool> known_;   // events that have been named and may exist
    std::vector<std::string> spaces_ = {"CFEvents", "DFEvents", "GlobalEvents", "SyncEvents"};
};

// find_config returns the path of a configuration file, or "" if there is none.
static std::string find_config(const char *variable, const std::string &given, const char *name) {
    const char *env = std::getenv(variable);
    if (env && *env) return env;
    if (!given.empty()) return given;
    for (const std::string &path : {std::string("config/") + name, std::string(name)})
        if (::access(path.c_str(), F_OK) == 0) return path;
    return "";
}

} // namespace detail
} // namespace whyslow


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


// ---- The trace: what a thread does, and DFs known by their size ----------------------------------
//
// A trace is about CFs and DFs. The events of a task-parallel program that knows nothing of whyslow have no
// identities: "this function starts now", "so many bytes are allocated". This is how one becomes the other:
//
// - From onForeignStarted to onForeignEnded a new CF executes; the function that is named is its code
//   fragment. A thread is a worker from its first such CF on, and its time is divided from the start of the
//   program.
// - Between two CFs of a worker, time is overhead while the thread computed and starvation while it slept.
//   Thread CPU time tells which, or onIdle and onBusy if the program emits them. A trace expresses starvation
//   by an input that arrives late, so the CF gets a DF "work" as input, created at the end of that time. This
//   DF, and when the CF was created and became ready, are known only when the CF starts; but times in a
//   stream must not go back. So these events go to a second stream beside the worker's.
// - onCreateSize makes a DF named by its size; onDestroySize destroys the youngest DF of that size.

#include <sys/resource.h>

namespace whyslow {
namespace detail {

// Function is a code fragment as a thread knows it.
struct Function {
    std::string name;
    ws_site site;
    uint64_t block;         // from the number at the end of "block_5"
    uint64_t count;         // executions by this thread
    int64_t total;          // their time, ns
};

// Sites holds the site of each function name, for all threads.
class Sites {
  public:
    ws_site site(ws_context *ctx, const std::string &name, int kind) {
        std::lock_guard<std::mutex> guard(lock_);
        ws_site &s = sites_[std::make_pair(name, kind)];
        if (!s) {
            const ws_code code = ws_define_code(ctx, name.c_str(), kind, nullptr, 0, 0);
            s = ws_define_site(ctx, code, nullptr, nullptr, 0, 0, nullptr);
        }
        return s;
    }

  private:
    std::mutex lock_;
    std::map<std::pair<std::string, int>, ws_site> sites_;
};

// DFPool numbers DFs that are known only by name and size, and uses the numbers of destroyed ones again. It
// has two kinds of lock-free stacks: for each size the DFs that exist, for each name and size those that are
// destroyed. The head of a stack holds a counter beside the index, so that a head that was changed and
// changed back is not mistaken for the old one.
class DFPool {
  public:
    struct Class; // for a name and a size

    explicit DFPool(ws_context *ctx) : ctx_(ctx), count_(0) {
        for (std::atomic<Node *> &c : chunks_) c = nullptr;
    }
    ~DFPool() {
        for (std::atomic<Node *> &c : chunks_) delete[] c.load();
    }

    // find returns the class of a name and size. It takes a lock, so threads keep what they have found.
    Class *find(const std::string &name, int64_t size) {
        std::lock_guard<std::mutex> guard(lock_);
        std::unique_ptr<Class> &c = classes_[std::make_pair(name, size)];
        if (!c) {
            std::unique_ptr<Stack> &live = live_[size];
            if (!live) live.reset(new Stack);
            c.reset(new Class{{}, live.get(), name, ws_define_name(ctx_, name.c_str()), size, {0}});
        }
        return c.get();
    }

    // create returns the number of a new DF, or 0 if there are too many, and the time of its creation. That
    // time lies between the last destruction of this number and the next.
    ws_df create(Class *c, int64_t *t) {
        uint32_t i = pop(c->dead);
        if (!i) {
            if (count_.load(std::memory_order_relaxed) >= max_nodes || (i = ++count_) >= max_nodes) return 0;
            const int64_t identity[4] = {0, static_cast<int64_t>(c->name), c->size,
                                         static_cast<int64_t>(c->made++)};
            Node &n = node(i);
            n.home = c;
            n.df = ws_define_df(ctx_, c->name, identity, 4);
        }
        const ws_df df = node(i).df;
        *t = ws_now();
        push(*c->live, i);
        return df;
    }

    // destroy returns the number of the youngest DF of the class's size, or 0 if there is none, and the time
    // of its destruction.
    ws_df destroy(Class *c, int64_t *t) {
        const uint32_t i = pop(*c->live);
        if (!i) return 0;
        Node &n = node(i);
        const ws_df df = n.df;
        *t = ws_now();
        push(n.home->dead, i);
        return df;
    }

  private:
    struct Stack {
        std::atomic<uint64_t> head{0}; // counter << 32 | index
    };
    struct Node {
        ws_df df;
        Class *home;
        std::atomic<uint32_t> next;
    };

  public:
    struct Class {
        Stack dead;
        Stack *live;
        std::string text;
        ws_name name;
        int64_t size;
        std::atomic<uint64_t> made;
    };

  private:
    static const uint32_t max_nodes = 1u << 30;

    // Chunk k holds the nodes 2^k to 2^(k+1)-1.
    Node &node(uint32_t i) {
        const int k = 31 - __builtin_clz(i);
        Node *c = chunks_[k].load(std::memory_order_acquire);
        if (!c) {
            std::unique_ptr<Node[]> fresh(new Node[std::size_t(1) << k]);
            if (chunks_[k].compare_exchange_strong(c, fresh.get(), std::memory_order_acq_rel))
                c = fresh.release();
        }
        return c[i - (1u << k)];
    }
    void push(Stack &s, uint32_t i) {
        uint64_t head = s.head.load(std::memory_order_relaxed);
        do node(i).next.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
        while (!s.head.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | i, std::memory_order_acq_rel,
                                             std::memory_order_relaxed));
    }
    uint32_t pop(Stack &s) {
        uint64_t head = s.head.load(std::memory_order_acquire);
        while (static_cast<uint32_t>(head) != 0) {
            const uint32_t i = static_cast<uint32_t>(head);
            const uint32_t next = node(i).next.load(std::memory_order_relaxed);
            if (s.head.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | next, std::memory_order_acq_rel,
                                             std::memory_order_acquire))
                return i;
        }
        return 0;
    }

    ws_context *ctx_;
    std::mutex lock_;
    std::map<std::pair<std::string, int64_t>, std::unique_ptr<Class>> classes_;
    std::map<int64_t, std::unique_ptr<Stack>> live_;
    std::atomic<Node *> chunks_[32];
    std::atomic<uint32_t> count_;
};

class Track;

// Worker is a worker of the trace. A new thread takes over one whose thread has ended, if there is one.
struct Worker {
    ws_stream *stream, *beside; // beside: for events that are known late
    ws_df work;
    int64_t last_end;         // end of its last atomic CF
    Track *track;             // track of the thread that has it; null: none
    const ThreadState *owner; // that thread
    uint64_t generation;
};

// Shared is what all tracks share.
struct Shared {
    ws_context *ctx;
    Sites sites;
    std::unique_ptr<DFPool> dfs;
    enum { Auto, On, Off } cpu;
    int64_t since; // when the program was loaded
    std::mutex lock;
    std::vector<std::unique_ptr<Worker>> workers; // under lock
    ws_name work;

    // add_worker makes one more worker. The caller holds lock.
    Worker *add_worker() {
        const int i = static_cast<int>(workers.size());
        const int64_t identity[3] = {0, static_cast<int64_t>(work), i};
        ws_stream *stream = ws_worker_open(ctx, since); // beyond WS_NO_WORKER it records nothing
        ws_stream *beside = i < WS_NO_WORKER ? ws_stream_open(ctx, WS_NO_WORKER + i) : stream;
        workers.emplace_back(
            new Worker{stream, beside, ws_define_df(ctx, work, identity, 3), since, nullptr, nullptr, 0});
        return workers.back().get();
    }
};

// Track records what a thread does. Threads that follow one another may share one.
class Track {
  public:
    // Reading the thread's CPU clock is a system call. It pays around CFs that last at least this long on
    // average, and after a gap of this length.
    static const int64_t long_cf = 50000, long_gap = 20000;

    ws_stream *stream(Shared &s) {
        if (generation_ != thread_state()->generation.load(std::memory_order_relaxed) + 1) take_over(s);
        if (!stream_)
            stream_ = ws_stream_open(s.ctx, 2 * WS_NO_WORKER + static_cast<int>(thread_state()->index));
        return stream_;
    }

    // begin starts the execution of an atomic CF, or of a CF around atomic ones. An atomic CF inside another
    // is not recorded on its own. foreign: it is user code.
    void begin(Shared &s, const char *name, bool atomic, bool foreign) {
        ws_stream *out = stream(s);
        if (atomic && !worker_) out = become_worker(s);
        Function *f = function(s, name, atomic ? WS_ATOMIC : WS_SUB);
        const int64_t now = ws_now();
        Open o = {f, out, 0, now, -1, atomic, foreign};
        if (atomic && atomics_++) {
            open_.push_back(o); // its time belongs to the outer one
            if (foreign) ws_foreign_started_at(out, now, f->site);
            return;
        }
        int64_t ready = now, cpu = -1;
        ws_df input = 0;
        if (atomic) {
            const int64_t slept = idle(s, now, &cpu);
            ready = worker_->last_end + slept;
            if (slept > 0) {
                input = worker_->work;
                ws_df_create_at(worker_->beside, ready, input, 0, 0);
            }
            if (!open_.empty())
                ready = std::max(ready, open_.back().start); // not before the CF around it started
            const bool takes_long = f->count < 4 || f->total >= long_cf * static_cast<int64_t>(f->count);
            if (cpu < 0 && (s.cpu == Shared::On || (s.cpu == Shared::Auto && takes_long)))
                cpu = ws_thread_cpu();
            if (s.cpu != Shared::Off) o.cpu = cpu;
        }
        o.cf = ws_new_id(s.ctx);
        ws_stream *before = atomic ? worker_->beside : out;
        ws_cf_created_at(before, ready, o.cf, f->site, current(), current() != 0, 1, nullptr, 0);
        ws_cf_ready_at(before, ready, o.cf, 0);
        ws_cf_started_at(out, now, o.cf, 1, &input, input != 0);
        if (input) ws_df_destroy_at(out, now, input, 0, WS_EXPIRED);
        if (foreign) ws_foreign_started_at(out, now, f->site);
        open_.push_back(o);
    }

    // end ends the innermost execution of that kind and, if name is given, of that name. Executions still
    // open inside it end, too. waits: the CF waits instead of finishing.
    void end(Shared &s, const char *name, bool atomic, bool waits) {
        stream(s);
        std::size_t i = open_.size();
        while (i > 0 && (open_[i - 1].atomic != atomic || (name && open_[i - 1].function->name != name))) i--;
        if (i == 0) return;
        const int64_t now = ws_now();
        if (waits) ws_cf_waiting_at(open_[i - 1].out, now, open_[i - 1].cf, nullptr, 0);
        while (open_.size() >= i) close(now, true);
    }

    // park and unpark: the thread goes to sleep, and goes on.
    void park(Shared &s) {
        ws_stream *out = stream(s);
        parks_ = true;
        if (!parked_) parked_ = ws_now();
        ws_idle(out);
    }
    void unpark(Shared &s) {
        ws_stream *out = stream(s);
        const int64_t now = ws_now();
        if (parked_) slept_ += now - std::max(parked_, last_end());
        parked_ = 0;
        ws_busy_at(out, now);
    }

    // wait: the thread begins (on) or ends waiting for a lock or the like.
    void wait(Shared &s, ws_name what, bool on) {
        ws_stream *out = stream(s);
        const int64_t now = ws_now();
        if (!on && waiting_) waited_ += now - std::max(waiting_, last_end());
        waiting_ = on ? now : 0;
        if (on) ws_wait_started_at(out, now, what);
        else ws_wait_ended_at(out, now, what);
    }

    // current returns the CF that the thread executes, or 0.
    ws_cf current() const {
        for (std::size_t i = open_.size(); i > 0; i--)
            if (open_[i - 1].cf) return open_[i - 1].cf;
        return 0;
    }

    Function *function(Shared &s, const char *name, int kind) {
        const std::uintptr_t hash = reinterpret_cast<std::uintptr_t>(name) >> 3;
        Function *&hint = hints_[(hash ^ static_cast<std::uintptr_t>(kind)) % hint_count];
        if (hint && hint->name == name && hint_kind_[&hint - hints_] == kind) return hint;
        std::unique_ptr<Function> &f = functions_[std::make_pair(std::string(name), kind)];
        if (!f) {
            const char *digits = name + std::strlen(name);
            while (digits > name && digits[-1] >= '0' && digits[-1] <= '9') digits--;
            const bool numbered = *digits && digits > name && digits[-1] == '_' && std::strlen(digits) < 10;
            f.reset(new Function{name, s.sites.site(s.ctx, name, kind),
                                 numbered ? std::strtoull(digits, nullptr, 10) : 0, 0, 0});
        }
        hint_kind_[&hint - hints_] = kind;
        return hint = f.get();
    }

    DFPool::Class *df_class(Shared &s, const char *name, int64_t size) {
        DFPool::Class *&hint = class_hints_[static_cast<uint64_t>(size) * 0x9E3779B97F4A7C15u >> 58];
        if (hint && hint->size == size && hint->text == name) return hint;
        DFPool::Class *&c = classes_[std::make_pair(std::string(name), size)];
        return hint = c ? c : c = s.dfs->find(name, size);
    }

    // finish ends the executions that are still open. Nobody uses the track afterwards.
    void finish(int64_t now) {
        while (!open_.empty()) close(now, false);
    }

    // What the writer knows about an event: how to record it and, for a user event, its kind for each list of
    // argument types.
    struct Known {
        const void *event;
        int way;
        ws_kind kind;
        char types[20];
    };
    Known &known(const void *event) {
        Known &hint = known_[(reinterpret_cast<std::uintptr_t>(event) >> 6) % 32];
        if (hint.event != event) hint = Known{event, -1, 0, ""};
        return hint;
    }

  private:
    struct Open {
        Function *function;
        ws_stream *out; // the stream in which it started
        ws_cf cf;       // 0: inside an atomic CF
        int64_t start, cpu;
        bool atomic, foreign;
    };

    int64_t last_end() const { return worker_ ? worker_->last_end : 0; }

    void close(int64_t now, bool measured) {
        const Open o = open_.back();
        open_.pop_back();
        if (o.atomic) atomics_--;
        if (o.foreign) ws_foreign_ended_at(o.out, now, o.function->site);
        if (!o.cf) return;
        int64_t cpu = -1;
        if (o.atomic) {
            if (o.cpu >= 0 && measured) {
                seen_cpu_ = ws_thread_cpu(), seen_ = now;
                cpu = seen_cpu_ - o.cpu;
            }
            o.function->count++, o.function->total += now - o.start;
            worker_->last_end = now, slept_ = waited_ = 0;
        }
        ws_cf_finished_at(o.out, now, o.cf, 1, cpu);
    }

    // take_over is called when another thread begins to use the track. Executions that the thread before it
    // left open ended with that thread.
    void take_over(Shared &s) {
        std::lock_guard<std::mutex> guard(s.lock);
        leave();
        generation_ = thread_state()->generation.load(std::memory_order_relaxed) + 1;
        parks_ = false, parked_ = slept_ = waiting_ = waited_ = 0;
        switches_ = -1;
    }

    // leave gives up the worker. The caller holds the lock, and the thread that had the worker has ended.
    void leave() {
        if (!open_.empty()) finish(ws_now());
        if (worker_) worker_->track = nullptr;
        worker_ = nullptr, stream_ = nullptr;
    }

    ws_stream *become_worker(Shared &s) {
        std::lock_guard<std::mutex> guard(s.lock);
        for (const std::unique_ptr<Worker> &w : s.workers) {
            if (w->track && !w->owner->ended.load(std::memory_order_acquire) &&
                w->owner->generation.load(std::memory_order_acquire) == w->generation)
                continue;
            if (w->track) w->track->leave();
            worker_ = w.get();
            break;
        }
        if (!worker_) worker_ = s.add_worker();
        worker_->track = this;
        worker_->owner = thread_state();
        worker_->generation = generation_ - 1;
        seen_ = worker_->last_end, seen_cpu_ = 0; // a thread starts with no CPU time used
        return stream_ = worker_->stream;
    }

    // idle returns how long the thread has slept since its last CF, in ns. If it reads the CPU clock, it
    // returns that as well.
    int64_t idle(const Shared &s, int64_t now, int64_t *cpu) {
        const int64_t gap = now - worker_->last_end;
        int64_t slept = 0;
        if (parks_) {
            if (parked_) slept_ += now - std::max(parked_, last_end());
            parked_ = 0;
            slept = slept_;
        } else if (s.cpu != Shared::Off && gap >= long_gap) {
            *cpu = ws_thread_cpu();
            slept = (now - seen_) - (*cpu - seen_cpu_) - waited_;
            if (slept >= 5000 && !gave_up_processor()) slept = 0;
            seen_ = now, seen_cpu_ = *cpu;
        }
        return slept < 5000 ? 0 : std::min(slept, gap - 1); // before the start: the order is clear
    }

    // gave_up_processor tells whether the thread has slept since the last call, rather than been pre-empted.
    bool gave_up_processor() {
#ifdef RUSAGE_THREAD
        struct rusage u;
        if (::getrusage(RUSAGE_THREAD, &u)) return true;
        const long before = switches_;
        switches_ = u.ru_nvcsw;
        return before != switches_;
#else
        return true;
#endif
    }

    uint64_t generation_ = 0; // the generation of the thread, plus 1
    ws_stream *stream_ = nullptr;
    Worker *worker_ = nullptr;
    std::vector<Open> open_;
    int atomics_ = 0;      // how many of them are atomic
    bool parks_ = false;   // the program says when the thread sleeps
    int64_t parked_ = 0, slept_ = 0, waiting_ = 0, waited_ = 0;
    long switches_ = -1; // voluntary context switches of the thread so far
    int64_t seen_ = 0, seen_cpu_ = 0; // when the CPU clock was last read, and its value
    std::map<std::pair<std::string, int>, std::unique_ptr<Function>> functions_;
    static const std::size_t hint_count = 64;
    Function *hints_[hint_count] = {};
    int hint_kind_[hint_count] = {};
    std::map<std::pair<std::string, int64_t>, DFPool::Class *> classes_;
    DFPool::Class *class_hints_[64] = {};
    Known known_[32] = {};
};

} // namespace detail
} // namespace whyslow


// ---- trace_writer_module --------------------------------------------------------------------------

namespace whyslow {
namespace detail {

// TraceWriter writes the trace. Its parameters are dir, buffer, pool, level, sync, full and signals, as in
// docs/c-sdk.md; workers, the number recorded even if fewer threads execute CFs; and cpu, "auto", "on" or
// "off": whether to measure CPU time.
class TraceWriter final : public IEventModule {
  public:
    void registerEvents() override {
        ws_options o;
        std::memset(&o, 0, sizeof o);
        const std::string dir = text("dir", ""), full = text("full", "wait"), cpu = text("cpu", "auto");
        o.dir = dir.c_str();
        o.workers = -1;
        o.buffer_bytes = size("buffer");
        o.pool = whole("pool", 0, 1 << 16);
        o.level = whole("level", 1, 4);
        o.level = o.level ? o.level : -1;
        o.sync = flag("sync", false);
        o.signals = flag("signals", false);
        const int workers = whole("workers", 0, WS_NO_WORKER);
        if (full != "wait" && full != "drop") throw std::runtime_error("full=" + full + ": say wait or drop");
        if (cpu != "auto" && cpu != "on" && cpu != "off")
            throw std::runtime_error("cpu=" + cpu + ": say auto, on or off");
        o.full = full == "drop" ? WS_DROP : WS_WAIT;
        s_.cpu = cpu == "on" ? Shared::On : cpu == "off" ? Shared::Off : Shared::Auto;
        s_.ctx = ws_open(&o);
        s_.since = ws_now() - (monotonic_ns() - process_start);
        s_.dfs.reset(new DFPool(s_.ctx));
        s_.work = ws_define_name(s_.ctx, "work");
        for (int i = 0; i < workers; i++) s_.add_worker();
        ws_setting(s_.ctx, "collector", "whyslow.hpp");

        EventsManager *events = EventsManager::instance();
        functions_ = events->active("GlobalEvents", "onForeignStarted");
        events->connect_matching(std::vector<std::string>(1, "*"),
                                 [this](const Event &e, const Value *v, std::size_t n) { record(e, v, n); });
    }

    void finish() override {
        const int64_t now = ws_now();
        tracks_.all([now](Track &t) { t.finish(now); });
        // If a thread is still recording, whyslow.h completes the file when the process exits.
        if (host().all_quiet)
            ws_close(s_.ctx, host().exit_status ? WS_FAILED : WS_DONE, host().exit_status, nullptr);
    }

  private:
    typedef void (TraceWriter::*Way)(Track &, const Event &, const Value *, std::size_t);

    // record finds out how to record an event, once per event and thread, and records it.
    void record(const Event &e, const Value *v, std::size_t n) {
        Track &t = tracks_.get();
        Track::Known &known = t.known(&e);
        if (known.way < 0) known.way = way(e);
        (this->*ways()[known.way].way)(t, e, v, n);
    }
    struct Named {
        const char *key; // null: any other event
        Way way;
    };
    static int way(const Event &e) {
        int i = 0;
        while (ways()[i].key && e.key() != ways()[i].key) i++;
        return i;
    }
    static const Named *ways() {
        static const Named all[] = {{"GlobalEvents::onForeignStarted", &TraceWriter::foreign_started},
                                    {"GlobalEvents::onForeignEnded", &TraceWriter::foreign_ended},
                                    {"GlobalEvents::onStarted", &TraceWriter::block<WS_BLOCK_STARTED>},
                                    {"GlobalEvents::onExited", &TraceWriter::block<WS_BLOCK_EXITED>},
                                    {"GlobalEvents::onWaiting", &TraceWriter::block<WS_BLOCK_WAITING>},
                                    {"GlobalEvents::onMigrated", &TraceWriter::block<WS_BLOCK_MIGRATED>},
                                    {"GlobalEvents::onContinued", &TraceWriter::block<WS_BLOCK_CONTINUED>},
                                    {"GlobalEvents::onIdle", &TraceWriter::idle},
                                    {"GlobalEvents::onBusy", &TraceWriter::busy},
                                    {"GlobalEvents::onReadyQueue", &TraceWriter::ready_queue},
                                    {"CFEvents::onStarted", &TraceWriter::cf_started},
                                    {"CFEvents::onFinished", &TraceWriter::cf_finished},
                                    {"CFEvents::onWaiting", &TraceWriter::cf_waiting},
                                    {"DFEvents::onCreate", &TraceWriter::df_create},
                                    {"DFEvents::onCreateSize", &TraceWriter::df_create},
                                    {"DFEvents::onDestroy", &TraceWriter::df_destroy},
                                    {"DFEvents::onDestroySize", &TraceWriter::df_destroy},
                                    {"SyncEvents::onWaitStarted", &TraceWriter::sync<true>},
                                    {"SyncEvents::onWaitEnded", &TraceWriter::sync<false>},
                                    {nullptr, &TraceWriter::user}};
        return all;
    }

    // name returns the first argument, which must be a string.
    static const char *name(const Event &e, const Value *v, std::size_t n, const char *what) {
        if (n == 0 || v[0].type != Value::Text)
            throw std::runtime_error(e.key() + " must have " + what +
                                     " as its first argument to get into the trace");
        return v[0].text;
    }
    static int64_t number(const Event &e, const Value *v, std::size_t n, const char *what) {
        const int64_t x = n ? v[n - 1].size() : -1;
        if (x < 0)
            throw std::runtime_error(e.key() + " must have " + what +
                                     " as its last argument to get into the trace");
        return x;
    }

    void foreign_started(Track &t, const Event &e, const Value *v, std::size_t n) {
        t.begin(s_, name(e, v, n, "a function's name"), true, true);
    }
    void foreign_ended(Track &t, const Event &e, const Value *v, std::size_t n) {
        t.end(s_, name(e, v, n, "a function's name"), true, false);
    }
    template <ws_kind kind> void block(Track &t, const Event &e, const Value *v, std::size_t n) {
        ws_stream *out = t.stream(s_);
        const Function *f = t.function(s_, name(e, v, n, "a function's name"), WS_ATOMIC);
        const int64_t now = ws_now();
        switch (kind) {
        case WS_BLOCK_STARTED: return ws_block_started_at(out, now, f->site, f->block);
        case WS_BLOCK_EXITED: return ws_block_exited_at(out, now, f->site, f->block);
        case WS_BLOCK_WAITING: return ws_block_waiting_at(out, now, f->site, f->block);
        case WS_BLOCK_MIGRATED: return ws_block_migrated_at(out, now, f->site, f->block);
        default: return ws_block_continued_at(out, now, f->site, f->block);
        }
    }
    void idle(Track &t, const Event &, const Value *, std::size_t) { t.park(s_); }
    void busy(Track &t, const Event &, const Value *, std::size_t) { t.unpark(s_); }
    void ready_queue(Track &t, const Event &e, const Value *v, std::size_t n) {
        ws_ready_queue(t.stream(s_), static_cast<uint64_t>(number(e, v, n, "a length")));
    }
    template <bool on> void sync(Track &t, const Event &e, const Value *v, std::size_t n) {
        t.wait(s_, ws_define_name(s_.ctx, name(e, v, n, "the name of what is waited for")), on);
    }

    // If functions are recorded, a CF is what surrounds them; otherwise a CF is what executes.
    void cf_started(Track &t, const Event &e, const Value *v, std::size_t n) {
        t.begin(s_, name(e, v, n, "a message"), !functions_, false);
    }
    void cf_finished(Track &t, const Event &, const Value *, std::size_t) {
        t.end(s_, nullptr, !functions_, false);
    }
    void cf_waiting(Track &t, const Event &, const Value *, std::size_t) {
        t.end(s_, nullptr, !functions_, true);
    }

    void df_create(Track &t, const Event &e, const Value *v, std::size_t n) {
        const int64_t size = number(e, v, n, "a size");
        ws_stream *out = t.stream(s_);
        int64_t now;
        const char *called = n > 1 && v[0].type == Value::Text ? v[0].text : "DF";
        if (const ws_df df = s_.dfs->create(t.df_class(s_, called, size), &now))
            ws_df_create_at(out, now, df, size, t.current());
    }
    void df_destroy(Track &t, const Event &e, const Value *v, std::size_t n) {
        const int64_t size = number(e, v, n, "a size");
        ws_stream *out = t.stream(s_);
        int64_t now;
        if (const ws_df df = s_.dfs->destroy(t.df_class(s_, "DF", size), &now))
            ws_df_destroy_at(out, now, df, size, WS_EXPIRED);
    }

    // user records any other event as a kind of its own, with one field per argument.
    void user(Track &t, const Event &e, const Value *v, std::size_t n) {
        static const char letters[] = "iufbtTdo";
        char types[20] = "";
        for (std::size_t i = 0; i < n && i < 16; i++) types[i] = letters[v[i].type];
        Track::Known &known = t.known(&e);
        if (!known.kind || std::strcmp(known.types, types) != 0) {
            known.kind = kind(e, v, std::min<std::size_t>(n, 16), types);
            std::memcpy(known.types, types, sizeof types);
        }
        uint64_t words[16];
        for (std::size_t i = 0; i < n && i < 16; i++) {
            switch (v[i].type) {
            case Value::Float: words[i] = ws_float(v[i].f); break;
            case Value::Text: words[i] = ws_define_name(s_.ctx, v[i].text); break;
            case Value::Other: words[i] = ws_define_name(s_.ctx, v[i].str().c_str()); break;
            default: words[i] = v[i].u;
            }
        }
        if (known.kind) ws_emit(t.stream(s_), known.kind, words, std::min<std::size_t>(n, 16));
    }

    // kind declares an event. An event that is emitted with several lists of types gets a kind for each.
    ws_kind kind(const Event &e, const Value *v, std::size_t n, const char *types) {
        static const char *const fields[] = {"Int", "Uint", "Float", "Uint", "Name", "Int", "NS", "Name"};
        std::lock_guard<std::mutex> guard(s_.lock);
        std::vector<std::pair<std::string, ws_kind>> &all = kinds_[e.key()];
        for (const std::pair<std::string, ws_kind> &k : all)
            if (k.first == types) return k.second;
        std::string list;
        for (std::size_t i = 0; i < n; i++)
            list += (i ? " arg" : "arg") + std::to_string(i + 1) + ":" + fields[v[i].type];
        const std::string space = e.space() + (has(standard_events(), e.key()) ? "User" : "");
        const std::string name = e.name() + (all.empty() ? "" : std::to_string(all.size() + 1));
        const ws_kind made = ws_define_kind(s_.ctx, space.c_str(), name.c_str(), list.c_str(), "");
        all.push_back(std::make_pair(std::string(types), made));
        return all.back().second;
    }

    int whole(const char *param, int otherwise, int most) {
        const double x = number(param, otherwise);
        if (!(x >= 0 && x <= most) || x != static_cast<int>(x))
            throw std::runtime_error(std::string("parameter ") + param +
                                     " must be a whole number from 0 to " + std::to_string(most));
        return static_cast<int>(x);
    }
    using IEventModule::number;

    std::size_t size(const char *param) {
        const std::string s = text(param, "128Ki");
        char *end;
        unsigned long long n = std::strtoull(s.c_str(), &end, 10);
        if (*end == 'k' || *end == 'K') n <<= 10, end++;
        else if (*end == 'm' || *end == 'M') n <<= 20, end++;
        if (*end == 'i') end++;
        if (end == s.c_str() || *end || n < 1 << 10 || n > 4 << 20)
            throw std::runtime_error(std::string(param) + "=" + s + ": say 1Ki to 4Mi bytes");
        return static_cast<std::size_t>(n);
    }

    Shared s_;
    bool functions_ = false;
    PerThread<Track> tracks_;
    std::map<std::string, std::vector<std::pair<std::string, ws_kind>>> kinds_; // under s_.lock
};

static std::unique_ptr<IEventModule> make_trace_writer() {
    return std::unique_ptr<IEventModule>(new TraceWriter);
}

} // namespace detail
} // namespace whyslow

#endif // WHYSLOW_IMPLEMENTATION
