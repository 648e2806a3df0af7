/* Functions that wait for a value, a lock or a transfer; contexts.
 *
 * Made by sdk/pgas/gen from its table; the macros are in shmem_wrap.h.
 * To make it anew: go generate ./sdk/pgas/... */

WSS_AWAIT(shmem_short_wait, (volatile short *address, short value), (address, value))
WSS_AWAIT(shmem_int_wait, (volatile int *address, int value), (address, value))
WSS_AWAIT(shmem_long_wait, (volatile long *address, long value), (address, value))
WSS_AWAIT(shmem_longlong_wait, (volatile long long *address, long long value), (address, value))
WSS_AWAIT(shmem_wait, (volatile long *address, long value), (address, value))
WSS_AWAIT(shmem_short_wait_until, (volatile short *address, int comparison, short value),
    (address, comparison, value))
WSS_AWAIT(shmem_int_wait_until, (volatile int *address, int comparison, int value),
    (address, comparison, value))
WSS_AWAIT(shmem_long_wait_until, (volatile long *address, int comparison, long value),
    (address, comparison, value))
WSS_AWAIT(shmem_longlong_wait_until, (volatile long long *address, int comparison, long long value),
    (address, comparison, value))
WSS_AWAIT(shmem_ushort_wait_until, (volatile unsigned short *address, int comparison, unsigned short value),
    (address, comparison, value))
WSS_AWAIT(shmem_uint_wait_until, (volatile unsigned int *address, int comparison, unsigned int value),
    (address, comparison, value))
WSS_AWAIT(shmem_ulong_wait_until, (volatile unsigned long *address, int comparison, unsigned long value),
    (address, comparison, value))
WSS_AWAIT(shmem_ulonglong_wait_until, (volatile unsigned long long *address, int comparison,
    unsigned long long value), (address, comparison, value))
WSS_AWAIT(shmem_int32_wait_until, (volatile int32_t *address, int comparison, int32_t value),
    (address, comparison, value))
WSS_AWAIT(shmem_int64_wait_until, (volatile int64_t *address, int comparison, int64_t value),
    (address, comparison, value))
WSS_AWAIT(shmem_uint32_wait_until, (volatile uint32_t *address, int comparison, uint32_t value),
    (address, comparison, value))
WSS_AWAIT(shmem_uint64_wait_until, (volatile uint64_t *address, int comparison, uint64_t value),
    (address, comparison, value))
WSS_AWAIT(shmem_size_wait_until, (volatile size_t *address, int comparison, size_t value),
    (address, comparison, value))
WSS_AWAIT(shmem_ptrdiff_wait_until, (volatile ptrdiff_t *address, int comparison, ptrdiff_t value),
    (address, comparison, value))
WSS_AWAIT(shmemx_int32_wait, (int32_t *address, int32_t value), (address, value))
WSS_AWAIT(shmemx_int32_wait_until, (int32_t *address, int comparison, int32_t value),
    (address, comparison, value))
WSS_AWAIT(shmemx_int64_wait, (int64_t *address, int64_t value), (address, value))
WSS_AWAIT(shmemx_int64_wait_until, (int64_t *address, int comparison, int64_t value),
    (address, comparison, value))
WSS_TEST(int, shmem_short_test, (volatile short *address, int comparison, short value),
    (address, comparison, value))
WSS_TEST(int, shmem_int_test, (volatile int *address, int comparison, int value),
    (address, comparison, value))
WSS_TEST(int, shmem_long_test, (volatile long *address, int comparison, long value),
    (address, comparison, value))
WSS_TEST(int, shmem_longlong_test, (volatile long long *address, int comparison, long long value),
    (address, comparison, value))
WSS_TEST(int, shmem_ushort_test, (volatile unsigned short *address, int comparison, unsigned short value),
    (address, comparison, value))
WSS_TEST(int, shmem_uint_test, (volatile unsigned int *address, int comparison, unsigned int value),
    (address, comparison, value))
WSS_TEST(int, shmem_ulong_test, (volatile unsigned long *address, int comparison, unsigned long value),
    (address, comparison, value))
WSS_TEST(int, shmem_ulonglong_test, (volatile unsigned long long *address, int comparison,
    unsigned long long value), (address, comparison, value))
WSS_TEST(int, shmem_int32_test, (volatile int32_t *address, int comparison, int32_t value),
    (address, comparison, value))
WSS_TEST(int, shmem_int64_test, (volatile int64_t *address, int comparison, int64_t value),
    (address, comparison, value))
WSS_TEST(int, shmem_uint32_test, (volatile uint32_t *address, int comparison, uint32_t value),
    (address, comparison, value))
WSS_TEST(int, shmem_uint64_test, (volatile uint64_t *address, int comparison, uint64_t value),
    (address, comparison, value))
WSS_TEST(int, shmem_size_test, (volatile size_t *address, int comparison, size_t value),
    (address, comparison, value))
WSS_TEST(int, shmem_ptrdiff_test, (volatile ptrdiff_t *address, int comparison, ptrdiff_t value),
    (address, comparison, value))
WSS_SET_LOCK(shmem_set_lock, (volatile long *lock), (lock))
WSS_CLEAR_LOCK(shmem_clear_lock, (volatile long *lock), (lock))
WSS_TEST_LOCK(int, shmem_test_lock, (volatile long *lock), (lock))
WSS_QUIET(shmem_quiet, (void), (), 0)
WSS_QUIET(shmem_ctx_quiet, (wss_ctx ctx), (ctx), ctx)
WSS_FENCE(shmem_fence, (void), ())
WSS_FENCE(shmem_ctx_fence, (wss_ctx ctx), (ctx))
WSS_CTX_CREATE(int, shmem_ctx_create, (long options, wss_ctx *ctx), (options, ctx))
WSS_CTX_DESTROY(shmem_ctx_destroy, (wss_ctx ctx), (ctx))
