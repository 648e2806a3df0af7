// Code fragments of the block matrix product. All numbers are small integers stored as doubles, so every sum
// is exact and the checksum does not depend on any order.
#include "ucenv.h"

namespace {

double a_at(int row, int col) { return (row * 7 + col * 3) % 11 - 5; }
double b_at(int row, int col) { return (row * 5 + col * 2) % 13 - 6; }

int block_size(const InputDF &block)
{
    int bs = 1;
    while ((size_t)(bs + 1) * (bs + 1) * sizeof(double) <= block.getSize()) bs++;
    return bs;
}

void fill(double (*at)(int, int), int i, int j, int bs, OutputDF &out)
{
    double *p = out.create<double>((size_t)bs * bs);
    for (int r = 0; r < bs; r++)
        for (int c = 0; c < bs; c++) p[r * bs + c] = at(i * bs + r, j * bs + c);
}

} // namespace

extern "C" {

void make_a(int i, int j, int bs, OutputDF &out) { fill(a_at, i, j, bs, out); }
void make_b(int i, int j, int bs, OutputDF &out) { fill(b_at, i, j, bs, out); }
void zero(int bs, OutputDF &out) { out.create<double>((size_t)bs * bs, 0.0); }

// The block being summed has one reader, this one, so it is changed in place and passed on without a copy.
void mult_add(const InputDF &a, const InputDF &b, InputDF &c, OutputDF &out)
{
    const int bs = block_size(a);
    const double *pa = a.getData<double>(), *pb = b.getData<double>();
    double *pc = c.getData<double>();
    for (int i = 0; i < bs; i++)
        for (int k = 0; k < bs; k++) {
            const double v = pa[i * bs + k];
            for (int j = 0; j < bs; j++) pc[i * bs + j] += v * pb[k * bs + j];
        }
    out = c;
}

// Sum of the block modulo a million, so that it fits an int.
void add_block(const InputDF &block, int bs, OutputDF &sum)
{
    double s = 0;
    const double *p = block.getData<double>();
    for (int i = 0; i < bs * bs; i++) s += p[i];
    sum.setValue<int>((int)((long long)s % 1000000));
}

void add_sum(int total, const InputDF &sum, OutputDF &out)
{
    out.setValue<int>((total + sum.getValue<int>()) % 1000000);
}

// The sum of all numbers of A * B is the sum over k of (column k of A) * (row k of B).
void report(int nb, int bs, int total)
{
    const int n = nb * bs;
    long long expect = 0;
    for (int k = 0; k < n; k++) {
        double column = 0, row = 0;
        for (int i = 0; i < n; i++) { column += a_at(i, k); row += b_at(k, i); }
        expect += (long long)(column * row);
    }
    const bool ok = (expect - total) % 1000000 == 0;
    printf("mxm: %d x %d blocks of %d x %d, checksum %d, %s\n", nb, nb, bs, bs, total,
        ok ? "correct" : "WRONG");
    if (!ok) exit(1);
}

}
