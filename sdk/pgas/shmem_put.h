/* Functions that write to a PE's memory.
 *
 * Made by sdk/pgas/gen from its table; the macros are in shmem_wrap.h.
 * To make it anew: go generate ./sdk/pgas/... */

WSS_PUT(shmem_char_put, (char *target, const char *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(char))
WSS_PUT(shmem_ctx_char_put, (wss_ctx ctx, char *target, const char *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(char))
WSS_PUT_NBI(shmem_char_put_nbi, (char *target, const char *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(char), 0)
WSS_PUT_NBI(shmem_ctx_char_put_nbi, (wss_ctx ctx, char *target, const char *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(char), ctx)
WSS_PUT(shmem_char_iput, (char *target, const char *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * sizeof(char))
WSS_PUT(shmem_ctx_char_iput, (wss_ctx ctx, char *target, const char *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(char))
WSS_PUT(shmem_short_put, (short *target, const short *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(short))
WSS_PUT(shmem_ctx_short_put, (wss_ctx ctx, short *target, const short *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(short))
WSS_PUT_NBI(shmem_short_put_nbi, (short *target, const short *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(short), 0)
WSS_PUT_NBI(shmem_ctx_short_put_nbi, (wss_ctx ctx, short *target, const short *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(short), ctx)
WSS_PUT(shmem_short_iput, (short *target, const short *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(short))
WSS_PUT(shmem_ctx_short_iput, (wss_ctx ctx, short *target, const short *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(short))
WSS_PUT(shmem_int_put, (int *target, const int *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(int))
WSS_PUT(shmem_ctx_int_put, (wss_ctx ctx, int *target, const int *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int))
WSS_PUT_NBI(shmem_int_put_nbi, (int *target, const int *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(int), 0)
WSS_PUT_NBI(shmem_ctx_int_put_nbi, (wss_ctx ctx, int *target, const int *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int), ctx)
WSS_PUT(shmem_int_iput, (int *target, const int *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * sizeof(int))
WSS_PUT(shmem_ctx_int_iput, (wss_ctx ctx, int *target, const int *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(int))
WSS_PUT(shmem_long_put, (long *target, const long *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(long))
WSS_PUT(shmem_ctx_long_put, (wss_ctx ctx, long *target, const long *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(long))
WSS_PUT_NBI(shmem_long_put_nbi, (long *target, const long *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(long), 0)
WSS_PUT_NBI(shmem_ctx_long_put_nbi, (wss_ctx ctx, long *target, const long *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(long), ctx)
WSS_PUT(shmem_long_iput, (long *target, const long *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * sizeof(long))
WSS_PUT(shmem_ctx_long_iput, (wss_ctx ctx, long *target, const long *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(long))
WSS_PUT(shmem_longlong_put, (long long *target, const long long *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(long long))
WSS_PUT(shmem_ctx_longlong_put, (wss_ctx ctx, long long *target, const long long *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(long long))
WSS_PUT_NBI(shmem_longlong_put_nbi, (long long *target, const long long *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(long long), 0)
WSS_PUT_NBI(shmem_ctx_longlong_put_nbi, (wss_ctx ctx, long long *target, const long long *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(long long), ctx)
WSS_PUT(shmem_longlong_iput, (long long *target, const long long *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(long long))
WSS_PUT(shmem_ctx_longlong_iput, (wss_ctx ctx, long long *target, const long long *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(long long))
WSS_PUT(shmem_schar_put, (signed char *target, const signed char *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(signed char))
WSS_PUT(shmem_ctx_schar_put, (wss_ctx ctx, signed char *target, const signed char *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(signed char))
WSS_PUT_NBI(shmem_schar_put_nbi, (signed char *target, const signed char *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(signed char), 0)
WSS_PUT_NBI(shmem_ctx_schar_put_nbi, (wss_ctx ctx, signed char *target, const signed char *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(signed char), ctx)
WSS_PUT(shmem_schar_iput, (signed char *target, const signed char *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(signed char))
WSS_PUT(shmem_ctx_schar_iput, (wss_ctx ctx, signed char *target, const signed char *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(signed char))
WSS_PUT(shmem_uchar_put, (unsigned char *target, const unsigned char *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned char))
WSS_PUT(shmem_ctx_uchar_put, (wss_ctx ctx, unsigned char *target, const unsigned char *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(unsigned char))
WSS_PUT_NBI(shmem_uchar_put_nbi, (unsigned char *target, const unsigned char *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned char), 0)
WSS_PUT_NBI(shmem_ctx_uchar_put_nbi, (wss_ctx ctx, unsigned char *target, const unsigned char *source,
    size_t n, int pe), (ctx, target, source, n, pe), n * sizeof(unsigned char), ctx)
WSS_PUT(shmem_uchar_iput, (unsigned char *target, const unsigned char *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(unsigned char))
WSS_PUT(shmem_ctx_uchar_iput, (wss_ctx ctx, unsigned char *target, const unsigned char *source,
    ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe),
    n * sizeof(unsigned char))
WSS_PUT(shmem_ushort_put, (unsigned short *target, const unsigned short *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned short))
WSS_PUT(shmem_ctx_ushort_put, (wss_ctx ctx, unsigned short *target, const unsigned short *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(unsigned short))
WSS_PUT_NBI(shmem_ushort_put_nbi, (unsigned short *target, const unsigned short *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned short), 0)
WSS_PUT_NBI(shmem_ctx_ushort_put_nbi, (wss_ctx ctx, unsigned short *target, const unsigned short *source,
    size_t n, int pe), (ctx, target, source, n, pe), n * sizeof(unsigned short), ctx)
WSS_PUT(shmem_ushort_iput, (unsigned short *target, const unsigned short *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(unsigned short))
WSS_PUT(shmem_ctx_ushort_iput, (wss_ctx ctx, unsigned short *target, const unsigned short *source,
    ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe),
    n * sizeof(unsigned short))
WSS_PUT(shmem_uint_put, (unsigned int *target, const unsigned int *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned int))
WSS_PUT(shmem_ctx_uint_put, (wss_ctx ctx, unsigned int *target, const unsigned int *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(unsigned int))
WSS_PUT_NBI(shmem_uint_put_nbi, (unsigned int *target, const unsigned int *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned int), 0)
WSS_PUT_NBI(shmem_ctx_uint_put_nbi, (wss_ctx ctx, unsigned int *target, const unsigned int *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(unsigned int), ctx)
WSS_PUT(shmem_uint_iput, (unsigned int *target, const unsigned int *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(unsigned int))
WSS_PUT(shmem_ctx_uint_iput, (wss_ctx ctx, unsigned int *target, const unsigned int *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(unsigned int))
WSS_PUT(shmem_ulong_put, (unsigned long *target, const unsigned long *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned long))
WSS_PUT(shmem_ctx_ulong_put, (wss_ctx ctx, unsigned long *target, const unsigned long *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(unsigned long))
WSS_PUT_NBI(shmem_ulong_put_nbi, (unsigned long *target, const unsigned long *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(unsigned long), 0)
WSS_PUT_NBI(shmem_ctx_ulong_put_nbi, (wss_ctx ctx, unsigned long *target, const unsigned long *source,
    size_t n, int pe), (ctx, target, source, n, pe), n * sizeof(unsigned long), ctx)
WSS_PUT(shmem_ulong_iput, (unsigned long *target, const unsigned long *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(unsigned long))
WSS_PUT(shmem_ctx_ulong_iput, (wss_ctx ctx, unsigned long *target, const unsigned long *source,
    ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe),
    n * sizeof(unsigned long))
WSS_PUT(shmem_ulonglong_put, (unsigned long long *target, const unsigned long long *source, size_t n,
    int pe), (target, source, n, pe), n * sizeof(unsigned long long))
WSS_PUT(shmem_ctx_ulonglong_put, (wss_ctx ctx, unsigned long long *target, const unsigned long long *source,
    size_t n, int pe), (ctx, target, source, n, pe), n * sizeof(unsigned long long))
WSS_PUT_NBI(shmem_ulonglong_put_nbi, (unsigned long long *target, const unsigned long long *source, size_t n,
    int pe), (target, source, n, pe), n * sizeof(unsigned long long), 0)
WSS_PUT_NBI(shmem_ctx_ulonglong_put_nbi, (wss_ctx ctx, unsigned long long *target,
    const unsigned long long *source, size_t n, int pe), (ctx, target, source, n, pe),
    n * sizeof(unsigned long long), ctx)
WSS_PUT(shmem_ulonglong_iput, (unsigned long long *target, const unsigned long long *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(unsigned long long))
WSS_PUT(shmem_ctx_ulonglong_iput, (wss_ctx ctx, unsigned long long *target, const unsigned long long *source,
    ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe),
    n * sizeof(unsigned long long))
WSS_PUT(shmem_float_put, (float *target, const float *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(float))
WSS_PUT(shmem_ctx_float_put, (wss_ctx ctx, float *target, const float *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(float))
WSS_PUT_NBI(shmem_float_put_nbi, (float *target, const float *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(float), 0)
WSS_PUT_NBI(shmem_ctx_float_put_nbi, (wss_ctx ctx, float *target, const float *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(float), ctx)
WSS_PUT(shmem_float_iput, (float *target, const float *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(float))
WSS_PUT(shmem_ctx_float_iput, (wss_ctx ctx, float *target, const float *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(float))
WSS_PUT(shmem_double_put, (double *target, const double *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(double))
WSS_PUT(shmem_ctx_double_put, (wss_ctx ctx, double *target, const double *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(double))
WSS_PUT_NBI(shmem_double_put_nbi, (double *target, const double *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(double), 0)
WSS_PUT_NBI(shmem_ctx_double_put_nbi, (wss_ctx ctx, double *target, const double *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(double), ctx)
WSS_PUT(shmem_double_iput, (double *target, const double *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(double))
WSS_PUT(shmem_ctx_double_iput, (wss_ctx ctx, double *target, const double *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(double))
WSS_PUT(shmem_longdouble_put, (long double *target, const long double *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(long double))
WSS_PUT(shmem_ctx_longdouble_put, (wss_ctx ctx, long double *target, const long double *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(long double))
WSS_PUT_NBI(shmem_longdouble_put_nbi, (long double *target, const long double *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(long double), 0)
WSS_PUT_NBI(shmem_ctx_longdouble_put_nbi, (wss_ctx ctx, long double *target, const long double *source,
    size_t n, int pe), (ctx, target, source, n, pe), n * sizeof(long double), ctx)
WSS_PUT(shmem_longdouble_iput, (long double *target, const long double *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(long double))
WSS_PUT(shmem_ctx_longdouble_iput, (wss_ctx ctx, long double *target, const long double *source,
    ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe),
    n * sizeof(long double))
WSS_PUT(shmem_int8_put, (int8_t *target, const int8_t *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(int8_t))
WSS_PUT(shmem_ctx_int8_put, (wss_ctx ctx, int8_t *target, const int8_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int8_t))
WSS_PUT_NBI(shmem_int8_put_nbi, (int8_t *target, const int8_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(int8_t), 0)
WSS_PUT_NBI(shmem_ctx_int8_put_nbi, (wss_ctx ctx, int8_t *target, const int8_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int8_t), ctx)
WSS_PUT(shmem_int8_iput, (int8_t *target, const int8_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(int8_t))
WSS_PUT(shmem_ctx_int8_iput, (wss_ctx ctx, int8_t *target, const int8_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(int8_t))
WSS_PUT(shmem_int16_put, (int16_t *target, const int16_t *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(int16_t))
WSS_PUT(shmem_ctx_int16_put, (wss_ctx ctx, int16_t *target, const int16_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int16_t))
WSS_PUT_NBI(shmem_int16_put_nbi, (int16_t *target, const int16_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(int16_t), 0)
WSS_PUT_NBI(shmem_ctx_int16_put_nbi, (wss_ctx ctx, int16_t *target, const int16_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int16_t), ctx)
WSS_PUT(shmem_int16_iput, (int16_t *target, const int16_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(int16_t))
WSS_PUT(shmem_ctx_int16_iput, (wss_ctx ctx, int16_t *target, const int16_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(int16_t))
WSS_PUT(shmem_int32_put, (int32_t *target, const int32_t *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(int32_t))
WSS_PUT(shmem_ctx_int32_put, (wss_ctx ctx, int32_t *target, const int32_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int32_t))
WSS_PUT_NBI(shmem_int32_put_nbi, (int32_t *target, const int32_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(int32_t), 0)
WSS_PUT_NBI(shmem_ctx_int32_put_nbi, (wss_ctx ctx, int32_t *target, const int32_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int32_t), ctx)
WSS_PUT(shmem_int32_iput, (int32_t *target, const int32_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(int32_t))
WSS_PUT(shmem_ctx_int32_iput, (wss_ctx ctx, int32_t *target, const int32_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(int32_t))
WSS_PUT(shmem_int64_put, (int64_t *target, const int64_t *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(int64_t))
WSS_PUT(shmem_ctx_int64_put, (wss_ctx ctx, int64_t *target, const int64_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int64_t))
WSS_PUT_NBI(shmem_int64_put_nbi, (int64_t *target, const int64_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(int64_t), 0)
WSS_PUT_NBI(shmem_ctx_int64_put_nbi, (wss_ctx ctx, int64_t *target, const int64_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(int64_t), ctx)
WSS_PUT(shmem_int64_iput, (int64_t *target, const int64_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(int64_t))
WSS_PUT(shmem_ctx_int64_iput, (wss_ctx ctx, int64_t *target, const int64_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(int64_t))
WSS_PUT(shmem_uint8_put, (uint8_t *target, const uint8_t *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(uint8_t))
WSS_PUT(shmem_ctx_uint8_put, (wss_ctx ctx, uint8_t *target, const uint8_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(uint8_t))
WSS_PUT_NBI(shmem_uint8_put_nbi, (uint8_t *target, const uint8_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(uint8_t), 0)
WSS_PUT_NBI(shmem_ctx_uint8_put_nbi, (wss_ctx ctx, uint8_t *target, const uint8_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(uint8_t), ctx)
WSS_PUT(shmem_uint8_iput, (uint8_t *target, const uint8_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(uint8_t))
WSS_PUT(shmem_ctx_uint8_iput, (wss_ctx ctx, uint8_t *target, const uint8_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(uint8_t))
WSS_PUT(shmem_uint16_put, (uint16_t *target, const uint16_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(uint16_t))
WSS_PUT(shmem_ctx_uint16_put, (wss_ctx ctx, uint16_t *target, const uint16_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(uint16_t))
WSS_PUT_NBI(shmem_uint16_put_nbi, (uint16_t *target, const uint16_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(uint16_t), 0)
WSS_PUT_NBI(shmem_ctx_uint16_put_nbi, (wss_ctx ctx, uint16_t *target, const uint16_t *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(uint16_t), ctx)
WSS_PUT(shmem_uint16_iput, (uint16_t *target, const uint16_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(uint16_t))
WSS_PUT(shmem_ctx_uint16_iput, (wss_ctx ctx, uint16_t *target, const uint16_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(uint16_t))
WSS_PUT(shmem_uint32_put, (uint32_t *target, const uint32_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(uint32_t))
WSS_PUT(shmem_ctx_uint32_put, (wss_ctx ctx, uint32_t *target, const uint32_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(uint32_t))
WSS_PUT_NBI(shmem_uint32_put_nbi, (uint32_t *target, const uint32_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(uint32_t), 0)
WSS_PUT_NBI(shmem_ctx_uint32_put_nbi, (wss_ctx ctx, uint32_t *target, const uint32_t *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(uint32_t), ctx)
WSS_PUT(shmem_uint32_iput, (uint32_t *target, const uint32_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(uint32_t))
WSS_PUT(shmem_ctx_uint32_iput, (wss_ctx ctx, uint32_t *target, const uint32_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(uint32_t))
WSS_PUT(shmem_uint64_put, (uint64_t *target, const uint64_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(uint64_t))
WSS_PUT(shmem_ctx_uint64_put, (wss_ctx ctx, uint64_t *target, const uint64_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(uint64_t))
WSS_PUT_NBI(shmem_uint64_put_nbi, (uint64_t *target, const uint64_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(uint64_t), 0)
WSS_PUT_NBI(shmem_ctx_uint64_put_nbi, (wss_ctx ctx, uint64_t *target, const uint64_t *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(uint64_t), ctx)
WSS_PUT(shmem_uint64_iput, (uint64_t *target, const uint64_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(uint64_t))
WSS_PUT(shmem_ctx_uint64_iput, (wss_ctx ctx, uint64_t *target, const uint64_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(uint64_t))
WSS_PUT(shmem_size_put, (size_t *target, const size_t *source, size_t n, int pe), (target, source, n, pe),
    n * sizeof(size_t))
WSS_PUT(shmem_ctx_size_put, (wss_ctx ctx, size_t *target, const size_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(size_t))
WSS_PUT_NBI(shmem_size_put_nbi, (size_t *target, const size_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(size_t), 0)
WSS_PUT_NBI(shmem_ctx_size_put_nbi, (wss_ctx ctx, size_t *target, const size_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(size_t), ctx)
WSS_PUT(shmem_size_iput, (size_t *target, const size_t *source, ptrdiff_t tst, ptrdiff_t sst, size_t n,
    int pe), (target, source, tst, sst, n, pe), n * sizeof(size_t))
WSS_PUT(shmem_ctx_size_iput, (wss_ctx ctx, size_t *target, const size_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(size_t))
WSS_PUT(shmem_ptrdiff_put, (ptrdiff_t *target, const ptrdiff_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(ptrdiff_t))
WSS_PUT(shmem_ctx_ptrdiff_put, (wss_ctx ctx, ptrdiff_t *target, const ptrdiff_t *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * sizeof(ptrdiff_t))
WSS_PUT_NBI(shmem_ptrdiff_put_nbi, (ptrdiff_t *target, const ptrdiff_t *source, size_t n, int pe),
    (target, source, n, pe), n * sizeof(ptrdiff_t), 0)
WSS_PUT_NBI(shmem_ctx_ptrdiff_put_nbi, (wss_ctx ctx, ptrdiff_t *target, const ptrdiff_t *source, size_t n,
    int pe), (ctx, target, source, n, pe), n * sizeof(ptrdiff_t), ctx)
WSS_PUT(shmem_ptrdiff_iput, (ptrdiff_t *target, const ptrdiff_t *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (target, source, tst, sst, n, pe), n * sizeof(ptrdiff_t))
WSS_PUT(shmem_ctx_ptrdiff_iput, (wss_ctx ctx, ptrdiff_t *target, const ptrdiff_t *source, ptrdiff_t tst,
    ptrdiff_t sst, size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * sizeof(ptrdiff_t))
WSS_PUT(shmem_put8, (void *target, const void *source, size_t n, int pe), (target, source, n, pe), n * 1)
WSS_PUT(shmem_ctx_put8, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 1)
WSS_PUT_NBI(shmem_put8_nbi, (void *target, const void *source, size_t n, int pe), (target, source, n, pe),
    n * 1, 0)
WSS_PUT_NBI(shmem_ctx_put8_nbi, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 1, ctx)
WSS_PUT(shmem_iput8, (void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * 1)
WSS_PUT(shmem_ctx_iput8, (wss_ctx ctx, void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * 1)
WSS_PUT(shmem_put16, (void *target, const void *source, size_t n, int pe), (target, source, n, pe), n * 2)
WSS_PUT(shmem_ctx_put16, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 2)
WSS_PUT_NBI(shmem_put16_nbi, (void *target, const void *source, size_t n, int pe), (target, source, n, pe),
    n * 2, 0)
WSS_PUT_NBI(shmem_ctx_put16_nbi, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 2, ctx)
WSS_PUT(shmem_iput16, (void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * 2)
WSS_PUT(shmem_ctx_iput16, (wss_ctx ctx, void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * 2)
WSS_PUT(shmem_put32, (void *target, const void *source, size_t n, int pe), (target, source, n, pe), n * 4)
WSS_PUT(shmem_ctx_put32, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 4)
WSS_PUT_NBI(shmem_put32_nbi, (void *target, const void *source, size_t n, int pe), (target, source, n, pe),
    n * 4, 0)
WSS_PUT_NBI(shmem_ctx_put32_nbi, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 4, ctx)
WSS_PUT(shmem_iput32, (void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * 4)
WSS_PUT(shmem_ctx_iput32, (wss_ctx ctx, void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * 4)
WSS_PUT(shmem_put64, (void *target, const void *source, size_t n, int pe), (target, source, n, pe), n * 8)
WSS_PUT(shmem_ctx_put64, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 8)
WSS_PUT_NBI(shmem_put64_nbi, (void *target, const void *source, size_t n, int pe), (target, source, n, pe),
    n * 8, 0)
WSS_PUT_NBI(shmem_ctx_put64_nbi, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 8, ctx)
WSS_PUT(shmem_iput64, (void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * 8)
WSS_PUT(shmem_ctx_iput64, (wss_ctx ctx, void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * 8)
WSS_PUT(shmem_put128, (void *target, const void *source, size_t n, int pe), (target, source, n, pe), n * 16)
WSS_PUT(shmem_ctx_put128, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 16)
WSS_PUT_NBI(shmem_put128_nbi, (void *target, const void *source, size_t n, int pe), (target, source, n, pe),
    n * 16, 0)
WSS_PUT_NBI(shmem_ctx_put128_nbi, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 16, ctx)
WSS_PUT(shmem_iput128, (void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst, size_t n, int pe),
    (target, source, tst, sst, n, pe), n * 16)
WSS_PUT(shmem_ctx_iput128, (wss_ctx ctx, void *target, const void *source, ptrdiff_t tst, ptrdiff_t sst,
    size_t n, int pe), (ctx, target, source, tst, sst, n, pe), n * 16)
WSS_PUT(shmem_putmem, (void *target, const void *source, size_t n, int pe), (target, source, n, pe), n * 1)
WSS_PUT(shmem_ctx_putmem, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 1)
WSS_PUT_NBI(shmem_putmem_nbi, (void *target, const void *source, size_t n, int pe), (target, source, n, pe),
    n * 1, 0)
WSS_PUT_NBI(shmem_ctx_putmem_nbi, (wss_ctx ctx, void *target, const void *source, size_t n, int pe),
    (ctx, target, source, n, pe), n * 1, ctx)
WSS_P(shmem_char_p, (char *target, char value, int pe), (target, value, pe), sizeof(char))
WSS_P(shmem_ctx_char_p, (wss_ctx ctx, char *target, char value, int pe), (ctx, target, value, pe),
    sizeof(char))
WSS_P(shmem_short_p, (short *target, short value, int pe), (target, value, pe), sizeof(short))
WSS_P(shmem_ctx_short_p, (wss_ctx ctx, short *target, short value, int pe), (ctx, target, value, pe),
    sizeof(short))
WSS_P(shmem_int_p, (int *target, int value, int pe), (target, value, pe), sizeof(int))
WSS_P(shmem_ctx_int_p, (wss_ctx ctx, int *target, int value, int pe), (ctx, target, value, pe), sizeof(int))
WSS_P(shmem_long_p, (long *target, long value, int pe), (target, value, pe), sizeof(long))
WSS_P(shmem_ctx_long_p, (wss_ctx ctx, long *target, long value, int pe), (ctx, target, value, pe),
    sizeof(long))
WSS_P(shmem_longlong_p, (long long *target, long long value, int pe), (target, value, pe), sizeof(long long))
WSS_P(shmem_ctx_longlong_p, (wss_ctx ctx, long long *target, long long value, int pe),
    (ctx, target, value, pe), sizeof(long long))
WSS_P(shmem_schar_p, (signed char *target, signed char value, int pe), (target, value, pe),
    sizeof(signed char))
WSS_P(shmem_ctx_schar_p, (wss_ctx ctx, signed char *target, signed char value, int pe),
    (ctx, target, value, pe), sizeof(signed char))
WSS_P(shmem_uchar_p, (unsigned char *target, unsigned char value, int pe), (target, value, pe),
    sizeof(unsigned char))
WSS_P(shmem_ctx_uchar_p, (wss_ctx ctx, unsigned char *target, unsigned char value, int pe),
    (ctx, target, value, pe), sizeof(unsigned char))
WSS_P(shmem_ushort_p, (unsigned short *target, unsigned short value, int pe), (target, value, pe),
    sizeof(unsigned short))
WSS_P(shmem_ctx_ushort_p, (wss_ctx ctx, unsigned short *target, unsigned short value, int pe),
    (ctx, target, value, pe), sizeof(unsigned short))
WSS_P(shmem_uint_p, (unsigned int *target, unsigned int value, int pe), (target, value, pe),
    sizeof(unsigned int))
WSS_P(shmem_ctx_uint_p, (wss_ctx ctx, unsigned int *target, unsigned int value, int pe),
    (ctx, target, value, pe), sizeof(unsigned int))
WSS_P(shmem_ulong_p, (unsigned long *target, unsigned long value, int pe), (target, value, pe),
    sizeof(unsigned long))
WSS_P(shmem_ctx_ulong_p, (wss_ctx ctx, unsigned long *target, unsigned long value, int pe),
    (ctx, target, value, pe), sizeof(unsigned long))
WSS_P(shmem_ulonglong_p, (unsigned long long *target, unsigned long long value, int pe), (target, value, pe),
    sizeof(unsigned long long))
WSS_P(shmem_ctx_ulonglong_p, (wss_ctx ctx, unsigned long long *target, unsigned long long value, int pe),
    (ctx, target, value, pe), sizeof(unsigned long long))
WSS_P(shmem_float_p, (float *target, float value, int pe), (target, value, pe), sizeof(float))
WSS_P(shmem_ctx_float_p, (wss_ctx ctx, float *target, float value, int pe), (ctx, target, value, pe),
    sizeof(float))
WSS_P(shmem_double_p, (double *target, double value, int pe), (target, value, pe), sizeof(double))
WSS_P(shmem_ctx_double_p, (wss_ctx ctx, double *target, double value, int pe), (ctx, target, value, pe),
    sizeof(double))
WSS_P(shmem_longdouble_p, (long double *target, long double value, int pe), (target, value, pe),
    sizeof(long double))
WSS_P(shmem_ctx_longdouble_p, (wss_ctx ctx, long double *target, long double value, int pe),
    (ctx, target, value, pe), sizeof(long double))
WSS_P(shmem_int8_p, (int8_t *target, int8_t value, int pe), (target, value, pe), sizeof(int8_t))
WSS_P(shmem_ctx_int8_p, (wss_ctx ctx, int8_t *target, int8_t value, int pe), (ctx, target, value, pe),
    sizeof(int8_t))
WSS_P(shmem_int16_p, (int16_t *target, int16_t value, int pe), (target, value, pe), sizeof(int16_t))
WSS_P(shmem_ctx_int16_p, (wss_ctx ctx, int16_t *target, int16_t value, int pe), (ctx, target, value, pe),
    sizeof(int16_t))
WSS_P(shmem_int32_p, (int32_t *target, int32_t value, int pe), (target, value, pe), sizeof(int32_t))
WSS_P(shmem_ctx_int32_p, (wss_ctx ctx, int32_t *target, int32_t value, int pe), (ctx, target, value, pe),
    sizeof(int32_t))
WSS_P(shmem_int64_p, (int64_t *target, int64_t value, int pe), (target, value, pe), sizeof(int64_t))
WSS_P(shmem_ctx_int64_p, (wss_ctx ctx, int64_t *target, int64_t value, int pe), (ctx, target, value, pe),
    sizeof(int64_t))
WSS_P(shmem_uint8_p, (uint8_t *target, uint8_t value, int pe), (target, value, pe), sizeof(uint8_t))
WSS_P(shmem_ctx_uint8_p, (wss_ctx ctx, uint8_t *target, uint8_t value, int pe), (ctx, target, value, pe),
    sizeof(uint8_t))
WSS_P(shmem_uint16_p, (uint16_t *target, uint16_t value, int pe), (target, value, pe), sizeof(uint16_t))
WSS_P(shmem_ctx_uint16_p, (wss_ctx ctx, uint16_t *target, uint16_t value, int pe), (ctx, target, value, pe),
    sizeof(uint16_t))
WSS_P(shmem_uint32_p, (uint32_t *target, uint32_t value, int pe), (target, value, pe), sizeof(uint32_t))
WSS_P(shmem_ctx_uint32_p, (wss_ctx ctx, uint32_t *target, uint32_t value, int pe), (ctx, target, value, pe),
    sizeof(uint32_t))
WSS_P(shmem_uint64_p, (uint64_t *target, uint64_t value, int pe), (target, value, pe), sizeof(uint64_t))
WSS_P(shmem_ctx_uint64_p, (wss_ctx ctx, uint64_t *target, uint64_t value, int pe), (ctx, target, value, pe),
    sizeof(uint64_t))
WSS_P(shmem_size_p, (size_t *target, size_t value, int pe), (target, value, pe), sizeof(size_t))
WSS_P(shmem_ctx_size_p, (wss_ctx ctx, size_t *target, size_t value, int pe), (ctx, target, value, pe),
    sizeof(size_t))
WSS_P(shmem_ptrdiff_p, (ptrdiff_t *target, ptrdiff_t value, int pe), (target, value, pe), sizeof(ptrdiff_t))
WSS_P(shmem_ctx_ptrdiff_p, (wss_ctx ctx, ptrdiff_t *target, ptrdiff_t value, int pe),
    (ctx, target, value, pe), sizeof(ptrdiff_t))
WSS_P(shmemx_int16_p, (int16_t *target, int16_t value, int pe), (target, value, pe), sizeof(int16_t))
WSS_P(shmemx_int32_p, (int32_t *target, int32_t value, int pe), (target, value, pe), sizeof(int32_t))
WSS_P(shmemx_int64_p, (int64_t *target, int64_t value, int pe), (target, value, pe), sizeof(int64_t))
