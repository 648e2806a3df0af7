#include <cstdio>
#include "ucenv.h"
struct Head { int n; };
extern "C" {
void make_vec(int n, OutputDF &v)
{
    double *p = v.create<double>(n, 1.0);
    for (int i = 0; i < n; i++) p[i] += i;
}
void scale(const InputDF &v, double k, luna::ucenv::OutputDF &r)
{
    size_t n = v.getSize() / sizeof(double);
    double *q = r.create<double>(n);
    for (size_t i = 0; i < n; i++) q[i] = k * v.getData<double>()[i];
}
void dot(InputDF &a, InputDF b, OutputDF &r)
{
    double s = 0;
    for (size_t i = 0; i < a.getSize() / sizeof(double); i++)
        s += a.getData<double>()[i] * b.getData<double>()[i];
    r.setValue(s);
}
void print_real(const char *t, double x) { printf("%s%g\n", t, x); }
}
