// A result is a block of SIZE bytes whose first number is the state of the chain.
#include "ucenv.h"

typedef unsigned long long word;

static void make(word state, size_t size, OutputDF &out)
{
    void *block = out.create(size);
    memset(block, 1, size);
    memcpy(block, &state, sizeof state);
}

static word state_of(const InputDF &in)
{
    word state;
    memcpy(&state, in.get_data(), sizeof state);
    return state;
}

extern "C" {

void seed(int value, int size, OutputDF &out) { make(value, std::max<size_t>(size, sizeof(word)), out); }

void work(const InputDF &in, int iterations, OutputDF &out)
{
    word x = state_of(in);
    for (int i = 0; i < iterations; i++) x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    make(x, in.get_size(), out);
}

void show(const InputDF &a, const InputDF &b)
{
    printf("checksum %d %d\n", (int)(state_of(a) >> 44), (int)(state_of(b) >> 44));
}

}
