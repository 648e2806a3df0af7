// Code fragments of the programs beside this file. They compute: the same for the same number, however it is
// divided among CFs.
#include "ucenv.h"

static unsigned long long spin(int us)
{
    unsigned long long x = us;
    for (long i = 0; i < 850L * us; i++) x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    return x;
}

static volatile unsigned long long sink;

extern "C" {

void c_put(OutputDF &c, int v) { c.setValue(v); }
void c_work(int us) { sink = spin(us); }
void c_step(OutputDF &c, int before, int us) { sink = spin(us); c.setValue(before + 1); }
void c_make(OutputDF &c, int bytes, int us) { sink = spin(us); c.create<char>(bytes)[0] = 1; }
void c_grow(OutputDF &c, const InputDF &, int bytes, int us) { c_make(c, bytes, us); }
void c_eat(const InputDF &, int us) { sink = spin(us); }

}
