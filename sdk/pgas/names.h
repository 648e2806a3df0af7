#ifndef WHYSLOW_NAMES_H
#define WHYSLOW_NAMES_H
/* names.h finds the names of functions in symbol tables. Include collect.h before. */

#include <elf.h>
#include <sys/mman.h>

/* wss_symbol looks up an address in one of the file's symbol tables. It returns 0 if the address is not
 * there. */
static int wss_symbol(const char *file, size_t size, ElfW(Word) kind, uint64_t address, char *name,
                      size_t room) {
    const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)file;
    if (size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
        head->e_shentsize != sizeof(ElfW(Shdr)) || head->e_shoff > size ||
        (size - head->e_shoff) / sizeof(ElfW(Shdr)) < head->e_shnum)
        return 0;
    const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(file + head->e_shoff);
    for (size_t i = 0; i < head->e_shnum; i++) {
        const ElfW(Shdr) *s = &sections[i];
        if (s->sh_type != kind || s->sh_link >= head->e_shnum) continue;
        const ElfW(Shdr) *strings = &sections[s->sh_link];
        if (s->sh_offset > size || s->sh_size > size - s->sh_offset || strings->sh_offset > size ||
            strings->sh_size > size - strings->sh_offset)
            continue;
        const ElfW(Sym) *symbols = (const ElfW(Sym) *)(file + s->sh_offset);
        for (size_t k = 0; k < s->sh_size / sizeof *symbols; k++) {
            if ((symbols[k].st_info & 15) != STT_FUNC || symbols[k].st_value != address ||
                symbols[k].st_name >= strings->sh_size)
                continue;
            const char *text = file + strings->sh_offset + symbols[k].st_name;
            size_t most = strings->sh_size - symbols[k].st_name;
            snprintf(name, room, "%.*s", (int)(most < room ? most : room), text);
            return *name != 0;
        }
    }
    return 0;
}

/* wss_function_name stores the name of a function as the linker knows it, or its address if the file has no
 * name for it. */
static void wss_function_name(const void *function, char *name, size_t room) {
    char text[PATH_MAX + 32];
    wsc_address(function, name, room);
    wsc_address(function, text, sizeof text);
    char *plus = strrchr(text, '+');
    struct stat st;
    if (!plus) return;
    *plus = 0;
    int fd = open(text, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (!fstat(fd, &st) && st.st_size > 0) {
        size_t size = (size_t)st.st_size;
        void *p = mmap(0, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p != MAP_FAILED) {
            uint64_t address = strtoull(plus + 1, 0, 16);
            if (!wss_symbol((const char *)p, size, SHT_SYMTAB, address, name, room))
                wss_symbol((const char *)p, size, SHT_DYNSYM, address, name, room);
            munmap(p, size);
        }
    }
    close(fd);
}

#endif /* WHYSLOW_NAMES_H */
