/* requests.h remembers what requests are for until they are complete. Part of mpi.c.
 *
 * Several requests may have one handle: Open MPI gives all sends that are complete at once the same. Which of
 * them a call then completes makes no difference. */

enum {
    WSM_SENDS,
    WSM_RECEIVES,
    WSM_PARTS, /* of a partitioned receive */
    WSM_COLLECTIVES,
    WSM_NEIGHBOURHOODS
};

typedef struct wsm_request {
    uintptr_t handle;
    int kind;        /* WSM_SENDS and so on */
    int persistent;  /* it may be started again */
    int active;      /* it was started and is not complete */
    uint64_t number; /* of the transfer or receive */
    int64_t posted;  /* time; 0: that was not recorded */
    int64_t bytes;   /* of a persistent send, like those below */
    int peer, tag;
    wsm_comm *comm;
    struct wsm_request *link;
} wsm_request;

enum { WSM_BUCKETS = 4096 };

static pthread_mutex_t wsm_mu = PTHREAD_MUTEX_INITIALIZER;
static wsm_request *wsm_table[WSM_BUCKETS], *wsm_spare;
static uint64_t wsm_receives, wsm_transfers; /* atomic; the last numbers given */

static uint64_t wsm_number(uint64_t *last) { return __atomic_add_fetch(last, 1, __ATOMIC_RELAXED); }

static uintptr_t wsm_handle(MPI_Request r) {
    uintptr_t h = 0;
    memcpy(&h, &r, sizeof r < sizeof h ? sizeof r : sizeof h);
    return h;
}

static wsm_request **wsm_bucket(uintptr_t handle) {
    return &wsm_table[(handle >> 4 ^ handle >> 13 ^ handle) % WSM_BUCKETS];
}

/* wsm_remember keeps a request. */
static void wsm_remember(uintptr_t handle, wsm_request what) {
    pthread_mutex_lock(&wsm_mu);
    wsm_request *r = wsm_spare, **head = wsm_bucket(handle);
    if (r) wsm_spare = r->link;
    else r = (wsm_request *)malloc(sizeof *r);
    if (r) {
        *r = what;
        r->handle = handle;
        r->comm = wsm_keep(what.comm);
        r->link = *head;
        *head = r;
    }
    pthread_mutex_unlock(&wsm_mu);
}

/* wsm_take finds a request, stores what it is and forgets it, unless it is persistent and not to be freed.
 * It returns 0 if nothing is known of it. The caller releases the communicator. */
static int wsm_take(uintptr_t handle, int freed, wsm_request *what) {
    pthread_mutex_lock(&wsm_mu);
    wsm_request **at = wsm_bucket(handle);
    while (*at && ((*at)->handle != handle || ((*at)->persistent && !(*at)->active && !freed))) at =
        &(*at)->link;
    wsm_request *r = *at;
    if (r) {
        *what = *r;
        if (r->persistent && !freed) {
            r->active = 0;
            wsm_keep(r->comm);
        } else {
            *at = r->link;
            r->link = wsm_spare;
            wsm_spare = r;
        }
    }
    pthread_mutex_unlock(&wsm_mu);
    return r != 0;
}

/* wsm_again marks a persistent request as active, with a new number, and stores what it is. */
static int wsm_again(uintptr_t handle, int64_t posted, wsm_request *what) {
    pthread_mutex_lock(&wsm_mu);
    wsm_request *r = *wsm_bucket(handle);
    while (r && (r->handle != handle || !r->persistent)) r = r->link;
    if (r) {
        r->active = 1, r->posted = posted;
        r->number = __atomic_add_fetch(r->kind == WSM_SENDS ? &wsm_transfers : &wsm_receives, 1,
            __ATOMIC_RELAXED);
        *what = *r;
    }
    pthread_mutex_unlock(&wsm_mu);
    return r != 0;
}
