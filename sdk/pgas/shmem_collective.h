/* Functions that all PEs of a set call together.
 *
 * Made by sdk/pgas/gen from its table; the macros are in shmem_wrap.h.
 * To make it anew: go generate ./sdk/pgas/... */

WSS_ALL(shmem_barrier_all, (void), (), 1)
WSS_ALL(shmem_sync_all, (void), (), 0)
WSS_SET(shmem_barrier, (int first, int log_stride, int members, long *psync),
    (first, log_stride, members, psync), 1)
WSS_SET(shmem_sync, (int first, int log_stride, int members, long *psync),
    (first, log_stride, members, psync), 0)
WSS_COLLECTIVE(shmem_broadcast32, (void *target, const void *source, size_t n, int root, int first,
    int log_stride, int members, long *psync), (target, source, n, root, first, log_stride, members, psync),
    WSC_BROADCAST, root, n * 4 * wss_others(members), n * 4)
WSS_COLLECTIVE(shmem_collect32, (void *target, const void *source, size_t n, int first, int log_stride,
    int members, long *psync), (target, source, n, first, log_stride, members, psync),
    WSC_COLLECT, -1, n * 4 * wss_others(members), n * 4 * wss_others(members))
WSS_COLLECTIVE(shmem_fcollect32, (void *target, const void *source, size_t n, int first, int log_stride,
    int members, long *psync), (target, source, n, first, log_stride, members, psync),
    WSC_COLLECT, -1, n * 4 * wss_others(members), n * 4 * wss_others(members))
WSS_COLLECTIVE(shmem_alltoall32, (void *target, const void *source, size_t n, int first, int log_stride,
    int members, long *psync), (target, source, n, first, log_stride, members, psync),
    WSC_EXCHANGE, -1, n * 4 * wss_others(members), n * 4 * wss_others(members))
WSS_COLLECTIVE(shmem_alltoalls32, (void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int first, int log_stride, int members, long *psync),
    (target, source, tst, sst, n, first, log_stride, members, psync),
    WSC_EXCHANGE, -1, n * 4 * wss_others(members), n * 4 * wss_others(members))
WSS_COLLECTIVE(shmem_broadcast64, (void *target, const void *source, size_t n, int root, int first,
    int log_stride, int members, long *psync), (target, source, n, root, first, log_stride, members, psync),
    WSC_BROADCAST, root, n * 8 * wss_others(members), n * 8)
WSS_COLLECTIVE(shmem_collect64, (void *target, const void *source, size_t n, int first, int log_stride,
    int members, long *psync), (target, source, n, first, log_stride, members, psync),
    WSC_COLLECT, -1, n * 8 * wss_others(members), n * 8 * wss_others(members))
WSS_COLLECTIVE(shmem_fcollect64, (void *target, const void *source, size_t n, int first, int log_stride,
    int members, long *psync), (target, source, n, first, log_stride, members, psync),
    WSC_COLLECT, -1, n * 8 * wss_others(members), n * 8 * wss_others(members))
WSS_COLLECTIVE(shmem_alltoall64, (void *target, const void *source, size_t n, int first, int log_stride,
    int members, long *psync), (target, source, n, first, log_stride, members, psync),
    WSC_EXCHANGE, -1, n * 8 * wss_others(members), n * 8 * wss_others(members))
WSS_COLLECTIVE(shmem_alltoalls64, (void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int first, int log_stride, int members, long *psync),
    (target, source, tst, sst, n, first, log_stride, members, psync),
    WSC_EXCHANGE, -1, n * 8 * wss_others(members), n * 8 * wss_others(members))
WSS_COLLECTIVE(shmem_short_and_to_all, (short *target, const short *source, int n, int first, int log_stride,
    int members, short *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(short), (size_t)n * sizeof(short))
WSS_COLLECTIVE(shmem_int_and_to_all, (int *target, const int *source, int n, int first, int log_stride,
    int members, int *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int), (size_t)n * sizeof(int))
WSS_COLLECTIVE(shmem_long_and_to_all, (long *target, const long *source, int n, int first, int log_stride,
    int members, long *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long), (size_t)n * sizeof(long))
WSS_COLLECTIVE(shmem_longlong_and_to_all, (long long *target, const long long *source, int n, int first,
    int log_stride, int members, long long *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long long), (size_t)n * sizeof(long long))
WSS_COLLECTIVE(shmem_short_or_to_all, (short *target, const short *source, int n, int first, int log_stride,
    int members, short *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(short), (size_t)n * sizeof(short))
WSS_COLLECTIVE(shmem_int_or_to_all, (int *target, const int *source, int n, int first, int log_stride,
    int members, int *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int), (size_t)n * sizeof(int))
WSS_COLLECTIVE(shmem_long_or_to_all, (long *target, const long *source, int n, int first, int log_stride,
    int members, long *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long), (size_t)n * sizeof(long))
WSS_COLLECTIVE(shmem_longlong_or_to_all, (long long *target, const long long *source, int n, int first,
    int log_stride, int members, long long *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long long), (size_t)n * sizeof(long long))
WSS_COLLECTIVE(shmem_short_xor_to_all, (short *target, const short *source, int n, int first, int log_stride,
    int members, short *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(short), (size_t)n * sizeof(short))
WSS_COLLECTIVE(shmem_int_xor_to_all, (int *target, const int *source, int n, int first, int log_stride,
    int members, int *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int), (size_t)n * sizeof(int))
WSS_COLLECTIVE(shmem_long_xor_to_all, (long *target, const long *source, int n, int first, int log_stride,
    int members, long *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long), (size_t)n * sizeof(long))
WSS_COLLECTIVE(shmem_longlong_xor_to_all, (long long *target, const long long *source, int n, int first,
    int log_stride, int members, long long *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long long), (size_t)n * sizeof(long long))
WSS_COLLECTIVE(shmem_short_max_to_all, (short *target, const short *source, int n, int first, int log_stride,
    int members, short *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(short), (size_t)n * sizeof(short))
WSS_COLLECTIVE(shmem_int_max_to_all, (int *target, const int *source, int n, int first, int log_stride,
    int members, int *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int), (size_t)n * sizeof(int))
WSS_COLLECTIVE(shmem_long_max_to_all, (long *target, const long *source, int n, int first, int log_stride,
    int members, long *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long), (size_t)n * sizeof(long))
WSS_COLLECTIVE(shmem_longlong_max_to_all, (long long *target, const long long *source, int n, int first,
    int log_stride, int members, long long *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long long), (size_t)n * sizeof(long long))
WSS_COLLECTIVE(shmem_float_max_to_all, (float *target, const float *source, int n, int first, int log_stride,
    int members, float *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(float), (size_t)n * sizeof(float))
WSS_COLLECTIVE(shmem_double_max_to_all, (double *target, const double *source, int n, int first,
    int log_stride, int members, double *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(double), (size_t)n * sizeof(double))
WSS_COLLECTIVE(shmem_longdouble_max_to_all, (long double *target, const long double *source, int n,
    int first, int log_stride, int members, long double *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long double), (size_t)n * sizeof(long double))
WSS_COLLECTIVE(shmem_short_min_to_all, (short *target, const short *source, int n, int first, int log_stride,
    int members, short *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(short), (size_t)n * sizeof(short))
WSS_COLLECTIVE(shmem_int_min_to_all, (int *target, const int *source, int n, int first, int log_stride,
    int members, int *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int), (size_t)n * sizeof(int))
WSS_COLLECTIVE(shmem_long_min_to_all, (long *target, const long *source, int n, int first, int log_stride,
    int members, long *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long), (size_t)n * sizeof(long))
WSS_COLLECTIVE(shmem_longlong_min_to_all, (long long *target, const long long *source, int n, int first,
    int log_stride, int members, long long *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long long), (size_t)n * sizeof(long long))
WSS_COLLECTIVE(shmem_float_min_to_all, (float *target, const float *source, int n, int first, int log_stride,
    int members, float *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(float), (size_t)n * sizeof(float))
WSS_COLLECTIVE(shmem_double_min_to_all, (double *target, const double *source, int n, int first,
    int log_stride, int members, double *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(double), (size_t)n * sizeof(double))
WSS_COLLECTIVE(shmem_longdouble_min_to_all, (long double *target, const long double *source, int n,
    int first, int log_stride, int members, long double *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long double), (size_t)n * sizeof(long double))
WSS_COLLECTIVE(shmem_short_sum_to_all, (short *target, const short *source, int n, int first, int log_stride,
    int members, short *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(short), (size_t)n * sizeof(short))
WSS_COLLECTIVE(shmem_int_sum_to_all, (int *target, const int *source, int n, int first, int log_stride,
    int members, int *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int), (size_t)n * sizeof(int))
WSS_COLLECTIVE(shmem_long_sum_to_all, (long *target, const long *source, int n, int first, int log_stride,
    int members, long *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long), (size_t)n * sizeof(long))
WSS_COLLECTIVE(shmem_longlong_sum_to_all, (long long *target, const long long *source, int n, int first,
    int log_stride, int members, long long *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long long), (size_t)n * sizeof(long long))
WSS_COLLECTIVE(shmem_float_sum_to_all, (float *target, const float *source, int n, int first, int log_stride,
    int members, float *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(float), (size_t)n * sizeof(float))
WSS_COLLECTIVE(shmem_double_sum_to_all, (double *target, const double *source, int n, int first,
    int log_stride, int members, double *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(double), (size_t)n * sizeof(double))
WSS_COLLECTIVE(shmem_longdouble_sum_to_all, (long double *target, const long double *source, int n,
    int first, int log_stride, int members, long double *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long double), (size_t)n * sizeof(long double))
WSS_COLLECTIVE(shmem_complexf_sum_to_all, (float _Complex *target, const float _Complex *source, int n,
    int first, int log_stride, int members, float _Complex *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(float _Complex), (size_t)n * sizeof(float _Complex))
WSS_COLLECTIVE(shmem_complexd_sum_to_all, (double _Complex *target, const double _Complex *source, int n,
    int first, int log_stride, int members, double _Complex *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(double _Complex), (size_t)n * sizeof(double _Complex))
WSS_COLLECTIVE(shmem_short_prod_to_all, (short *target, const short *source, int n, int first,
    int log_stride, int members, short *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(short), (size_t)n * sizeof(short))
WSS_COLLECTIVE(shmem_int_prod_to_all, (int *target, const int *source, int n, int first, int log_stride,
    int members, int *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int), (size_t)n * sizeof(int))
WSS_COLLECTIVE(shmem_long_prod_to_all, (long *target, const long *source, int n, int first, int log_stride,
    int members, long *work, long *psync), (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long), (size_t)n * sizeof(long))
WSS_COLLECTIVE(shmem_longlong_prod_to_all, (long long *target, const long long *source, int n, int first,
    int log_stride, int members, long long *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long long), (size_t)n * sizeof(long long))
WSS_COLLECTIVE(shmem_float_prod_to_all, (float *target, const float *source, int n, int first,
    int log_stride, int members, float *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(float), (size_t)n * sizeof(float))
WSS_COLLECTIVE(shmem_double_prod_to_all, (double *target, const double *source, int n, int first,
    int log_stride, int members, double *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(double), (size_t)n * sizeof(double))
WSS_COLLECTIVE(shmem_longdouble_prod_to_all, (long double *target, const long double *source, int n,
    int first, int log_stride, int members, long double *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(long double), (size_t)n * sizeof(long double))
WSS_COLLECTIVE(shmem_complexf_prod_to_all, (float _Complex *target, const float _Complex *source, int n,
    int first, int log_stride, int members, float _Complex *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(float _Complex), (size_t)n * sizeof(float _Complex))
WSS_COLLECTIVE(shmem_complexd_prod_to_all, (double _Complex *target, const double _Complex *source, int n,
    int first, int log_stride, int members, double _Complex *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(double _Complex), (size_t)n * sizeof(double _Complex))
WSS_COLLECTIVE(shmemx_int16_and_to_all, (int16_t *target, const int16_t *source, int n, int first,
    int log_stride, int members, int16_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int16_t), (size_t)n * sizeof(int16_t))
WSS_COLLECTIVE(shmemx_int32_and_to_all, (int32_t *target, const int32_t *source, int n, int first,
    int log_stride, int members, int32_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int32_t), (size_t)n * sizeof(int32_t))
WSS_COLLECTIVE(shmemx_int64_and_to_all, (int64_t *target, const int64_t *source, int n, int first,
    int log_stride, int members, int64_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int64_t), (size_t)n * sizeof(int64_t))
WSS_COLLECTIVE(shmemx_int16_or_to_all, (int16_t *target, const int16_t *source, int n, int first,
    int log_stride, int members, int16_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int16_t), (size_t)n * sizeof(int16_t))
WSS_COLLECTIVE(shmemx_int32_or_to_all, (int32_t *target, const int32_t *source, int n, int first,
    int log_stride, int members, int32_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int32_t), (size_t)n * sizeof(int32_t))
WSS_COLLECTIVE(shmemx_int64_or_to_all, (int64_t *target, const int64_t *source, int n, int first,
    int log_stride, int members, int64_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int64_t), (size_t)n * sizeof(int64_t))
WSS_COLLECTIVE(shmemx_int16_xor_to_all, (int16_t *target, const int16_t *source, int n, int first,
    int log_stride, int members, int16_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int16_t), (size_t)n * sizeof(int16_t))
WSS_COLLECTIVE(shmemx_int32_xor_to_all, (int32_t *target, const int32_t *source, int n, int first,
    int log_stride, int members, int32_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int32_t), (size_t)n * sizeof(int32_t))
WSS_COLLECTIVE(shmemx_int64_xor_to_all, (int64_t *target, const int64_t *source, int n, int first,
    int log_stride, int members, int64_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int64_t), (size_t)n * sizeof(int64_t))
WSS_COLLECTIVE(shmemx_int16_max_to_all, (int16_t *target, const int16_t *source, int n, int first,
    int log_stride, int members, int16_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int16_t), (size_t)n * sizeof(int16_t))
WSS_COLLECTIVE(shmemx_int32_max_to_all, (int32_t *target, const int32_t *source, int n, int first,
    int log_stride, int members, int32_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int32_t), (size_t)n * sizeof(int32_t))
WSS_COLLECTIVE(shmemx_int64_max_to_all, (int64_t *target, const int64_t *source, int n, int first,
    int log_stride, int members, int64_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int64_t), (size_t)n * sizeof(int64_t))
WSS_COLLECTIVE(shmemx_int16_min_to_all, (int16_t *target, const int16_t *source, int n, int first,
    int log_stride, int members, int16_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int16_t), (size_t)n * sizeof(int16_t))
WSS_COLLECTIVE(shmemx_int32_min_to_all, (int32_t *target, const int32_t *source, int n, int first,
    int log_stride, int members, int32_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int32_t), (size_t)n * sizeof(int32_t))
WSS_COLLECTIVE(shmemx_int64_min_to_all, (int64_t *target, const int64_t *source, int n, int first,
    int log_stride, int members, int64_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int64_t), (size_t)n * sizeof(int64_t))
WSS_COLLECTIVE(shmemx_int16_sum_to_all, (int16_t *target, const int16_t *source, int n, int first,
    int log_stride, int members, int16_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int16_t), (size_t)n * sizeof(int16_t))
WSS_COLLECTIVE(shmemx_int32_sum_to_all, (int32_t *target, const int32_t *source, int n, int first,
    int log_stride, int members, int32_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int32_t), (size_t)n * sizeof(int32_t))
WSS_COLLECTIVE(shmemx_int64_sum_to_all, (int64_t *target, const int64_t *source, int n, int first,
    int log_stride, int members, int64_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int64_t), (size_t)n * sizeof(int64_t))
WSS_COLLECTIVE(shmemx_int16_prod_to_all, (int16_t *target, const int16_t *source, int n, int first,
    int log_stride, int members, int16_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int16_t), (size_t)n * sizeof(int16_t))
WSS_COLLECTIVE(shmemx_int32_prod_to_all, (int32_t *target, const int32_t *source, int n, int first,
    int log_stride, int members, int32_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int32_t), (size_t)n * sizeof(int32_t))
WSS_COLLECTIVE(shmemx_int64_prod_to_all, (int64_t *target, const int64_t *source, int n, int first,
    int log_stride, int members, int64_t *work, long *psync),
    (target, source, n, first, log_stride, members, work, psync),
    WSC_ALL_REDUCE, -1, (size_t)n * sizeof(int64_t), (size_t)n * sizeof(int64_t))
WSS_ALLOC(void *, shmem_malloc, (size_t size), (size), 0, size)
WSS_ALLOC(void *, shmem_align, (size_t alignment, size_t size), (alignment, size), 0, size)
WSS_ALLOC(void *, shmem_realloc, (void *old, size_t size), (old, size), old, size)
WSS_FREE(shmem_free, (void *old), (old))
WSS_ALLOC(void *, shmalloc, (size_t size), (size), 0, size)
WSS_ALLOC(void *, shmemalign, (size_t alignment, size_t size), (alignment, size), 0, size)
WSS_ALLOC(void *, shrealloc, (void *old, size_t size), (old, size), old, size)
WSS_FREE(shfree, (void *old), (old))
WSS_ALLOC(void *, shmem_calloc, (size_t n, size_t size), (n, size), 0, n * size)
WSS_ALLOC(void *, shmemx_malloc_with_hint, (size_t size, long hint), (size, hint), 0, size)
