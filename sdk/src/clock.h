
/* ---- Clock ---------------------------------------------------------------------------------------
 *
 * The factor between the counter and nanoseconds is measured once, between the loading of the program and the
 * first use of the clock, at least 4 ms apart. It never changes afterwards, so times do not jump. A pair of
 * readings is accurate to about 20 ns, so the factor is off by 10 millionths at most. */

ws_clock ws_the_clock;
static const char *wsi_clock_name = "monotonic"; /* what ws_now reads */
static pthread_once_t wsi_clock_once = PTHREAD_ONCE_INIT;
static int wsi_clock_wish; /* 0: monotonic, 1: the counter if it is usable */

/* Records hold 54 bits of time. CLOCK_MONOTONIC is cut to 52, which leaves a run room for 52 days. */
static const int64_t wsi_fold = (int64_t)1 << 52;
static int64_t wsi_fold_base = -1;

static int64_t wsi_monotonic(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t wsi_cpu(clockid_t id) {
    struct timespec t;
    if (clock_gettime(id, &t)) return 0;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t ws_process_cpu(void) { return wsi_cpu(CLOCK_PROCESS_CPUTIME_ID); }
int64_t ws_thread_cpu(void) { return wsi_cpu(CLOCK_THREAD_CPUTIME_ID); }

#if defined(__x86_64__)
static uint64_t wsi_tsc(void) {
    uint32_t lo, hi;
    __asm__ __volatile__("rdtsc" : "=a"(lo), "=d"(hi));
    return (uint64_t)hi << 32 | lo;
}

/* wsi_pair reads both clocks at one moment: of 16 attempts it takes the one with the narrowest bracket. */
static void wsi_pair(uint64_t *tsc, int64_t *ns) {
    uint64_t best = ~(uint64_t)0;
    for (int i = 0; i < 16; i++) {
        uint64_t a = wsi_tsc();
        int64_t n = wsi_monotonic();
        uint64_t b = wsi_tsc();
        if (b - a < best) {
            best = b - a;
            *tsc = a + (b - a) / 2;
            *ns = n;
        }
    }
}

static uint64_t wsi_first_tsc;
static int64_t wsi_first_ns;

__attribute__((constructor)) static void wsi_clock_load(void) { wsi_pair(&wsi_first_tsc, &wsi_first_ns); }

/* wsi_constant tells whether the counter has a constant rate, never stops in a sleep state, and is used by
 * the kernel itself. The kernel would have given up a counter that it found unsynchronised. */
static int wsi_constant(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8)) return 0;
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    char text[16] = "";
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n >= 4 && !memcmp(text, "tsc\n", 4);
}

static void wsi_calibrate(void) {
    if (!wsi_constant()) return;
    if (!wsi_first_tsc) wsi_clock_load();
    struct timespec ms = {0, 1000000};
    while (wsi_monotonic() - wsi_first_ns < 4000000) nanosleep(&ms, 0);
    uint64_t tsc = 0;
    int64_t ns = 0;
    wsi_pair(&tsc, &ns);
    if (tsc <= wsi_first_tsc || ns <= wsi_first_ns) return;
    double m = (double)(ns - wsi_first_ns) / (double)(tsc - wsi_first_tsc) * 4294967296.0;
    /* A counter below 0.2 or above 20 GHz is no clock. */
    if (m < 4294967296.0 / 20 || m > 4294967296.0 * 5) return;
    ws_the_clock.origin = wsi_first_tsc;
    ws_the_clock.base = wsi_first_ns - wsi_fold_base;
    wsi_clock_name = "tsc";
    __atomic_store_n(&ws_the_clock.mult, (uint64_t)(m + 0.5), __ATOMIC_RELEASE);
}
#else
static void wsi_calibrate(void) {}
#endif

static void wsi_clock_init(void) {
    wsi_fold_base = wsi_monotonic() / wsi_fold * wsi_fold;
    if (wsi_clock_wish) wsi_calibrate();
}

int64_t ws_now_slow(void) {
    pthread_once(&wsi_clock_once, wsi_clock_init);
    return wsi_monotonic() - wsi_fold_base;
}

/* wsi_clock_start chooses the clock. Only the first call has an effect. */
static void wsi_clock_start(int counter) {
    static int chosen;
    if (!__atomic_exchange_n(&chosen, 1, __ATOMIC_ACQ_REL)) wsi_clock_wish = counter;
    pthread_once(&wsi_clock_once, wsi_clock_init);
}
