#include "inner.h"
#include "header.h"

static inline __attribute__((always_inline)) void inlined(void) {
    where("inlined:5");
    __asm__ volatile("");
}

__attribute__((noinline)) static void local(void) {
    where("local:10");
    __asm__ volatile("");
}

int MAIN(void) {
    where("MAIN:15");
    local();
    inlined();
    from_header(); /* MAIN:18 */
    __asm__ volatile("");
    return 0;
}
