/* comms.h knows the processes of communicators and windows. Part of mpi.c.
 *
 * What is known is kept as an attribute of the communicator, so MPI tells when it is no longer needed.
 * Requests may outlive their communicator, so it is counted. A communicator's number is agreed on when it is
 * made, by a broadcast from its first rank; those made in ways that are not wrapped have a hash of their
 * members. */

/* Ranks that a process has opened its window to, or whose windows it accesses. */
typedef struct wsm_epoch {
    int n;
    int *world;   /* ranks in MPI_COMM_WORLD */
    int64_t time; /* of the call that began it */
} wsm_epoch;

typedef struct wsm_comm {
    int refs;        /* atomic */
    int size;        /* of the group that peers are in */
    int inter;       /* peers are in another group than this process */
    uint64_t id;     /* the same at all members; 0 is MPI_COMM_WORLD */
    int start;       /* the members are start, start + stride, ... */
    uint64_t stride; /* 0: they are not: they are a group */
    uint64_t group;  /* its number in this process */
    void *told;      /* atomic; the thread that has last recorded the members of the group */
    uint64_t first, last; /* of a window: transfers that may not be complete; first 0: none */
    wsm_epoch exposed, accessed; /* of a window: from MPI_Win_post and MPI_Win_start on */
    int *locked;     /* of a window: by rank, the kind of lock that this process has; null: none ever */
    int *near;       /* neighbours: ins of them give data to this process and, after one more place, outs */
    int ins, outs;   /* of them get data from it; null: not looked for yet */
    int *world;      /* by rank: the rank in MPI_COMM_WORLD, -1 if it is not there */
} wsm_comm;

/* Signals are recorded as messages without bytes that have these tags. Those of programs are not negative.
 * WSM_POST goes from MPI_Win_post to MPI_Win_start, WSM_COMPLETE from MPI_Win_complete to MPI_Win_wait.
 * WSM_BEGUN goes from the start of a non-blocking collective to its end: the rank itself receives it.
 * WSM_NEAR goes from the start of a neighbourhood collective to its end at a neighbour. */
enum { WSM_POST = -1, WSM_COMPLETE = -2, WSM_BEGUN = -3, WSM_NEAR = -4 };

static wsm_comm wsm_world;
static MPI_Group wsm_everybody = MPI_GROUP_NULL;
static int wsm_comm_key = MPI_KEYVAL_INVALID, wsm_win_key = MPI_KEYVAL_INVALID;
static uint64_t wsm_groups, wsm_made; /* atomic; the last numbers given */

static void wsm_release(wsm_comm *m) {
    if (!m || m == &wsm_world || __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL)) return;
    free(m->exposed.world);
    free(m->accessed.world);
    free(m->locked);
    free(m->near);
    free(m->world);
    free(m);
}

static wsm_comm *wsm_keep(wsm_comm *m) {
    if (m && m != &wsm_world) __atomic_add_fetch(&m->refs, 1, __ATOMIC_RELAXED);
    return m;
}

static int wsm_comm_freed(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)extra;
    wsm_release((wsm_comm *)value);
    return MPI_SUCCESS;
}

static int wsm_win_freed(MPI_Win win, int key, void *value, void *extra) {
    (void)win, (void)key, (void)extra;
    wsm_release((wsm_comm *)value);
    return MPI_SUCCESS;
}

/* wsm_members stores who the members of a group are. */
static int wsm_members(wsm_comm *m, MPI_Group group) {
    PMPI_Group_size(group, &m->size);
    size_t n = (size_t)(m->size > 0 ? m->size : 1);
    int *ranks = (int *)malloc(n * sizeof *ranks);
    m->world = (int *)malloc(n * sizeof *m->world);
    if (!ranks || !m->world) {
        free(ranks);
        return 0;
    }
    for (int i = 0; i < m->size; i++) ranks[i] = i;
    PMPI_Group_translate_ranks(group, m->size, ranks, wsm_everybody, m->world);
    free(ranks);
    for (int i = 0; i < m->size; i++)
        if (m->world[i] < 0 || m->world[i] >= wss_pes) m->world[i] = -1; /* MPI_UNDEFINED */
    m->start = m->size ? m->world[0] : 0;
    int stride = m->size > 1 ? m->world[1] - m->world[0] : 1;
    for (int i = 1; i < m->size; i++)
        if (stride < 1 || m->world[i] - m->world[i - 1] != stride) stride = 0;
    m->stride = stride > 0 ? (uint64_t)stride : 0;
    if (!m->stride) m->group = __atomic_add_fetch(&wsm_groups, 1, __ATOMIC_RELAXED);
    m->id = (uint64_t)wsi_hash((const char *)m->world, (size_t)m->size * sizeof *m->world) << 1 | 1;
    return 1;
}

static wsm_comm *wsm_new(MPI_Group group, int inter) {
    wsm_comm *m = (wsm_comm *)calloc(1, sizeof *m);
    if (!m) return 0;
    m->refs = 1, m->inter = inter;
    if (wsm_members(m, group)) return m;
    free(m->world);
    free(m);
    return 0;
}

/* wsm_start_comms begins, when MPI has. */
static void wsm_start_comms(void) {
    PMPI_Comm_group(MPI_COMM_WORLD, &wsm_everybody);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, wsm_comm_freed, &wsm_comm_key, 0);
    PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, wsm_win_freed, &wsm_win_key, 0);
    if (!wsm_members(&wsm_world, wsm_everybody)) wsm_world.size = 0; /* nothing is known of anybody */
    wsm_world.id = 0;
}

/* wsm_of returns what is known of a communicator, null for none. */
static wsm_comm *wsm_of(MPI_Comm comm) {
    if (comm == MPI_COMM_WORLD) return &wsm_world;
    if (comm == MPI_COMM_NULL || wsm_comm_key == MPI_KEYVAL_INVALID) return 0;
    void *value = 0;
    int there = 0, inter = 0;
    if (PMPI_Comm_get_attr(comm, wsm_comm_key, &value, &there) == MPI_SUCCESS && there)
        return (wsm_comm *)value;
    MPI_Group group;
    PMPI_Comm_test_inter(comm, &inter);
    if ((inter ? PMPI_Comm_remote_group(comm, &group) : PMPI_Comm_group(comm,
        &group)) != MPI_SUCCESS) return 0;
    wsm_comm *m = wsm_new(group, inter);
    PMPI_Group_free(&group);
    if (m) PMPI_Comm_set_attr(comm, wsm_comm_key, m);
    return m;
}

/* wsm_agree_on gives a new communicator or window of these ranks a number. All members of comm call it. */
static void wsm_agree_on(wsm_comm *m, MPI_Comm comm) {
    uint64_t id = 0;
    int rank = 0;
    if (comm == MPI_COMM_NULL || !m || m->inter) return;
    PMPI_Comm_rank(comm, &rank);
    if (!rank) id = (uint64_t)(wss_me + 1) << 32 | __atomic_add_fetch(&wsm_made, 1, __ATOMIC_RELAXED) << 1;
    PMPI_Bcast(&id, 1, MPI_UINT64_T, 0, comm);
    m->id = id;
}

static void wsm_agree(MPI_Comm comm) { wsm_agree_on(wsm_of(comm), comm); }

static wsm_comm *wsm_of_win(MPI_Win win) {
    void *value = 0;
    int there = 0;
    if (win == MPI_WIN_NULL || wsm_win_key == MPI_KEYVAL_INVALID) return 0;
    if (PMPI_Win_get_attr(win, wsm_win_key, &value, &there) == MPI_SUCCESS && there) return (wsm_comm *)value;
    MPI_Group group;
    if (PMPI_Win_get_group(win, &group) != MPI_SUCCESS) return 0;
    wsm_comm *m = wsm_new(group, 0);
    PMPI_Group_free(&group);
    if (m) PMPI_Win_set_attr(win, wsm_win_key, m);
    return m;
}

/* wsm_peer is the process that has a rank in a communicator; -1: none, as for MPI_PROC_NULL. */
static int wsm_peer(const wsm_comm *m, int rank) {
    return m && rank >= 0 && rank < m->size ? m->world[rank] : -1;
}

/* wsm_bytes is the size of so many elements. */
static int64_t wsm_bytes(int64_t count, MPI_Datatype type) {
    int size = 0;
    if (type == MPI_DATATYPE_NULL || count <= 0) return 0;
    PMPI_Type_size(type, &size);
    return size > 0 ? count * size : 0;
}
