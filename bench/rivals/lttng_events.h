/* The events of the mix, with their fields. LTTng includes this file several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER whyslow_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_events.h"
#if !defined(LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_EVENTS_H
#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(whyslow_bench, created,
	LTTNG_UST_TP_ARGS(uint64_t, cf, uint32_t, site, uint64_t, parent,
		uint32_t, execution, double, weight, int32_t, index),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint64_t, cf, cf)
		lttng_ust_field_integer(uint32_t, site, site)
		lttng_ust_field_integer(uint64_t, parent, parent)
		lttng_ust_field_integer(uint32_t, execution, execution)
		lttng_ust_field_float(double, weight, weight)
		lttng_ust_field_integer(int32_t, index, index)))
LTTNG_UST_TRACEPOINT_EVENT(whyslow_bench, requested,
	LTTNG_UST_TP_ARGS(uint32_t, df, uint64_t, cf, uint16_t, node, uint64_t, request),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint32_t, df, df)
		lttng_ust_field_integer(uint64_t, cf, cf)
		lttng_ust_field_integer(uint16_t, node, node)
		lttng_ust_field_integer(uint64_t, request, request)))
LTTNG_UST_TRACEPOINT_EVENT(whyslow_bench, ready,
	LTTNG_UST_TP_ARGS(uint64_t, cf, int64_t, late),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint64_t, cf, cf)
		lttng_ust_field_integer(int64_t, late, late)))
LTTNG_UST_TRACEPOINT_EVENT(whyslow_bench, started,
	LTTNG_UST_TP_ARGS(uint64_t, cf, uint32_t, execution, uint32_t, input),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint64_t, cf, cf)
		lttng_ust_field_integer(uint32_t, execution, execution)
		lttng_ust_field_integer(uint32_t, input, input)))
LTTNG_UST_TRACEPOINT_EVENT(whyslow_bench, finished,
	LTTNG_UST_TP_ARGS(uint64_t, cf, uint32_t, execution, int64_t, cpu),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint64_t, cf, cf)
		lttng_ust_field_integer(uint32_t, execution, execution)
		lttng_ust_field_integer(int64_t, cpu, cpu)))
LTTNG_UST_TRACEPOINT_EVENT(whyslow_bench, create,
	LTTNG_UST_TP_ARGS(uint32_t, df, int64_t, size, uint64_t, cf),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint32_t, df, df)
		lttng_ust_field_integer(int64_t, size, size)
		lttng_ust_field_integer(uint64_t, cf, cf)))
LTTNG_UST_TRACEPOINT_EVENT(whyslow_bench, stored,
	LTTNG_UST_TP_ARGS(uint32_t, df, int64_t, size),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint32_t, df, df)
		lttng_ust_field_integer(int64_t, size, size)))
LTTNG_UST_TRACEPOINT_EVENT(whyslow_bench, dropped,
	LTTNG_UST_TP_ARGS(uint32_t, df, int64_t, size),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint32_t, df, df)
		lttng_ust_field_integer(int64_t, size, size)))
LTTNG_UST_TRACEPOINT_EVENT(whyslow_bench, destroy,
	LTTNG_UST_TP_ARGS(uint32_t, df, int64_t, size, uint8_t, reason),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint32_t, df, df)
		lttng_ust_field_integer(int64_t, size, size)
		lttng_ust_field_integer(uint8_t, reason, reason)))
LTTNG_UST_TRACEPOINT_EVENT(whyslow_bench, destroyed,
	LTTNG_UST_TP_ARGS(uint64_t, cf),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint64_t, cf, cf)))
#endif
#include <lttng/tracepoint-event.h>
