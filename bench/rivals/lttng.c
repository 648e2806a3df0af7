/* The mix through LTTng's user-space tracer. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_events.h"
#include "mix.h"

#define TELL(...) lttng_ust_tracepoint(whyslow_bench, __VA_ARGS__)

static void cf(uint64_t i)
{
	TELL(created, i, 1, 0, 1, 1.0, (int32_t)i);
	TELL(requested, (uint32_t)i, i, 0, 0);
	TELL(ready, i, 0);
	TELL(started, i, 1, (uint32_t)i);
	TELL(finished, i, 1, -1);
	TELL(create, (uint32_t)i + 1, 4, i);
	TELL(stored, (uint32_t)i + 1, 4);
	TELL(dropped, (uint32_t)i, 4);
	TELL(destroy, (uint32_t)i, 4, 0);
	TELL(destroyed, i);
}

int main(int argc, char **argv)
{
	if (argc != 5) return 2;
	int64_t before = cpu();
	portions(argv);
	printf("cpu %lld\n", (long long)(cpu() - before));
	return 0;
}
