// Prints where it is called from, as a collector would: the path of the module, and the address minus its
// load base.
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "inner.h"

static uintptr_t wanted;

static int module(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || wanted < start || wanted - start >= p->p_memsz) continue;
        char self[4096];
        const char *name = info->dlpi_name;
        if (!*name) {
            ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
            self[n < 0 ? 0 : n] = 0, name = self;
        }
        printf("%s+0x%lx\n", name, (unsigned long)(wanted - info->dlpi_addr));
        return 1;
    }
    return 0;
}

void where_is(const char *what, const volatile void *data) {
    printf("%s ", what);
    wanted = (uintptr_t)data;
    dl_iterate_phdr(module, 0);
}

__attribute__((noinline)) void where(const char *what) {
    printf("%s ", what);
    wanted = (uintptr_t)__builtin_return_address(0) - 1;
    dl_iterate_phdr(module, 0);
}
