// The same arithmetic for the same count on any machine: every step needs the previous one, so the compiler
// can neither skip nor reorder any.
#include "ucenv.h"

static int spin(int start, int iterations)
{
    unsigned long long x = start;
    for (int i = 0; i < iterations; i++) x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)(x >> 44);
}

extern "C" {

void seed(int value, OutputDF &out) { out.setValue<int>(value); }
void work(int in, int iterations, OutputDF &out) { out.setValue<int>(spin(in, iterations)); }
void collect(int sum, int value, OutputDF &out) { out.setValue<int>((sum + value) % 1000000); }
void show(int sum) { printf("checksum %d\n", sum); }

}
