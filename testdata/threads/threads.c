/* Threads that wait on purpose; the first argument says how. Where it prints a number, that is how long
 * a thread waited by the program's own clock, in nanoseconds. */

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t started, filled;
static int pipes[2];
static long long waited;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void spin(int ms) {
    long long end = now() + ms * 1000000LL;
    while (now() < end) {}
}

static void *holds(void *arg) {
    pthread_mutex_lock(&queue_lock);
    sem_post(&started);
    spin(60);
    pthread_mutex_unlock(&queue_lock);
    return arg;
}

static void *asks(void *arg) {
    sem_wait(&started);
    long long since = now();
    pthread_mutex_lock(&queue_lock);
    waited = now() - since;
    spin(5);
    pthread_mutex_unlock(&queue_lock);
    return arg;
}

static void *fills(void *arg) {
    spin(50);
    sem_post(&filled);
    return arg;
}

static void *dies(void *arg) {
    pthread_mutex_lock(&queue_lock);
    spin(5);
    abort();
    return arg;
}

static void *works(void *arg) {
    spin(40);
    return arg;
}

static void *naps(void *arg) {
    char byte;
    usleep(50000);
    if (read(pipes[0], &byte, 1) != 1) abort();
    return arg;
}

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both;

static void *writes(void *arg) {
    pthread_rwlock_wrlock(&table_lock);
    sem_post(&started);
    spin(60);
    pthread_rwlock_unlock(&table_lock);
    return arg;
}

static void *reads(void *arg) {
    sem_wait(&started);
    long long since = now();
    pthread_rwlock_rdlock(&table_lock);
    waited = now() - since;
    spin(5);
    pthread_rwlock_unlock(&table_lock);
    return arg;
}

static void *comes_late(void *arg) {
    spin(60);
    pthread_barrier_wait(&both);
    return arg;
}

static void *comes_early(void *arg) {
    long long since = now();
    pthread_barrier_wait(&both);
    waited = now() - since;
    return arg;
}

/* gives_up asks for a lock for 20 ms, in vain, and then for as long as it takes. */
static void *gives_up(void *arg) {
    struct timespec until;
    sem_wait(&started);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    long long since = now();
    int result = pthread_mutex_timedlock(&queue_lock, &until);
    if (result) {
        until.tv_sec += 60;
        if (pthread_mutex_timedlock(&queue_lock, &until)) abort();
    }
    waited = now() - since;
    pthread_mutex_unlock(&queue_lock);
    return arg;
}

static void *awaits(void *arg) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    long long since = now();
    if (sem_timedwait(&filled, &until)) abort();
    waited = now() - since;
    return arg;
}

static void *streams(void *arg) {
    FILE *in = fdopen(pipes[0], "r");
    char bytes[4];
    long long since = now();
    if (!in || fread(bytes, 1, sizeof bytes, in) != sizeof bytes) abort();
    waited = now() - since;
    return arg;
}

static pthread_t begin(void *(*what)(void *)) {
    pthread_t id;
    if (pthread_create(&id, 0, what, 0)) abort();
    return id;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    sem_init(&started, 0, 0), sem_init(&filled, 0, 0);
    if (!strcmp(how, "lock")) {
        pthread_t a = begin(holds), b = begin(asks);
        pthread_join(a, 0), pthread_join(b, 0);
    } else if (!strcmp(how, "semaphore")) {
        pthread_t a = begin(fills);
        long long since = now();
        sem_wait(&filled);
        waited = now() - since;
        pthread_join(a, 0);
    } else if (!strcmp(how, "rwlock")) {
        pthread_t a = begin(writes), b = begin(reads);
        pthread_join(a, 0), pthread_join(b, 0);
    } else if (!strcmp(how, "barrier")) {
        pthread_barrier_init(&both, 0, 2);
        pthread_t a = begin(comes_late), b = begin(comes_early);
        pthread_join(a, 0), pthread_join(b, 0);
    } else if (!strcmp(how, "timed")) {
        pthread_t a = begin(holds), b = begin(gives_up);
        pthread_join(a, 0), pthread_join(b, 0);
    } else if (!strcmp(how, "timed-semaphore")) {
        pthread_t a = begin(fills), b = begin(awaits);
        pthread_join(a, 0), pthread_join(b, 0);
    } else if (!strcmp(how, "fread")) {
        if (pipe(pipes)) return 1;
        pthread_t a = begin(streams);
        spin(60);
        if (write(pipes[1], "text", 4) != 4) return 1;
        pthread_join(a, 0);
    } else if (!strcmp(how, "dies")) {
        begin(dies);
        pause();
    } else if (!strcmp(how, "outlives")) {
        begin(works);
        pthread_exit(0);
    } else if (!strcmp(how, "leaves")) {
        begin(works);
        spin(10);
    } else if (!strcmp(how, "fork")) {
        pthread_t a = begin(works);
        pid_t child = fork();
        if (!child) {
            pthread_join(begin(works), 0);
            puts("child");
            exit(0);
        }
        waitpid(child, 0, 0);
        pthread_join(a, 0);
    } else if (!strcmp(how, "naps")) {
        if (pipe(pipes)) abort();
        pthread_t a = begin(naps);
        spin(90);
        if (write(pipes[1], "x", 1) != 1) abort();
        pthread_join(a, 0);
    }
    printf("%lld\n", waited);
    return 0;
}
