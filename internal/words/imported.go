package words

// ImportedFormat is how a format of other programs' traces is shown.
type ImportedFormat struct {
	About   Phrase // what it is
	NotTold Phrase // what it does not tell; it ends "It does not tell ..."
}

// Imported are the formats by name, as run.json has it under "imported".
var Imported = map[string]ImportedFormat{
	"go": {
		Phrase{"Go execution trace", "трасса исполнения программы на Go"},
		Phrase{"the CPU time of threads, so U may include waiting for a core; data and its sizes",
			"процессорное время потоков (U может включать ожидание ядра); данные и их размеры"}},
	"chrome": {
		Phrase{"Trace Event Format (JSON of chrome://tracing, Perfetto, PyTorch, Dask, Bazel and others)",
			"Trace Event Format (JSON программ chrome://tracing, Perfetto, PyTorch, Dask, Bazel и других)"},
		Phrase{"why tasks without flows start when they do; slices inside of others; data and its sizes; messages " +
			"between processes, so L; the CPU time of threads, so U may include waiting for a core. Counters and " +
			"asynchronous slices are not read",
			"почему задачи без стрелок начинаются в это время; интервалы внутри других; данные и их размеры; " +
				"сообщения между процессами и с ними L; процессорное время потоков (U может включать ожидание ядра). " +
				"Счётчики и асинхронные интервалы не читаются"}},
}
