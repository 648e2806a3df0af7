/* shmem_clock.h finds out which host each PE is on, and how far its clock is from PE 0's. Part of shmem.c.
 *
 * When the PEs meet, in shmem_init, each writes the name of its host, and what identifies its clock, into a
 * table of PE 0, in a block of the symmetric heap. If all have one clock, the block is freed at once, so the
 * program finds the heap as it would without us. Otherwise it is kept, because the clocks are compared again
 * at the end, as clocks.h describes. */

#include "clocks.h"

extern int pshmem_my_pe(void) __attribute__((weak));
extern int pshmem_n_pes(void) __attribute__((weak));
extern void *pshmem_malloc(size_t size) WSS_WEAK;
extern void pshmem_free(void *p) WSS_WEAK;
extern void pshmem_putmem(void *target, const void *source, size_t n, int pe) WSS_WEAK;
extern void pshmem_long_p(long *target, long value, int pe) WSS_WEAK;
extern long pshmem_long_g(const long *source, int pe) WSS_WEAK;
extern void pshmem_barrier_all(void) WSS_WEAK;
extern void pshmem_quiet(void) WSS_WEAK;

enum { WSS_HOST = 64 /* bytes of a name */, WSS_TURN = 60 /* seconds */ };

typedef struct wss_seat {
    long clock;
    char host[WSS_HOST];
} wss_seat;

typedef struct wss_table {
    volatile long slots[WSC_SLOTS];
    long far;        /* at PE 0: some PE has to ask */
    wss_seat pes[]; /* at PE 0 */
} wss_table;

static wss_table *wss_seats; /* null: nobody has to ask */
static int wss_far;          /* this PE has to ask */

/* wss_meet finds out whose clocks have to be compared. It returns the hosts of all PEs on PE 0, and null
 * elsewhere or if there is no memory. All PEs call it. */
static const char **wss_meet(void) {
    const char **hosts = 0;
    size_t pes = (size_t)wss_pes, size = sizeof(wss_table) + pes * sizeof(wss_seat) + 8;
    wss_table *table = (wss_table *)pshmem_malloc(size);
    if (!table) return 0;
    wss_anchor = (char *)table;
    wss_seat own = {(long)wsc_clock_of_host(), ""};
    gethostname(own.host, sizeof own.host - 1);
    memset(table, 0, size);
    pshmem_barrier_all();
    pshmem_putmem(&table->pes[wss_me], &own, sizeof own, 0);
    pshmem_barrier_all();
    if (!wss_me && (hosts = (const char **)malloc(pes * (sizeof *hosts + WSS_HOST))) != 0) {
        char *names = (char *)(hosts + pes);
        for (size_t i = 0; i < pes; i++, names += WSS_HOST) {
            memcpy(names, table->pes[i].host, WSS_HOST);
            hosts[i] = names;
            if (table->pes[i].clock != own.clock) table->far = 1;
        }
    }
    /* Settings may differ from host to host; PE 0 decides for all. */
    if (!wss_me)
        table->far = wsc_set.clock_sync == WSC_CLOCK_ALWAYS ? 2
                     : wsc_set.clock_sync == WSC_CLOCK_OFF  ? 0
                                                            : table->far;
    pshmem_barrier_all();
    long far = pshmem_long_g(&table->far, 0);
    if (far) {
        wss_far = wss_me && (far == 2 || pshmem_long_g(&table->pes[0].clock, 0) != own.clock);
        wss_seats = table;
    } else {
        pshmem_free(table);
    }
    return hosts;
}

static void wss_tell(int pe, int slot, int64_t value) {
    if (pe == wss_me) {
        wss_seats->slots[slot] = value;
        return;
    }
    pshmem_long_p((long *)&wss_seats->slots[slot], value, pe);
    pshmem_quiet();
}

static int wss_partner; /* the PE that talks with this one */

/* Reading a slot of its own must let the writes of other PEs in. Over TCP, Open MPI sees to that only while
 * it waits for an operation with another PE: not in shmem_quiet or shmem_test, nor in an operation of a PE
 * with itself. So the partner is read as well. */
static int64_t wss_look(int pe, int slot) {
    long there = pshmem_long_g((const long *)&wss_seats->slots[slot], pe == wss_me ? wss_partner : pe);
    return pe == wss_me ? wss_seats->slots[slot] : there;
}

/* wss_compare_clocks records how far the clock is from PE 0's. All PEs call it. */
static void wss_compare_clocks(wsc_thread *t) {
    static wsc_talk talk = {0, wss_tell, wss_look, 0};
    wsc_offset found = {0, 0, 0};
    if (wss_seats) {
        talk.me = wss_me;
        pshmem_barrier_all();
        for (int i = 1; i < wss_pes && !wss_me; i++) {
            wss_partner = i;
            wsc_answer(&talk, i);
        }
        if (wss_me) {
            wsc_offset asked = wsc_take_turn(&talk, WSS_TURN, wss_far && wsc_set.clock_sync != WSC_CLOCK_OFF);
            if (wss_far) found = asked;
        }
        pshmem_barrier_all(); /* until here each PE must be able to answer its partner */
    }
    wsc_clock_sync(t, found);
}
