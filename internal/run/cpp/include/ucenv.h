// ucenv.h is the header for C++ code fragments of LuNA programs: the class DF, the handle of a data fragment,
// under the names that LuNA programs use.
//
// A handle is 16 bytes: a type code and an int, a double, or the address of a reference-counted buffer.
// Copies of a handle share the buffer. The handles of a code fragment's inputs borrow it: the run-time system
// holds the value during the call, so that readers on many cores do not contend for the counter.
//
// C++11. Errors end the code fragment and the program with a message; they are not C++ exceptions.
#ifndef WHYSLOW_UCENV_H
#define WHYSLOW_UCENV_H
#pragma GCC system_header

#include <algorithm>
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <queue>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#include <whyslow_abi.h>

namespace luna {
namespace ucenv {

class DF;

namespace detail __attribute__((visibility("hidden"))) {
enum Type : uint32_t { unset, integer, real, text, block }; // LuNA's type codes
[[noreturn]] void fail(const std::string &msg);
void log(const char *level, const std::string &msg, const char *file, int line);
ws_buf *alloc(std::size_t size); // with one reference
void free(ws_buf *);
void thaw(ws_buf *); // waits until nobody reads it behind user code's back

// Chosen by overload resolution. An argument that fits none of these, or several equally well, cannot be the
// value of a DF.
inline void takes_int_double_or_string(int) {}
inline void takes_int_double_or_string(double) {}
inline void takes_int_double_or_string(const std::string &) {}
void takes_int_double_or_string(const DF &);
} // namespace detail

class DF {
	// The layout is that of ws_value.
	uint32_t type_;
	uint32_t borrowed_;
	union {
		int64_t bits_;
		int int_;
		double real_;
		ws_buf *buf_;
	};

	bool buffered() const { return type_ >= detail::text; }
	static void *bytes(ws_buf *b) { return b + 1; }
	// For writers: a buffer that is in flight to another node must not change before it has arrived.
	static void *writable(ws_buf *b)
	{
		if (__atomic_load_n(&b->refs, __ATOMIC_ACQUIRE) >> 32) detail::thaw(b);
		return bytes(b);
	}
	void drop()
	{
		if (buffered() && !borrowed_) {
			// A single holder needs no atomic subtraction.
			if (__atomic_load_n(&buf_->refs, __ATOMIC_ACQUIRE) == 1 ||
				__atomic_sub_fetch(&buf_->refs, 1, __ATOMIC_ACQ_REL) == 0)
				detail::free(buf_);
		}
	}
	void put(uint32_t type, int64_t bits) { drop(); type_ = type; borrowed_ = 0; bits_ = bits; }
	void put(uint32_t type, ws_buf *b) { drop(); type_ = type; borrowed_ = 0; buf_ = b; }
	static ws_buf *share(const DF &o)
	{
		__atomic_fetch_add(&o.buf_->refs, 1, __ATOMIC_RELAXED);
		return o.buf_;
	}
	static ws_buf *text(const std::string &s)
	{
		ws_buf *b = detail::alloc(s.size() + 1);
		std::memcpy(bytes(b), s.c_str(), s.size() + 1);
		return b;
	}
	void need_block(const char *what) const
	{
		if (type_ != detail::block) wrong_type(what);
	}
	[[noreturn]] void wrong_type(const char *what) const;
	[[noreturn]] void odd_size(std::size_t of) const;
	template <class T> const T &value(const int *) const
	{
		if (type_ != detail::integer) detail::fail("not an int: " + to_string());
		return int_;
	}
	template <class T> const T &value(const double *) const
	{
		if (type_ != detail::real) detail::fail("not a real: " + to_string());
		return real_;
	}
	template <class T> [[noreturn]] const T &value(const void *) const
	{
		detail::fail("getValue returns int or double, not " + std::string(typeid(T).name()) + ": " + to_string());
	}
	void set(const int &v) { *this = v; }
	void set(const double &v) { *this = v; }
	void set(const std::string &v) { *this = v; }
	template <class T> void set(const T &)
	{
		detail::fail(std::string("Unsupported type in setValue: ") + typeid(T).name());
	}

public:
	~DF() { drop(); }
	DF() : type_(detail::unset), borrowed_(0), bits_(0) {}
	DF(const DF &o) : type_(o.type_), borrowed_(0), bits_(o.bits_)
	{
		if (buffered()) share(o);
	}
	DF(int v) : type_(detail::integer), borrowed_(0), bits_(v) {}
	DF(double v) : type_(detail::real), borrowed_(0), real_(v) {}
	DF(const std::string &v) : type_(detail::text), borrowed_(0), buf_(text(v)) {}
	DF(const void *data, std::size_t size) : type_(detail::block), borrowed_(0), buf_(detail::alloc(size))
	{
		if (size) std::memcpy(bytes(buf_), data, size);
	}

	DF &operator=(const DF &o)
	{
		if (this == &o) return *this;
		if (o.buffered()) put(o.type_, share(o)); // share first: both may hold the same buffer
		else put(o.type_, o.bits_);
		return *this;
	}
	DF &operator=(int v) { put(detail::integer, int64_t(v)); return *this; }
	DF &operator=(double v) { put(detail::real, int64_t(0)); real_ = v; return *this; }
	DF &operator=(const std::string &v) { put(detail::text, text(v)); return *this; }
	void copy(const DF &o) { *this = o; }

	// T is int, double or std::string. Another type that converts to one of them ends the program.
	template <class T> void setValue(const T &v)
	{
		if (false) detail::takes_int_double_or_string(v);
		set(v);
	}
	// T is int or double, and must be the stored type.
	template <class T> const T &getValue() const { return value<T>(static_cast<const T *>(nullptr)); }

	// Makes it a new block of bytes, uninitialised, aligned to 16.
	void *create(std::size_t size)
	{
		put(detail::block, detail::alloc(size));
		return bytes(buf_);
	}
	template <class T> T *create(std::size_t n)
	{
		return static_cast<T *>(create(n > SIZE_MAX / sizeof(T) ? SIZE_MAX : n * sizeof(T)));
	}
	template <class T> T *create(std::size_t n, const T &init)
	{
		T *p = create<T>(n);
		std::uninitialized_fill_n(p, n, init);
		return p;
	}

	void *get_data() { need_block("get_data"); return writable(buf_); }
	const void *get_data() const { need_block("get_data"); return bytes(buf_); }
	std::size_t get_size() const { need_block("get_size"); return buf_->size; }
	template <class T> T *getData()
	{
		need_block("get_data");
		if (buf_->size % sizeof(T) != 0) odd_size(sizeof(T));
		return static_cast<T *>(writable(buf_));
	}
	template <class T> const T *getData() const
	{
		need_block("get_data");
		if (buf_->size % sizeof(T) != 0) odd_size(sizeof(T));
		return static_cast<const T *>(bytes(buf_));
	}
	// The size in bytes of any type of value: int 4, real 8, a string's length plus 1, a block's size.
	std::size_t getSize() const
	{
		if (buffered()) return buf_->size;
		if (type_ == detail::unset) detail::fail("Cannot getSize(), df is unset");
		return type_ == detail::integer ? sizeof(int) : sizeof(double);
	}

	bool is_set() const noexcept { return type_ != detail::unset; }
	bool is_unset() const noexcept { return type_ == detail::unset; }
	// 0 unset, 1 int, 2 real, 3 string, 4 block of bytes
	int get_type() const { return static_cast<int>(type_); }

	int get_int() const; // the stored type must be this one
	double get_real() const;
	std::string get_string() const;
	int cast_int() const; // converts
	double cast_real() const;
	std::string cast_string() const;
	std::string to_string() const; // DF<int>(5)
	// The value, its type included, as bytes that another DF can be made from, on a computer of the same kind.
	// serialize and deserialize return how many they wrote or read.
	std::size_t get_serialization_size() const;
	std::size_t serialize(void *buf, std::size_t size) const;
	std::size_t deserialize(const void *buf, std::size_t size);

	std::string getName() const { return "(df)"; }
	void setName(const std::string &) {}

	DF operator+(const DF &) const; // two ints give an int, else real; comparisons give int 0 or 1
	DF operator-(const DF &) const;
	DF operator*(const DF &) const;
	DF operator/(const DF &) const;
	DF operator%(const DF &) const;
	DF operator<(const DF &) const;
	DF operator<=(const DF &) const;
	DF operator&&(const DF &) const;
	DF operator==(const DF &) const;
	DF operator!=(const DF &) const;
	DF operator>=(const DF &) const;
	DF operator>(const DF &) const;
};

static_assert(sizeof(DF) == sizeof(ws_value), "a handle is a ws_value");

typedef DF InputDF;
typedef DF OutputDF;

} // namespace ucenv
} // namespace luna

using luna::ucenv::DF;
using luna::ucenv::InputDF;
using luna::ucenv::OutputDF;

// Programs expect these macros in LuNA's header. They have parameters, so that enumerators and variables may
// have these names. Macros that the program defines itself, before or after, take precedence.
#define WHYSLOW_LOG(level, ...) \
	{ \
		std::ostringstream whyslow_log_; \
		whyslow_log_ << __VA_ARGS__; \
		luna::ucenv::detail::log(level, whyslow_log_.str(), __FILE__, __LINE__); \
	}
#ifndef LOG
#define LOG(...) WHYSLOW_LOG("LOG", __VA_ARGS__)
#endif
#ifndef INFO
#define INFO(...) WHYSLOW_LOG("INFO", __VA_ARGS__)
#endif
#ifndef NOTE
#define NOTE(...) WHYSLOW_LOG("NOTE", __VA_ARGS__)
#endif
#ifndef WARN
#define WARN(...) WHYSLOW_LOG("WARN", __VA_ARGS__)
#endif
#ifndef ERROR
#define ERROR(...) WHYSLOW_LOG("ERROR", __VA_ARGS__)
#endif
#ifndef TRACE
#define TRACE(...) WHYSLOW_LOG("TRACE", __VA_ARGS__)
#endif
#ifndef ABORT
#define ABORT(...) \
	{ \
		std::ostringstream whyslow_log_; \
		whyslow_log_ << __VA_ARGS__ << ' ' << __FILE__ << ':' << __LINE__; \
		luna::ucenv::detail::fail(whyslow_log_.str()); \
	}
#endif
#ifndef STYLE_RESET
#define STYLE_RESET "\033[0m"
#define STYLE_BOLD "\033[1m"
#define STYLE_RED "\033[31m"
#define STYLE_GREEN "\033[32m"
#define STYLE_YELLOW "\033[33m"
#define STYLE_BLUE "\033[34m"
#endif

#endif
