// Code fragments of the blocked Cholesky factorisation. A block is bs x bs doubles by rows, a vector part bs
// doubles.
#include "ucenv.h"
#include <cmath>

namespace {

int side(const InputDF &block) {
    return (int)std::lround(std::sqrt((double)(block.getSize() / sizeof(double))));
}

// The matrix is positive definite because its diagonal outweighs the rest of the row.
double matrix_at(int row, int col, int n) { return row == col ? n : 1.0 / (1 + std::abs(row - col)); }

double x_at(int row) { return row % 10 + 1; }

} // namespace

extern "C" {

void make_block(int nb, int bs, int i, int j, OutputDF &out)
{
    double *p = out.create<double>((size_t)bs * bs);
    for (int r = 0; r < bs; r++)
        for (int c = 0; c < bs; c++) p[r * bs + c] = matrix_at(i * bs + r, j * bs + c, nb * bs);
}

// Blocks of m have one reader each, so factor, solve and update change them in place and hand them on.

void factor(InputDF &m, OutputDF &l)
{
    const int n = side(m);
    double *a = m.getData<double>();
    for (int c = 0; c < n; c++) {
        for (int k = 0; k < c; k++) a[c * n + c] -= a[c * n + k] * a[c * n + k];
        if (!(a[c * n + c] > 0)) {
            fprintf(stderr, "cholesky: the matrix is not positive definite\n");
            exit(1);
        }
        a[c * n + c] = std::sqrt(a[c * n + c]);
        for (int r = c + 1; r < n; r++) {
            for (int k = 0; k < c; k++) a[r * n + c] -= a[r * n + k] * a[c * n + k];
            a[r * n + c] /= a[c * n + c];
            a[c * n + r] = 0;
        }
    }
    l = m;
}

// X * L^T = M: row by row forward substitution.
void solve(const InputDF &l, InputDF &m, OutputDF &out)
{
    const int n = side(m);
    const double *p = l.getData<double>();
    double *x = m.getData<double>();
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) {
            double v = x[r * n + c];
            for (int k = 0; k < c; k++) v -= x[r * n + k] * p[c * n + k];
            x[r * n + c] = v / p[c * n + c];
        }
    out = m;
}

// M - A * B^T
void update(const InputDF &a, const InputDF &b, InputDF &m, OutputDF &out)
{
    const int n = side(m);
    const double *pa = a.getData<double>(), *pb = b.getData<double>();
    double *pm = m.getData<double>();
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) {
            double v = 0;
            for (int k = 0; k < n; k++) v += pa[r * n + k] * pb[c * n + k];
            pm[r * n + c] -= v;
        }
    out = m;
}

void zeros(int bs, OutputDF &out) { out.create<double>(bs, 0.0); }
void make_real(double value, OutputDF &out) { out.setValue<double>(value); }

// sum + L^T * x, x being part i of the known vector
void times_transposed(const InputDF &l, int i, InputDF &sum, OutputDF &out)
{
    const int n = side(l);
    const double *p = l.getData<double>();
    double *s = sum.getData<double>();
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) s[c] += p[r * n + c] * x_at(i * n + r);
    out = sum;
}

// sum + L * y
void times(const InputDF &l, const InputDF &y, InputDF &sum, OutputDF &out)
{
    const int n = side(l);
    const double *p = l.getData<double>(), *v = y.getData<double>();
    double *s = sum.getData<double>();
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) s[r] += p[r * n + c] * v[c];
    out = sum;
}

// Largest relative difference so far between L * L^T * x and M * x.
void compare(int nb, int bs, int i, const InputDF &z, double worst, OutputDF &out)
{
    const double *p = z.getData<double>();
    for (int r = 0; r < bs; r++) {
        double expect = 0;
        for (int c = 0; c < nb * bs; c++) expect += matrix_at(i * bs + r, c, nb * bs) * x_at(c);
        worst = std::max(worst, std::fabs(p[r] - expect) / std::fabs(expect));
    }
    out.setValue<double>(worst);
}

void report(int nb, int bs, double worst)
{
    const bool ok = worst < 1e-12;
    printf("cholesky: %d x %d blocks of %d x %d, L * L^T %s the matrix\n", nb, nb, bs, bs,
        ok ? "is" : "IS NOT");
    if (!ok) {
        printf("largest relative difference %g\n", worst);
        exit(1);
    }
}

}
