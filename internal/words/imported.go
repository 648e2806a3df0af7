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
	"otf2": {
		Phrase{"OTF2 archive (Score-P, TAU, Extrae and others)", "архив OTF2 (Score-P, TAU, Extrae и другие)"},
		Phrase{"the lines of calls; when threads had a core, so U may include waiting for one; which OpenMP " +
			"tasks depend on which. Metrics, files, and what accelerators do are not read",
			"строки вызовов; когда потоки имели ядро (U может включать ожидание ядра); зависимости задач OpenMP. " +
				"Метрики, файлы и работа ускорителей не читаются"}},
	"perfetto": {
		Phrase{"Perfetto trace (protocol buffers: Perfetto's SDK, Chrome and others)",
			"трасса Perfetto (protocol buffers: SDK Perfetto, Chrome и другие)"},
		Phrase{"why tasks without flows start when they do; data and its sizes; messages " +
			"between processes, so L; the CPU time of threads, so U may include waiting for a core",
			"почему задачи без стрелок начинаются в это время; данные и их размеры; " +
				"сообщения между процессами и с ними L; процессорное время потоков (U может включать ожидание ядра)"}},
	"chrome": {
		Phrase{"Trace Event Format (JSON of chrome://tracing, Perfetto, PyTorch, Dask, Bazel and others)",
			"Trace Event Format (JSON программ chrome://tracing, Perfetto, PyTorch, Dask, Bazel и других)"},
		Phrase{
			"why tasks without flows start when they do; data and its sizes; messages " +
				"between processes, so L; the CPU time of threads, so U may include waiting for a core",
			"почему задачи без стрелок начинаются в это время; данные и их размеры; " +
				"сообщения между процессами и с ними L; процессорное время потоков (U может включать ожидание ядра)"}},
	"starpu": {
		Phrase{"StarPU (tasks.rec and paje.trace of starpu_fxt_tool)",
			"StarPU (tasks.rec и paje.trace программы starpu_fxt_tool)"},
		Phrase{"transfers to and from the memory of accelerators, so they are in O; the CPU time of threads, so " +
			"U may include waiting for a core; when the program released data that it had taken; whether data is " +
			"kept or destroyed",
			"пересылок в память ускорителей и из неё (они в O); процессорного времени потоков (U может включать " +
				"ожидание ядра); когда программа освобождала взятые данные; хранятся ли данные или уничтожены"}},
	"starpu-tasks": {
		Phrase{"StarPU (tasks.rec of starpu_fxt_tool)", "StarPU (tasks.rec программы starpu_fxt_tool)"},
		Phrase{"workers that executed nothing; messages between ranks, so L; when workers slept, and StarPU's " +
			"own states: give the folder with paje.trace to have these. Nor does it tell the CPU time of threads, " +
			"so U may include waiting for a core",
			"рабочих, которые ничего не исполняли; сообщений между процессами и с ними L; когда рабочие спали, и " +
				"состояний самого StarPU: укажите папку, в которой есть и paje.trace. Нет и процессорного времени " +
				"потоков (U может включать ожидание ядра)"}},
	"starpu-states": {
		Phrase{"StarPU (paje.trace of starpu_fxt_tool)", "StarPU (paje.trace программы starpu_fxt_tool)"},
		Phrase{"why tasks start when they do: dependences, data and when tasks were submitted: give the folder " +
			"with tasks.rec to have these. Nor does it tell the CPU time of threads, so U may include waiting for a " +
			"core",
			"почему задачи начинаются в это время: зависимостей, данных и времени постановки задач: укажите папку, " +
				"в которой есть и tasks.rec. Нет и процессорного времени потоков (U может включать ожидание ядра)"}},
	"luna": {
		Phrase{"LuNA's text log (log.00, log.01, ...)", "текстовый журнал LuNA (log.00, log.01, ...)"},
		Phrase{"which worker executes a CF: each goes to the first that is free, so there may have been more " +
			"workers; when DFs are sent: L begins when a DF was there and had been asked for; the names of code " +
			"fragments and DFs; inputs that were there already in logs that whyslow wrote; the CPU time of threads, " +
			"so U may include waiting for a core",
			"какой рабочий исполняет ФВ: каждый достаётся первому свободному, и рабочих могло быть больше; когда ФД " +
				"посылаются (L считается с того времени, когда ФД есть и запрошен); имён фрагментов кода и ФД; уже " +
				"имевшихся входов, если журнал записал whyslow; процессорного времени потоков (U может включать " +
				"ожидание ядра)"}},
}

// NotRead is what readers of other programs' traces leave out and count, by name, as run.json has it under
// "not read".
var NotRead = map[string]Phrase{
	"counters":   {"counters without a number, or one too many", "счётчики без числа или лишние"},
	"ends":       {"ends of slices that never began", "концы не начатых интервалов"},
	"beginnings": {"slices that never ended", "не законченные интервалы"},
	"flows": {"arrows that lead from no slice, or to no later one",
		"стрелки ниоткуда или не к более поздним интервалам"},
	"instants": {"moments (instant events)", "моменты (instant)"},
	"steps":    {"steps of asynchronous slices", "шаги асинхронных интервалов"},
	"names": {"names of processes and threads, and other descriptions",
		"имена процессов и потоков и прочие описания"},
	"samples": {"samples", "отсчёты профилировщика"},
	"objects": {"objects and memory dumps", "объекты и снимки памяти"},
	"others":  {"other events", "прочие события"},
	"packets": {"packets of other sources, such as the kernel", "пакеты других источников, например ядра"},
	"legacy":  {"events of Chrome's old kind", "события старого вида из Chrome"},
	"tasks":   {"tasks and regions of runtime/trace", "задачи и области runtime/trace"},
	"logs":    {"messages of runtime/trace.Log", "сообщения runtime/trace.Log"},
}
