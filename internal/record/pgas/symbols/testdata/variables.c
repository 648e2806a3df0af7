#ifdef __cplusplus
extern "C"
#endif
void where_is(const char *what, const volatile void *data);

typedef struct entry {
    long count;
    union {
        long lock;
        char pad[64];
    };
} entry;

static volatile long queue_lock;
long locks[8];
struct state {
    const char *name;
    long grid[3][5];
    entry entries[4];
} state;
static entry table[16];
extern long declared;
long declared = 1;

#ifdef __cplusplus
namespace work {
long lock;
struct pool {
    static long locks[2];
    long in;
};
long pool::locks[2];
static pool pools[3];
}
#endif

static long *of_function(void) {
    static long own_lock;
    return &own_lock;
}

#ifdef SHARED_PART
int part_main(void);
int part_main(void) {
#else
int main(void) {
#endif
    where_is("queue_lock:14", &queue_lock);
    where_is("locks[0]:15", &locks[0]);
    where_is("locks[3]:15", &locks[3]);
    where_is("state.grid[2][3]:20", &state.grid[2][3]);
    where_is("state.entries[1].count:20", &state.entries[1]);
    where_is("state.entries[3].lock:20", &state.entries[3].lock);
    where_is("table[2].pad[16]:21", &table[2].pad[16]);
    where_is("declared:23", &declared);
    where_is("own_lock:38", of_function());
#ifdef __cplusplus
    where_is("work::lock:27", &work::lock);
    where_is("work::pool::locks[1]:32", &work::pool::locks[1]);
    where_is("work::pools[2].in:33", &work::pools[2]);
#endif
    return 0;
}
