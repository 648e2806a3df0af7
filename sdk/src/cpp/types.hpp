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
