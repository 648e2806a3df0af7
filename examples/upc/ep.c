/* EP: pairs of numbers with normal distribution, by the polar method, counted by size. Threads need each
 * other only for the sums. Arguments: pairs in thousands (default 2000), pairs in a block (default 4096). */
#include "kernel.h"

typedef struct { long counts[10], x, y, pairs; } result;

static void block(long first, long n, result *r) {
    UPC_FUNCTION;
    for (long i = first; i < first + n; i++) {
        double x = 2 * kernel_unit(2 * (uint64_t)i) - 1, y = 2 * kernel_unit(2 * (uint64_t)i + 1) - 1,
               t = x * x + y * y;
        if (t > 1 || t == 0) continue;
        double f = sqrt(-2 * log(t) / t), a = fabs(x * f), b = fabs(y * f);
        int k = (int)(a > b ? a : b);
        r->counts[k < 9 ? k : 9]++;
        r->x += kernel_fixed(x * f);
        r->y += kernel_fixed(y * f);
        r->pairs++;
    }
}

int upc_main(int argc, char **argv) {
    UPC_FUNCTION;
    long pairs = kernel_number(argc, argv, 1, 2000, 1) * 1000, size = kernel_number(argc, argv, 2, 4096, 1),
         blocks = (pairs + size - 1) / size;
    kernel_sums sums = kernel_sums_new();
    upc_barrier();
    int64_t start = upc_now();
    result mine;
    memset(&mine, 0, sizeof mine);
    upc_forall(long b = 0, b < blocks, b++, b)
        block(b * size, b * size + size > pairs ? pairs - b * size : size, &mine);
    uint64_t checksum = 0;
    for (int k = 0; k < 10; k++)
        checksum = kernel_hash(checksum + (uint64_t)kernel_sum(sums, mine.counts[k]));
    checksum = kernel_hash(checksum + (uint64_t)kernel_sum(sums, mine.x));
    checksum = kernel_hash(checksum + (uint64_t)kernel_sum(sums, mine.y));
    double within = (double)kernel_sum(sums, mine.pairs) / (double)pairs;
    if (fabs(within - 0.785398) > 3 / sqrt((double)pairs))
        kernel_fail("the pairs in the circle are not pi/4 of all");
    kernel_end("ep", checksum, start);
    return 0;
}
