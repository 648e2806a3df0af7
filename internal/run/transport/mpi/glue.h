#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

// What the Go side needs from MPI. Each call does much, because going from Go to C and back costs as much as
// a small MPI call.

int ws_init(int *provided); // MPI_Init_thread
void ws_finalize(void);
MPI_Comm ws_world(void);
MPI_Comm ws_dup(void); // another communicator of all ranks
// The ranks on this host. words[r] of the caller gets the address of rank r's word in shared memory, or stays
// NULL if r is on another host. Returns MPI's result.
int ws_host(int *rank, int *size, uint32_t **words);

// Words: 0 while the pump of a rank is awake, 1 while it sleeps and wants to be woken, 2 while it sleeps and
// a worker receives.
void ws_sleep(uint32_t *word, int64_t ns); // until woken, ns at most; returns at once if the word is 0
void ws_wake(uint32_t *word);

// ws_net holds the ring of receive buffers for batches, which are small, and the requests of everything else.
typedef struct {
	MPI_Comm comm;
	int slots, bytes; // of the ring: how many, and the size of each
	int oldest;       // the slot that is filled next
	int taken;        // the slot whose batch Go is reading until its next call, or -1
	char *ring;
	MPI_Request *recv;
	MPI_Request *ops; // Go assigns the places; free ones are MPI_REQUEST_NULL
	int *done;
	int room, used;
	// Results of ws_poll:
	int from, length; // sender and bytes of the batch, if any
	char *batch;
	int completed; // number of places in done
} ws_net;

ws_net *ws_net_new(int slots, int bytes);
void ws_net_grow(ws_net *n, int room);
void ws_net_free(ws_net *n);

int ws_poll(ws_net *n, int turns);
int ws_isend(ws_net *n, int op, void *p, int64_t size, int to, int tag, uint32_t *word);
int ws_irecv(ws_net *n, int op, void *p, int64_t size, int from, int tag);

// For groups:
MPI_Request ws_sizes(MPI_Comm c, int64_t *out, int64_t *in);
MPI_Request ws_group_send(MPI_Comm c, void *p, int64_t size, int to);
MPI_Request ws_group_recv(MPI_Comm c, void *p, int64_t size, int from);
void ws_pause(int64_t ns); // 0: let others run
int ws_group_done(int count, MPI_Request *r);
