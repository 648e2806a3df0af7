#ifndef WHYSLOW_GASP_FORMAT_H
#define WHYSLOW_GASP_FORMAT_H
/* gasp_format.h makes the text of a user's event from the format and the arguments that the program gave.
 *
 * printf would do whatever a wrong format says: write through %n, follow a number as if it were a string,
 * make megabytes of blanks. But this is a tool's library in the user's process. So it formats one conversion
 * at a time, with bounded widths, and has the kernel copy strings, which reports an error if there is no
 * memory at the address. gasp.c includes this file after collect.h. */

#include <sys/uio.h>

enum {
    GASP_TEXT = 512,        /* bytes of a text */
    GASP_WIDTH = 64,        /* of a number */
    GASP_STRING = 256,      /* bytes of a string */
    GASP_CONVERSIONS = 16   /* in one format; the rest is copied as it is */
};

typedef struct gasp_args { /* lets several functions take arguments one after the other */
    va_list v;
} gasp_args;

typedef struct gasp_text {
    char *p;
    size_t n; /* bytes used; there is room for GASP_TEXT and one more */
} gasp_text;

static void gasp_add(gasp_text *t, const char *s, size_t n) {
    if (n > GASP_TEXT - t->n) n = GASP_TEXT - t->n;
    memcpy(t->p + t->n, s, n);
    t->n += n;
}

/* gasp_string copies at most n bytes of the program's string and returns its length. It copies page by page,
 * because the next page may not exist. It returns -1 if there is no memory at the address. */
static ssize_t gasp_string(const char *from, char *to, size_t n) {
    size_t done = 0;
    while (done < n) {
        size_t page = 4096 - ((uintptr_t)(from + done) & 4095), want = n - done < page ? n - done : page;
        struct iovec here = {to + done, want}, there = {(void *)(uintptr_t)(from + done), want};
        ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
        if (got <= 0) return done ? (ssize_t)done : -1;
        const char *end = (const char *)memchr(to + done, 0, (size_t)got);
        if (end) return end - to;
        done += (size_t)got;
    }
    return (ssize_t)n;
}

static void gasp_add_string(gasp_text *t, const char *s, int precision) {
    char copy[GASP_STRING];
    size_t limit = precision >= 0 && precision < GASP_STRING ? (size_t)precision : GASP_STRING;
    if (!s) {
        gasp_add(t, "(null)", 6);
        return;
    }
    ssize_t n = gasp_string(s, copy, limit);
    if (n < 0) { /* no string, or the system does not let a process read itself: print the address */
        snprintf(copy, sizeof copy, "%p", (const void *)s);
        n = (ssize_t)strlen(copy);
    }
    gasp_add(t, copy, (size_t)n);
}

/* gasp_size reads a width or precision, digits or *, and clamps it. */
static int gasp_size(const char **f, gasp_args *a, int otherwise) {
    long v = 0;
    if (**f == '*') {
        (*f)++;
        v = va_arg(a->v, int);
    } else {
        if (**f < '0' || **f > '9') return otherwise;
        for (; **f >= '0' && **f <= '9'; (*f)++)
            if (v < 10000) v = 10 * v + **f - '0';
    }
    return v < -GASP_STRING ? -GASP_STRING : v > GASP_STRING ? GASP_STRING : (int)v;
}

/* gasp_conversion formats one argument and appends it. f points after the %; the result points after the
 * conversion, or is null if there is none. */
static const char *gasp_conversion(gasp_text *t, const char *f, gasp_args *a) {
    char spec[24] = "%", out[400];
    size_t k = 1, flags = strspn(f, "-+ #0");
    for (size_t i = 0; i < flags && k < 6; i++) spec[k++] = f[i];
    f += flags;
    int width = gasp_size(&f, a, 0), precision = -1, size = 0;
    if (*f == '.') {
        f++;
        precision = gasp_size(&f, a, 0);
    }
    for (; *f && strchr("hlqLjzt", *f); f++) {
        if (*f == 'h') size--;
        else if (*f == 'l') size++;
        else size = *f == 'L' ? 4 : 3; /* the others are all 64 bits */
    }
    if (width > GASP_WIDTH) width = GASP_WIDTH;
    if (width < -GASP_WIDTH) width = -GASP_WIDTH;
    int exact = precision > GASP_WIDTH ? GASP_WIDTH : precision;
    char c = *f;
    if (c && strchr("diouxX", c)) {
        int is_signed = c == 'd' || c == 'i';
        int64_t v = size >= 1   ? va_arg(a->v, int64_t)
                    : is_signed ? va_arg(a->v, int)
                                : (int64_t)va_arg(a->v, unsigned);
        if (size == -1) v = is_signed ? (int64_t)(int16_t)v : (int64_t)(uint16_t)v;
        if (size < -1) v = is_signed ? (int64_t)(int8_t)v : (int64_t)(uint8_t)v;
        snprintf(spec + k, sizeof spec - k, "*.*ll%c", c);
        snprintf(out, sizeof out, spec, width, exact, (long long)v);
    } else if (c && strchr("eEfFgGaA", c)) {
        snprintf(spec + k, sizeof spec - k, size == 4 ? "*.*L%c" : "*.*%c", c);
        if (size == 4) snprintf(out, sizeof out, spec, width, exact, va_arg(a->v, long double));
        else snprintf(out, sizeof out, spec, width, exact, va_arg(a->v, double));
    } else if (c == 'c') {
        snprintf(out, sizeof out, "%c", (char)va_arg(a->v, int));
        if (!*out) return f + 1;
    } else if (c == 's' && size < 1) {
        gasp_add_string(t, va_arg(a->v, const char *), precision);
        return f + 1;
    } else if (c == 'p' || c == 's' || c == 'S') {
        snprintf(out, sizeof out, "%p", va_arg(a->v, void *));
    } else if (c == 'n') {
        (void)va_arg(a->v, void *); /* never write through it */
        return f + 1;
    } else {
        return 0;
    }
    gasp_add(t, out, strlen(out));
    return f + 1;
}

/* gasp_format makes the text of a user's event in out, which has room for GASP_TEXT+1 bytes. */
static void gasp_format(char *out, const char *format, gasp_args *a) {
    gasp_text t = {out, 0};
    int left = GASP_CONVERSIONS;
    for (const char *f = format; *f && t.n < GASP_TEXT;) {
        size_t plain = strcspn(f, "%");
        gasp_add(&t, f, plain);
        if (!*(f += plain)) break;
        const char *after = f[1] == '%' ? 0 : left-- > 0 ? gasp_conversion(&t, f + 1, a) : 0;
        if (!after) {
            gasp_add(&t, "%", 1);
            if (f[1] != '%') left = 0; /* unknown, so the arguments after it are unknown, too */
            after = f + (f[1] == '%' ? 2 : 1);
        }
        f = after;
    }
    out[t.n] = 0;
}

#endif /* WHYSLOW_GASP_FORMAT_H */
