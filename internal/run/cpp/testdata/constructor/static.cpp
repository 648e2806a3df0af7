#include "ucenv.h"

struct Crashing {
    Crashing() { *(volatile int *)8 = 1; }
};
static Crashing crashing;

extern "C" void mark(const char *) {}
