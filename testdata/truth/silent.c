// Loaded before other libraries, it makes a kernel of one that does not tell how long threads wait for cores.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static int hidden(const char *path)
{
    int hide = strstr(path, "/schedstat") != NULL;
    if (hide) errno = ENOENT;
    return hide;
}

int access(const char *path, int mode)
{
    if (hidden(path)) return -1;
    return ((int (*)(const char *, int))dlsym(RTLD_NEXT, "access"))(path, mode);
}

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;
    va_end(list);
    if (hidden(path)) return -1;
    return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open"))(path, flags, mode);
}
