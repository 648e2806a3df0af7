// What programs do with data fragments. "report" routines put text into an output, which the test compares.
#include <cstdio>
#include "ucenv.h"

typedef double real;
enum { ERROR = 1, INFO, LOG }; // names of the header's macros stay usable

extern "C" {

// Signatures that work because routines are linked by their bare name.
void sig_exact(int i, double r, const char *s, const InputDF &v, OutputDF &out)
{
	out = std::to_string(i) + " " + std::to_string(r) + " " + s + " " + v.to_string();
}
int sig_other(long i, real r, char *s, luna::ucenv::InputDF &v, luna::ucenv::OutputDF &out)
{
	s[0] = '#'; // private and writable
	v.getData<char>()[0] = '!';
	out = std::to_string(i) + " " + std::to_string(r) + " " + s + " " + v.to_string();
	return 5;
}
void sig_df(bool i, double r, const char *s, const DF &v, DF &out)
{
	out = std::to_string(i) + " " + std::to_string(r) + " " + s + " " + v.to_string();
}
void sig_value(int i, double r, const char *s, InputDF v, OutputDF &out)
{
	out = std::to_string(i) + " " + std::to_string(r) + " " + s + " " + v.to_string();
	v.setValue(1); // changes only the handle
}
void sig_pointer(int i, double r, const char *s, InputDF *v, OutputDF *out)
{
	*out = std::to_string(i) + " " + std::to_string(r) + " " + s + " " + v->to_string();
}
void sig_ignored(const char *) {} // imported with an int
void sig_fewer(OutputDF &out) { out.setValue(1); }
void four(OutputDF &out) { out.setValue(4); } // for clash.cpp
void many(int a, int b, int c, int d, int e, int f, int g, int h, double i, double j, double k, double l,
	double m, double n, double o, double p, double q, const char *r, OutputDF &s)
{
	char buf[200];
	snprintf(buf, sizeof buf, "%d%d%d%d%d%d%d%d%g%g%g%g%g%g%g%g%g%s", a, b, c, d, e, f, g, h, i, j, k, l, m, n,
		o, p, q, r);
	s.setValue<std::string>(buf);
}
void nothing() {}
void unset_out(OutputDF &) {}

void includes(OutputDF &out)
{
	// No include of their own: everything here comes from ucenv.h.
	std::vector<int> v{3, 1, 2};
	std::sort(v.begin(), v.end());
	std::map<std::string, int> m{{"a", std::max(1, 2)}};
	std::unordered_map<int, int> um{{1, 1}};
	std::set<int> s{1};
	std::queue<int> q;
	q.push(1);
	std::function<int(int)> f = [](int x) { return x + 1; };
	std::atomic<int> at(1);
	std::mutex mu;
	std::lock_guard<std::mutex> lock(mu);
	std::condition_variable cv;
	std::thread t([&] { at++; });
	t.join();
	std::unique_ptr<int> p(new int(srand != nullptr));
	std::ostringstream os;
	char buf[4];
	memcpy(buf, "abc", strlen("abc") + 1);
	assert(at == 2);
	try {
		throw std::out_of_range("x");
	} catch (const std::logic_error &e) {
		os << e.what() << v[0] << m["a"] << um[1] << s.size() << q.size() << f(1) << at << *p << buf
			<< typeid(int).name();
	}
	if (false) {
		LOG("a" << 1);
		INFO("a") NOTE("a") WARN("a") TRACE("a") ERROR("a")
		ABORT("a" + std::string("b"))
	}
	out = os.str();
}

void report(OutputDF &out)
{
	std::ostringstream os;
	static_assert(
		std::is_same<InputDF, OutputDF>::value && std::is_same<luna::ucenv::InputDF, DF>::value, "one class");
	static_assert(
		!std::is_trivially_copyable<DF>::value && !std::is_trivially_destructible<DF>::value, "passed by address");
	DF x;
	os << x.to_string() << x.is_set() << x.is_unset() << x.get_type() << '\n';
	x.setValue(-5);
	os << x.to_string() << x.getValue<int>() << x.get_int() << x.getSize() << x.get_type() << x.cast_real()
		<< x.cast_string() << '\n';
	x.setValue(2.5);
	os << x.to_string() << x.getValue<double>() << x.get_real() << x.getSize() << x.get_type() << x.cast_int()
		<< ' ' << x.cast_real() << x.cast_string() << '\n';
	x.setValue<std::string>("abc");
	os << x.to_string() << x.get_string() << x.getSize() << x.get_type() << x.cast_string()
		<< DF(std::string("17")).cast_int() << DF(std::string("1.5")).cast_real() << '\n';
	char *c = static_cast<char *>(x.create(20));
	memset(c, 'A', 20);
	c[1] = '\xff';
	os << x.to_string() << x.getSize() << x.get_size() << x.get_type() << (x.get_data() == c)
		<< (x.getData<int>() == (void *)c) << (reinterpret_cast<uintptr_t>(c) % 16) << '\n';
	int *n = x.create<int>(3);
	n[0] = n[1] = n[2] = 1;
	os << x.to_string() << x.getSize();
	double *d = x.create<double>(2, 0.5);
	const DF &cx = x;
	os << d[0] + d[1] << x.getSize() << cx.getData<double>()[1] << (cx.get_data() == d) << '\n';
	x.create(0);
	os << x.to_string() << x.getSize() << (x.get_data() != nullptr) << '\n';
	DF y(x), z(7), r(1.5), s(std::string("t")), b("xyz", 2);
	os << y.to_string() << z.to_string() << r.to_string() << s.to_string() << b.to_string() << x.getName()
		<< '\n';
	y = 3; z = 2.0; r = std::string("q"); s = b; b.copy(DF(9));
	s = s;
	os << y.to_string() << z.to_string() << r.to_string() << s.to_string() << b.to_string() << '\n';
	DF a7(7), a2(2), h(0.5);
	os << (a7 + a2).to_string() << (a7 - a2).to_string() << (a7 * a2).to_string() << (a7 / a2).to_string()
		<< (a7 % a2).to_string() << (a7 + h).to_string() << (h * h).to_string() << (a7 / h).to_string()
		<< (a7 + 1).to_string() << '\n';
	os << (a7 < a2).get_int() << (a7 <= a7).get_int() << (a7 && 0).get_int() << (a7 == a7).get_int()
		<< (a7 != h).get_int() << (h >= a2).get_int() << (a7 > h).get_int() << '\n';
	os << (DF(2147483647) + 1).to_string() << '\n';
	x.setName("n");
	out = os.str();
}

// One failure each; the test knows the message.
void fail(int which)
{
	DF unset, i(5), r(2.5), s(std::string("abc")), b("0123456789abcd", 13);
	switch (which) {
	case 0: i.setValue(1.0f); break;
	case 1: i.setValue("abc"); break;
	case 2: r.getValue<int>(); break;
	case 3: i.getValue<double>(); break;
	case 4: i.getValue<float>(); break;
	case 5: i.getData<char>(); break;
	case 6: r.get_data(); break;
	case 7: s.get_size(); break;
	case 8: unset.getSize(); break;
	case 9: unset.getData<int>(); break;
	case 10: b.getData<double>(); break;
	case 11: r.get_int(); break;
	case 12: i.get_real(); break;
	case 13: b.get_string(); break;
	case 14: b.cast_string(); break;
	case 15: s.cast_int(); break;
	case 16: DF(std::string("x1")).cast_real(); break;
	case 17: unset.cast_int(); break;
	case 18: (void)(unset + i); break;
	case 19: (void)(s + i); break;
	case 20: (void)(r % r); break;
	case 21: (void)(b == b); break;
	case 22: i.create<double>(SIZE_MAX / 2); break;
	case 23: i.create(SIZE_MAX - 40); break;
	case 24: ABORT("own " << 3);
	}
}

void make(int n, OutputDF &out)
{
	int *p = out.create<int>(n);
	for (int i = 0; i < n; i++) p[i] = i;
}
void alias(const InputDF &in, OutputDF &out) { out = in; }
void alias_copy(InputDF in, OutputDF &out) { out.copy(in); }
void bump(InputDF &in) { in.getData<int>()[0]++; }
void reassign(InputDF &in, OutputDF &out)
{
	in.create<int>(4);
	in = std::string("other");
	out = in;
	in = out;
	out = out;
}
static DF kept;
void keep(const InputDF &in) { kept = in; }
void get_kept(OutputDF &out) { out = kept; kept = DF(); }
void grow(const InputDF &in, OutputDF &out)
{
	std::vector<DF> copies(100, in);
	for (size_t i = 0; i < 100; i++) copies.push_back(copies[i]);
	out = copies.back();
}
}
