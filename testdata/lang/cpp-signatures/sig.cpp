#include "ucenv.h"
typedef double real;
extern "C" {
void fill(luna::ucenv::OutputDF &x, int n) {
    real *p = x.create<real>(n);
    for (int i = 0; i < n; i++) p[i] = i;
}
void by_value(InputDF x) { printf("value %zu\n", x.getSize()); }
void by_pointer(InputDF *x) { printf("pointer %g\n", x->getData<double>()[2]); }
void not_const(InputDF &x) { printf("not const %g\n", x.getData<double>()[1]); }
void base(const DF &x, DF &y) { y = x; }
void changes_text(char *text) { text[0] = 'x'; printf("text %s\n", text); }
void fewer(int a) { printf("fewer %d\n", a); }
void wider(bool a, long b) { printf("wider %d %ld\n", (int)a, b); }
int returns(int a) { printf("returns %d\n", a); return a; }
}
