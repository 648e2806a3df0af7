/* hard.c does what programs should not do. */
#include "hooks.h"
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static gasp_context_t g;

static void start(gasp_context_t c, int tag) {
    gasp_event_notify(c, (unsigned)tag, GASP_START, "hard.upc", 1, 0, 0, 0);
}
static void end(gasp_context_t c, int tag) {
    gasp_event_notify(c, (unsigned)tag, GASP_END, "hard.upc", 1, 0, 0, 0);
}

static void barriers(gasp_context_t c, int n) {
    for (int i = 0; i < n; i++) start(c, GASP_BUPC_NOTIFY), end(c, GASP_BUPC_NOTIFY);
}

static void finish(gasp_context_t c) {
    gasp_event_notify(c, GASP_BUPC_COLLECTIVE_EXIT, GASP_START, NULL, 0, 0, 0);
    gasp_event_notify(c, GASP_BUPC_COLLECTIVE_EXIT, GASP_END, NULL, 0, 0, 0);
}

static void nap(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* again is what an instrumented function of the run-time system would do inside of a callback. */
static void again(void) {
    barriers(g, 1);
    gasp_control(g, 0);
}

static void *many(void *c) {
    barriers(c, 1000);
    return NULL;
}

static void *begins(void *c) { /* starts an operation and does not end it */
    start(c, GASP_BUPC_WAIT);
    return NULL;
}

static void *forever(void *c) {
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    for (;;) barriers(c, 100), pthread_testcancel();
    return NULL;
}

static void *upc_thread(void *arg) {
    me = (int)(intptr_t)arg;
    gasp_context_t c = gasp_init(GASP_MODEL_UPC, NULL, NULL);
    barriers(c, 1000);
    if (me < threads) finish(c);
    return NULL;
}

static void in_threads(void *(*f)(void *), void *arg, int n) {
    pthread_t t[16];
    for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, f, arg ? arg : (void *)(intptr_t)i);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
}

static void with_fork(const char *self) {
    barriers(g, 100);
    pid_t child = fork();
    if (!child) {
        barriers(g, 100000);
        gasp_context_t c = gasp_init(GASP_MODEL_UPC, NULL, NULL);
        barriers(c, 1000);
        finish(c);
        execl(self, self, "plain", (char *)0); /* it would record into the same file */
        _exit(1);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status) abort();
    child = fork();
    if (!child) exit(0);
    waitpid(child, &status, 0);
    barriers(g, 100);
}

static void formats(void) {
    static const char *const hostile[] = {
        "%n%n%n%s", "%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s", "%1000000000d|%.1000000000d|%-1000000000s",
        "%*.*d", "%", "%-", "%l", "%lll", "%y %d", "%ls %S %C", "%2$s %1$d", "%hhn", "%5%", "%c%c%c",
        "%999999999999999999999d", "%.*s", "\xff\xfe%d\x01"};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        char name[20];
        snprintf(name, sizeof name, "f%d", (int)i);
        gasp_event_notify(g, gasp_create_event(g, name, hostile[i]), GASP_ATOMIC, "hard.upc", 1, 0, 1, 2, 3,
                          4L, 5L, (void *)6, (void *)7, (void *)8, (void *)9, (void *)10, (void *)11,
                          (void *)12, (void *)13, (void *)14, (void *)15, (void *)16, (void *)17, (void *)18,
                          (void *)19, (void *)20, (void *)21);
    }
    char *long_text = malloc(100000);
    memset(long_text, 'x', 99999), long_text[99999] = 0;
    gasp_event_notify(g, gasp_create_event(g, "text", "%s"), GASP_ATOMIC, NULL, 0, 0, long_text);
    gasp_event_notify(g, gasp_create_event(g, "precise", "%.3s|%.3s|%s"), GASP_ATOMIC, NULL, 0, 0, "abcdef",
                      "a", (char *)NULL);
    gasp_event_notify(g,
                      gasp_create_event(g, "numbers",
                                        "%d %u %x %ld %lu %hd %hhd %5.2f %e %c %#o %+d %.1Lf %g"),
                      GASP_ATOMIC, NULL, 0, 0, -1, 4000000000u, 255, -5000000000L, 18446744073709551615ul,
                      65537, 257, 3.14159, 1e300, 'c', 8, 7, 2.5L, 1e308);
    gasp_event_notify(g, gasp_create_event(g, "long", long_text), GASP_START, NULL, 0, 0);
    gasp_event_notify(g, gasp_create_event(g, long_text, long_text), GASP_ATOMIC, long_text, -1, -1);
    free(long_text);
    for (int i = 0; i < 2000; i++) {
        char name[20];
        snprintf(name, sizeof name, "event %d", i);
        unsigned tag = gasp_create_event(g, name, name);
        if (i > 1000 && tag) abort();
        gasp_event_notify(g, tag, GASP_ATOMIC, NULL, 0, 0);
    }
}

static void recurse(int depth) {
    gasp_event_notify(g, GASP_BUPC_C_FUNC, GASP_START, "hard.upc", 2, 0, "recurse");
    if (depth > 1) recurse(depth - 1);
    gasp_event_notify(g, GASP_BUPC_C_FUNC, GASP_END, "hard.upc", 2, 0, "recurse");
}

static void wrong(void) {
    static jmp_buf back;
    end(g, GASP_BUPC_WAIT); /* it has not started */
    end(g, 77777), end(g, 0), start(g, 0);
    gasp_event_notify(g, GASP_BUPC_NOTIFY, (gasp_evttype_t)7, NULL, 0, 0, 0, 0);
    gasp_event_notify(NULL, GASP_BUPC_NOTIFY, GASP_START, NULL, 0, 0, 0, 0);
    if (gasp_control(NULL, 1) != 0 || gasp_create_event(NULL, NULL, NULL) == 0) abort();
    start(g, GASP_BUPC_WAIT);
    if (!setjmp(back)) {
        start(g, GASP_BUPC_LOCK_ATTEMPT + 9999);
        start(g, GASP_BUPC_FREE - 1);
        longjmp(back, 1); /* and so leaves both */
    }
    end(g, GASP_BUPC_WAIT);
    gasp_control(g, 0); /* off in the middle of an operation */
    start(g, GASP_BUPC_NOTIFY);
    gasp_control(g, 1);
    end(g, GASP_BUPC_NOTIFY);
    start(g, GASP_BUPC_NOTIFY);
    gasp_control(g, 0);
    end(g, GASP_BUPC_NOTIFY);
    start(g, GASP_BUPC_NOTIFY);
    end(g, GASP_BUPC_NOTIFY);
    gasp_control(g, 1);
    recurse(3);
    recurse(70000); /* deeper than the stack of open operations */
    barriers(g, 1);
    for (unsigned tag = 0; tag < 300000; tag += 7)
        gasp_event_notify(g, tag > 43 && (tag < 1000 || tag > 1410) ? tag : 0, GASP_ATOMIC, NULL, 0, 0);
    for (int i = 0; i < 20000; i++) { /* handles nobody waits for */
        pts p = {0, 0};
        char mine[4];
        gasp_event_notify(g, GASP_BUPC_NB_GET_INIT, GASP_START, NULL, 0, 0, 1, mine, &p, (size_t)4);
        gasp_event_notify(g, GASP_BUPC_NB_GET_INIT, GASP_END, NULL, 0, 0, 1, mine, &p, (size_t)4,
                          (void *)(intptr_t)(i * 16 + 1));
    }
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "hosts")) {
        /* Three UPC threads that claim to be three processes. The first knows only its own host. */
        threads = 3;
        for (intptr_t i = 1; i < 3; i++) in_threads(upc_thread, (void *)i, 1);
    }
    g = gasp_init(GASP_MODEL_UPC, &argc, &argv);
    errno = 12345;
    if (!strcmp(mode, "exit")) {
        barriers(g, 10);
        start(g, GASP_BUPC_WAIT);
        exit(3);
    } else if (!strcmp(mode, "kill") || !strcmp(mode, "term")) {
        barriers(g, 500);
        nap(20);
        barriers(g, 500); /* the first of them hands over what was before */
        nap(50);
        kill(getpid(), *mode == 'k' ? SIGKILL : SIGTERM);
        nap(5000);
    } else if (!strcmp(mode, "fork")) {
        with_fork(argv[0]);
    } else if (!strcmp(mode, "nested")) {
        pts p = {0, 0};
        nested = again;
        gasp_event_notify(g, GASP_BUPC_MEMSET, GASP_START, "hard.upc", 1, 0, &p, 0, (size_t)4);
        gasp_event_notify(g, GASP_BUPC_MEMSET, GASP_END, "hard.upc", 1, 0, &p, 0, (size_t)4);
    } else if (!strcmp(mode, "threads")) {
        in_threads(many, g, 8); /* with this thread's context, at the same time */
        for (int i = 0; i < 100; i++) in_threads(i % 2 ? begins : many, g, 1);
        barriers(g, 1000);
    } else if (!strcmp(mode, "nodes")) { /* two UPC threads in a process, then some that should not be */
        threads = 3, per_process = 3;
        in_threads(upc_thread, NULL, 5);
        return 0;
    } else if (!strcmp(mode, "twice")) {
        gasp_context_t other = gasp_init(GASP_MODEL_UPC, NULL, NULL);
        barriers(other, 10), barriers(g, 10);
    } else if (!strcmp(mode, "cancel")) {
        for (int i = 0; i < 20; i++) {
            pthread_t t;
            pthread_create(&t, NULL, forever, g);
            nap(3);
            pthread_cancel(t);
            pthread_join(t, NULL);
        }
    } else if (!strcmp(mode, "full")) {
        struct rlimit limit = {20000, 20000};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        barriers(g, 200000);
    } else if (!strcmp(mode, "formats")) {
        formats();
    } else if (!strcmp(mode, "wrong")) {
        wrong();
    } else if (!strcmp(mode, "crash")) {
        barriers(g, 10);
        raise(SIGSEGV);
    } else {
        barriers(g, 1000);
    }
    if (errno != 12345 && strcmp(mode, "cancel") && strcmp(mode, "threads") && strcmp(mode, "fork") &&
        strcmp(mode, "formats"))
        return 99;
    finish(g);
    if (!strcmp(mode, "plain")) barriers(g, 100000);
    return 0;
}
