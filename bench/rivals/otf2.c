/* The mix through OTF2. The execution of a CF is recorded as Enter and Leave, its creation and end as
 * ThreadTaskCreate and ThreadTaskComplete. Everything else is a parameter with one number, because OTF2 has
 * no events for data.
 *
 * With one argument the program reads an archive back and prints the number of events. */
#include <otf2/otf2.h>
#include "mix.h"

static OTF2_EvtWriter *evt;

static OTF2_FlushType pre_flush(
	void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
	return OTF2_FLUSH;
}

static OTF2_TimeStamp post_flush(void *data, OTF2_FileType type, OTF2_LocationRef location) { return now(); }

static void fact(OTF2_ParameterRef kind, uint64_t value)
{
	OTF2_EvtWriter_ParameterUnsignedInt(evt, NULL, now(), kind, value);
}

static void cf(uint64_t i)
{
	OTF2_EvtWriter_ThreadTaskCreate(evt, NULL, now(), 0, 0, (uint32_t)i);
	fact(0, i);     /* requested */
	fact(1, i);     /* ready */
	OTF2_EvtWriter_Enter(evt, NULL, now(), 0);
	OTF2_EvtWriter_Leave(evt, NULL, now(), 0);
	fact(2, i + 1); /* create */
	fact(3, i + 1); /* stored */
	fact(4, i);     /* dropped */
	fact(5, i);     /* destroy */
	OTF2_EvtWriter_ThreadTaskComplete(evt, NULL, now(), 0, 0, (uint32_t)i);
}

static int64_t start;

static void definitions(OTF2_Archive *a, uint64_t events)
{
	static const char *names[] = {"", "node", "process", "worker", "step", "requested", "ready", "create",
		"stored", "dropped", "destroy", "group", "team"};
	OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(a);
	OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000, start, now() - start, OTF2_UNDEFINED_TIMESTAMP);
	for (int i = 0; i < 13; i++) OTF2_GlobalDefWriter_WriteString(d, i, names[i]);
	OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 1, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
	OTF2_GlobalDefWriter_WriteLocationGroup(
		d, 0, 2, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0, OTF2_UNDEFINED_LOCATION_GROUP);
	OTF2_GlobalDefWriter_WriteLocation(d, 0, 3, OTF2_LOCATION_TYPE_CPU_THREAD, events, 0);
	OTF2_GlobalDefWriter_WriteRegion(
		d, 0, 4, 4, 0, OTF2_REGION_ROLE_TASK, OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, 0, 0, 0);
	for (int i = 0; i < 6; i++) OTF2_GlobalDefWriter_WriteParameter(d, i, 5 + i, OTF2_PARAMETER_TYPE_UINT64);
	const uint64_t members[] = {0};
	OTF2_GlobalDefWriter_WriteGroup(
		d, 0, 11, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_PTHREAD, OTF2_GROUP_FLAG_NONE, 1, members);
	OTF2_GlobalDefWriter_WriteComm(d, 0, 12, 0, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
}

static int write_all(char **argv)
{
	static OTF2_FlushCallbacks flush = {.otf2_pre_flush = pre_flush, .otf2_post_flush = post_flush};
	int64_t before = cpu();
	start = now();
	OTF2_Archive *a = OTF2_Archive_Open(
		argv[1], "mix", OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	if (!a) return 1;
	OTF2_Archive_SetFlushCallbacks(a, &flush, NULL);
	OTF2_Archive_SetSerialCollectiveCallbacks(a);
	OTF2_Archive_OpenEvtFiles(a);
	evt = OTF2_Archive_GetEvtWriter(a, 0);
	portions(argv);
	uint64_t events;
	OTF2_EvtWriter_GetNumberOfEvents(evt, &events);
	OTF2_Archive_CloseEvtWriter(a, evt);
	OTF2_Archive_CloseEvtFiles(a);
	OTF2_Archive_OpenDefFiles(a);
	OTF2_Archive_CloseDefWriter(a, OTF2_Archive_GetDefWriter(a, 0));
	OTF2_Archive_CloseDefFiles(a);
	definitions(a, events);
	OTF2_Archive_Close(a);
	printf("cpu %lld\n", (long long)(cpu() - before));
	return 0;
}

static OTF2_CallbackCode enter(
	OTF2_LocationRef l, OTF2_TimeStamp t, uint64_t pos, void *n, OTF2_AttributeList *a, OTF2_RegionRef r)
{
	++*(uint64_t *)n;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode parameter(OTF2_LocationRef l, OTF2_TimeStamp t, uint64_t pos, void *n,
	OTF2_AttributeList *a, OTF2_ParameterRef p, uint64_t v)
{
	++*(uint64_t *)n;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode task(OTF2_LocationRef l, OTF2_TimeStamp t, uint64_t pos, void *n,
	OTF2_AttributeList *a, OTF2_CommRef c, uint32_t thread, uint32_t generation)
{
	++*(uint64_t *)n;
	return OTF2_CALLBACK_SUCCESS;
}

static int read_all(const char *anchor)
{
	uint64_t events = 0, n;
	OTF2_Reader *r = OTF2_Reader_Open(anchor);
	if (!r) return 1;
	OTF2_Reader_SetSerialCollectiveCallbacks(r);
	OTF2_Reader_SelectLocation(r, 0);
	OTF2_Reader_OpenEvtFiles(r);
	OTF2_EvtReader *e = OTF2_Reader_GetEvtReader(r, 0);
	OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();
	OTF2_EvtReaderCallbacks_SetEnterCallback(c, enter);
	OTF2_EvtReaderCallbacks_SetLeaveCallback(c, enter);
	OTF2_EvtReaderCallbacks_SetParameterUnsignedIntCallback(c, parameter);
	OTF2_EvtReaderCallbacks_SetThreadTaskCreateCallback(c, task);
	OTF2_EvtReaderCallbacks_SetThreadTaskCompleteCallback(c, task);
	OTF2_Reader_RegisterEvtCallbacks(r, e, c, &events);
	OTF2_EvtReaderCallbacks_Delete(c);
	OTF2_Reader_ReadAllLocalEvents(r, e, &n);
	OTF2_Reader_CloseEvtReader(r, e);
	OTF2_Reader_CloseEvtFiles(r);
	OTF2_Reader_Close(r);
	printf("%llu\n", (unsigned long long)events);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2) return read_all(argv[1]);
	return argc == 5 ? write_all(argv) : 2;
}
