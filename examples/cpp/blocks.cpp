// The program, as a compiler for a task-parallel language would write it. Each statement of
//
//     for i, j:    fill_a(a[i][j]);  fill_b(b[i][j]);
//     for i, j, k: mult(a[i][k], b[k][j], c[i][j][k], c[i][j][k+1]);      // c[i][j][0] is zero
//     sum(c[0][0][N], c[0][1][N], ...);
//
// is a CF, cut into blocks where it has to wait for a DF.
#include "rts.hpp"

#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>

// User code, in kernels.cpp.
extern "C" {
void fill_a(int i, int j, int size, DF &out);
void fill_b(int i, int j, int size, DF &out);
void mult(const DF &a, const DF &b, const DF *before, int size, DF &out);
double sum(const DF &c);
}

static int N = 6, SIZE = 96; // blocks in a row, elements in a row of a block

static std::unique_ptr<DF[]> a, b, c; // a[i][j], b[i][j], c[i][j][k], k from 1 to N
static double total;

static DF &at_a(int i, int j) { return a[i * N + j]; }
static DF &at_b(int i, int j) { return b[i * N + j]; }
static DF &at_c(int i, int j, int k) { return c[(i * N + j) * N + k - 1]; }

// fill_a(a[i][j])
static BlockRetStatus block_1(CF &self) {
    fill_a(self.i, self.j, SIZE, at_a(self.i, self.j));
    self.post(at_a(self.i, self.j));
    return EXIT;
}

// fill_b(b[i][j])
static BlockRetStatus block_2(CF &self) {
    fill_b(self.i, self.j, SIZE, at_b(self.i, self.j));
    self.post(at_b(self.i, self.j));
    return EXIT;
}

// mult(a[i][k], b[k][j], c[i][j][k], c[i][j][k+1])
static BlockRetStatus block_5(CF &self) {
    DF &in_a = at_a(self.i, self.k), &in_b = at_b(self.k, self.j);
    DF *before = self.k > 0 ? &at_c(self.i, self.j, self.k) : nullptr;
    DF &out = at_c(self.i, self.j, self.k + 1);
    mult(in_a, in_b, before, SIZE, out);
    self.done(in_a);
    self.done(in_b);
    if (before) self.done(*before);
    self.post(out);
    return EXIT;
}

static BlockRetStatus block_4(CF &self) {
    if (self.k > 0 && !self.have(at_c(self.i, self.j, self.k))) return WAIT;
    self.next = block_5;
    return CONTINUE;
}

static BlockRetStatus block_3(CF &self) {
    if (!self.have(at_a(self.i, self.k))) return WAIT;
    if (!self.have(at_b(self.k, self.j))) return WAIT;
    self.next = block_4;
    return CONTINUE;
}

// sum(c[0][0][N], c[0][1][N], ...)
static BlockRetStatus block_7(CF &self) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            total += sum(at_c(i, j, N));
            self.done(at_c(i, j, N));
        }
    EMIT_EVENT(Product, onResult, total);
    return EXIT;
}

static BlockRetStatus block_6(CF &self) {
    for (; self.i < N; self.i++, self.j = 0)
        for (; self.j < N; self.j++)
            if (!self.have(at_c(self.i, self.j, N)))
                return WAIT;
    self.next = block_7;
    return CONTINUE;
}

// The whole program: creates all CFs.
static BlockRetStatus block_0(CF &) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            at_a(i, j).expect(N);
            at_b(i, j).expect(N);
            Rts::submit(CF{block_1, i, j, 0});
            Rts::submit(CF{block_2, i, j, 0});
            for (int k = 0; k < N; k++) {
                at_c(i, j, k + 1).expect(1);
                Rts::submit(CF{block_3, i, j, k});
            }
        }
    Rts::submit(CF{block_6, 0, 0, 0});
    return EXIT;
}

int main(int argc, char **argv) {
    int threads = static_cast<int>(std::thread::hardware_concurrency());
    if (argc > 1) N = std::atoi(argv[1]);
    if (argc > 2) SIZE = std::atoi(argv[2]);
    if (argc > 3) threads = std::atoi(argv[3]);
    if (argc > 4 || N < 1 || N > 1000 || SIZE < 1 || SIZE > 10000 || threads < 0 || threads > 1000) {
        std::cerr << "usage: product [BLOCKS [SIZE [THREADS]]]\n"
                     "multiplies two matrices of BLOCKS x BLOCKS blocks of SIZE x SIZE elements\n";
        return 2;
    }
    a.reset(new DF[N * N]);
    b.reset(new DF[N * N]);
    c.reset(new DF[N * N * N]);
    Rts::submit(CF{block_0, 0, 0, 0});
    Rts::run(threads > 0 ? threads : 1);
    std::cout << "sum of the product: " << total << std::endl;
    return 0;
}
