/* gasp_clock.h: when UPC threads compare their clocks. Part of gasp.c; clocks.h describes how.
 *
 * Problem. Only UPC code can communicate, so two functions of the program do it, if it has them. Nobody knows
 * when all threads can do so before they meet. And nobody may wait for a thread that is not recorded, nor
 * take part in a barrier, which might be one of the program's.
 *
 * Plan.
 *   - When a thread's first barrier begins, it writes into a slot of its own that it is there, and which
 *     clock it has. When that barrier ends, all threads that are recorded have done so. Thread 0 sees who has
 *     another clock and answers those threads; the others see whether thread 0 has another clock, and is
 *     present. If all have one clock, nobody waits for anybody.
 *   - The same happens at the collective exit. Some run-time systems have no barrier in there: threads come
 *     one by one and wait for each other, as they would afterwards. If there was no barrier before, this is
 *     the only comparison, and nobody waits long.
 *
 * If threads do not mean the same barrier, because part of the program is not instrumented, they wait for
 * some seconds, once, and compare nothing.
 *
 * The threads of a process have one clock. The one with the lowest number asks; the others, whose turn comes
 * later, record its answer. */

enum { GASP_START_ROUND = 1, GASP_END_ROUND };
enum { GASP_ROUNDS = 4, GASP_SETTINGS = 4 };       /* above the numbers of rounds and of settings */
enum { GASP_START_TURN = 10, GASP_END_TURN = 60 }; /* how long a thread waits for its turn, in seconds */

static struct { /* the answer that the first thread of the process got */
    wsc_offset offset;
    int round; /* atomic */
} gasp_told;

/* gasp_here returns what a thread writes: a number that identifies its clock, the setting of
 * WHYSLOW_CLOCK_SYNC, and the round. */
static int64_t gasp_here(int round) {
    uint64_t clock = wsc_clock_of_host();
    return (int64_t)((clock * GASP_SETTINGS + (uint64_t)wsc_set.clock_sync) * GASP_ROUNDS) + round;
}
static int gasp_round_of(int64_t here) { return (int)(here % GASP_ROUNDS); }
static int gasp_sync_of(int64_t here) { return (int)(here / GASP_ROUNDS % GASP_SETTINGS); }
static int64_t gasp_clock_of(int64_t here) { return here / (GASP_ROUNDS * GASP_SETTINGS); }

/* gasp_far tells whether a thread has to ask thread 0, from what both have written. */
static int gasp_far(int64_t here, int64_t zero) {
    int sync = gasp_sync_of(zero); /* settings may differ from host to host; thread 0 decides */
    return sync == WSC_CLOCK_ALWAYS || (sync == WSC_CLOCK_AUTO && gasp_clock_of(here) != gasp_clock_of(zero));
}

static int gasp_can_talk(void) { return whyslow_upc_put && whyslow_upc_get; }

/* gasp_announce says that the thread has reached a comparison of clocks. */
static void gasp_announce(struct _gasp_context_S *g, int round) {
    if (!g->worker || g->node->nodes < 2 || !gasp_can_talk()) return;
    g->round = round;
    g->here = gasp_here(round);
    whyslow_upc_put(g->node->node, WSC_HERE, g->here);
}

/* gasp_await_here returns what a thread has written. If one of the two has to ask the other, it waits until
 * that thread has come to the round, up to a time. It returns 0 if the thread did not come. */
static int64_t gasp_await_here(struct _gasp_context_S *g, int thread, int round, int64_t limit) {
    for (;; usleep(200)) {
        int64_t here = whyslow_upc_get(thread, WSC_HERE);
        if (gasp_round_of(here) >= round) return here;
        if (here && !(thread ? gasp_far(here, g->here) : gasp_far(g->here, here))) return here;
        /* A thread that was absent the first time is not recorded. */
        if ((!here && g->met) || ws_now() >= limit) return 0;
    }
}

/* gasp_region_begins enters a region for the time that the comparison takes. */
static ws_site gasp_region_begins(struct _gasp_context_S *g) {
    ws_site site = 0;
    if (g->t->on) {
        ws_code code = wsc_named_code(g->node, "comparison of clocks", WS_REGION_RUNTIME, 0);
        site = wsc_site(g->t, code, 0, 0, 0, 0);
    }
    if (site) ws_entered_at(g->t->s, ws_now(), site);
    return site;
}

/* gasp_answer_all is what thread 0 does. */
static void gasp_answer_all(struct _gasp_context_S *g, int round, int64_t limit) {
    int missing = 0, compared = 0;
    ws_site site = 0;
    for (int i = 1; i < g->node->nodes; i++) {
        int64_t here = gasp_await_here(g, i, round, limit);
        missing += !here;
        if (!here) whyslow_upc_put(i, WSC_TURN, WSC_NEVER); /* it may still come */
        if (!here || !gasp_far(here, g->here)) continue;
        if (!compared++) site = gasp_region_begins(g);
        wsc_answer(&g->talk, i);
    }
    if (site) ws_exited_at(g->t->s, ws_now(), site);
    if (round == GASP_END_ROUND && g->met) return;
    const char *how = wsc_set.clock_sync == WSC_CLOCK_OFF ? "off" : compared ? "compared" : "one host";
    if (missing)
        how = compared ? "compared, but for threads that are not recorded"
                       : "not compared: there are threads that are not recorded";
    gasp_note(g, 4, "clock_sync", how);
}

/* gasp_ask is what the other threads do. first is the lowest number of the process's threads. */
static void gasp_ask(struct _gasp_context_S *g, int round, int64_t limit, int first) {
    int64_t zero = gasp_await_here(g, 0, round, limit);
    wsc_offset found = {0, 0, 0};
    int me = g->node->node;
    if (!zero || gasp_sync_of(zero) == WSC_CLOCK_OFF) return;
    if (gasp_far(g->here, zero)) {
        ws_site site = gasp_region_begins(g);
        int seconds = round == GASP_START_ROUND ? GASP_START_TURN : GASP_END_TURN;
        int asks = first == me && wsc_set.clock_sync != WSC_CLOCK_OFF;
        wsc_offset asked = wsc_take_turn(&g->talk, seconds, asks);
        if (first == me) {
            found = gasp_told.offset = asked;
            __atomic_store_n(&gasp_told.round, round, __ATOMIC_RELEASE);
        } else if (first) {
            found.error = -1;
            if (__atomic_load_n(&gasp_told.round, __ATOMIC_ACQUIRE) == round) found = gasp_told.offset;
            found.time = 0;
        }
        wsc_clock_sync(g->t, found);
        if (site) ws_exited_at(g->t->s, ws_now(), site);
    } else {
        wsc_clock_sync(g->t, found);
    }
}

/* gasp_compare compares the clocks, if the thread has announced that it would come. */
static void gasp_compare(struct _gasp_context_S *g, int round) {
    int first = g->node->node, here = 0;
    g->met |= round == GASP_START_ROUND;
    if (!g->worker || g->node->nodes < 2) return;
    pthread_mutex_lock(&wsc_mu);
    for (wsc_node *n = wsc_nodes; n; n = n->link, here++)
        if (n->node < first) first = n->node;
    pthread_mutex_unlock(&wsc_mu);
    if (here >= g->node->nodes) return; /* all in one process */
    if (!gasp_can_talk()) {
        gasp_note(g, 4, "clock_sync", "not compared: the program has no whyslow_upc_put and whyslow_upc_get");
        return;
    }
    if (g->round != round) return;
    int seconds = round == GASP_START_ROUND ? 0 : g->met ? GASP_END_TURN : WSC_PATIENCE;
    int64_t limit = ws_now() + (int64_t)(g->talk.silent ? 0 : seconds) * 1000000000;
    g->talk.me = g->node->node, g->talk.put = whyslow_upc_put, g->talk.get = whyslow_upc_get;
    if (!g->node->node) gasp_answer_all(g, round, limit);
    else gasp_ask(g, round, limit, first);
}
