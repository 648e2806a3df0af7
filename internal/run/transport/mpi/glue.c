//go:build mpi

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "glue.h"

#include <signal.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { TAG_BATCH = 1, SIGNALS = 65 };

// Libraries below MPI install handlers for crashes. The Go runtime and the shim of user code keep their own.
static void save_signals(struct sigaction *a) {
	for (int s = 1; s < SIGNALS; s++)
		if (sigaction(s, NULL, &a[s]) != 0) a[s].sa_handler = SIG_ERR;
}

static void restore_signals(const struct sigaction *a) {
	for (int s = 1; s < SIGNALS; s++) {
		struct sigaction now;
		if (a[s].sa_handler == SIG_ERR || sigaction(s, NULL, &now) != 0) continue;
		if (now.sa_sigaction != a[s].sa_sigaction || now.sa_flags != a[s].sa_flags) sigaction(s, &a[s], NULL);
	}
}

static MPI_Comm host_comm = MPI_COMM_NULL;
static MPI_Win host_win = MPI_WIN_NULL;

int ws_init(int *provided) {
	struct sigaction a[SIGNALS];
	save_signals(a);
	int err = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, provided);
	restore_signals(a);
	return err;
}

void ws_finalize(void) {
	struct sigaction a[SIGNALS];
	save_signals(a);
	if (host_win != MPI_WIN_NULL) MPI_Win_free(&host_win);
	if (host_comm != MPI_COMM_NULL) MPI_Comm_free(&host_comm);
	MPI_Finalize();
	restore_signals(a);
}

MPI_Comm ws_world(void) { return MPI_COMM_WORLD; }

MPI_Comm ws_dup(void) {
	MPI_Comm c;
	MPI_Comm_dup(MPI_COMM_WORLD, &c);
	return c;
}

// Each word has two cache lines of its own, because processors fetch them in pairs.
enum { WORD_BYTES = 128 };

int ws_host(int *rank, int *size, uint32_t **words) {
	int me;
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &host_comm);
	MPI_Comm_rank(host_comm, rank);
	MPI_Comm_size(host_comm, size);
	int *ranks = malloc(*size * sizeof *ranks);
	MPI_Allgather(&me, 1, MPI_INT, ranks, 1, MPI_INT, host_comm);
	MPI_Comm_set_errhandler(host_comm, MPI_ERRORS_RETURN);
	uint32_t *own;
	int err = MPI_Win_allocate_shared(WORD_BYTES, 1, MPI_INFO_NULL, host_comm, &own, &host_win);
	MPI_Comm_set_errhandler(host_comm, MPI_ERRORS_ARE_FATAL);
	if (err == MPI_SUCCESS) {
		memset(own, 0, WORD_BYTES);
		for (int i = 0; i < *size; i++) {
			MPI_Aint bytes;
			int unit;
			MPI_Win_shared_query(host_win, i, &bytes, &unit, &words[ranks[i]]);
		}
		MPI_Barrier(host_comm);
	}
	free(ranks);
	return err;
}

void ws_sleep(uint32_t *word, int64_t ns) {
	struct timespec t = {ns / 1000000000, ns % 1000000000};
#ifdef __linux__
	uint32_t now = __atomic_load_n(word, __ATOMIC_SEQ_CST);
	if (now != 0)
		syscall(SYS_futex, word, FUTEX_WAIT, now, &t, NULL, 0); // not private: other processes wake it
#else
	if (t.tv_sec > 0 || t.tv_nsec > 100000) t = (struct timespec){0, 100000}; // nobody wakes it
	nanosleep(&t, NULL);
#endif
}

void ws_pause(int64_t ns) {
	if (ns == 0) {
		sched_yield();
		return;
	}
	struct timespec t = {ns / 1000000000, ns % 1000000000};
	nanosleep(&t, NULL);
}

void ws_wake(uint32_t *word) {
	// A rank that is about to sleep must see what was sent, or we must see its word here.
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	uint32_t one = 1;
	if (__atomic_load_n(word, __ATOMIC_RELAXED) != 1 ||
		!__atomic_compare_exchange_n(word, &one, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return;
#ifdef __linux__
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
#endif
}

ws_net *ws_net_new(int slots, int bytes) {
	ws_net *n = calloc(1, sizeof *n);
	n->comm = ws_dup();
	n->slots = slots;
	n->bytes = bytes;
	n->ring = malloc((size_t)slots * bytes);
	n->recv = malloc(slots * sizeof *n->recv);
	n->taken = -1;
	for (int i = 0; i < slots; i++) {
		MPI_Recv_init(n->ring + (size_t)i * bytes, bytes, MPI_BYTE, MPI_ANY_SOURCE, TAG_BATCH, n->comm,
			&n->recv[i]);
		MPI_Start(&n->recv[i]);
	}
	return n;
}

void ws_net_grow(ws_net *n, int room) {
	n->ops = realloc(n->ops, room * sizeof *n->ops);
	n->done = realloc(n->done, room * sizeof *n->done);
	for (int i = n->room; i < room; i++) n->ops[i] = MPI_REQUEST_NULL;
	n->room = room;
}

void ws_net_free(ws_net *n) {
	for (int i = 0; i < n->slots; i++) {
		if (i != n->taken) {
			MPI_Cancel(&n->recv[i]);
			MPI_Wait(&n->recv[i], MPI_STATUS_IGNORE);
		}
		MPI_Request_free(&n->recv[i]);
	}
	MPI_Comm_free(&n->comm);
	free(n->ring);
	free(n->recv);
	free(n->ops);
	free(n->done);
	free(n);
}

// ws_poll looks for a batch and for completed operations, at most `turns` times, and tells whether it found
// any.
int ws_poll(ws_net *n, int turns) {
	if (n->taken >= 0) {
		MPI_Start(&n->recv[n->taken]);
		n->taken = -1;
	}
	n->length = -1;
	n->completed = 0;
	do {
		int flag;
		MPI_Status s;
		MPI_Test(&n->recv[n->oldest], &flag, &s);
		if (flag) {
			MPI_Get_count(&s, MPI_BYTE, &n->length);
			n->from = s.MPI_SOURCE;
			n->batch = n->ring + (size_t)n->oldest * n->bytes;
			n->taken = n->oldest;
			n->oldest = (n->oldest + 1) % n->slots;
		}
		if (n->used > 0) {
			MPI_Testsome(n->used, n->ops, &n->completed, n->done, MPI_STATUSES_IGNORE);
			if (n->completed == MPI_UNDEFINED) n->completed = 0;
		}
		if (flag || n->completed > 0) return 1;
	} while (--turns > 0);
	return 0;
}

// ws_isend and ws_irecv tell whether the operation is already complete; if not, the place op is taken.
int ws_isend(ws_net *n, int op, void *p, int64_t size, int to, int tag, uint32_t *word) {
	int flag;
	MPI_Isend(p, (int)size, MPI_BYTE, to, tag, n->comm, &n->ops[op]);
	MPI_Test(&n->ops[op], &flag, MPI_STATUS_IGNORE);
	if (word != NULL) ws_wake(word);
	return flag;
}

int ws_irecv(ws_net *n, int op, void *p, int64_t size, int from, int tag) {
	int flag;
	MPI_Irecv(p, (int)size, MPI_BYTE, from, tag, n->comm, &n->ops[op]);
	MPI_Test(&n->ops[op], &flag, MPI_STATUS_IGNORE);
	return flag;
}

MPI_Request ws_sizes(MPI_Comm c, int64_t *out, int64_t *in) {
	MPI_Request r;
	MPI_Ialltoall(out, 1, MPI_INT64_T, in, 1, MPI_INT64_T, c, &r);
	return r;
}

MPI_Request ws_group_send(MPI_Comm c, void *p, int64_t size, int to) {
	MPI_Request r;
	MPI_Isend(p, (int)size, MPI_BYTE, to, 0, c, &r);
	return r;
}

MPI_Request ws_group_recv(MPI_Comm c, void *p, int64_t size, int from) {
	MPI_Request r;
	MPI_Irecv(p, (int)size, MPI_BYTE, from, 0, c, &r);
	return r;
}

int ws_group_done(int count, MPI_Request *r) {
	int flag;
	MPI_Testall(count, r, &flag, MPI_STATUSES_IGNORE);
	return flag;
}
