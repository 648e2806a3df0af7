// Code fragments of the programs beside this folder, declared in ../prelude.fa. They sleep instead of
// computing: then the length of a run does not depend on how busy the machine is, and several workers can
// "work" on one core.
#include "ucenv.h"
#include <ctime>

static void nap(int us)
{
    if (us <= 0) return;
    struct timespec t = {us / 1000000, us % 1000000 * 1000L};
    while (nanosleep(&t, &t)) {}
}

extern "C" {

void c_put(OutputDF &c, int v) { c.setValue(v); }
void c_task(int us) { nap(us); }
// The counter goes on.
void c_step(OutputDF &c, int before, int us) { nap(us); c.setValue(before + 1); }
void c_step_with(OutputDF &c, int before, const InputDF &, int us) { nap(us); c.setValue(before + 1); }
void c_make(OutputDF &c, int bytes, int us) { nap(us); c.create<char>(bytes)[0] = 1; }
void c_eat(const InputDF &, int us) { nap(us); }
void c_grow(OutputDF &c, const InputDF &, int bytes, int us) { nap(us); c.create<char>(bytes)[0] = 1; }
void c_part(OutputDF &c, const InputDF &, const InputDF &, const InputDF &, const InputDF &, int us) {
    nap(us);
    c.setValue(1);
}

// This computes: the same for the same number, however it is divided among CFs.
void c_spin(int us)
{
    volatile unsigned long long x = us;
    for (int i = 0; i < 400 * us; i++) x = x * 6364136223846793005ULL + 1442695040888963407ULL;
}

}
