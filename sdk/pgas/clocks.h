/* clocks.h: how far the clock of each node is from node 0's. Part of gasp.c and shmem.c, which say how nodes
 * talk.
 *
 * Problem. Processes of several hosts read different clocks, some milliseconds apart, and some millionths
 * faster or slower.
 *
 * Plan. Each node has a few numbers of 64 bits that others can write: slots. One node after the other is
 * given its turn by node 0, asks it for the time, by writing a number there and waiting for the answer in a
 * slot of its own, 20 times, and believes the answer that came back soonest: node 0 read its clock at some
 * time between question and answer, about in the middle. That is done at the start and at the end; readers of
 * the trace interpolate.
 *
 * Nobody waits for ever: who gets no answer in time never asks again, since a late answer would be taken for
 * the next one, and node 0 listens to nobody any more when somebody to whom it has given the turn says
 * nothing. */

#include <sched.h>

/* Slots of a node. */
enum {
    WSC_HERE,     /* for a front door to tell that the node is there */
    WSC_TURN,     /* WSC_GO: node 0 listens to this node; WSC_NEVER: it does not */
    WSC_ANSWER,   /* the time, + 1 */
    WSC_QUESTION, /* of node 0: 2 * node: what time is it?, 2 * node + 1: no more questions */
    WSC_SLOTS
};
enum { WSC_GO = 1, WSC_NEVER = 2 };
enum { WSC_PATIENCE = 2 }; /* seconds to wait for an answer */

/* How a node talks. put writes a slot: at the latest soon after it has returned the other one sees it. get
 * reads one, and lets the run-time system make progress. */
typedef struct wsc_talk {
    int me;
    void (*put)(int node, int slot, int64_t value);
    int64_t (*get)(int node, int slot);
    int silent; /* somebody did not answer */
} wsc_talk;

/* wsc_await waits, some seconds at most, until an own slot is at least that large. It returns 0 if it does
 * not become so. */
static int64_t wsc_await(const wsc_talk *w, int slot, int64_t least, int seconds) {
    int64_t limit = ws_now() + (int64_t)seconds * 1000000000, value;
    for (int i = 0; (value = w->get(w->me, slot)) < least; i++) {
        if (ws_now() > limit) return 0;
        if (i > 2000) usleep(50);
        else if (i > 100) sched_yield();
    }
    return value;
}

/* wsc_answer is node 0's part, for one node after the other: it gives it its turn and answers it until it has
 * no more questions. */
static void wsc_answer(wsc_talk *w, int node) {
    w->put(0, WSC_QUESTION, 0);
    w->put(node, WSC_TURN, w->silent ? WSC_NEVER : WSC_GO);
    while (!w->silent) {
        int64_t question = wsc_await(w, WSC_QUESTION, 1, WSC_PATIENCE);
        w->put(0, WSC_QUESTION, 0);
        if (question == 2 * (int64_t)node + 1) return;
        if (question == 2 * (int64_t)node) w->put(node, WSC_ANSWER, ws_now() + 1);
        else w->silent = 1;
    }
}

/* What has to be added to a node's clock to get node 0's. */
typedef struct wsc_offset {
    int64_t time;  /* when it was so, by the node's clock; 0: now */
    int64_t ns;
    int64_t error; /* at most; -1: it could not be found out */
} wsc_offset;

/* wsc_ask asks node 0 often and returns the best answer. */
static wsc_offset wsc_ask(wsc_talk *w) {
    const int rounds = 20;
    wsc_offset best = {0, 0, -1};
    for (int i = 0; i < rounds && !w->silent; i++) {
        w->put(w->me, WSC_ANSWER, 0);
        int64_t sent = ws_now();
        w->put(0, WSC_QUESTION, 2 * (int64_t)w->me);
        int64_t there = wsc_await(w, WSC_ANSWER, 1, WSC_PATIENCE) - 1, error = (ws_now() - sent + 1) / 2;
        if (there < 0) {
            w->silent = 1;
        } else if (best.error < 0 || error < best.error) {
            best.time = sent + error;
            best.ns = there - best.time;
            best.error = error;
        }
    }
    return best;
}

/* wsc_take_turn is the part of a node whom node 0 answers: it waits for its turn, some seconds at most, and
 * asks if it has to. */
static wsc_offset wsc_take_turn(wsc_talk *w, int seconds, int asks) {
    wsc_offset found = {0, 0, -1};
    int64_t turn = wsc_await(w, WSC_TURN, 1, seconds);
    w->put(w->me, WSC_TURN, 0);
    if (turn != WSC_GO) return found;
    if (asks) found = wsc_ask(w);
    if (!w->silent) w->put(0, WSC_QUESTION, 2 * (int64_t)w->me + 1);
    return found;
}

/* wsc_clock_sync records what was found out, for every node but 0. What the thread recorded last must not be
 * later than that. */
static void wsc_clock_sync(wsc_thread *t, wsc_offset o) {
    if (t && t->s->cap && t->node->node && o.error >= 0 && wsc_set.clock_sync != WSC_CLOCK_OFF)
        ws_clock_sync_at(t->s, o.time ? o.time : ws_now(), o.ns, o.error);
}
