// The part of a library that is the same for all programs: the members of DF that are not inline, and the
// ways out of a code fragment. Compiled once per set of flags.
#include <cxxabi.h>
#include <whyslow_wrap.h>
#include <unistd.h>

extern "C" {
extern void *__dso_handle __attribute__((visibility("hidden")));
void __cxa_finalize(void *);
void __real_exit(int) __attribute__((noreturn));
void __real__exit(int) __attribute__((noreturn));
void __real__Exit(int) __attribute__((noreturn));
void __real_quick_exit(int) __attribute__((noreturn));
}

namespace luna {
namespace ucenv {
namespace detail {

// Before the host connects, while static objects are constructed, the library itself counts the buffers.
static int64_t early_live;
static int64_t *live = &early_live;
static int64_t early_homeless; // events of static objects, likewise
const ws_host *host;

void fail(const std::string &msg)
{
	if (host) host->fail(msg.c_str());
	std::fprintf(stderr, "%s\n", msg.c_str());
	std::abort();
}

void log(const char *level, const std::string &msg, const char *file, int line)
{
	std::fprintf(stderr, "%s: %s %s:%d\n", level, msg.c_str(), file, line);
}

ws_buf *alloc(std::size_t size)
{
	void *p = size > SIZE_MAX - WS_BESIDE ? nullptr : std::malloc(WS_BESIDE + size);
	ws_buf *b = static_cast<ws_buf *>(p);
	if (!b) fail("Out of memory: cannot create a data fragment of " + std::to_string(size) + " bytes");
	b->refs = 1;
	b->size = size;
	const uint64_t tail = WS_TAIL;
	std::memcpy(reinterpret_cast<char *>(b + 1) + size, &tail, sizeof tail);
	__atomic_fetch_add(live, 1, __ATOMIC_RELAXED);
	return b;
}

void free(ws_buf *b)
{
	__atomic_fetch_sub(live, 1, __ATOMIC_RELAXED);
	std::free(b);
}

void thaw(ws_buf *b)
{
	while (__atomic_load_n(&b->refs, __ATOMIC_ACQUIRE) >> 32) usleep(20);
}

void connect(const ws_host *h)
{
	__atomic_fetch_add(h->live, early_live, __ATOMIC_RELAXED);
	live = h->live;
	__atomic_fetch_add(h->homeless, early_homeless, __ATOMIC_RELAXED);
	host = h;
}

void flush()
{
	std::cout.flush();
	std::clog.flush();
}

void finish() { __cxa_finalize(&__dso_handle); }

static const char *const type_names[] = {"(unset)", "int", "real", "string", "value"};
static const char *name(const DF &v) { return type_names[v.get_type()]; }

static std::string type_name(const std::type_info *t)
{
	int status = 0;
	char *s = t ? abi::__cxa_demangle(t->name(), nullptr, nullptr, &status) : nullptr;
	std::string res(s ? s : "unknown type");
	std::free(s);
	return res;
}

// Called in the catch block of a wrapper.
void caught()
{
	std::string msg;
	try {
		throw;
	} catch (const std::exception &e) {
		msg = type_name(&typeid(e)) + ": " + e.what();
	} catch (const std::string &s) {
		msg = "std::string: " + s;
	} catch (const char *s) {
		msg = std::string("const char*: ") + s;
	} catch (int i) {
		msg = "int: " + std::to_string(i);
	} catch (...) {
		msg = type_name(abi::__cxa_current_exception_type());
	}
	host->threw(msg.c_str());
}

// What whyslow.hpp emits to. Before the host connects, events are only counted.
extern "C" __attribute__((visibility("hidden"))) void *whyslow_luna_event(const char *space, const char *name,
	const char *types)
{
	return host ? host->event(&host, space, name, types) : nullptr;
}

extern "C" __attribute__((visibility("hidden"))) int whyslow_luna_emit(void *event, const uint64_t *words,
	uint32_t count, const char *texts, uint32_t size)
{
	if (host) return host->emit(event, words, count, texts, size);
	early_homeless++;
	return 1;
}

} // namespace detail

void DF::wrong_type(const char *what) const
{
	detail::fail(std::string("Cannot ") + what + " of " + detail::name(*this));
}

void DF::odd_size(std::size_t of) const
{
	detail::fail("Cannot getData: the size of " + to_string() + " is not a multiple of " + std::to_string(of));
}

int DF::get_int() const
{
	if (type_ != detail::integer) detail::fail(std::string("get_int failed for type ") + detail::name(*this));
	return int_;
}

double DF::get_real() const
{
	if (type_ != detail::real) detail::fail(std::string("get_real failed for type ") + detail::name(*this));
	return real_;
}

std::string DF::get_string() const
{
	if (type_ != detail::text) detail::fail(std::string("get_string failed for type ") + detail::name(*this));
	return std::string(static_cast<const char *>(bytes(buf_)), buf_->size - 1);
}

// A string converts to the number that it begins with, like the words passed to main.
int DF::cast_int() const
{
	if (type_ == detail::integer) return int_;
	if (type_ == detail::real) return static_cast<int>(real_);
	if (type_ == detail::text) {
		try {
			std::string s = get_string();
			std::size_t used = 0;
			int i = std::stoi(s, &used);
			if (used == s.size()) return i;
		} catch (const std::logic_error &) {
		}
	}
	detail::fail("no conversion to int: " + to_string());
}

double DF::cast_real() const
{
	if (type_ == detail::integer) return int_;
	if (type_ == detail::real) return real_;
	if (type_ == detail::text) {
		try {
			return std::stod(get_string());
		} catch (const std::logic_error &) {
		}
	}
	detail::fail("no conversion to real: " + to_string());
}

std::string DF::cast_string() const
{
	if (type_ == detail::integer) return std::to_string(int_);
	if (type_ == detail::real) return std::to_string(real_);
	if (type_ == detail::text) return get_string();
	detail::fail("cast to string failed: " + to_string());
}

// Serialized, a DF is its type in 4 bytes, then an int or a double, or the size in 8 bytes and the bytes.
std::size_t DF::get_serialization_size() const
{
	switch (type_) {
	case detail::unset: return sizeof type_;
	case detail::integer: return sizeof type_ + sizeof int_;
	case detail::real: return sizeof type_ + sizeof real_;
	}
	return sizeof type_ + sizeof buf_->size + buf_->size;
}

std::size_t DF::serialize(void *buf, std::size_t size) const
{
	std::size_t need = get_serialization_size();
	if (size < need)
		detail::fail("serialize: " + std::to_string(need) + " bytes do not fit " + std::to_string(size));
	char *to = static_cast<char *>(buf);
	std::memcpy(to, &type_, sizeof type_);
	to += sizeof type_;
	if (type_ == detail::integer) std::memcpy(to, &int_, sizeof int_);
	if (type_ == detail::real) std::memcpy(to, &real_, sizeof real_);
	if (buffered()) {
		std::memcpy(to, &buf_->size, sizeof buf_->size);
		std::memcpy(to + sizeof buf_->size, bytes(buf_), buf_->size);
	}
	return need;
}

std::size_t DF::deserialize(const void *buf, std::size_t size)
{
	const char *from = static_cast<const char *>(buf), *end = from + size;
	auto take = [&](void *to, std::size_t n) {
		if (static_cast<std::size_t>(end - from) < n)
			detail::fail("deserialize: " + std::to_string(size) + " bytes are not a whole data fragment");
		std::memcpy(to, from, n);
		from += n;
	};
	uint32_t type;
	take(&type, sizeof type);
	if (type == detail::unset) {
		put(detail::unset, int64_t(0));
	} else if (type == detail::integer) {
		int v;
		take(&v, sizeof v);
		*this = v;
	} else if (type == detail::real) {
		double v;
		take(&v, sizeof v);
		*this = v;
	} else {
		uint64_t n;
		take(&n, sizeof n);
		if (type > detail::block || n > static_cast<std::size_t>(end - from))
			detail::fail("deserialize: these bytes are not a data fragment");
		ws_buf *b = detail::alloc(n);
		take(bytes(b), n);
		put(type, b);
	}
	return static_cast<std::size_t>(from - static_cast<const char *>(buf));
}

std::string DF::to_string() const
{
	switch (type_) {
	case detail::unset: return "DF<unset>";
	case detail::integer: return "DF<int>(" + std::to_string(int_) + ")";
	case detail::real: return "DF<real>(" + std::to_string(real_) + ")";
	case detail::text: return "DF<string>(" + get_string() + ")";
	}
	const unsigned char *p = static_cast<const unsigned char *>(bytes(buf_));
	std::string s = "DF<size=" + std::to_string(buf_->size) + ">(";
	for (std::size_t i = 0; i < buf_->size && i < 10; i++) {
		char hex[8];
		std::snprintf(hex, sizeof hex, "%s%02X", i ? ", " : "", p[i]);
		s += hex;
	}
	return s + (buf_->size > 10 ? ", ...)" : ")");
}

namespace detail {
// binary applies op to two ints or, if either of them is a real, to two doubles.
template <class Op> DF binary(const DF &a, const DF &b, const char *sign, Op op)
{
	if (a.is_unset() || b.is_unset()) fail("Operand(s) unset");
	if (a.get_type() > detail::real || b.get_type() > detail::real)
		fail(std::string("Unsupported operand types: ") + name(a) + " " + sign + " " + name(b));
	if (a.get_type() == detail::integer && b.get_type() == detail::integer) return op(a.get_int(), b.get_int());
	return op(a.cast_real(), b.cast_real());
}
} // namespace detail

// Ints wrap around, as they do in LuNA.
#define WS_ARITHMETIC(SIGN) \
	namespace detail { \
	struct WS_OP { \
		DF operator()(int a, int b) const \
		{ \
			return static_cast<int>(static_cast<unsigned>(a) SIGN static_cast<unsigned>(b)); \
		} \
		DF operator()(double a, double b) const { return a SIGN b; } \
	}; \
	} \
	DF DF::operator SIGN(const DF &o) const { return detail::binary(*this, o, #SIGN, detail::WS_OP()); }
#define WS_COMPARISON(SIGN) \
	namespace detail { \
	struct WS_OP { \
		DF operator()(int a, int b) const { return static_cast<int>(a SIGN b); } \
		DF operator()(double a, double b) const { return static_cast<int>(a SIGN b); } \
	}; \
	} \
	DF DF::operator SIGN(const DF &o) const { return detail::binary(*this, o, #SIGN, detail::WS_OP()); }
#define WS_OP add_
WS_ARITHMETIC(+)
#undef WS_OP
#define WS_OP sub_
WS_ARITHMETIC(-)
#undef WS_OP
#define WS_OP mul_
WS_ARITHMETIC(*)
#undef WS_OP
#define WS_OP lt_
WS_COMPARISON(<)
#undef WS_OP
#define WS_OP le_
WS_COMPARISON(<=)
#undef WS_OP
#define WS_OP and_
WS_COMPARISON(&&)
#undef WS_OP
#define WS_OP eq_
WS_COMPARISON(==)
#undef WS_OP
#define WS_OP ne_
WS_COMPARISON(!=)
#undef WS_OP
#define WS_OP ge_
WS_COMPARISON(>=)
#undef WS_OP
#define WS_OP gt_
WS_COMPARISON(>)
#undef WS_OP
#undef WS_ARITHMETIC
#undef WS_COMPARISON

namespace detail {
struct div_ {
	DF operator()(int a, int b) const { return a / b; }
	DF operator()(double a, double b) const { return a / b; }
};
struct mod_ {
	DF operator()(int a, int b) const { return a % b; }
	DF operator()(double, double) const { fail("Unsupported operand types: real % real"); }
};
} // namespace detail
DF DF::operator/(const DF &o) const { return detail::binary(*this, o, "/", detail::div_()); }
DF DF::operator%(const DF &o) const { return detail::binary(*this, o, "%", detail::mod_()); }

} // namespace ucenv
} // namespace luna

// exit and its kin end the program under test, not the process that watches it. The linker renames the calls
// in the user's files (--wrap). In a process that user code has forked they do what they always do.
static const pid_t whyslow_process = ::getpid();
#define WS_WRAP(NAME, FLUSH) \
	extern "C" __attribute__((noreturn, visibility("hidden"))) void __wrap_##NAME(int code) \
	{ \
		if (!luna::ucenv::detail::host || ::getpid() != whyslow_process) __real_##NAME(code); \
		if (FLUSH) { \
			luna::ucenv::detail::flush(); \
			std::fflush(nullptr); \
		} \
		luna::ucenv::detail::host->leave(code, #NAME); \
		std::abort(); \
	}
WS_WRAP(exit, true)
WS_WRAP(_exit, false)
WS_WRAP(_Exit, false)
WS_WRAP(quick_exit, false)
#undef WS_WRAP
