// User code: what the CFs compute. It knows only its DFs, not the run-time system.
#include "rts.hpp"

extern "C" {

void fill_a(int i, int j, int size, DF &out) {
    double *p = out.create(static_cast<std::size_t>(size) * size);
    for (int x = 0; x < size; x++)
        for (int y = 0; y < size; y++) p[x * size + y] = (i * size + x + j * size + y) % 7;
}

void fill_b(int i, int j, int size, DF &out) {
    double *p = out.create(static_cast<std::size_t>(size) * size);
    for (int x = 0; x < size; x++)
        for (int y = 0; y < size; y++) p[x * size + y] = (3 * (i * size + x) + j * size + y) % 5;
}

// mult computes out = before + a b; before may be missing, for zero.
void mult(const DF &a, const DF &b, const DF *before, int size, DF &out) {
    const double *pa = a.data(), *pb = b.data();
    double *p = out.create(static_cast<std::size_t>(size) * size);
    for (int x = 0; x < size; x++) {
        double *row = p + x * size;
        for (int y = 0; y < size; y++) row[y] = before ? before->data()[x * size + y] : 0;
        for (int z = 0; z < size; z++)
            for (int y = 0; y < size; y++) row[y] += pa[x * size + z] * pb[z * size + y];
    }
}

double sum(const DF &c) {
    double s = 0;
    for (std::size_t i = 0; i < c.count(); i++) s += c.data()[i];
    return s;
}
}
