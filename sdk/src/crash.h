
/* ---- Signals that end the program ----------------------------------------------------------------
 *
 * With the option signals, traces are completed before the program dies. A signal handler may do hardly
 * anything, and its thread may hold any lock. So a thread of ours waits on a pipe; the handler only wakes it
 * and waits for it to finish, for a second at most: after a crash inside malloc it may never finish. Then the
 * signal takes its usual course. */

static const int wsi_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGINT, SIGTERM, SIGHUP};
enum { WSI_SIGNALS = sizeof wsi_signals / sizeof *wsi_signals };
static struct sigaction wsi_old_action[WSI_SIGNALS];
static int wsi_wake[2];
static int wsi_signal_done; /* atomic */
static pid_t wsi_signal_pid;

static void wsi_finish(ws_context *ctx, int ended, int exit_code, const char *message);
static void wsi_finish_all(int ended, int exit_code, const char *message);

static void *wsi_signal_thread(void *arg) {
    unsigned char sig;
    char message[40];
    (void)arg;
    while (read(wsi_wake[0], &sig, 1) != 1) {
    }
    int asked = sig == SIGINT || sig == SIGTERM || sig == SIGHUP;
    snprintf(message, sizeof message, "ended by signal %d", sig);
    wsi_finish_all(asked ? WS_INTERRUPTED : WS_FAILED, 128 + sig, message);
    __atomic_store_n(&wsi_signal_done, 1, __ATOMIC_RELEASE);
    return 0;
}

static void wsi_on_signal(int sig) {
    static int taken;
    struct timespec ms = {0, 1000000};
    unsigned char byte = (unsigned char)sig;
    int saved = errno;
    /* The child of a fork shares the pipe but has nothing to complete. */
    if (getpid() == wsi_signal_pid &&
        (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQ_REL) || write(wsi_wake[1], &byte, 1) == 1))
        for (int i = 0; i < 1000 && !__atomic_load_n(&wsi_signal_done, __ATOMIC_ACQUIRE); i++)
            nanosleep(&ms, 0);
    for (int i = 0; i < WSI_SIGNALS; i++)
        if (wsi_signals[i] == sig) sigaction(sig, &wsi_old_action[i], 0);
    errno = saved;
    raise(sig); /* stays blocked until we return */
}

/* wsi_catch_signals is called once. Signals that the program ignores stay ignored. */
static void wsi_catch_signals(void) {
    struct sigaction action;
    sigset_t all, old;
    pthread_t thread;
    if (pipe(wsi_wake)) return;
    fcntl(wsi_wake[0], F_SETFD, FD_CLOEXEC);
    fcntl(wsi_wake[1], F_SETFD, FD_CLOEXEC);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int err = pthread_create(&thread, 0, wsi_signal_thread, 0);
    pthread_sigmask(SIG_SETMASK, &old, 0);
    if (err) return;
    pthread_detach(thread);
    wsi_signal_pid = getpid();
    memset(&action, 0, sizeof action);
    action.sa_handler = wsi_on_signal;
#ifdef SA_ONSTACK
    action.sa_flags = SA_ONSTACK;
#endif
    for (int i = 0; i < WSI_SIGNALS; i++) {
        sigaction(wsi_signals[i], 0, &wsi_old_action[i]);
        if (wsi_old_action[i].sa_handler != SIG_IGN) sigaction(wsi_signals[i], &action, 0);
    }
}
