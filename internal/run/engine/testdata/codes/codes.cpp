// Code fragments that the tests' programs call. Declared in ../prelude.fa.
#include "ucenv.h"
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <unistd.h>

extern "C" {

void c_put(OutputDF &c, int v) { c.setValue(v); }
void c_put_r(OutputDF &c, double v) { c.setValue(v); }
void c_put_s(OutputDF &c, const char *s) { c.setValue(std::string(s)); }
void c_put_v(OutputDF &c, const InputDF &v) { c = v; }

// n ints: first, first+1, ...
void c_block(OutputDF &c, int n, int first)
{
    int *p = c.create<int>(n);
    for (int i = 0; i < n; i++) p[i] = first + i;
}
void c_two(OutputDF &a, OutputDF &b, int v) { a.setValue(v); b.setValue(v + 1); }
void c_unset(OutputDF &c) { (void)c; }
void c_none() {}

void c_out_i(const char *s, int v) { printf("%s=%d\n", s, v); }
void c_out_r(const char *s, double v) { printf("%s=%.10g\n", s, v); }
void c_say(const char *s) { printf("%s\n", s); }
void c_show(const char *s, const InputDF &v) { printf("%s %s\n", s, v.to_string().c_str()); }
// Takes the value, prints its first int.
void c_peek(const char *s, InputDF &v) { printf("%s=%d\n", s, v.getData<int>()[0]); }
void c_poke(InputDF &v, int x, OutputDF &done) { v.getData<int>()[0] = x; done.setValue(1); }
// Destroys only its own handle's view.
void c_replace(InputDF &v, OutputDF &done) { v.create<int>(1)[0] = -1; v = 5; done.setValue(1); }
void c_add(const InputDF &a, const InputDF &b, OutputDF &c) {
    c.setValue(a.getValue<int>() + b.getValue<int>());
}
void c_mix(OutputDF &c, int a, int b) { c.setValue((int)((unsigned)a * 1000003u + (unsigned)b * 31u + 7u)); }
void c_need_int(const InputDF &v) { printf("int %d\n", v.getValue<int>()); }

void c_nap(int ms) { usleep(1000 * ms); }
void c_busy(int us)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    do clock_gettime(CLOCK_MONOTONIC, &b);
    while ((b.tv_sec - a.tv_sec) * 1000000L + (b.tv_nsec - a.tv_nsec) / 1000 < us);
}
void c_crash(int how)
{
    volatile int zero = 0;
    int *volatile null = 0;
    switch (how) {
    case 0: *null = 1; break;
    case 1: printf("%d\n", how / zero + 1 / zero); break;
    case 2: abort();
    case 3: throw std::runtime_error("out of cheese");
    case 4: std::thread([=] { *null = 1; }).join();
    }
}
void c_quit(int code) { printf("quitting\n"); exit(code); }

static volatile int released;
void c_stay(int ms)
{
    for (int i = 0; i < ms && !released; i++) usleep(1000);
}

// Returns when so many CFs are in it at once.
static volatile int entered;
void c_meet(int n)
{
    int all = (__sync_fetch_and_add(&entered, 1) / n + 1) * n;
    while (entered < all) usleep(100);
}
}
