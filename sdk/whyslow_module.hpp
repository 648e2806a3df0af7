#ifndef WHYSLOW_MODULE_HPP
#define WHYSLOW_MODULE_HPP
/* whyslow_module.hpp: profiling modules for whyslow in C++11, as shared libraries.
 *
 *     #include "whyslow_module.hpp"
 *
 *     namespace {
 *     class ForeignTimer : public whyslow::IEventModule {
 *         void registerEvents() override {
 *             CONNECT_EVENT(GlobalEvents, onForeignStarted,
 *                           [this](const char *func, whyslow::Time start) { ... });
 *             CONNECT_EVENT(GlobalEvents, onForeignEnded,
 *                           [this](const char *func, whyslow::Time end) { ... });
 *         }
 *         void finish() override { print("...\n"); }
 *     };
 *     }
 *     WHYSLOW_MODULE(ForeignTimer, "foreign_timer_module", "time in user functions",
 *                    whyslow::Info()
 *                        .events("GlobalEvents.onForeign*")
 *                        .param("file", "", "where the result goes"))
 *
 *     g++ -std=c++11 -O2 -fPIC -shared -o libforeign_timer_module.so foreign_timer_module.cpp
 *
 * This is a layer over whyslow_module.h, whose rules apply: handlers run on several workers at once. An
 * exception that leaves a module's code ends the module, not the program. Put module classes into an unnamed
 * namespace: otherwise static variables in member functions of classes with equal names are one variable in
 * all libraries of a process.
 */

#if defined(CONNECT_EVENT)
#error "include either whyslow_module.hpp, for modules, or whyslow.hpp, for programs"
#endif

/* CONNECT_EVENT(Namespace, onName, handler) connects a handler, in registerEvents; see Module::connect. */
#define CONNECT_EVENT(ns, name, ...) this->connect(#ns "." #name, __VA_ARGS__)

#include "whyslow_module.h"

#include <chrono>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace whyslow {

/* The time of an event, for computing differences. */
typedef std::chrono::high_resolution_clock::time_point Time;

/* The elements of the list of an event, valid as long as the event. */
struct List {
    const uint64_t *data;
    size_t length;
    const uint64_t *begin() const { return data; }
    const uint64_t *end() const { return data + length; }
    size_t size() const { return length; }
    uint64_t operator[](size_t i) const { return data[i]; }
};

namespace detail {

/* grow returns the text that a function writes into a buffer, of any length. */
template <typename F> std::string grow(F fill) {
    char small[128];
    size_t n = fill(small, sizeof small);
    if (n < sizeof small) return std::string(small, n);
    std::string text(n + 1, '\0');
    fill(&text[0], text.size());
    text.resize(n);
    return text;
}

inline std::string number(double v) {
    char text[32];
    return std::string(text, static_cast<size_t>(std::snprintf(text, sizeof text, "%.17g", v)));
}

/* Words collects the arguments of an event, converted to the types of its fields. */
class Words {
public:
    explicit Words(const wsm_spec *spec) : spec_(spec), i_(0) { words_.reserve(WSM_MAX_FIELDS); }
    template <typename T>
    typename std::enable_if<std::is_arithmetic<T>::value || std::is_enum<T>::value>::type add(T v) {
        switch (type()) {
        case WSM_FLOAT: words_.push_back(wsm_float_word(static_cast<double>(v))); break;
        case WSM_NAME: case WSM_INTS: case WSM_DFS: wrong("a number");
        default:
            words_.push_back(std::is_floating_point<T>::value ? static_cast<uint64_t>(static_cast<int64_t>(v))
                                                              : static_cast<uint64_t>(v));
        }
        i_++;
    }
    void add(const char *v) {
        if (type() != WSM_NAME) wrong("a string");
        words_.push_back(texts_.size());
        texts_.push_back(v);
        i_++;
    }
    void add(const std::string &v) { add(v.c_str()); }
    template <typename T> void add(const std::vector<T> &v) { list(v); }
    void add(const List &v) { list(v); }
    int emit(const wsm_event *in, int64_t time) {
        if (i_ != spec_->fields)
            throw std::invalid_argument(name() + " is emitted with " + std::to_string(i_) +
                                        " arguments, it takes " + std::to_string(spec_->fields));
        return in->host->emit(in, spec_, time, words_.data(), static_cast<uint32_t>(words_.size()),
                              texts_.data(), static_cast<uint32_t>(texts_.size()));
    }

private:
    template <typename L> void list(const L &v) {
        if (type() != WSM_INTS && type() != WSM_DFS) wrong("a list");
        words_.push_back(v.size());
        for (size_t k = 0; k < v.size(); k++) words_.push_back(static_cast<uint64_t>(v[k]));
        i_++;
    }
    uint32_t type() const { return i_ < spec_->fields ? spec_->field[i_].type : 0; }
    std::string name() const { return std::string(spec_->ns) + "." + spec_->name; }
    [[noreturn]] void wrong(const char *what) const {
        throw std::invalid_argument(name() + " is emitted with " + what + " as argument " +
                                    std::to_string(i_ + 1));
    }
    const wsm_spec *spec_;
    uint32_t i_;
    std::vector<uint64_t> words_;
    std::vector<const char *> texts_;
};

} /* namespace detail */

/* An event, valid until the handler returns. */
class Event {
public:
    explicit Event(const wsm_event *e) : e_(e) {}
    Event(const Event &) = delete;
    Event &operator=(const Event &) = delete;
    const char *ns() const { return e_->spec->ns; }
    const char *name() const { return e_->spec->name; }
    int node() const { return e_->node; }
    int stream() const { return e_->stream; }
    int64_t ns_time() const { return e_->time; }
    Time time() const {
        return Time(std::chrono::duration_cast<Time::duration>(std::chrono::nanoseconds(e_->time)));
    }
    const wsm_spec *spec() const { return e_->spec; }
    const wsm_event *raw() const { return e_; }

    /* Fields by number, from 0, or by name. They throw std::out_of_range if there is no such field. */
    uint32_t field(uint32_t i) const {
        if (i >= e_->spec->fields) missing("field " + std::to_string(i + 1));
        return i;
    }
    uint32_t field(const char *name) const {
        int i = wsm_find(e_->spec, name);
        if (i < 0) missing(std::string("field ") + name);
        return static_cast<uint32_t>(i);
    }
    template <typename K> int64_t integer(K k) const { return word(k); }
    template <typename K> uint64_t word(K k) const {
        uint32_t i = field(k);
        return e_->spec->field[i].type == WSM_FLOAT
                   ? static_cast<uint64_t>(static_cast<int64_t>(wsm_float(e_, i)))
                   : wsm_uint(e_, i);
    }
    template <typename K> double real(K k) const {
        uint32_t i = field(k);
        switch (e_->spec->field[i].type) {
        case WSM_FLOAT: return wsm_float(e_, i);
        case WSM_INT: case WSM_NODE: case WSM_NS: case WSM_BYTES: return static_cast<double>(wsm_int(e_, i));
        }
        return static_cast<double>(wsm_uint(e_, i));
    }
    /* text returns any field as people read it. */
    template <typename K> std::string text(K k) const {
        uint32_t i = field(k);
        const wsm_event *e = e_;
        return detail::grow([e, i](char *buf, size_t size) { return e->host->text(e, i, buf, size); });
    }
    List list() const {
        uint64_t n;
        const uint64_t *p = wsm_list(e_, &n);
        return List{p, static_cast<size_t>(n)};
    }

    /* emit emits an event made by Module::define, now. */
    template <typename... A> void emit(const wsm_spec *own, const A &...args) const {
        detail::Words w(own);
        int each[] = {0, (w.add(args), 0)...};
        (void)each;
        w.emit(e_, 0);
    }

private:
    [[noreturn]] void missing(const std::string &what) const {
        throw std::out_of_range(std::string(ns()) + "." + name() + " has no " + what + ": it has " +
                                std::to_string(e_->spec->fields));
    }
    const wsm_event *e_;
};

namespace detail {

/* The parameters that a handler may have: the event, its time, or the next of its fields. */
template <typename T, typename = void> struct Arg {
    static_assert(sizeof(T) == 0, "a handler takes const whyslow::Event&, whyslow::Time, and numbers, "
                                  "strings and whyslow::List for the fields");
};
struct Reader {
    const Event &event;
    uint32_t next;
    std::string texts[WSM_MAX_FIELDS];
    explicit Reader(const Event &e) : event(e), next(0) {}
};
template <> struct Arg<Event> {
    enum { fields = 0 };
    static const Event &get(Reader &r) { return r.event; }
};
template <> struct Arg<Time> {
    enum { fields = 0 };
    static Time get(Reader &r) { return r.event.time(); }
};
template <> struct Arg<std::string> {
    enum { fields = 1 };
    static const std::string &get(Reader &r) {
        uint32_t i = r.event.field(r.next++);
        return r.texts[i] = r.event.text(i);
    }
};
template <> struct Arg<const char *> {
    enum { fields = 1 };
    static const char *get(Reader &r) { return Arg<std::string>::get(r).c_str(); }
};
template <> struct Arg<List> {
    enum { fields = 1 };
    static List get(Reader &r) {
        uint32_t i = r.event.field(r.next++);
        if (i != r.event.spec()->fixed)
            throw std::invalid_argument("a handler takes a list where " + std::string(r.event.ns()) + "." +
                                        r.event.name() + " has none");
        return r.event.list();
    }
};
template <typename T>
struct Arg<T, typename std::enable_if<std::is_arithmetic<T>::value || std::is_enum<T>::value>::type> {
    enum { fields = 1 };
    static T get(Reader &r) {
        uint32_t i = r.event.field(r.next++);
        return std::is_floating_point<T>::value ? static_cast<T>(r.event.real(i))
                                                : static_cast<T>(r.event.word(i));
    }
};
template <typename A> struct Plain {
    typedef typename std::remove_cv<typename std::remove_reference<A>::type>::type type;
};

template <int... I> struct Sum { enum { value = 0 }; };
template <int I, int... Rest> struct Sum<I, Rest...> { enum { value = I + Sum<Rest...>::value }; };

/* Call reads the arguments for a handler's parameters, in their order, and calls it. */
template <typename... A> struct Call {
    enum { fields = Sum<Arg<typename Plain<A>::type>::fields...>::value };
    template <typename F> static void run(F &f, Reader &r) { step(f, r); }

private:
    template <typename F, typename... Done>
    static typename std::enable_if<sizeof...(Done) == sizeof...(A)>::type step(F &f, Reader &,
                                                                               Done &&...done) {
        f(std::forward<Done>(done)...);
    }
    template <typename F, typename... Done>
    static typename std::enable_if<(sizeof...(Done) < sizeof...(A))>::type step(F &f, Reader &r,
                                                                                Done &&...done) {
        step_with<F, typename At<sizeof...(Done), A...>::type>(f, r, std::forward<Done>(done)...);
    }
    template <size_t N, typename First, typename... Rest> struct At {
        typedef typename At<N - 1, Rest...>::type type;
    };
    template <typename First, typename... Rest> struct At<0, First, Rest...> { typedef First type; };
    template <typename F, typename Next, typename... Done>
    static void step_with(F &f, Reader &r, Done &&...done) {
        auto &&value = Arg<typename Plain<Next>::type>::get(r);
        step(f, r, std::forward<Done>(done)..., std::forward<decltype(value)>(value));
    }
};
template <typename F> struct CallOf : CallOf<decltype(&F::operator())> {};
template <typename R, typename C, typename... A> struct CallOf<R (C::*)(A...) const> : Call<A...> {};
template <typename R, typename C, typename... A> struct CallOf<R (C::*)(A...)> : Call<A...> {};
template <typename R, typename... A> struct CallOf<R (*)(A...)> : Call<A...> {};

/* Objects that live as long as the module. */
struct Kept {
    virtual ~Kept() {}
};
template <typename F> struct Handler : Kept {
    F f;
    explicit Handler(const F &f_) : f(f_) {}
    static void handle(const wsm_event *e, void *user) {
        try {
            Event event(e);
            Reader r(event);
            CallOf<F>::run(static_cast<Handler *>(user)->f, r);
        } catch (const std::exception &x) {
            failed(e, x.what());
        } catch (...) {
            failed(e, "it is not a std::exception");
        }
    }
    static void failed(const wsm_event *e, const char *what) {
        e->host->fail(e->host, ("the handler of " + std::string(e->spec->ns) + "." + e->spec->name +
                                " threw an exception: " + what)
                                   .c_str());
    }
};

struct Bridge;

} /* namespace detail */

/* Another module of the run, or none. */
class Peer {
public:
    Peer() : host_(nullptr), peer_(nullptr) {}
    Peer(const wsm_host *host, const wsm_peer *peer) : host_(host), peer_(peer) {}
    explicit operator bool() const { return peer_ != nullptr; }
    bool query(const std::string &what, int node, double &value) const {
        return peer_ && host_->query(host_, peer_, what.c_str(), node, &value) != 0;
    }
    /* api returns the result of the other module's api. T must be the type that the module means. */
    template <typename T> const T *api() const {
        return peer_ ? static_cast<const T *>(peer_->api) : nullptr;
    }

private:
    const wsm_host *host_;
    const wsm_peer *peer_;
};

/* The base class of modules. An object is created at the start of each run. The host can be used from
 * registerEvents on, including the destructor, but not in the constructor. */
class Module {
public:
    Module() : host_(nullptr), output_(-1) {}
    virtual ~Module() {}
    Module(const Module &) = delete;
    Module &operator=(const Module &) = delete;

    virtual void registerEvents() = 0;
    virtual void finish() {}
    virtual bool query(const std::string &, int, double &) { return false; } /* see wsm_module */
    virtual const void *api() { return nullptr; }

protected:
    const wsm_host *host() const { return host_; }
    const wsm_run &run() const { return *host_->run; }

    /* connect makes the host call f for the events "Namespace.onName"; a * stands for any text. f may take
     * const Event& and the Time of the event. Each further parameter receives the next field: a number, a
     * string (any field, as people read it) or a List. */
    template <typename F> void connect(const char *event, F f) {
        typedef detail::CallOf<F> C;
        const wsm_spec *spec = host_->spec(host_, event);
        if (spec && static_cast<uint32_t>(C::fields) > spec->fields)
            throw std::invalid_argument("a handler takes " + std::to_string(static_cast<int>(C::fields)) +
                                        " fields of " + event + ", which has " +
                                        std::to_string(spec->fields));
        detail::Handler<F> *h = new detail::Handler<F>(f);
        kept_.push_back(std::unique_ptr<detail::Kept>(h));
        check(host_->connect(host_, event, detail::Handler<F>::handle, h) == 0);
    }
    /* define makes an event of the module's own, for Event::emit: "LoadEvents.onLoad(node:Node
     * load:Float)". */
    const wsm_spec *define(const char *signature) {
        const wsm_spec *s = host_->define(host_, signature);
        check(s != nullptr);
        return s;
    }
    int64_t integer(const char *param) const { return host_->param(host_, param)->integer; }
    double real(const char *param) const { return host_->param(host_, param)->real; }
    bool flag(const char *param) const { return host_->param(host_, param)->integer != 0; }
    std::string text(const char *param) const { return host_->param(host_, param)->text; }
    std::vector<std::string> texts(const char *param) const {
        std::vector<std::string> all;
        for (const char *const *t = host_->param(host_, param)->texts; *t; t++) all.push_back(*t);
        return all;
    }
    Peer get_module(const char *name) const { return Peer(host_, host_->get_module(host_, name)); }
    std::string df(int node, uint64_t number) const {
        const wsm_host *h = host_;
        return detail::grow(
            [h, node, number](char *buf, size_t size) { return h->df(h, node, number, buf, size); });
    }
    const wsm_site &site(int node, uint64_t number) const { return *host_->site(host_, node, number); }

    /* print writes to the file that the parameter "file" names, or to the terminal if there is no such
     * parameter. */
    void print(const std::string &s) const { host_->write(host_, output_, s.data(), s.size()); }
    void warn(const std::string &s) const { host_->warn(host_, s.c_str()); }
    void fail(const std::string &s) const { host_->fail(host_, s.c_str()); }

private:
    friend struct detail::Bridge;
    struct Failed {}; /* thrown when the host knows the reason */
    static void check(bool ok) {
        if (!ok) throw Failed();
    }
    const wsm_host *host_;
    int output_;
    std::vector<std::unique_ptr<detail::Kept>> kept_;
};

/* The name that modules of LuNA programs use. */
typedef Module IEventModule;

/* What users are told about a module. */
class Info {
public:
    Info &output(const char *s) { return output_ = s, *this; }
    Info &cost(const char *s) { return cost_ = s, *this; }
    /* What it listens to, what it emits (signatures), and modules it uses: any number of each. */
    template <typename... S> Info &events(S... s) { return append(events_, {s...}); }
    template <typename... S> Info &emits(S... s) { return append(emits_, {s...}); }
    template <typename... S> Info &uses(S... s) { return append(uses_, {s...}); }
    /* A parameter, its default, its meaning, and for strings the allowed values: "a|b". */
    Info &param(const char *name, const char *value, const char *doc, const char *choices = nullptr) {
        return add(name, WSM_PARAM_STRING, value, doc, choices);
    }
    Info &param(const char *name, bool value, const char *doc) {
        return add(name, WSM_PARAM_BOOL, value ? "true" : "false", doc);
    }
    Info &param(const char *name, int value, const char *doc) {
        return add(name, WSM_PARAM_INT, std::to_string(value), doc);
    }
    Info &param(const char *name, double value, const char *doc) {
        return add(name, WSM_PARAM_FLOAT, detail::number(value), doc);
    }
    Info &param(const char *name, const std::vector<std::string> &value, const char *doc) {
        std::string all;
        for (const std::string &v : value) all += (all.empty() ? "" : ",") + v;
        return add(name, WSM_PARAM_STRINGS, all, doc);
    }

private:
    friend struct detail::Bridge;
    struct Param {
        std::string name, value, doc, choices;
        uint32_t type;
        bool any;
    };
    Info &append(std::vector<std::string> &to, std::initializer_list<const char *> from) {
        to.insert(to.end(), from.begin(), from.end());
        return *this;
    }
    Info &add(const char *name, uint32_t type, const std::string &value, const char *doc,
              const char *choices = nullptr) {
        params_.push_back(Param{name, value, doc, choices ? choices : "", type, choices == nullptr});
        return *this;
    }
    std::string output_, cost_;
    std::vector<std::string> events_, emits_, uses_;
    std::vector<Param> params_;
};

namespace detail {

/* Bridge makes the C description of a module written in C++. */
struct Bridge {
    Info info;
    std::vector<const char *> events, emits, uses;
    std::vector<wsm_param> params;
    wsm_module module;

    Bridge(const char *name, const char *doc, const Info &i) : info(i), module() {
        events = list(info.events_), emits = list(info.emits_), uses = list(info.uses_);
        for (const Info::Param &p : info.params_)
            params.push_back(wsm_param{p.name.c_str(), p.type, p.value.c_str(),
                                       p.any ? nullptr : p.choices.c_str(), p.doc.c_str()});
        params.push_back(wsm_param());
        module.version = WSM_VERSION;
        module.name = name, module.doc = doc, module.output = info.output_.c_str(),
        module.cost = info.cost_.c_str();
        module.events = events.data(), module.emits = emits.data(), module.uses = uses.data(),
        module.params = params.data();
    }
    static std::vector<const char *> list(const std::vector<std::string> &from) {
        std::vector<const char *> to;
        for (const std::string &s : from) to.push_back(s.c_str());
        to.push_back(nullptr);
        return to;
    }
    template <typename M> const wsm_module *describe() {
        module.start = start<M>, module.finish = finish, module.release = release, module.query = query,
        module.api = api;
        return &module;
    }
    /* place returns where print writes. */
    static const char *place(const wsm_host *host) {
        for (const wsm_param *p = whyslow_module()->params; p->name; p++)
            if (p->name == std::string("file") && p->type == WSM_PARAM_STRING)
                return host->param(host, "file")->text;
        return "";
    }

    template <typename F> static void guard(const wsm_host *host, const char *where, F f) {
        try {
            f();
        } catch (const Module::Failed &) {
        } catch (const std::exception &x) {
            host->fail(host, (std::string(where) + " threw an exception: " + x.what()).c_str());
        } catch (...) {
            host->fail(host,
                       (std::string(where) + " threw an exception that is not a std::exception").c_str());
        }
    }
    template <typename M> static void *start(const wsm_host *host) {
        Module *m = nullptr;
        guard(host, "the constructor", [&m]() { m = new M; });
        if (!m) return nullptr;
        guard(host, "registerEvents", [host, m]() {
            m->host_ = host;
            m->output_ = host->open(host, place(host));
            Module::check(m->output_ >= 0);
            m->registerEvents();
        });
        return m;
    }
    static void finish(void *self) {
        Module *m = static_cast<Module *>(self);
        guard(m->host_, "finish", [m]() { m->finish(); });
    }
    static void release(void *self) { delete static_cast<Module *>(self); }
    static int query(void *self, const char *what, int node, double *value) {
        Module *m = static_cast<Module *>(self);
        bool known = false;
        guard(m->host_, "query", [&]() { known = m->query(what, node, *value); });
        return known;
    }
    static const void *api(void *self) {
        Module *m = static_cast<Module *>(self);
        const void *p = nullptr;
        guard(m->host_, "api", [&]() { p = m->api(); });
        return p;
    }
};

} /* namespace detail */
} /* namespace whyslow */

/* WHYSLOW_MODULE(Class, "name_module", "what it does", whyslow::Info()...) makes the library a module. Use it
 * once per library. */
#define WHYSLOW_MODULE(Class, name, doc, ...) \
    const wsm_module *whyslow_module(void) { \
        static whyslow::detail::Bridge bridge(name, doc, __VA_ARGS__); \
        return bridge.describe<Class>(); \
    }

#endif /* WHYSLOW_MODULE_HPP */
