/* clocks.h measures how far the clock of each node is from node 0's. It is part of gasp.c and shmem.c, which
 * say how nodes talk.
 *
 * Problem. Processes on several hosts read different clocks. They are some milliseconds apart, and some
 * millionths faster or slower.
 *
 * Plan. Each node has a few 64-bit numbers that others can write: slots. Node 0 gives one node after the
 * other its turn. That node asks node 0 for the time, by writing a number there and waiting for the answer in
 * a slot of its own. It asks 20 times and believes the answer that came back soonest: node 0 read its clock
 * at some time between question and answer, about in the middle. This is done at the start and at the end;
 * readers of the trace interpolate.
 *
 * Nodes that read the same clock need not ask: those of one running system, whatever it calls itself. Names
 * tell nothing: two hosts may have the same one, and containers of a host different ones.
 *
 * Nobody waits forever. A node that gets no answer in time never asks again, because a late answer would be
 * mistaken for the next one. If a node says nothing in its turn, node 0 stops listening to anybody. */

#include <sched.h>

/* Slots of a node. */
enum {
    WSC_HERE,     /* the collector says here that the node is present */
    WSC_TURN,     /* WSC_GO: node 0 listens to this node; WSC_NEVER: it does not */
    WSC_ANSWER,   /* the time, + 1 */
    WSC_QUESTION, /* at node 0: 2 * node: what time is it?; 2 * node + 1: no more questions */
    WSC_SLOTS
};
enum { WSC_GO = 1, WSC_NEVER = 2 };
enum { WSC_PATIENCE = 2 }; /* seconds to wait for an answer */

/* wsc_clock_of_host identifies the clock of this process in 59 bits: the running system by the id that Linux
 * gives it when it starts, or else by its name; and, in a container with a time of its own, how far that is
 * from the system's. */
static uint64_t wsc_clock_of_host(void) {
    char boot[64], ahead[256];
    size_t n = wsi_read_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    size_t m = wsi_read_file("/proc/self/timens_offsets", ahead, sizeof ahead);
    if (!n) {
        gethostname(boot, sizeof boot - 1);
        boot[sizeof boot - 1] = 0;
        n = strlen(boot);
    }
    return (uint64_t)wsi_hash(boot, n) << 27 ^ wsi_hash(ahead, m);
}

/* How a node talks. put writes a slot; the other node sees the value when put returns or soon after. get
 * reads a slot, and lets the run-time system make progress. */
typedef struct wsc_talk {
    int me;
    void (*put)(int node, int slot, int64_t value);
    int64_t (*get)(int node, int slot);
    int silent; /* some node did not answer */
} wsc_talk;

/* wsc_await waits until a slot of this node has at least the value least, and returns its value. It returns 0
 * if that takes longer than the given seconds. */
static int64_t wsc_await(const wsc_talk *w, int slot, int64_t least, int seconds) {
    int64_t limit = ws_now() + (int64_t)seconds * 1000000000, value;
    for (int i = 0; (value = w->get(w->me, slot)) < least; i++) {
        if (ws_now() > limit) return 0;
        if (i > 2000) usleep(50);
        else if (i > 100) sched_yield();
    }
    return value;
}

/* wsc_answer is what node 0 does for each other node: it gives the node its turn and answers until the node
 * has no more questions. */
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

/* What to add to a node's clock to get node 0's. */
typedef struct wsc_offset {
    int64_t time;  /* when it was measured, by the node's clock; 0: now */
    int64_t ns;
    int64_t error; /* ns, at most; -1: it could not be measured */
} wsc_offset;

/* wsc_ask asks node 0 several times and returns the best answer. */
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

/* wsc_take_turn is what the other nodes do: it waits for its turn, for the given seconds at most, and then
 * asks, if asks is set. */
static wsc_offset wsc_take_turn(wsc_talk *w, int seconds, int asks) {
    wsc_offset found = {0, 0, -1};
    int64_t turn = wsc_await(w, WSC_TURN, 1, seconds);
    w->put(w->me, WSC_TURN, 0);
    if (turn != WSC_GO) return found;
    if (asks) found = wsc_ask(w);
    if (!w->silent) w->put(0, WSC_QUESTION, 2 * (int64_t)w->me + 1);
    return found;
}

/* wsc_clock_sync records the offset, for every node but 0. Times within a stream must not go back, so the
 * thread must not have recorded anything later than the offset. */
static void wsc_clock_sync(wsc_thread *t, wsc_offset o) {
    if (t && t->s->cap && t->node->node && o.error >= 0 && wsc_set.clock_sync != WSC_CLOCK_OFF)
        ws_clock_sync_at(t->s, o.time ? o.time : ws_now(), o.ns, o.error);
}
