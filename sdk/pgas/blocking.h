#ifndef WHYSLOW_BLOCKING_H
#define WHYSLOW_BLOCKING_H
/* blocking.h: the functions of the C library that read, write and sleep, for collectors that define them
 * anew. */

#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* WSC_BLOCKING_CALLS is CALL(type, name, parameters, arguments, kind, file) of all. The kind is IO or SLEEP,
 * the file a descriptor, or -1. */
#define WSC_BLOCKING_CALLS(CALL) \
    CALL(ssize_t, read, (int fd, void *buf, size_t n), (fd, buf, n), IO, fd) \
    CALL(ssize_t, write, (int fd, const void *buf, size_t n), (fd, buf, n), IO, fd) \
    CALL(ssize_t, pread, (int fd, void *buf, size_t n, off_t at), (fd, buf, n, at), IO, fd) \
    CALL(ssize_t, pwrite, (int fd, const void *buf, size_t n, off_t at), (fd, buf, n, at), IO, fd) \
    CALL(ssize_t, recv, (int fd, void *buf, size_t n, int flags), (fd, buf, n, flags), IO, fd) \
    CALL(ssize_t, send, (int fd, const void *buf, size_t n, int flags), (fd, buf, n, flags), IO, fd) \
    CALL(size_t, fread, (void *buf, size_t size, size_t n, FILE *f), (buf, size, n, f), IO, fileno(f)) \
    CALL(size_t, fwrite, (const void *buf, size_t size, size_t n, FILE *f), (buf, size, n, f), IO, \
         fileno(f)) \
    CALL(char *, fgets, (char *buf, int n, FILE *f), (buf, n, f), IO, fileno(f)) \
    CALL(int, fsync, (int fd), (fd), IO, fd) \
    CALL(int, fdatasync, (int fd), (fd), IO, fd) \
    CALL(int, poll, (struct pollfd *fds, nfds_t n, int ms), (fds, n, ms), IO, -1) \
    CALL(int, select, (int n, fd_set *in, fd_set *out, fd_set *errors, struct timeval *until), \
         (n, in, out, errors, until), IO, -1) \
    CALL(unsigned, sleep, (unsigned s), (s), SLEEP, -1) \
    CALL(int, usleep, (useconds_t us), (us), SLEEP, -1) \
    CALL(int, nanosleep, (const struct timespec *t, struct timespec *rest), (t, rest), SLEEP, -1) \
    CALL(int, clock_nanosleep, \
         (clockid_t clock, int flags, const struct timespec *t, struct timespec *rest), \
         (clock, flags, t, rest), SLEEP, -1)

enum { WSC_LONG = 10000 }; /* ns: a call that took less is not looked at */

#endif /* WHYSLOW_BLOCKING_H */
