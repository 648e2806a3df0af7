/* Functions that change a value in a PE's memory at once.
 *
 * Made by sdk/pgas/gen from its table; the macros are in shmem_wrap.h.
 * To make it anew: go generate ./sdk/pgas/... */

WSS_ATOMIC(shmem_int_atomic_inc, (int *target, int pe), (target, pe), sizeof(int))
WSS_ATOMIC(shmem_ctx_int_atomic_inc, (wss_ctx ctx, int *target, int pe), (ctx, target, pe), sizeof(int))
WSS_ATOMIC(shmem_int_atomic_add, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_ATOMIC(shmem_ctx_int_atomic_add, (wss_ctx ctx, int *target, int value, int pe), (ctx, target, value, pe),
    sizeof(int))
WSS_FETCH(int, shmem_int_atomic_fetch_inc, (int *target, int pe), (target, pe), sizeof(int))
WSS_FETCH(int, shmem_ctx_int_atomic_fetch_inc, (wss_ctx ctx, int *target, int pe), (ctx, target, pe),
    sizeof(int))
WSS_FETCH(int, shmem_int_atomic_fetch_add, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_FETCH(int, shmem_ctx_int_atomic_fetch_add, (wss_ctx ctx, int *target, int value, int pe),
    (ctx, target, value, pe), sizeof(int))
WSS_FETCH(int, shmem_int_atomic_compare_swap, (int *target, int condition, int value, int pe),
    (target, condition, value, pe), sizeof(int))
WSS_FETCH(int, shmem_ctx_int_atomic_compare_swap, (wss_ctx ctx, int *target, int condition, int value,
    int pe), (ctx, target, condition, value, pe), sizeof(int))
WSS_ATOMIC(shmem_long_atomic_inc, (long *target, int pe), (target, pe), sizeof(long))
WSS_ATOMIC(shmem_ctx_long_atomic_inc, (wss_ctx ctx, long *target, int pe), (ctx, target, pe), sizeof(long))
WSS_ATOMIC(shmem_long_atomic_add, (long *target, long value, int pe), (target, value, pe), sizeof(long))
WSS_ATOMIC(shmem_ctx_long_atomic_add, (wss_ctx ctx, long *target, long value, int pe),
    (ctx, target, value, pe), sizeof(long))
WSS_FETCH(long, shmem_long_atomic_fetch_inc, (long *target, int pe), (target, pe), sizeof(long))
WSS_FETCH(long, shmem_ctx_long_atomic_fetch_inc, (wss_ctx ctx, long *target, int pe), (ctx, target, pe),
    sizeof(long))
WSS_FETCH(long, shmem_long_atomic_fetch_add, (long *target, long value, int pe), (target, value, pe),
    sizeof(long))
WSS_FETCH(long, shmem_ctx_long_atomic_fetch_add, (wss_ctx ctx, long *target, long value, int pe),
    (ctx, target, value, pe), sizeof(long))
WSS_FETCH(long, shmem_long_atomic_compare_swap, (long *target, long condition, long value, int pe),
    (target, condition, value, pe), sizeof(long))
WSS_FETCH(long, shmem_ctx_long_atomic_compare_swap, (wss_ctx ctx, long *target, long condition, long value,
    int pe), (ctx, target, condition, value, pe), sizeof(long))
WSS_ATOMIC(shmem_longlong_atomic_inc, (long long *target, int pe), (target, pe), sizeof(long long))
WSS_ATOMIC(shmem_ctx_longlong_atomic_inc, (wss_ctx ctx, long long *target, int pe), (ctx, target, pe),
    sizeof(long long))
WSS_ATOMIC(shmem_longlong_atomic_add, (long long *target, long long value, int pe), (target, value, pe),
    sizeof(long long))
WSS_ATOMIC(shmem_ctx_longlong_atomic_add, (wss_ctx ctx, long long *target, long long value, int pe),
    (ctx, target, value, pe), sizeof(long long))
WSS_FETCH(long long, shmem_longlong_atomic_fetch_inc, (long long *target, int pe), (target, pe),
    sizeof(long long))
WSS_FETCH(long long, shmem_ctx_longlong_atomic_fetch_inc, (wss_ctx ctx, long long *target, int pe),
    (ctx, target, pe), sizeof(long long))
WSS_FETCH(long long, shmem_longlong_atomic_fetch_add, (long long *target, long long value, int pe),
    (target, value, pe), sizeof(long long))
WSS_FETCH(long long, shmem_ctx_longlong_atomic_fetch_add, (wss_ctx ctx, long long *target, long long value,
    int pe), (ctx, target, value, pe), sizeof(long long))
WSS_FETCH(long long, shmem_longlong_atomic_compare_swap, (long long *target, long long condition,
    long long value, int pe), (target, condition, value, pe), sizeof(long long))
WSS_FETCH(long long, shmem_ctx_longlong_atomic_compare_swap, (wss_ctx ctx, long long *target,
    long long condition, long long value, int pe), (ctx, target, condition, value, pe), sizeof(long long))
WSS_ATOMIC(shmem_uint_atomic_inc, (unsigned int *target, int pe), (target, pe), sizeof(unsigned int))
WSS_ATOMIC(shmem_ctx_uint_atomic_inc, (wss_ctx ctx, unsigned int *target, int pe), (ctx, target, pe),
    sizeof(unsigned int))
WSS_ATOMIC(shmem_uint_atomic_add, (unsigned int *target, unsigned int value, int pe), (target, value, pe),
    sizeof(unsigned int))
WSS_ATOMIC(shmem_ctx_uint_atomic_add, (wss_ctx ctx, unsigned int *target, unsigned int value, int pe),
    (ctx, target, value, pe), sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_uint_atomic_fetch_inc, (unsigned int *target, int pe), (target, pe),
    sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_ctx_uint_atomic_fetch_inc, (wss_ctx ctx, unsigned int *target, int pe),
    (ctx, target, pe), sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_uint_atomic_fetch_add, (unsigned int *target, unsigned int value, int pe),
    (target, value, pe), sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_ctx_uint_atomic_fetch_add, (wss_ctx ctx, unsigned int *target,
    unsigned int value, int pe), (ctx, target, value, pe), sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_uint_atomic_compare_swap, (unsigned int *target, unsigned int condition,
    unsigned int value, int pe), (target, condition, value, pe), sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_ctx_uint_atomic_compare_swap, (wss_ctx ctx, unsigned int *target,
    unsigned int condition, unsigned int value, int pe), (ctx, target, condition, value, pe),
    sizeof(unsigned int))
WSS_ATOMIC(shmem_ulong_atomic_inc, (unsigned long *target, int pe), (target, pe), sizeof(unsigned long))
WSS_ATOMIC(shmem_ctx_ulong_atomic_inc, (wss_ctx ctx, unsigned long *target, int pe), (ctx, target, pe),
    sizeof(unsigned long))
WSS_ATOMIC(shmem_ulong_atomic_add, (unsigned long *target, unsigned long value, int pe), (target, value, pe),
    sizeof(unsigned long))
WSS_ATOMIC(shmem_ctx_ulong_atomic_add, (wss_ctx ctx, unsigned long *target, unsigned long value, int pe),
    (ctx, target, value, pe), sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ulong_atomic_fetch_inc, (unsigned long *target, int pe), (target, pe),
    sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ctx_ulong_atomic_fetch_inc, (wss_ctx ctx, unsigned long *target, int pe),
    (ctx, target, pe), sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ulong_atomic_fetch_add, (unsigned long *target, unsigned long value, int pe),
    (target, value, pe), sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ctx_ulong_atomic_fetch_add, (wss_ctx ctx, unsigned long *target,
    unsigned long value, int pe), (ctx, target, value, pe), sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ulong_atomic_compare_swap, (unsigned long *target, unsigned long condition,
    unsigned long value, int pe), (target, condition, value, pe), sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ctx_ulong_atomic_compare_swap, (wss_ctx ctx, unsigned long *target,
    unsigned long condition, unsigned long value, int pe), (ctx, target, condition, value, pe),
    sizeof(unsigned long))
WSS_ATOMIC(shmem_ulonglong_atomic_inc, (unsigned long long *target, int pe), (target, pe),
    sizeof(unsigned long long))
WSS_ATOMIC(shmem_ctx_ulonglong_atomic_inc, (wss_ctx ctx, unsigned long long *target, int pe),
    (ctx, target, pe), sizeof(unsigned long long))
WSS_ATOMIC(shmem_ulonglong_atomic_add, (unsigned long long *target, unsigned long long value, int pe),
    (target, value, pe), sizeof(unsigned long long))
WSS_ATOMIC(shmem_ctx_ulonglong_atomic_add, (wss_ctx ctx, unsigned long long *target,
    unsigned long long value, int pe), (ctx, target, value, pe), sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ulonglong_atomic_fetch_inc, (unsigned long long *target, int pe),
    (target, pe), sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ctx_ulonglong_atomic_fetch_inc, (wss_ctx ctx, unsigned long long *target,
    int pe), (ctx, target, pe), sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ulonglong_atomic_fetch_add, (unsigned long long *target,
    unsigned long long value, int pe), (target, value, pe), sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ctx_ulonglong_atomic_fetch_add, (wss_ctx ctx, unsigned long long *target,
    unsigned long long value, int pe), (ctx, target, value, pe), sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ulonglong_atomic_compare_swap, (unsigned long long *target,
    unsigned long long condition, unsigned long long value, int pe), (target, condition, value, pe),
    sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ctx_ulonglong_atomic_compare_swap, (wss_ctx ctx,
    unsigned long long *target, unsigned long long condition, unsigned long long value, int pe),
    (ctx, target, condition, value, pe), sizeof(unsigned long long))
WSS_FETCH(int, shmem_int_atomic_fetch, (const int *target, int pe), (target, pe), sizeof(int))
WSS_FETCH(int, shmem_ctx_int_atomic_fetch, (wss_ctx ctx, const int *target, int pe), (ctx, target, pe),
    sizeof(int))
WSS_ATOMIC(shmem_int_atomic_set, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_ATOMIC(shmem_ctx_int_atomic_set, (wss_ctx ctx, int *target, int value, int pe), (ctx, target, value, pe),
    sizeof(int))
WSS_FETCH(int, shmem_int_atomic_swap, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_FETCH(int, shmem_ctx_int_atomic_swap, (wss_ctx ctx, int *target, int value, int pe),
    (ctx, target, value, pe), sizeof(int))
WSS_FETCH(long, shmem_long_atomic_fetch, (const long *target, int pe), (target, pe), sizeof(long))
WSS_FETCH(long, shmem_ctx_long_atomic_fetch, (wss_ctx ctx, const long *target, int pe), (ctx, target, pe),
    sizeof(long))
WSS_ATOMIC(shmem_long_atomic_set, (long *target, long value, int pe), (target, value, pe), sizeof(long))
WSS_ATOMIC(shmem_ctx_long_atomic_set, (wss_ctx ctx, long *target, long value, int pe),
    (ctx, target, value, pe), sizeof(long))
WSS_FETCH(long, shmem_long_atomic_swap, (long *target, long value, int pe), (target, value, pe), sizeof(long))
WSS_FETCH(long, shmem_ctx_long_atomic_swap, (wss_ctx ctx, long *target, long value, int pe),
    (ctx, target, value, pe), sizeof(long))
WSS_FETCH(long long, shmem_longlong_atomic_fetch, (const long long *target, int pe), (target, pe),
    sizeof(long long))
WSS_FETCH(long long, shmem_ctx_longlong_atomic_fetch, (wss_ctx ctx, const long long *target, int pe),
    (ctx, target, pe), sizeof(long long))
WSS_ATOMIC(shmem_longlong_atomic_set, (long long *target, long long value, int pe), (target, value, pe),
    sizeof(long long))
WSS_ATOMIC(shmem_ctx_longlong_atomic_set, (wss_ctx ctx, long long *target, long long value, int pe),
    (ctx, target, value, pe), sizeof(long long))
WSS_FETCH(long long, shmem_longlong_atomic_swap, (long long *target, long long value, int pe),
    (target, value, pe), sizeof(long long))
WSS_FETCH(long long, shmem_ctx_longlong_atomic_swap, (wss_ctx ctx, long long *target, long long value,
    int pe), (ctx, target, value, pe), sizeof(long long))
WSS_FETCH(unsigned int, shmem_uint_atomic_fetch, (const unsigned int *target, int pe), (target, pe),
    sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_ctx_uint_atomic_fetch, (wss_ctx ctx, const unsigned int *target, int pe),
    (ctx, target, pe), sizeof(unsigned int))
WSS_ATOMIC(shmem_uint_atomic_set, (unsigned int *target, unsigned int value, int pe), (target, value, pe),
    sizeof(unsigned int))
WSS_ATOMIC(shmem_ctx_uint_atomic_set, (wss_ctx ctx, unsigned int *target, unsigned int value, int pe),
    (ctx, target, value, pe), sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_uint_atomic_swap, (unsigned int *target, unsigned int value, int pe),
    (target, value, pe), sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_ctx_uint_atomic_swap, (wss_ctx ctx, unsigned int *target, unsigned int value,
    int pe), (ctx, target, value, pe), sizeof(unsigned int))
WSS_FETCH(unsigned long, shmem_ulong_atomic_fetch, (const unsigned long *target, int pe), (target, pe),
    sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ctx_ulong_atomic_fetch, (wss_ctx ctx, const unsigned long *target, int pe),
    (ctx, target, pe), sizeof(unsigned long))
WSS_ATOMIC(shmem_ulong_atomic_set, (unsigned long *target, unsigned long value, int pe), (target, value, pe),
    sizeof(unsigned long))
WSS_ATOMIC(shmem_ctx_ulong_atomic_set, (wss_ctx ctx, unsigned long *target, unsigned long value, int pe),
    (ctx, target, value, pe), sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ulong_atomic_swap, (unsigned long *target, unsigned long value, int pe),
    (target, value, pe), sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ctx_ulong_atomic_swap, (wss_ctx ctx, unsigned long *target,
    unsigned long value, int pe), (ctx, target, value, pe), sizeof(unsigned long))
WSS_FETCH(unsigned long long, shmem_ulonglong_atomic_fetch, (const unsigned long long *target, int pe),
    (target, pe), sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ctx_ulonglong_atomic_fetch, (wss_ctx ctx,
    const unsigned long long *target, int pe), (ctx, target, pe), sizeof(unsigned long long))
WSS_ATOMIC(shmem_ulonglong_atomic_set, (unsigned long long *target, unsigned long long value, int pe),
    (target, value, pe), sizeof(unsigned long long))
WSS_ATOMIC(shmem_ctx_ulonglong_atomic_set, (wss_ctx ctx, unsigned long long *target,
    unsigned long long value, int pe), (ctx, target, value, pe), sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ulonglong_atomic_swap, (unsigned long long *target,
    unsigned long long value, int pe), (target, value, pe), sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ctx_ulonglong_atomic_swap, (wss_ctx ctx, unsigned long long *target,
    unsigned long long value, int pe), (ctx, target, value, pe), sizeof(unsigned long long))
WSS_FETCH(float, shmem_float_atomic_fetch, (const float *target, int pe), (target, pe), sizeof(float))
WSS_FETCH(float, shmem_ctx_float_atomic_fetch, (wss_ctx ctx, const float *target, int pe), (ctx, target, pe),
    sizeof(float))
WSS_ATOMIC(shmem_float_atomic_set, (float *target, float value, int pe), (target, value, pe), sizeof(float))
WSS_ATOMIC(shmem_ctx_float_atomic_set, (wss_ctx ctx, float *target, float value, int pe),
    (ctx, target, value, pe), sizeof(float))
WSS_FETCH(float, shmem_float_atomic_swap, (float *target, float value, int pe), (target, value, pe),
    sizeof(float))
WSS_FETCH(float, shmem_ctx_float_atomic_swap, (wss_ctx ctx, float *target, float value, int pe),
    (ctx, target, value, pe), sizeof(float))
WSS_FETCH(double, shmem_double_atomic_fetch, (const double *target, int pe), (target, pe), sizeof(double))
WSS_FETCH(double, shmem_ctx_double_atomic_fetch, (wss_ctx ctx, const double *target, int pe),
    (ctx, target, pe), sizeof(double))
WSS_ATOMIC(shmem_double_atomic_set, (double *target, double value, int pe), (target, value, pe),
    sizeof(double))
WSS_ATOMIC(shmem_ctx_double_atomic_set, (wss_ctx ctx, double *target, double value, int pe),
    (ctx, target, value, pe), sizeof(double))
WSS_FETCH(double, shmem_double_atomic_swap, (double *target, double value, int pe), (target, value, pe),
    sizeof(double))
WSS_FETCH(double, shmem_ctx_double_atomic_swap, (wss_ctx ctx, double *target, double value, int pe),
    (ctx, target, value, pe), sizeof(double))
WSS_ATOMIC(shmem_int_atomic_and, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_ATOMIC(shmem_ctx_int_atomic_and, (wss_ctx ctx, int *target, int value, int pe), (ctx, target, value, pe),
    sizeof(int))
WSS_ATOMIC(shmem_int_atomic_or, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_ATOMIC(shmem_ctx_int_atomic_or, (wss_ctx ctx, int *target, int value, int pe), (ctx, target, value, pe),
    sizeof(int))
WSS_ATOMIC(shmem_int_atomic_xor, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_ATOMIC(shmem_ctx_int_atomic_xor, (wss_ctx ctx, int *target, int value, int pe), (ctx, target, value, pe),
    sizeof(int))
WSS_FETCH(int, shmem_int_atomic_fetch_and, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_FETCH(int, shmem_ctx_int_atomic_fetch_and, (wss_ctx ctx, int *target, int value, int pe),
    (ctx, target, value, pe), sizeof(int))
WSS_FETCH(int, shmem_int_atomic_fetch_or, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_FETCH(int, shmem_ctx_int_atomic_fetch_or, (wss_ctx ctx, int *target, int value, int pe),
    (ctx, target, value, pe), sizeof(int))
WSS_FETCH(int, shmem_int_atomic_fetch_xor, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_FETCH(int, shmem_ctx_int_atomic_fetch_xor, (wss_ctx ctx, int *target, int value, int pe),
    (ctx, target, value, pe), sizeof(int))
WSS_ATOMIC(shmem_long_atomic_and, (long *target, long value, int pe), (target, value, pe), sizeof(long))
WSS_ATOMIC(shmem_ctx_long_atomic_and, (wss_ctx ctx, long *target, long value, int pe),
    (ctx, target, value, pe), sizeof(long))
WSS_ATOMIC(shmem_long_atomic_or, (long *target, long value, int pe), (target, value, pe), sizeof(long))
WSS_ATOMIC(shmem_ctx_long_atomic_or, (wss_ctx ctx, long *target, long value, int pe),
    (ctx, target, value, pe), sizeof(long))
WSS_ATOMIC(shmem_long_atomic_xor, (long *target, long value, int pe), (target, value, pe), sizeof(long))
WSS_ATOMIC(shmem_ctx_long_atomic_xor, (wss_ctx ctx, long *target, long value, int pe),
    (ctx, target, value, pe), sizeof(long))
WSS_FETCH(long, shmem_long_atomic_fetch_and, (long *target, long value, int pe), (target, value, pe),
    sizeof(long))
WSS_FETCH(long, shmem_ctx_long_atomic_fetch_and, (wss_ctx ctx, long *target, long value, int pe),
    (ctx, target, value, pe), sizeof(long))
WSS_FETCH(long, shmem_long_atomic_fetch_or, (long *target, long value, int pe), (target, value, pe),
    sizeof(long))
WSS_FETCH(long, shmem_ctx_long_atomic_fetch_or, (wss_ctx ctx, long *target, long value, int pe),
    (ctx, target, value, pe), sizeof(long))
WSS_FETCH(long, shmem_long_atomic_fetch_xor, (long *target, long value, int pe), (target, value, pe),
    sizeof(long))
WSS_FETCH(long, shmem_ctx_long_atomic_fetch_xor, (wss_ctx ctx, long *target, long value, int pe),
    (ctx, target, value, pe), sizeof(long))
WSS_ATOMIC(shmem_longlong_atomic_and, (long long *target, long long value, int pe), (target, value, pe),
    sizeof(long long))
WSS_ATOMIC(shmem_ctx_longlong_atomic_and, (wss_ctx ctx, long long *target, long long value, int pe),
    (ctx, target, value, pe), sizeof(long long))
WSS_ATOMIC(shmem_longlong_atomic_or, (long long *target, long long value, int pe), (target, value, pe),
    sizeof(long long))
WSS_ATOMIC(shmem_ctx_longlong_atomic_or, (wss_ctx ctx, long long *target, long long value, int pe),
    (ctx, target, value, pe), sizeof(long long))
WSS_ATOMIC(shmem_longlong_atomic_xor, (long long *target, long long value, int pe), (target, value, pe),
    sizeof(long long))
WSS_ATOMIC(shmem_ctx_longlong_atomic_xor, (wss_ctx ctx, long long *target, long long value, int pe),
    (ctx, target, value, pe), sizeof(long long))
WSS_FETCH(long long, shmem_longlong_atomic_fetch_and, (long long *target, long long value, int pe),
    (target, value, pe), sizeof(long long))
WSS_FETCH(long long, shmem_ctx_longlong_atomic_fetch_and, (wss_ctx ctx, long long *target, long long value,
    int pe), (ctx, target, value, pe), sizeof(long long))
WSS_FETCH(long long, shmem_longlong_atomic_fetch_or, (long long *target, long long value, int pe),
    (target, value, pe), sizeof(long long))
WSS_FETCH(long long, shmem_ctx_longlong_atomic_fetch_or, (wss_ctx ctx, long long *target, long long value,
    int pe), (ctx, target, value, pe), sizeof(long long))
WSS_FETCH(long long, shmem_longlong_atomic_fetch_xor, (long long *target, long long value, int pe),
    (target, value, pe), sizeof(long long))
WSS_FETCH(long long, shmem_ctx_longlong_atomic_fetch_xor, (wss_ctx ctx, long long *target, long long value,
    int pe), (ctx, target, value, pe), sizeof(long long))
WSS_ATOMIC(shmem_uint_atomic_and, (unsigned int *target, unsigned int value, int pe), (target, value, pe),
    sizeof(unsigned int))
WSS_ATOMIC(shmem_ctx_uint_atomic_and, (wss_ctx ctx, unsigned int *target, unsigned int value, int pe),
    (ctx, target, value, pe), sizeof(unsigned int))
WSS_ATOMIC(shmem_uint_atomic_or, (unsigned int *target, unsigned int value, int pe), (target, value, pe),
    sizeof(unsigned int))
WSS_ATOMIC(shmem_ctx_uint_atomic_or, (wss_ctx ctx, unsigned int *target, unsigned int value, int pe),
    (ctx, target, value, pe), sizeof(unsigned int))
WSS_ATOMIC(shmem_uint_atomic_xor, (unsigned int *target, unsigned int value, int pe), (target, value, pe),
    sizeof(unsigned int))
WSS_ATOMIC(shmem_ctx_uint_atomic_xor, (wss_ctx ctx, unsigned int *target, unsigned int value, int pe),
    (ctx, target, value, pe), sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_uint_atomic_fetch_and, (unsigned int *target, unsigned int value, int pe),
    (target, value, pe), sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_ctx_uint_atomic_fetch_and, (wss_ctx ctx, unsigned int *target,
    unsigned int value, int pe), (ctx, target, value, pe), sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_uint_atomic_fetch_or, (unsigned int *target, unsigned int value, int pe),
    (target, value, pe), sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_ctx_uint_atomic_fetch_or, (wss_ctx ctx, unsigned int *target,
    unsigned int value, int pe), (ctx, target, value, pe), sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_uint_atomic_fetch_xor, (unsigned int *target, unsigned int value, int pe),
    (target, value, pe), sizeof(unsigned int))
WSS_FETCH(unsigned int, shmem_ctx_uint_atomic_fetch_xor, (wss_ctx ctx, unsigned int *target,
    unsigned int value, int pe), (ctx, target, value, pe), sizeof(unsigned int))
WSS_ATOMIC(shmem_ulong_atomic_and, (unsigned long *target, unsigned long value, int pe), (target, value, pe),
    sizeof(unsigned long))
WSS_ATOMIC(shmem_ctx_ulong_atomic_and, (wss_ctx ctx, unsigned long *target, unsigned long value, int pe),
    (ctx, target, value, pe), sizeof(unsigned long))
WSS_ATOMIC(shmem_ulong_atomic_or, (unsigned long *target, unsigned long value, int pe), (target, value, pe),
    sizeof(unsigned long))
WSS_ATOMIC(shmem_ctx_ulong_atomic_or, (wss_ctx ctx, unsigned long *target, unsigned long value, int pe),
    (ctx, target, value, pe), sizeof(unsigned long))
WSS_ATOMIC(shmem_ulong_atomic_xor, (unsigned long *target, unsigned long value, int pe), (target, value, pe),
    sizeof(unsigned long))
WSS_ATOMIC(shmem_ctx_ulong_atomic_xor, (wss_ctx ctx, unsigned long *target, unsigned long value, int pe),
    (ctx, target, value, pe), sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ulong_atomic_fetch_and, (unsigned long *target, unsigned long value, int pe),
    (target, value, pe), sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ctx_ulong_atomic_fetch_and, (wss_ctx ctx, unsigned long *target,
    unsigned long value, int pe), (ctx, target, value, pe), sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ulong_atomic_fetch_or, (unsigned long *target, unsigned long value, int pe),
    (target, value, pe), sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ctx_ulong_atomic_fetch_or, (wss_ctx ctx, unsigned long *target,
    unsigned long value, int pe), (ctx, target, value, pe), sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ulong_atomic_fetch_xor, (unsigned long *target, unsigned long value, int pe),
    (target, value, pe), sizeof(unsigned long))
WSS_FETCH(unsigned long, shmem_ctx_ulong_atomic_fetch_xor, (wss_ctx ctx, unsigned long *target,
    unsigned long value, int pe), (ctx, target, value, pe), sizeof(unsigned long))
WSS_ATOMIC(shmem_ulonglong_atomic_and, (unsigned long long *target, unsigned long long value, int pe),
    (target, value, pe), sizeof(unsigned long long))
WSS_ATOMIC(shmem_ctx_ulonglong_atomic_and, (wss_ctx ctx, unsigned long long *target,
    unsigned long long value, int pe), (ctx, target, value, pe), sizeof(unsigned long long))
WSS_ATOMIC(shmem_ulonglong_atomic_or, (unsigned long long *target, unsigned long long value, int pe),
    (target, value, pe), sizeof(unsigned long long))
WSS_ATOMIC(shmem_ctx_ulonglong_atomic_or, (wss_ctx ctx, unsigned long long *target, unsigned long long value,
    int pe), (ctx, target, value, pe), sizeof(unsigned long long))
WSS_ATOMIC(shmem_ulonglong_atomic_xor, (unsigned long long *target, unsigned long long value, int pe),
    (target, value, pe), sizeof(unsigned long long))
WSS_ATOMIC(shmem_ctx_ulonglong_atomic_xor, (wss_ctx ctx, unsigned long long *target,
    unsigned long long value, int pe), (ctx, target, value, pe), sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ulonglong_atomic_fetch_and, (unsigned long long *target,
    unsigned long long value, int pe), (target, value, pe), sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ctx_ulonglong_atomic_fetch_and, (wss_ctx ctx, unsigned long long *target,
    unsigned long long value, int pe), (ctx, target, value, pe), sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ulonglong_atomic_fetch_or, (unsigned long long *target,
    unsigned long long value, int pe), (target, value, pe), sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ctx_ulonglong_atomic_fetch_or, (wss_ctx ctx, unsigned long long *target,
    unsigned long long value, int pe), (ctx, target, value, pe), sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ulonglong_atomic_fetch_xor, (unsigned long long *target,
    unsigned long long value, int pe), (target, value, pe), sizeof(unsigned long long))
WSS_FETCH(unsigned long long, shmem_ctx_ulonglong_atomic_fetch_xor, (wss_ctx ctx, unsigned long long *target,
    unsigned long long value, int pe), (ctx, target, value, pe), sizeof(unsigned long long))
WSS_ATOMIC(shmem_int32_atomic_and, (int32_t *target, int32_t value, int pe), (target, value, pe),
    sizeof(int32_t))
WSS_ATOMIC(shmem_ctx_int32_atomic_and, (wss_ctx ctx, int32_t *target, int32_t value, int pe),
    (ctx, target, value, pe), sizeof(int32_t))
WSS_ATOMIC(shmem_int32_atomic_or, (int32_t *target, int32_t value, int pe), (target, value, pe),
    sizeof(int32_t))
WSS_ATOMIC(shmem_ctx_int32_atomic_or, (wss_ctx ctx, int32_t *target, int32_t value, int pe),
    (ctx, target, value, pe), sizeof(int32_t))
WSS_ATOMIC(shmem_int32_atomic_xor, (int32_t *target, int32_t value, int pe), (target, value, pe),
    sizeof(int32_t))
WSS_ATOMIC(shmem_ctx_int32_atomic_xor, (wss_ctx ctx, int32_t *target, int32_t value, int pe),
    (ctx, target, value, pe), sizeof(int32_t))
WSS_FETCH(int32_t, shmem_int32_atomic_fetch_and, (int32_t *target, int32_t value, int pe),
    (target, value, pe), sizeof(int32_t))
WSS_FETCH(int32_t, shmem_ctx_int32_atomic_fetch_and, (wss_ctx ctx, int32_t *target, int32_t value, int pe),
    (ctx, target, value, pe), sizeof(int32_t))
WSS_FETCH(int32_t, shmem_int32_atomic_fetch_or, (int32_t *target, int32_t value, int pe),
    (target, value, pe), sizeof(int32_t))
WSS_FETCH(int32_t, shmem_ctx_int32_atomic_fetch_or, (wss_ctx ctx, int32_t *target, int32_t value, int pe),
    (ctx, target, value, pe), sizeof(int32_t))
WSS_FETCH(int32_t, shmem_int32_atomic_fetch_xor, (int32_t *target, int32_t value, int pe),
    (target, value, pe), sizeof(int32_t))
WSS_FETCH(int32_t, shmem_ctx_int32_atomic_fetch_xor, (wss_ctx ctx, int32_t *target, int32_t value, int pe),
    (ctx, target, value, pe), sizeof(int32_t))
WSS_ATOMIC(shmem_int64_atomic_and, (int64_t *target, int64_t value, int pe), (target, value, pe),
    sizeof(int64_t))
WSS_ATOMIC(shmem_ctx_int64_atomic_and, (wss_ctx ctx, int64_t *target, int64_t value, int pe),
    (ctx, target, value, pe), sizeof(int64_t))
WSS_ATOMIC(shmem_int64_atomic_or, (int64_t *target, int64_t value, int pe), (target, value, pe),
    sizeof(int64_t))
WSS_ATOMIC(shmem_ctx_int64_atomic_or, (wss_ctx ctx, int64_t *target, int64_t value, int pe),
    (ctx, target, value, pe), sizeof(int64_t))
WSS_ATOMIC(shmem_int64_atomic_xor, (int64_t *target, int64_t value, int pe), (target, value, pe),
    sizeof(int64_t))
WSS_ATOMIC(shmem_ctx_int64_atomic_xor, (wss_ctx ctx, int64_t *target, int64_t value, int pe),
    (ctx, target, value, pe), sizeof(int64_t))
WSS_FETCH(int64_t, shmem_int64_atomic_fetch_and, (int64_t *target, int64_t value, int pe),
    (target, value, pe), sizeof(int64_t))
WSS_FETCH(int64_t, shmem_ctx_int64_atomic_fetch_and, (wss_ctx ctx, int64_t *target, int64_t value, int pe),
    (ctx, target, value, pe), sizeof(int64_t))
WSS_FETCH(int64_t, shmem_int64_atomic_fetch_or, (int64_t *target, int64_t value, int pe),
    (target, value, pe), sizeof(int64_t))
WSS_FETCH(int64_t, shmem_ctx_int64_atomic_fetch_or, (wss_ctx ctx, int64_t *target, int64_t value, int pe),
    (ctx, target, value, pe), sizeof(int64_t))
WSS_FETCH(int64_t, shmem_int64_atomic_fetch_xor, (int64_t *target, int64_t value, int pe),
    (target, value, pe), sizeof(int64_t))
WSS_FETCH(int64_t, shmem_ctx_int64_atomic_fetch_xor, (wss_ctx ctx, int64_t *target, int64_t value, int pe),
    (ctx, target, value, pe), sizeof(int64_t))
WSS_ATOMIC(shmem_uint32_atomic_and, (uint32_t *target, uint32_t value, int pe), (target, value, pe),
    sizeof(uint32_t))
WSS_ATOMIC(shmem_ctx_uint32_atomic_and, (wss_ctx ctx, uint32_t *target, uint32_t value, int pe),
    (ctx, target, value, pe), sizeof(uint32_t))
WSS_ATOMIC(shmem_uint32_atomic_or, (uint32_t *target, uint32_t value, int pe), (target, value, pe),
    sizeof(uint32_t))
WSS_ATOMIC(shmem_ctx_uint32_atomic_or, (wss_ctx ctx, uint32_t *target, uint32_t value, int pe),
    (ctx, target, value, pe), sizeof(uint32_t))
WSS_ATOMIC(shmem_uint32_atomic_xor, (uint32_t *target, uint32_t value, int pe), (target, value, pe),
    sizeof(uint32_t))
WSS_ATOMIC(shmem_ctx_uint32_atomic_xor, (wss_ctx ctx, uint32_t *target, uint32_t value, int pe),
    (ctx, target, value, pe), sizeof(uint32_t))
WSS_FETCH(uint32_t, shmem_uint32_atomic_fetch_and, (uint32_t *target, uint32_t value, int pe),
    (target, value, pe), sizeof(uint32_t))
WSS_FETCH(uint32_t, shmem_ctx_uint32_atomic_fetch_and, (wss_ctx ctx, uint32_t *target, uint32_t value,
    int pe), (ctx, target, value, pe), sizeof(uint32_t))
WSS_FETCH(uint32_t, shmem_uint32_atomic_fetch_or, (uint32_t *target, uint32_t value, int pe),
    (target, value, pe), sizeof(uint32_t))
WSS_FETCH(uint32_t, shmem_ctx_uint32_atomic_fetch_or, (wss_ctx ctx, uint32_t *target, uint32_t value,
    int pe), (ctx, target, value, pe), sizeof(uint32_t))
WSS_FETCH(uint32_t, shmem_uint32_atomic_fetch_xor, (uint32_t *target, uint32_t value, int pe),
    (target, value, pe), sizeof(uint32_t))
WSS_FETCH(uint32_t, shmem_ctx_uint32_atomic_fetch_xor, (wss_ctx ctx, uint32_t *target, uint32_t value,
    int pe), (ctx, target, value, pe), sizeof(uint32_t))
WSS_ATOMIC(shmem_uint64_atomic_and, (uint64_t *target, uint64_t value, int pe), (target, value, pe),
    sizeof(uint64_t))
WSS_ATOMIC(shmem_ctx_uint64_atomic_and, (wss_ctx ctx, uint64_t *target, uint64_t value, int pe),
    (ctx, target, value, pe), sizeof(uint64_t))
WSS_ATOMIC(shmem_uint64_atomic_or, (uint64_t *target, uint64_t value, int pe), (target, value, pe),
    sizeof(uint64_t))
WSS_ATOMIC(shmem_ctx_uint64_atomic_or, (wss_ctx ctx, uint64_t *target, uint64_t value, int pe),
    (ctx, target, value, pe), sizeof(uint64_t))
WSS_ATOMIC(shmem_uint64_atomic_xor, (uint64_t *target, uint64_t value, int pe), (target, value, pe),
    sizeof(uint64_t))
WSS_ATOMIC(shmem_ctx_uint64_atomic_xor, (wss_ctx ctx, uint64_t *target, uint64_t value, int pe),
    (ctx, target, value, pe), sizeof(uint64_t))
WSS_FETCH(uint64_t, shmem_uint64_atomic_fetch_and, (uint64_t *target, uint64_t value, int pe),
    (target, value, pe), sizeof(uint64_t))
WSS_FETCH(uint64_t, shmem_ctx_uint64_atomic_fetch_and, (wss_ctx ctx, uint64_t *target, uint64_t value,
    int pe), (ctx, target, value, pe), sizeof(uint64_t))
WSS_FETCH(uint64_t, shmem_uint64_atomic_fetch_or, (uint64_t *target, uint64_t value, int pe),
    (target, value, pe), sizeof(uint64_t))
WSS_FETCH(uint64_t, shmem_ctx_uint64_atomic_fetch_or, (wss_ctx ctx, uint64_t *target, uint64_t value,
    int pe), (ctx, target, value, pe), sizeof(uint64_t))
WSS_FETCH(uint64_t, shmem_uint64_atomic_fetch_xor, (uint64_t *target, uint64_t value, int pe),
    (target, value, pe), sizeof(uint64_t))
WSS_FETCH(uint64_t, shmem_ctx_uint64_atomic_fetch_xor, (wss_ctx ctx, uint64_t *target, uint64_t value,
    int pe), (ctx, target, value, pe), sizeof(uint64_t))
WSS_FETCH(int, shmem_int_fetch, (const int *target, int pe), (target, pe), sizeof(int))
WSS_ATOMIC(shmem_int_set, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_FETCH(int, shmem_int_swap, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_FETCH(long, shmem_long_fetch, (const long *target, int pe), (target, pe), sizeof(long))
WSS_ATOMIC(shmem_long_set, (long *target, long value, int pe), (target, value, pe), sizeof(long))
WSS_FETCH(long, shmem_long_swap, (long *target, long value, int pe), (target, value, pe), sizeof(long))
WSS_FETCH(long long, shmem_longlong_fetch, (const long long *target, int pe), (target, pe), sizeof(long long))
WSS_ATOMIC(shmem_longlong_set, (long long *target, long long value, int pe), (target, value, pe),
    sizeof(long long))
WSS_FETCH(long long, shmem_longlong_swap, (long long *target, long long value, int pe), (target, value, pe),
    sizeof(long long))
WSS_FETCH(float, shmem_float_fetch, (const float *target, int pe), (target, pe), sizeof(float))
WSS_ATOMIC(shmem_float_set, (float *target, float value, int pe), (target, value, pe), sizeof(float))
WSS_FETCH(float, shmem_float_swap, (float *target, float value, int pe), (target, value, pe), sizeof(float))
WSS_FETCH(double, shmem_double_fetch, (const double *target, int pe), (target, pe), sizeof(double))
WSS_ATOMIC(shmem_double_set, (double *target, double value, int pe), (target, value, pe), sizeof(double))
WSS_FETCH(double, shmem_double_swap, (double *target, double value, int pe), (target, value, pe),
    sizeof(double))
WSS_ATOMIC(shmem_int_inc, (int *target, int pe), (target, pe), sizeof(int))
WSS_ATOMIC(shmem_int_add, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_FETCH(int, shmem_int_finc, (int *target, int pe), (target, pe), sizeof(int))
WSS_FETCH(int, shmem_int_fadd, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_FETCH(int, shmem_int_cswap, (int *target, int condition, int value, int pe),
    (target, condition, value, pe), sizeof(int))
WSS_ATOMIC(shmem_long_inc, (long *target, int pe), (target, pe), sizeof(long))
WSS_ATOMIC(shmem_long_add, (long *target, long value, int pe), (target, value, pe), sizeof(long))
WSS_FETCH(long, shmem_long_finc, (long *target, int pe), (target, pe), sizeof(long))
WSS_FETCH(long, shmem_long_fadd, (long *target, long value, int pe), (target, value, pe), sizeof(long))
WSS_FETCH(long, shmem_long_cswap, (long *target, long condition, long value, int pe),
    (target, condition, value, pe), sizeof(long))
WSS_ATOMIC(shmem_longlong_inc, (long long *target, int pe), (target, pe), sizeof(long long))
WSS_ATOMIC(shmem_longlong_add, (long long *target, long long value, int pe), (target, value, pe),
    sizeof(long long))
WSS_FETCH(long long, shmem_longlong_finc, (long long *target, int pe), (target, pe), sizeof(long long))
WSS_FETCH(long long, shmem_longlong_fadd, (long long *target, long long value, int pe), (target, value, pe),
    sizeof(long long))
WSS_FETCH(long long, shmem_longlong_cswap, (long long *target, long long condition, long long value, int pe),
    (target, condition, value, pe), sizeof(long long))
WSS_FETCH(int32_t, shmemx_int32_fetch, (const int32_t *target, int pe), (target, pe), sizeof(int32_t))
WSS_ATOMIC(shmemx_int32_set, (int32_t *target, int32_t value, int pe), (target, value, pe), sizeof(int32_t))
WSS_FETCH(int32_t, shmemx_int32_swap, (int32_t *target, int32_t value, int pe), (target, value, pe),
    sizeof(int32_t))
WSS_FETCH(int64_t, shmemx_int64_fetch, (const int64_t *target, int pe), (target, pe), sizeof(int64_t))
WSS_ATOMIC(shmemx_int64_set, (int64_t *target, int64_t value, int pe), (target, value, pe), sizeof(int64_t))
WSS_FETCH(int64_t, shmemx_int64_swap, (int64_t *target, int64_t value, int pe), (target, value, pe),
    sizeof(int64_t))
WSS_ATOMIC(shmemx_int32_inc, (int32_t *target, int pe), (target, pe), sizeof(int32_t))
WSS_ATOMIC(shmemx_int32_add, (int32_t *target, int32_t value, int pe), (target, value, pe), sizeof(int32_t))
WSS_FETCH(int32_t, shmemx_int32_finc, (int32_t *target, int pe), (target, pe), sizeof(int32_t))
WSS_FETCH(int32_t, shmemx_int32_fadd, (int32_t *target, int32_t value, int pe), (target, value, pe),
    sizeof(int32_t))
WSS_FETCH(int32_t, shmemx_int32_cswap, (int32_t *target, int32_t condition, int32_t value, int pe),
    (target, condition, value, pe), sizeof(int32_t))
WSS_ATOMIC(shmemx_int64_inc, (int64_t *target, int pe), (target, pe), sizeof(int64_t))
WSS_ATOMIC(shmemx_int64_add, (int64_t *target, int64_t value, int pe), (target, value, pe), sizeof(int64_t))
WSS_FETCH(int64_t, shmemx_int64_finc, (int64_t *target, int pe), (target, pe), sizeof(int64_t))
WSS_FETCH(int64_t, shmemx_int64_fadd, (int64_t *target, int64_t value, int pe), (target, value, pe),
    sizeof(int64_t))
WSS_FETCH(int64_t, shmemx_int64_cswap, (int64_t *target, int64_t condition, int64_t value, int pe),
    (target, condition, value, pe), sizeof(int64_t))
WSS_ATOMIC(shmemx_int32_atomic_and, (int32_t *target, int32_t value, int pe), (target, value, pe),
    sizeof(int32_t))
WSS_ATOMIC(shmemx_int32_atomic_or, (int32_t *target, int32_t value, int pe), (target, value, pe),
    sizeof(int32_t))
WSS_ATOMIC(shmemx_int32_atomic_xor, (int32_t *target, int32_t value, int pe), (target, value, pe),
    sizeof(int32_t))
WSS_FETCH(int32_t, shmemx_int32_atomic_fetch_and, (int32_t *target, int32_t value, int pe),
    (target, value, pe), sizeof(int32_t))
WSS_FETCH(int32_t, shmemx_int32_atomic_fetch_or, (int32_t *target, int32_t value, int pe),
    (target, value, pe), sizeof(int32_t))
WSS_FETCH(int32_t, shmemx_int32_atomic_fetch_xor, (int32_t *target, int32_t value, int pe),
    (target, value, pe), sizeof(int32_t))
WSS_ATOMIC(shmemx_int64_atomic_and, (int64_t *target, int64_t value, int pe), (target, value, pe),
    sizeof(int64_t))
WSS_ATOMIC(shmemx_int64_atomic_or, (int64_t *target, int64_t value, int pe), (target, value, pe),
    sizeof(int64_t))
WSS_ATOMIC(shmemx_int64_atomic_xor, (int64_t *target, int64_t value, int pe), (target, value, pe),
    sizeof(int64_t))
WSS_FETCH(int64_t, shmemx_int64_atomic_fetch_and, (int64_t *target, int64_t value, int pe),
    (target, value, pe), sizeof(int64_t))
WSS_FETCH(int64_t, shmemx_int64_atomic_fetch_or, (int64_t *target, int64_t value, int pe),
    (target, value, pe), sizeof(int64_t))
WSS_FETCH(int64_t, shmemx_int64_atomic_fetch_xor, (int64_t *target, int64_t value, int pe),
    (target, value, pe), sizeof(int64_t))
WSS_ATOMIC(shmemx_uint32_atomic_and, (uint32_t *target, uint32_t value, int pe), (target, value, pe),
    sizeof(uint32_t))
WSS_ATOMIC(shmemx_uint32_atomic_or, (uint32_t *target, uint32_t value, int pe), (target, value, pe),
    sizeof(uint32_t))
WSS_ATOMIC(shmemx_uint32_atomic_xor, (uint32_t *target, uint32_t value, int pe), (target, value, pe),
    sizeof(uint32_t))
WSS_FETCH(uint32_t, shmemx_uint32_atomic_fetch_and, (uint32_t *target, uint32_t value, int pe),
    (target, value, pe), sizeof(uint32_t))
WSS_FETCH(uint32_t, shmemx_uint32_atomic_fetch_or, (uint32_t *target, uint32_t value, int pe),
    (target, value, pe), sizeof(uint32_t))
WSS_FETCH(uint32_t, shmemx_uint32_atomic_fetch_xor, (uint32_t *target, uint32_t value, int pe),
    (target, value, pe), sizeof(uint32_t))
WSS_ATOMIC(shmemx_uint64_atomic_and, (uint64_t *target, uint64_t value, int pe), (target, value, pe),
    sizeof(uint64_t))
WSS_ATOMIC(shmemx_uint64_atomic_or, (uint64_t *target, uint64_t value, int pe), (target, value, pe),
    sizeof(uint64_t))
WSS_ATOMIC(shmemx_uint64_atomic_xor, (uint64_t *target, uint64_t value, int pe), (target, value, pe),
    sizeof(uint64_t))
WSS_FETCH(uint64_t, shmemx_uint64_atomic_fetch_and, (uint64_t *target, uint64_t value, int pe),
    (target, value, pe), sizeof(uint64_t))
WSS_FETCH(uint64_t, shmemx_uint64_atomic_fetch_or, (uint64_t *target, uint64_t value, int pe),
    (target, value, pe), sizeof(uint64_t))
WSS_FETCH(uint64_t, shmemx_uint64_atomic_fetch_xor, (uint64_t *target, uint64_t value, int pe),
    (target, value, pe), sizeof(uint64_t))
