// Statements of many shapes. Every call of shape(x) gives the same status whether instrumented or not. main
// prints it, then the counts of events, which are 0 in a program that is not instrumented.
#include "events.h"
#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#define UNLESS(c) if (!(c))
#define FOREVER for (;;)
#define EACH(i, n) for (int i = 0; i < (n); i++)
#define CONSTEXPR [[maybe_unused]] constexpr
#define NOTHING

enum BlockRetStatus { EXIT, WAIT, CONTINUE };

extern "C" {
int user(int x);
void user_void(int *x);
}
extern "C" int user_late(int x), user_later(int x);

BlockRetStatus shape_if(int x) {
    if (x == 0) return EXIT;
    if (x == 1)
        return WAIT;
    else if (x == 2) return EXIT;
    else if (x == 3) { return EXIT; }
    else
        return CONTINUE;
}

BlockRetStatus shape_loops(int x) {
    for (int i = 0; i < 3; i++)
        for (int j : {1, 2, 3})
            while (x > 0)
                if (j == x--) return EXIT;
    do if (x == 0) return WAIT; while (x++ < 0);
    FOREVER return EXIT;
}

BlockRetStatus shape_switch(int x) {
    switch (x) {
    case 0: return EXIT;
    case 1:
    case (2 ? 2 : 3): { return WAIT; }
    case 3 ... 4: if (x == 3) return (EXIT); else return BlockRetStatus::EXIT;
    default:;
    }
    switch (x) case 5: return ::EXIT;
    if (x == 6) goto out;
    return CONTINUE;
out: return EXIT;
}

auto shape_macros(int x) -> BlockRetStatus {
    UNLESS(x) return EXIT;
    NOTHING
    EACH(i, 5) UNLESS(i != x) return WAIT;
    EACH(i, 7) { if (i == x) return EXIT; }
    UNLESS(x == 8) user(1); else return EXIT;
    return CONTINUE;
}

BlockRetStatus shape_try(int x) try {
    try {
        if (x == 0) throw 1;
        if (x == 1) throw std::runtime_error("");
        return EXIT;
    } catch (int) { return WAIT; }
} catch (const std::exception &) {
    return EXIT;
}

BlockRetStatus shape_if_def(int x) {
    if (x)
#ifdef VERBOSE
        std::puts("verbose");
#endif
        return EXIT;
#if defined(EARLY) && !defined(LATE)
    return WAIT;
#else
    return /* { */ EXIT // }
        ;
#endif
}

int shape_lambdas(int x) {
    std::vector<int> v{3, 1, 2};
    x += std::count_if(v.begin(), v.end(), [](int a) { return a > 9; });
    auto block = [&](int y) -> BlockRetStatus { if (y) return EXIT; return WAIT; };
    CONSTEXPR auto square = [](int y) { return y * y; };
    static_assert(square(3) == 9);
    return [=]() mutable noexcept { return ({ if (x == 7) return 7; int(block(x)); }); }() + v[0];
}

namespace ns {
template <class T> struct S {
    T a, b;
    S() : a{1}, b(2) {}
    explicit S(T x) : a{[&] { return x; }()}, b((x)) { if (x) return; b = 3; }
    ~S() { counts()["~S"]++; }
    T operator()(T x) const { return x > a ? x : a; }
    template <class U> U cast() const noexcept(true);
    CONSTEXPR static int twice(int x) { return 2 * x; }
    static_assert(sizeof(T) > 1);
};
template <class T> template <class U> U S<T>::cast() const noexcept(true) { return U(a + b); }
} // namespace ns

int shape_foreign(int x) {
    int sum = user(x) + user_late(1), *p = &sum;
    if (x) user_void(p); else user_void(&sum);
    for (int i = 0; i < 2; i++) user_void(p);
    if (user(x)) sum++; else if (user_later(x)) sum += 10;
    switch (user(2)) case 3: user_void(p);
    while (user(sum) < 5) sum++;
    user_void(p);user_void(p);
    auto f = [&sum] { user_void(&sum); }; f();
    return user(sum);
}

constexpr int shape_constexpr(int x) { if (x) return EXIT; return WAIT; }
static_assert(shape_constexpr(1) == EXIT);

int user(int x) { return x + 1; }
void user_void(int *x) { ++*x; }
int user_late(int x) { return x; }
int user_later(int x) { return x; }

int main() {
    for (auto f : {shape_if, shape_loops, shape_switch, shape_macros, shape_try, shape_if_def})
        for (int x = 0; x < 9; x++) std::printf("%d", f(x));
    ns::S<int> s, t(0), u(4);
    std::printf(" %d %d", shape_lambdas(0), shape_lambdas(7));
    std::printf(" %d %d", shape_foreign(0), shape_foreign(1));
    std::printf(" %d %d %d\n", s(5), t.cast<int>(), u.cast<int>() + u.twice(2));
    for (auto &c : counts()) std::printf("%s %d\n", c.first.c_str(), c.second);
}
