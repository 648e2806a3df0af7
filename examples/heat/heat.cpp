// Code fragments of the heat conduction program. A strip is rows x n doubles; the number of rows may vary by
// one.
#include "ucenv.h"
#include <cmath>

namespace {

int first_row(int n, int strips, int s) { return (int)((long long)n * s / strips); }

void copy_row(const double *row, int n, OutputDF &out) {
    memcpy(out.create<double>(n), row, n * sizeof(double));
}

} // namespace

extern "C" {

void make_strip(int n, int strips, int s, OutputDF &u, OutputDF &first, OutputDF &last)
{
    const int rows = first_row(n, strips, s + 1) - first_row(n, strips, s);
    if (rows < 1 || strips < 2) {
        fprintf(stderr, "heat: %d strips do not fit %d rows (2 to %d do)\n", strips, n, n);
        exit(1);
    }
    const double *p = u.create<double>((size_t)rows * n, 0.0);
    copy_row(p, n, first);
    copy_row(p + (size_t)(rows - 1) * n, n, last);
}

void make_row(int n, double value, OutputDF &row) { row.create<double>(n, value); }
void make_real(double value, OutputDF &out) { out.setValue<double>(value); }

// One step of Jacobi's method: each point becomes the mean of its four neighbours. Left and right of the
// plate it is cold.
void step(const InputDF &above, const InputDF &u, const InputDF &below,
          OutputDF &next, OutputDF &first, OutputDF &last, OutputDF &change)
{
    const int n = (int)(above.getSize() / sizeof(double));
    const int rows = (int)(u.getSize() / above.getSize());
    const double *p = u.getData<double>();
    double *q = next.create<double>((size_t)rows * n);
    double most = 0;
    for (int r = 0; r < rows; r++) {
        const double *up = r > 0 ? p + (size_t)(r - 1) * n : above.getData<double>();
        const double *dn = r < rows - 1 ? p + (size_t)(r + 1) * n : below.getData<double>();
        const double *row = p + (size_t)r * n;
        double *out = q + (size_t)r * n;
        for (int c = 0; c < n; c++) {
            const double left = c > 0 ? row[c - 1] : 0, right = c < n - 1 ? row[c + 1] : 0;
            out[c] = 0.25 * (up[c] + dn[c] + left + right);
            most = std::max(most, std::fabs(out[c] - row[c]));
        }
    }
    copy_row(q, n, first);
    copy_row(q + (size_t)(rows - 1) * n, n, last);
    change.setValue<double>(most);
}

// The same; change is the largest of the round so far, so its first step (k = 1) ignores what was before.
void step_of_round(int k, double before, const InputDF &above, const InputDF &u, const InputDF &below,
                   OutputDF &next, OutputDF &first, OutputDF &last, OutputDF &change)
{
    step(above, u, below, next, first, last, change);
    if (k > 1) change.setValue<double>(std::max(before, change.getValue<double>()));
}

void larger(double a, double b, OutputDF &out) { out.setValue<double>(std::max(a, b)); }

void add_up(int n, const InputDF &u, OutputDF &heat)
{
    const double *p = u.getData<double>();
    double sum = 0;
    for (size_t i = 0; i < u.getSize() / sizeof(double); i++) sum += p[i];
    heat.setValue<double>(sum / n / n);
}

void add(double a, double b, OutputDF &out) { out.setValue<double>(a + b); }

void report(int n, int strips, int steps, double mean)
{
    printf("heat: %d x %d points in %d strips, %d steps, mean temperature %.9f\n", n, n, strips, steps, mean);
}

}
