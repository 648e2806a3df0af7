// The building blocks of the wrappers of code fragments. Included once, in the generated file, before
// anything of the user's.
#include <ucenv.h>

namespace luna {
namespace ucenv {
namespace detail __attribute__((visibility("hidden"))) {

// In whyslow_runtime.cpp.
extern const ws_host *host; // null before the host connects, while static objects are constructed
void caught(); // called in a wrapper's catch block: reports the exception to the host
void connect(const ws_host *);
void flush();
void finish();

// A ws_value becomes a handle, and vice versa, by copying bytes: the compiler may assume that the two types
// never share memory.

// Inputs of a call borrow the caller's reference.
struct Input {
	union {
		DF df;
	};
	explicit Input(ws_value v)
	{
		v.borrowed = 1;
		std::memcpy(static_cast<void *>(&df), &v, sizeof v);
	}
	~Input() { df.~DF(); }
	Input(const Input &) = delete;
};

// The handle of an output lives on this side, not in the host's array, where a late writer could do harm.
struct Output {
	DF df;
	// give moves the value out.
	void give(ws_value &to)
	{
		std::memcpy(&to, &df, sizeof to);
		::new (static_cast<void *>(&df)) DF();
	}
};

// Code fragments may write to their strings, so each call gets a copy.
struct Text {
	char small[112];
	char *p;
	explicit Text(const ws_value &v)
	{
		const ws_buf *b = reinterpret_cast<const ws_buf *>(v.bits);
		p = b->size <= sizeof small ? small : static_cast<char *>(std::malloc(b->size));
		if (!p) fail("Out of memory: cannot copy a string of " + std::to_string(b->size) + " bytes");
		std::memcpy(p, b + 1, b->size);
	}
	~Text()
	{
		if (p != small) std::free(p);
	}
	Text(const Text &) = delete;
};

inline int as_int(const ws_value &v) { return static_cast<int>(v.bits); }
inline double as_real(const ws_value &v)
{
	double d;
	std::memcpy(&d, &v.bits, sizeof d);
	return d;
}

} // namespace detail
} // namespace ucenv
} // namespace luna
