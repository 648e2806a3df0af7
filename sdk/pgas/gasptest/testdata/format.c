/* format.c makes texts from random formats. None may crash or exceed the length of texts, and correct formats
 * must give what printf gives. */
#include "collect.h"

#include "gasp.h"
#include "gasp_format.h"

static uint64_t state;

static unsigned next(unsigned n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static void format(char *out, const char *f, ...) {
    gasp_args a;
    va_start(a.v, f);
    memset(out, '#', GASP_TEXT + 2);
    gasp_format(out, f, &a);
    va_end(a.v);
    if (out[GASP_TEXT + 1] != '#' || strlen(out) > GASP_TEXT) abort();
}

#define ARGS \
    1, 2, 3, 4L, 5L, (void *)6, -7, 8, (void *)"nine", (void *)-10L, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20

static void wild(int rounds) {
    static const char alphabet[] = "%%%%%%%%dsfcxunpgle*.-+ #0123456789hlLqjztyaG$\xff\n";
    char f[64], out[GASP_TEXT + 2];
    for (int i = 0; i < rounds; i++) {
        unsigned n = next(sizeof f - 1);
        for (unsigned k = 0; k < n; k++) f[k] = alphabet[next(sizeof alphabet - 1)];
        f[n] = 0;
        format(out, f, ARGS);
    }
}

static void right(int rounds) {
    static const char *const flags[] = {"", "-", "0", "+", " ", "#", "-+", "+0"};
    static const char *const ints[] = {"d", "i", "u", "x", "X", "o", "hd", "hhu", "hx"},
                             *const longs[] = {"ld", "lu", "llx", "zu", "jd", "to"},
                             *const floats[] = {"f", "e", "g", "G", "a", "E"};
    char f[64], out[GASP_TEXT + 2], want[600];
    for (int i = 0; i < rounds; i++) {
        unsigned width = next(40), precision = next(20), kind = next(4);
        int v = (int)next(1u << 31) - (1 << 30);
        const char *type = kind == 0   ? ints[next(9)]
                           : kind == 1 ? longs[next(6)]
                           : kind == 2 ? floats[next(6)]
                                       : "s";
        int n = snprintf(f, sizeof f, "<%%%s%u", kind == 3 ? "" : flags[next(8)], width + 1);
        if (kind == 3) n = snprintf(f, sizeof f, "<%%"); /* strings have no width */
        if (next(2)) n += snprintf(f + n, sizeof f - (size_t)n, ".%u", precision);
        snprintf(f + n, sizeof f - (size_t)n, "%s> 100%%%%", type);
        switch (kind) {
        case 0: snprintf(want, sizeof want, f, v), format(out, f, v); break;
        case 1: snprintf(want, sizeof want, f, (long)v * v), format(out, f, (long)v * v); break;
        case 2: snprintf(want, sizeof want, f, v / 1000.0), format(out, f, v / 1000.0); break;
        default:
            snprintf(want, sizeof want, f, "a string of some length");
            format(out, f, "a string of some length");
        }
        if (strcmp(out, want)) {
            fprintf(stderr, "%s: \"%s\", not \"%s\"\n", f, out, want);
            exit(1);
        }
    }
}

int main(int argc, char **argv) {
    state = argc > 1 ? strtoull(argv[1], 0, 10) : 1;
    wild(30000);
    right(30000);
    return 0;
}
