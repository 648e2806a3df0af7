/* Functions that read a PE's memory.
 *
 * Made by sdk/pgas/gen from its table; the macros are in shmem_wrap.h.
 * To make it anew: go generate ./sdk/pgas/... */

WSS_GET(shmem_char_get, (char *target, const char *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(char))
WSS_GET(shmem_ctx_char_get, (wss_ctx ctx, char *target, const char *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(char))
WSS_GET_NBI(shmem_char_get_nbi, (char *target, const char *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(char), 0)
WSS_GET_NBI(shmem_ctx_char_get_nbi, (wss_ctx ctx, char *target, const char *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(char), ctx)
WSS_GET(shmem_char_iget, (char *target, const char *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * sizeof(char))
WSS_GET(shmem_ctx_char_iget, (wss_ctx ctx, char *target, const char *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(char))
WSS_GET(shmem_short_get, (short *target, const short *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(short))
WSS_GET(shmem_ctx_short_get, (wss_ctx ctx, short *target, const short *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(short))
WSS_GET_NBI(shmem_short_get_nbi, (short *target, const short *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(short), 0)
WSS_GET_NBI(shmem_ctx_short_get_nbi, (wss_ctx ctx, short *target, const short *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(short), ctx)
WSS_GET(shmem_short_iget, (short *target, const short *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(short))
WSS_GET(shmem_ctx_short_iget, (wss_ctx ctx, short *target, const short *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(short))
WSS_GET(shmem_int_get, (int *target, const int *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(int))
WSS_GET(shmem_ctx_int_get, (wss_ctx ctx, int *target, const int *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int))
WSS_GET_NBI(shmem_int_get_nbi, (int *target, const int *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(int), 0)
WSS_GET_NBI(shmem_ctx_int_get_nbi, (wss_ctx ctx, int *target, const int *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int), ctx)
WSS_GET(shmem_int_iget, (int *target, const int *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * sizeof(int))
WSS_GET(shmem_ctx_int_iget, (wss_ctx ctx, int *target, const int *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(int))
WSS_GET(shmem_long_get, (long *target, const long *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(long))
WSS_GET(shmem_ctx_long_get, (wss_ctx ctx, long *target, const long *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(long))
WSS_GET_NBI(shmem_long_get_nbi, (long *target, const long *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(long), 0)
WSS_GET_NBI(shmem_ctx_long_get_nbi, (wss_ctx ctx, long *target, const long *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(long), ctx)
WSS_GET(shmem_long_iget, (long *target, const long *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * sizeof(long))
WSS_GET(shmem_ctx_long_iget, (wss_ctx ctx, long *target, const long *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(long))
WSS_GET(shmem_longlong_get, (long long *target, const long long *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(long long))
WSS_GET(shmem_ctx_longlong_get, (wss_ctx ctx, long long *target, const long long *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(long long))
WSS_GET_NBI(shmem_longlong_get_nbi, (long long *target, const long long *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(long long), 0)
WSS_GET_NBI(shmem_ctx_longlong_get_nbi, (wss_ctx ctx, long long *target, const long long *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(long long), ctx)
WSS_GET(shmem_longlong_iget, (long long *target, const long long *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(long long))
WSS_GET(shmem_ctx_longlong_iget, (wss_ctx ctx, long long *target, const long long *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(long long))
WSS_GET(shmem_schar_get, (signed char *target, const signed char *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(signed char))
WSS_GET(shmem_ctx_schar_get, (wss_ctx ctx, signed char *target, const signed char *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(signed char))
WSS_GET_NBI(shmem_schar_get_nbi, (signed char *target, const signed char *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(signed char), 0)
WSS_GET_NBI(shmem_ctx_schar_get_nbi, (wss_ctx ctx, signed char *target, const signed char *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(signed char), ctx)
WSS_GET(shmem_schar_iget, (signed char *target, const signed char *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(signed char))
WSS_GET(shmem_ctx_schar_iget, (wss_ctx ctx, signed char *target, const signed char *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(signed char))
WSS_GET(shmem_uchar_get, (unsigned char *target, const unsigned char *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned char))
WSS_GET(shmem_ctx_uchar_get, (wss_ctx ctx, unsigned char *target, const unsigned char *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(unsigned char))
WSS_GET_NBI(shmem_uchar_get_nbi, (unsigned char *target, const unsigned char *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned char), 0)
WSS_GET_NBI(shmem_ctx_uchar_get_nbi, (wss_ctx ctx, unsigned char *target, const unsigned char *source,
    size_t n, int pe), (ctx, target, source, n, pe), n * sizeof(unsigned char), ctx)
WSS_GET(shmem_uchar_iget, (unsigned char *target, const unsigned char *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(unsigned char))
WSS_GET(shmem_ctx_uchar_iget, (wss_ctx ctx, unsigned char *target, const unsigned char *source,
    ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe),
    n * sizeof(unsigned char))
WSS_GET(shmem_ushort_get, (unsigned short *target, const unsigned short *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned short))
WSS_GET(shmem_ctx_ushort_get, (wss_ctx ctx, unsigned short *target, const unsigned short *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(unsigned short))
WSS_GET_NBI(shmem_ushort_get_nbi, (unsigned short *target, const unsigned short *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned short), 0)
WSS_GET_NBI(shmem_ctx_ushort_get_nbi, (wss_ctx ctx, unsigned short *target, const unsigned short *source,
    size_t n, int pe), (ctx, target, source, n, pe), n * sizeof(unsigned short), ctx)
WSS_GET(shmem_ushort_iget, (unsigned short *target, const unsigned short *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(unsigned short))
WSS_GET(shmem_ctx_ushort_iget, (wss_ctx ctx, unsigned short *target, const unsigned short *source,
    ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe),
    n * sizeof(unsigned short))
WSS_GET(shmem_uint_get, (unsigned int *target, const unsigned int *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned int))
WSS_GET(shmem_ctx_uint_get, (wss_ctx ctx, unsigned int *target, const unsigned int *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(unsigned int))
WSS_GET_NBI(shmem_uint_get_nbi, (unsigned int *target, const unsigned int *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned int), 0)
WSS_GET_NBI(shmem_ctx_uint_get_nbi, (wss_ctx ctx, unsigned int *target, const unsigned int *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(unsigned int), ctx)
WSS_GET(shmem_uint_iget, (unsigned int *target, const unsigned int *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(unsigned int))
WSS_GET(shmem_ctx_uint_iget, (wss_ctx ctx, unsigned int *target, const unsigned int *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(unsigned int))
WSS_GET(shmem_ulong_get, (unsigned long *target, const unsigned long *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned long))
WSS_GET(shmem_ctx_ulong_get, (wss_ctx ctx, unsigned long *target, const unsigned long *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(unsigned long))
WSS_GET_NBI(shmem_ulong_get_nbi, (unsigned long *target, const unsigned long *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned long), 0)
WSS_GET_NBI(shmem_ctx_ulong_get_nbi, (wss_ctx ctx, unsigned long *target, const unsigned long *source,
    size_t n, int pe), (ctx, target, source, n, pe), n * sizeof(unsigned long), ctx)
WSS_GET(shmem_ulong_iget, (unsigned long *target, const unsigned long *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(unsigned long))
WSS_GET(shmem_ctx_ulong_iget, (wss_ctx ctx, unsigned long *target, const unsigned long *source,
    ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe),
    n * sizeof(unsigned long))
WSS_GET(shmem_ulonglong_get, (unsigned long long *target, const unsigned long long *source, size_t n,
    int pe), (target, source, n, pe), n * sizeof(unsigned long long))
WSS_GET(shmem_ctx_ulonglong_get, (wss_ctx ctx, unsigned long long *target, const unsigned long long *source,
    size_t n, int pe), (ctx, target, source, n, pe), n * sizeof(unsigned long long))
WSS_GET_NBI(shmem_ulonglong_get_nbi, (unsigned long long *target, const unsigned long long *source, size_t n,
    int pe), (target, source, n, pe), n * sizeof(unsigned long long), 0)
WSS_GET_NBI(shmem_ctx_ulonglong_get_nbi, (wss_ctx ctx, unsigned long long *target,
    const unsigned long long *source, size_t n, int pe), (ctx, target, source, n, pe),
    n * sizeof(unsigned long long), ctx)
WSS_GET(shmem_ulonglong_iget, (unsigned long long *target, const unsigned long long *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(unsigned long long))
WSS_GET(shmem_ctx_ulonglong_iget, (wss_ctx ctx, unsigned long long *target, const unsigned long long *source,
    ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe),
    n * sizeof(unsigned long long))
WSS_GET(shmem_float_get, (float *target, const float *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(float))
WSS_GET(shmem_ctx_float_get, (wss_ctx ctx, float *target, const float *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(float))
WSS_GET_NBI(shmem_float_get_nbi, (float *target, const float *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(float), 0)
WSS_GET_NBI(shmem_ctx_float_get_nbi, (wss_ctx ctx, float *target, const float *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(float), ctx)
WSS_GET(shmem_float_iget, (float *target, const float *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(float))
WSS_GET(shmem_ctx_float_iget, (wss_ctx ctx, float *target, const float *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(float))
WSS_GET(shmem_double_get, (double *target, const double *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(double))
WSS_GET(shmem_ctx_double_get, (wss_ctx ctx, double *target, const double *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(double))
WSS_GET_NBI(shmem_double_get_nbi, (double *target, const double *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(double), 0)
WSS_GET_NBI(shmem_ctx_double_get_nbi, (wss_ctx ctx, double *target, const double *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(double), ctx)
WSS_GET(shmem_double_iget, (double *target, const double *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(double))
WSS_GET(shmem_ctx_double_iget, (wss_ctx ctx, double *target, const double *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(double))
WSS_GET(shmem_longdouble_get, (long double *target, const long double *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(long double))
WSS_GET(shmem_ctx_longdouble_get, (wss_ctx ctx, long double *target, const long double *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(long double))
WSS_GET_NBI(shmem_longdouble_get_nbi, (long double *target, const long double *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(long double), 0)
WSS_GET_NBI(shmem_ctx_longdouble_get_nbi, (wss_ctx ctx, long double *target, const long double *source,
    size_t n, int pe), (ctx, target, source, n, pe), n * sizeof(long double), ctx)
WSS_GET(shmem_longdouble_iget, (long double *target, const long double *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(long double))
WSS_GET(shmem_ctx_longdouble_iget, (wss_ctx ctx, long double *target, const long double *source,
    ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe),
    n * sizeof(long double))
WSS_GET(shmem_int8_get, (int8_t *target, const int8_t *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(int8_t))
WSS_GET(shmem_ctx_int8_get, (wss_ctx ctx, int8_t *target, const int8_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int8_t))
WSS_GET_NBI(shmem_int8_get_nbi, (int8_t *target, const int8_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(int8_t), 0)
WSS_GET_NBI(shmem_ctx_int8_get_nbi, (wss_ctx ctx, int8_t *target, const int8_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int8_t), ctx)
WSS_GET(shmem_int8_iget, (int8_t *target, const int8_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(int8_t))
WSS_GET(shmem_ctx_int8_iget, (wss_ctx ctx, int8_t *target, const int8_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(int8_t))
WSS_GET(shmem_int16_get, (int16_t *target, const int16_t *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(int16_t))
WSS_GET(shmem_ctx_int16_get, (wss_ctx ctx, int16_t *target, const int16_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int16_t))
WSS_GET_NBI(shmem_int16_get_nbi, (int16_t *target, const int16_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(int16_t), 0)
WSS_GET_NBI(shmem_ctx_int16_get_nbi, (wss_ctx ctx, int16_t *target, const int16_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int16_t), ctx)
WSS_GET(shmem_int16_iget, (int16_t *target, const int16_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(int16_t))
WSS_GET(shmem_ctx_int16_iget, (wss_ctx ctx, int16_t *target, const int16_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(int16_t))
WSS_GET(shmem_int32_get, (int32_t *target, const int32_t *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(int32_t))
WSS_GET(shmem_ctx_int32_get, (wss_ctx ctx, int32_t *target, const int32_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int32_t))
WSS_GET_NBI(shmem_int32_get_nbi, (int32_t *target, const int32_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(int32_t), 0)
WSS_GET_NBI(shmem_ctx_int32_get_nbi, (wss_ctx ctx, int32_t *target, const int32_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int32_t), ctx)
WSS_GET(shmem_int32_iget, (int32_t *target, const int32_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(int32_t))
WSS_GET(shmem_ctx_int32_iget, (wss_ctx ctx, int32_t *target, const int32_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(int32_t))
WSS_GET(shmem_int64_get, (int64_t *target, const int64_t *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(int64_t))
WSS_GET(shmem_ctx_int64_get, (wss_ctx ctx, int64_t *target, const int64_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int64_t))
WSS_GET_NBI(shmem_int64_get_nbi, (int64_t *target, const int64_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(int64_t), 0)
WSS_GET_NBI(shmem_ctx_int64_get_nbi, (wss_ctx ctx, int64_t *target, const int64_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int64_t), ctx)
WSS_GET(shmem_int64_iget, (int64_t *target, const int64_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(int64_t))
WSS_GET(shmem_ctx_int64_iget, (wss_ctx ctx, int64_t *target, const int64_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(int64_t))
WSS_GET(shmem_uint8_get, (uint8_t *target, const uint8_t *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(uint8_t))
WSS_GET(shmem_ctx_uint8_get, (wss_ctx ctx, uint8_t *target, const uint8_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(uint8_t))
WSS_GET_NBI(shmem_uint8_get_nbi, (uint8_t *target, const uint8_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(uint8_t), 0)
WSS_GET_NBI(shmem_ctx_uint8_get_nbi, (wss_ctx ctx, uint8_t *target, const uint8_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(uint8_t), ctx)
WSS_GET(shmem_uint8_iget, (uint8_t *target, const uint8_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(uint8_t))
WSS_GET(shmem_ctx_uint8_iget, (wss_ctx ctx, uint8_t *target, const uint8_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(uint8_t))
WSS_GET(shmem_uint16_get, (uint16_t *target, const uint16_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(uint16_t))
WSS_GET(shmem_ctx_uint16_get, (wss_ctx ctx, uint16_t *target, const uint16_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(uint16_t))
WSS_GET_NBI(shmem_uint16_get_nbi, (uint16_t *target, const uint16_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(uint16_t), 0)
WSS_GET_NBI(shmem_ctx_uint16_get_nbi, (wss_ctx ctx, uint16_t *target, const uint16_t *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(uint16_t), ctx)
WSS_GET(shmem_uint16_iget, (uint16_t *target, const uint16_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(uint16_t))
WSS_GET(shmem_ctx_uint16_iget, (wss_ctx ctx, uint16_t *target, const uint16_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(uint16_t))
WSS_GET(shmem_uint32_get, (uint32_t *target, const uint32_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(uint32_t))
WSS_GET(shmem_ctx_uint32_get, (wss_ctx ctx, uint32_t *target, const uint32_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(uint32_t))
WSS_GET_NBI(shmem_uint32_get_nbi, (uint32_t *target, const uint32_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(uint32_t), 0)
WSS_GET_NBI(shmem_ctx_uint32_get_nbi, (wss_ctx ctx, uint32_t *target, const uint32_t *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(uint32_t), ctx)
WSS_GET(shmem_uint32_iget, (uint32_t *target, const uint32_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(uint32_t))
WSS_GET(shmem_ctx_uint32_iget, (wss_ctx ctx, uint32_t *target, const uint32_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(uint32_t))
WSS_GET(shmem_uint64_get, (uint64_t *target, const uint64_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(uint64_t))
WSS_GET(shmem_ctx_uint64_get, (wss_ctx ctx, uint64_t *target, const uint64_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(uint64_t))
WSS_GET_NBI(shmem_uint64_get_nbi, (uint64_t *target, const uint64_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(uint64_t), 0)
WSS_GET_NBI(shmem_ctx_uint64_get_nbi, (wss_ctx ctx, uint64_t *target, const uint64_t *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(uint64_t), ctx)
WSS_GET(shmem_uint64_iget, (uint64_t *target, const uint64_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(uint64_t))
WSS_GET(shmem_ctx_uint64_iget, (wss_ctx ctx, uint64_t *target, const uint64_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(uint64_t))
WSS_GET(shmem_size_get, (size_t *target, const size_t *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(size_t))
WSS_GET(shmem_ctx_size_get, (wss_ctx ctx, size_t *target, const size_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(size_t))
WSS_GET_NBI(shmem_size_get_nbi, (size_t *target, const size_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(size_t), 0)
WSS_GET_NBI(shmem_ctx_size_get_nbi, (wss_ctx ctx, size_t *target, const size_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(size_t), ctx)
WSS_GET(shmem_size_iget, (size_t *target, const size_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(size_t))
WSS_GET(shmem_ctx_size_iget, (wss_ctx ctx, size_t *target, const size_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(size_t))
WSS_GET(shmem_ptrdiff_get, (ptrdiff_t *target, const ptrdiff_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(ptrdiff_t))
WSS_GET(shmem_ctx_ptrdiff_get, (wss_ctx ctx, ptrdiff_t *target, const ptrdiff_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(ptrdiff_t))
WSS_GET_NBI(shmem_ptrdiff_get_nbi, (ptrdiff_t *target, const ptrdiff_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(ptrdiff_t), 0)
WSS_GET_NBI(shmem_ctx_ptrdiff_get_nbi, (wss_ctx ctx, ptrdiff_t *target, const ptrdiff_t *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(ptrdiff_t), ctx)
WSS_GET(shmem_ptrdiff_iget, (ptrdiff_t *target, const ptrdiff_t *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(ptrdiff_t))
WSS_GET(shmem_ctx_ptrdiff_iget, (wss_ctx ctx, ptrdiff_t *target, const ptrdiff_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(ptrdiff_t))
WSS_GET(shmem_get8, (void *target, const void *source, size_t n, int pe), (target, source, n, pe), n * 1)
WSS_GET(shmem_ctx_get8, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 1)
WSS_GET_NBI(shmem_get8_nbi, (void *target, const void *source, size_t n, int pe), (target, source, n, pe),
    n * 1, 0)
WSS_GET_NBI(shmem_ctx_get8_nbi, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 1, ctx)
WSS_GET(shmem_iget8, (void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * 1)
WSS_GET(shmem_ctx_iget8, (wss_ctx ctx, void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * 1)
WSS_GET(shmem_get16, (void *target, const void *source, size_t n, int pe), (target, source, n, pe), n * 2)
WSS_GET(shmem_ctx_get16, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 2)
WSS_GET_NBI(shmem_get16_nbi, (void *target, const void *source, size_t n, int pe), (target, source, n, pe),
    n * 2, 0)
WSS_GET_NBI(shmem_ctx_get16_nbi, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 2, ctx)
WSS_GET(shmem_iget16, (void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * 2)
WSS_GET(shmem_ctx_iget16, (wss_ctx ctx, void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * 2)
WSS_GET(shmem_get32, (void *target, const void *source, size_t n, int pe), (target, source, n, pe), n * 4)
WSS_GET(shmem_ctx_get32, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 4)
WSS_GET_NBI(shmem_get32_nbi, (void *target, const void *source, size_t n, int pe), (target, source, n, pe),
    n * 4, 0)
WSS_GET_NBI(shmem_ctx_get32_nbi, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 4, ctx)
WSS_GET(shmem_iget32, (void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * 4)
WSS_GET(shmem_ctx_iget32, (wss_ctx ctx, void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * 4)
WSS_GET(shmem_get64, (void *target, const void *source, size_t n, int pe), (target, source, n, pe), n * 8)
WSS_GET(shmem_ctx_get64, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 8)
WSS_GET_NBI(shmem_get64_nbi, (void *target, const void *source, size_t n, int pe), (target, source, n, pe),
    n * 8, 0)
WSS_GET_NBI(shmem_ctx_get64_nbi, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 8, ctx)
WSS_GET(shmem_iget64, (void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * 8)
WSS_GET(shmem_ctx_iget64, (wss_ctx ctx, void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * 8)
WSS_GET(shmem_get128, (void *target, const void *source, size_t n, int pe), (target, source, n, pe), n * 16)
WSS_GET(shmem_ctx_get128, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 16)
WSS_GET_NBI(shmem_get128_nbi, (void *target, const void *source, size_t n, int pe), (target, source, n, pe),
    n * 16, 0)
WSS_GET_NBI(shmem_ctx_get128_nbi, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 16, ctx)
WSS_GET(shmem_iget128, (void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * 16)
WSS_GET(shmem_ctx_iget128, (wss_ctx ctx, void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * 16)
WSS_GET(shmem_getmem, (void *target, const void *source, size_t n, int pe), (target, source, n, pe), n * 1)
WSS_GET(shmem_ctx_getmem, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 1)
WSS_GET_NBI(shmem_getmem_nbi, (void *target, const void *source, size_t n, int pe), (target, source, n, pe),
    n * 1, 0)
WSS_GET_NBI(shmem_ctx_getmem_nbi, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 1, ctx)
WSS_G(char, shmem_char_g, (const char *source, int pe), (source, pe), sizeof(char))
WSS_G(char, shmem_ctx_char_g, (wss_ctx ctx, const char *source, int pe), (ctx, source, pe), sizeof(char))
WSS_G(short, shmem_short_g, (const short *source, int pe), (source, pe), sizeof(short))
WSS_G(short, shmem_ctx_short_g, (wss_ctx ctx, const short *source, int pe), (ctx, source, pe), sizeof(short))
WSS_G(int, shmem_int_g, (const int *source, int pe), (source, pe), sizeof(int))
WSS_G(int, shmem_ctx_int_g, (wss_ctx ctx, const int *source, int pe), (ctx, source, pe), sizeof(int))
WSS_G(long, shmem_long_g, (const long *source, int pe), (source, pe), sizeof(long))
WSS_G(long, shmem_ctx_long_g, (wss_ctx ctx, const long *source, int pe), (ctx, source, pe), sizeof(long))
WSS_G(long long, shmem_longlong_g, (const long long *source, int pe), (source, pe), sizeof(long long))
WSS_G(long long, shmem_ctx_longlong_g, (wss_ctx ctx, const long long *source, int pe), (ctx, source, pe),
    sizeof(long long))
WSS_G(signed char, shmem_schar_g, (const signed char *source, int pe), (source, pe), sizeof(signed char))
WSS_G(signed char, shmem_ctx_schar_g, (wss_ctx ctx, const signed char *source, int pe), (ctx, source, pe),
    sizeof(signed char))
WSS_G(unsigned char, shmem_uchar_g, (const unsigned char *source, int pe), (source, pe),
    sizeof(unsigned char))
WSS_G(unsigned char, shmem_ctx_uchar_g, (wss_ctx ctx, const unsigned char *source, int pe),
    (ctx, source, pe), sizeof(unsigned char))
WSS_G(unsigned short, shmem_ushort_g, (const unsigned short *source, int pe), (source, pe),
    sizeof(unsigned short))
WSS_G(unsigned short, shmem_ctx_ushort_g, (wss_ctx ctx, const unsigned short *source, int pe),
    (ctx, source, pe), sizeof(unsigned short))
WSS_G(unsigned int, shmem_uint_g, (const unsigned int *source, int pe), (source, pe), sizeof(unsigned int))
WSS_G(unsigned int, shmem_ctx_uint_g, (wss_ctx ctx, const unsigned int *source, int pe), (ctx, source, pe),
    sizeof(unsigned int))
WSS_G(unsigned long, shmem_ulong_g, (const unsigned long *source, int pe), (source, pe),
    sizeof(unsigned long))
WSS_G(unsigned long, shmem_ctx_ulong_g, (wss_ctx ctx, const unsigned long *source, int pe),
    (ctx, source, pe), sizeof(unsigned long))
WSS_G(unsigned long long, shmem_ulonglong_g, (const unsigned long long *source, int pe), (source, pe),
    sizeof(unsigned long long))
WSS_G(unsigned long long, shmem_ctx_ulonglong_g, (wss_ctx ctx, const unsigned long long *source, int pe),
    (ctx, source, pe), sizeof(unsigned long long))
WSS_G(float, shmem_float_g, (const float *source, int pe), (source, pe), sizeof(float))
WSS_G(float, shmem_ctx_float_g, (wss_ctx ctx, const float *source, int pe), (ctx, source, pe), sizeof(float))
WSS_G(double, shmem_double_g, (const double *source, int pe), (source, pe), sizeof(double))
WSS_G(double, shmem_ctx_double_g, (wss_ctx ctx, const double *source, int pe), (ctx, source, pe),
    sizeof(double))
WSS_G(long double, shmem_longdouble_g, (const long double *source, int pe), (source, pe), sizeof(long double))
WSS_G(long double, shmem_ctx_longdouble_g, (wss_ctx ctx, const long double *source, int pe),
    (ctx, source, pe), sizeof(long double))
WSS_G(int8_t, shmem_int8_g, (const int8_t *source, int pe), (source, pe), sizeof(int8_t))
WSS_G(int8_t, shmem_ctx_int8_g, (wss_ctx ctx, const int8_t *source, int pe), (ctx, source, pe),
    sizeof(int8_t))
WSS_G(int16_t, shmem_int16_g, (const int16_t *source, int pe), (source, pe), sizeof(int16_t))
WSS_G(int16_t, shmem_ctx_int16_g, (wss_ctx ctx, const int16_t *source, int pe), (ctx, source, pe),
    sizeof(int16_t))
WSS_G(int32_t, shmem_int32_g, (const int32_t *source, int pe), (source, pe), sizeof(int32_t))
WSS_G(int32_t, shmem_ctx_int32_g, (wss_ctx ctx, const int32_t *source, int pe), (ctx, source, pe),
    sizeof(int32_t))
WSS_G(int64_t, shmem_int64_g, (const int64_t *source, int pe), (source, pe), sizeof(int64_t))
WSS_G(int64_t, shmem_ctx_int64_g, (wss_ctx ctx, const int64_t *source, int pe), (ctx, source, pe),
    sizeof(int64_t))
WSS_G(uint8_t, shmem_uint8_g, (const uint8_t *source, int pe), (source, pe), sizeof(uint8_t))
WSS_G(uint8_t, shmem_ctx_uint8_g, (wss_ctx ctx, const uint8_t *source, int pe), (ctx, source, pe),
    sizeof(uint8_t))
WSS_G(uint16_t, shmem_uint16_g, (const uint16_t *source, int pe), (source, pe), sizeof(uint16_t))
WSS_G(uint16_t, shmem_ctx_uint16_g, (wss_ctx ctx, const uint16_t *source, int pe), (ctx, source, pe),
    sizeof(uint16_t))
WSS_G(uint32_t, shmem_uint32_g, (const uint32_t *source, int pe), (source, pe), sizeof(uint32_t))
WSS_G(uint32_t, shmem_ctx_uint32_g, (wss_ctx ctx, const uint32_t *source, int pe), (ctx, source, pe),
    sizeof(uint32_t))
WSS_G(uint64_t, shmem_uint64_g, (const uint64_t *source, int pe), (source, pe), sizeof(uint64_t))
WSS_G(uint64_t, shmem_ctx_uint64_g, (wss_ctx ctx, const uint64_t *source, int pe), (ctx, source, pe),
    sizeof(uint64_t))
WSS_G(size_t, shmem_size_g, (const size_t *source, int pe), (source, pe), sizeof(size_t))
WSS_G(size_t, shmem_ctx_size_g, (wss_ctx ctx, const size_t *source, int pe), (ctx, source, pe),
    sizeof(size_t))
WSS_G(ptrdiff_t, shmem_ptrdiff_g, (const ptrdiff_t *source, int pe), (source, pe), sizeof(ptrdiff_t))
WSS_G(ptrdiff_t, shmem_ctx_ptrdiff_g, (wss_ctx ctx, const ptrdiff_t *source, int pe), (ctx, source, pe),
    sizeof(ptrdiff_t))
WSS_G(int16_t, shmemx_int16_g, (const int16_t *source, int pe), (source, pe), sizeof(int16_t))
WSS_G(int32_t, shmemx_int32_g, (const int32_t *source, int pe), (source, pe), sizeof(int32_t))
WSS_G(int64_t, shmemx_int64_g, (const int64_t *source, int pe), (source, pe), sizeof(int64_t))
