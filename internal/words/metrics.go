package words

// Metric is what a metric of the search for patterns is called, and what it is and how it is computed, in a
// sentence or two.
type Metric struct{ Name, Doc Phrase }

// Metrics are those of package pattern, by id.
var Metrics = map[string]Metric{
	"time": {Phrase{"Time", "Время"},
		Phrase{"All time of the threads, from their first event to their last.",
			"Всё время потоков, от первого события до последнего."}},
	"program": {Phrase{"Program", "Программа"},
		Phrase{"Time in functions of the program, outside of operations of the run-time system.",
			"Время в функциях программы, вне операций исполнительной системы."}},
	"synchronisation": {Phrase{"Synchronisation", "Синхронизация"},
		Phrase{"Time in operations whose purpose is that threads wait for each other.",
			"Время в операциях, цель которых — ожидание потоками друг друга."}},
	"collective-sync": {Phrase{"Collective", "Коллективная"},
		Phrase{"Time in operations with which all threads of a group wait for each other, and do nothing else.",
			"Время в операциях, в которых все потоки группы только ждут друг друга."}},
	"barrier": {Phrase{"Barrier", "Барьер"},
		Phrase{"Time in barriers; of those of two phases, in both.",
			"Время в барьерах; в двухфазных — в обеих фазах."}},
	"lock": {Phrase{"Lock", "Блокировка"},
		Phrase{"Time in operations that ask for locks, try them, and give them back.",
			"Время в операциях, которые запрашивают, пробуют и освобождают блокировки."}},
	"memory": {Phrase{"Memory management", "Управление памятью"},
		Phrase{"Time in operations that allocate and free shared memory and locks.",
			"Время в операциях, которые выделяют и освобождают общую память и блокировки."}},
	"completion": {Phrase{"Completion", "Завершение передач"},
		Phrase{"Time in which a thread waits for its own transfers to be over, or for them to keep their order.",
			"Время, в течение которого поток ждёт завершения собственных передач или соблюдения их порядка."}},
	"await": {Phrase{"Awaiting a value", "Ожидание значения"},
		Phrase{"Time in which a thread waits for a value in its memory to be changed by another one.",
			"Время, в течение которого поток ждёт, пока другой поток изменит значение в его памяти."}},
	"communication": {Phrase{"Communication", "Обмен"},
		Phrase{"Time in operations that move data between threads.",
			"Время в операциях, которые передают данные между потоками."}},
	"collective": {Phrase{"Collective", "Коллективные операции"},
		Phrase{"Time in operations that move data between all threads of a group.",
			"Время в операциях, которые передают данные между всеми потоками группы."}},
	"point-to-point": {Phrase{"Point to point", "Двухточечный обмен"},
		Phrase{"Time in one-sided transfers and messages.", "Время в односторонних передачах и сообщениях."}},
	"bulk": {Phrase{"Bulk", "Блоки"},
		Phrase{"Time in transfers of blocks of bytes.", "Время в передачах блоков байтов."}},
	"access": {Phrase{"Single values", "Отдельные значения"},
		Phrase{"Time in transfers of single values.", "Время в передачах отдельных значений."}},
	"remote-atomic": {Phrase{"Atomics", "Атомарные операции"},
		Phrase{"Time in operations that change a value of another thread at once.",
			"Время в операциях, которые атомарно меняют значение другого потока."}},
	"message": {Phrase{"Messages", "Сообщения"},
		Phrase{"Time in calls that send, receive and wait for messages.",
			"Время в вызовах, которые отправляют и принимают сообщения и ждут их."}},
	"io": {Phrase{"Files", "Файлы"},
		Phrase{"Time in calls that open, read and write files.",
			"Время в вызовах, которые открывают, читают и пишут файлы."}},
	"sleep": {Phrase{"Sleep", "Сон"},
		Phrase{"Time in calls that sleep: sleep, usleep, nanosleep.",
			"Время в вызовах, в которых поток спит."}},
	"runtime": {Phrase{"Run-time system", "Исполнительная система"},
		Phrase{"Time in the start and the end of the run-time system and its other operations.",
			"Время инициализации и завершения исполнительной системы и прочих её операций."}},
	"visits": {Phrase{"Visits", "Входы"},
		Phrase{"How often a region was entered; 1 for the program and for callers that were not recorded.",
			"Сколько раз поток входил в область; 1 для программы и для вызывающих, которых не записывали."}},
	"bytes-sent": {Phrase{"Bytes sent", "Отправлено байтов"},
		Phrase{"Bytes a thread put into others' memory, and that its collectives sent.",
			"Байты, которые поток записал в память других и отправил в коллективных операциях."}},
	"bytes-received": {Phrase{"Bytes received", "Получено байтов"},
		Phrase{"Bytes a thread got from others' memory, and that its collectives received.",
			"Байты, которые поток прочитал из памяти других и получил в коллективных операциях."}},
	"overload": {Phrase{"Overload", "Перегрузка"},
		Phrase{"What a thread spent in a call path, without those below it, beyond the mean of the threads " +
			"that were there. Nobody can gain more than that by balance there.",
			"Насколько время потока на пути вызова, без вложенных, больше среднего по потокам, которые там были. " +
				"Больше этого балансировка там не даст."}},
	"single-participant": {Phrase{"Overload of a single thread", "Перегрузка единственного потока"},
		Phrase{"The part of it in call paths where only one thread ever was: its time less what each would " +
			"have if all shared it.",
			"Часть перегрузки на путях вызова, где был лишь один поток: его время за вычетом доли, которая " +
				"пришлась бы на каждый поток при равном разделении."}},
	"underload": {Phrase{"Underload", "Недогрузка"},
		Phrase{"What a thread spent less in a call path than the mean of the threads that were there.",
			"Насколько время потока на пути вызова меньше среднего по потокам, которые там были."}},
	"non-participation": {Phrase{"Underload of absent threads", "Недогрузка отсутствующих потоков"},
		Phrase{"The part of it of threads that never were where only one thread was.",
			"Часть недогрузки у потоков, которых не было там, где был лишь один поток."}},

	"wait-at-barrier": {Phrase{"Wait at barrier", "Ожидание у барьера"},
		Phrase{"Time in a barrier before the last thread entered it. Of a barrier of two phases, time in the " +
			"second one before the last thread entered the first: what a thread does between the phases is not lost.",
			"Время в барьере до входа последнего потока. В двухфазном барьере — время во второй фазе до входа " +
				"последнего потока в первую: работа между фазами не потеряна."}},
	"barrier-completion": {Phrase{"Barrier completion", "Завершение барьера"},
		Phrase{"Time in a barrier after all had entered it and the first one had left.",
			"Время в барьере после того, как все вошли и первый вышел."}},
	"lock-contention": {Phrase{"Lock contention", "Борьба за блокировку"},
		Phrase{"Time from when a thread asked for a lock to when the one that had it began to release it.",
			"Время от запроса блокировки до начала её освобождения потоком, который её держал."}},
	"wait-at-alloc": {Phrase{"Wait at alloc", "Ожидание при выделении"},
		Phrase{"Time in a collective operation on shared memory or locks before the last thread entered it.",
			"Время в коллективной операции с общей памятью или блокировками до входа последнего потока."}},
	"alloc-root-late": {Phrase{"First thread late", "Опоздал первый поток"},
		Phrase{"The part of it before the first thread of the group entered it, which does the work and tells " +
			"the others.",
			"Часть этого ожидания до входа первого потока группы, который выполняет работу и сообщает остальным."}},
	"alloc-other-late": {Phrase{"Other thread late", "Опоздал другой поток"},
		Phrase{"The part of it after that: run-time systems keep all threads in a barrier there, so that any " +
			"late one holds up the rest.",
			"Часть этого ожидания после этого: исполнительные системы держат там все потоки в барьере, и любой " +
				"опоздавший задерживает остальных."}},
	"late-broadcast": {Phrase{"Late broadcast", "Поздняя рассылка"},
		Phrase{"Time in a broadcast or scatter before the root entered it.",
			"Время в рассылке или распределении до входа корневого потока."}},
	"early-reduce": {Phrase{"Early reduce", "Ранняя редукция"},
		Phrase{"Time of the root in a gather or reduce before the first of the others entered it.",
			"Время корневого потока в сборе или редукции до входа первого из остальных."}},
	"early-prefix": {Phrase{"Early prefix reduce", "Ранняя префиксная редукция"},
		Phrase{"Time in a reduction of prefixes before the last of those entered it whose values the thread's " +
			"result depends on: the threads before it, from the one with the first element on; all, where the array " +
			"goes around several times.",
			"Время в префиксной редукции до входа последнего из тех, от чьих значений зависит результат потока: от " +
				"потока с первым элементом до него самого; всех, если массив обходит потоки несколько раз."}},
	"wait-at-nxn": {Phrase{"Wait at N x N", "Ожидание в обмене всех со всеми"},
		Phrase{"Time in an operation in which all get data from all before the last thread entered it. A " +
			"permutation is one only with IN_ALLSYNC.",
			"Время в операции, где все получают данные от всех, до входа последнего потока. Перестановка " +
				"относится к ним только с IN_ALLSYNC."}},
	"nxn-completion": {Phrase{"N x N completion", "Завершение обмена всех со всеми"},
		Phrase{"Time in an operation in which all get data from all after all had entered it and the first " +
			"one had left.",
			"Время в операции, где все получают данные от всех, после того как все вошли и первый вышел."}},
	"sync-on-entry": {Phrase{"Synchronisation on entry", "Синхронизация на входе"},
		Phrase{"Time in a broadcast, scatter, gather, reduce or reduction of prefixes with IN_ALLSYNC before the " +
			"last thread entered it, without what a thread would have waited for its data anyway (late broadcast, " +
			"early reduce, early prefix reduce): what IN_MYSYNC would save.",
			"Время в рассылке, распределении, сборе, редукции или префиксной редукции с IN_ALLSYNC до входа " +
				"последнего потока, без того, что поток всё равно ждал бы своих данных (поздняя рассылка, ранняя " +
				"редукция, ранняя префиксная редукция): столько сберёг бы IN_MYSYNC."}},
	"sync-on-exit": {Phrase{"Synchronisation on exit", "Синхронизация на выходе"},
		Phrase{"Time in a broadcast, scatter, gather, reduce or reduction of prefixes with OUT_ALLSYNC after all " +
			"had entered it and the first one had left.",
			"Время в рассылке, распределении, сборе, редукции или префиксной редукции с OUT_ALLSYNC после того, как " +
				"все вошли и первый вышел."}},
	"wait-inside": {Phrase{"Wait inside collective", "Ожидание внутри операции"},
		Phrase{"Time in an operation without IN_ALLSYNC in which a thread waits for those whose data it needs, " +
			"beyond late broadcast, early reduce and early prefix reduce: the root of a gather or reduce after the " +
			"first of the others entered it and before the last one; a thread of a permutation before the one " +
			"entered it that it gets its data from.",
			"Время в операции без IN_ALLSYNC, когда поток ждёт тех, чьи данные ему нужны, сверх поздней рассылки, " +
				"ранней редукции и ранней префиксной редукции: корневой поток сбора или редукции — после входа первого " +
				"из остальных и до входа последнего; поток перестановки — до входа того, от кого он получает данные."}},
	"late-sender": {Phrase{"Late sender", "Поздняя отправка"},
		Phrase{"Time in a call that receives messages, or waits for them, before the last of them was sent: " +
			"until its sender entered the call that sends it.",
			"Время в вызове, который принимает сообщения или ждёт их, до отправки последнего из них: до входа " +
				"отправителя в вызов отправки."}},
	"wrong-order": {Phrase{"Messages in wrong order", "Сообщения не в том порядке"},
		Phrase{"The part of it in which the receiver waited for a message while another one, which it received " +
			"later, was sent before.",
			"Часть этого времени, когда получатель ждал сообщения, хотя другое, принятое им позже, было отправлено " +
				"раньше."}},
	"late-receiver": {Phrase{"Late receiver", "Поздний приём"},
		Phrase{"Time in a call that sends a message, or waits until it is sent, before the receive was posted " +
			"that takes it. Only where the send could not end before that: the message was not buffered.",
			"Время в вызове, который отправляет сообщение или ждёт его отправки, до начала его приёма. Только там, " +
				"где отправка не могла закончиться раньше: сообщение не было помещено в буфер."}},
	"wait-for-progress": {Phrase{"Wait for progress", "Ожидание продвижения"},
		Phrase{"Time in a call that waits for a non-blocking collective after all had begun it, until the last " +
			"of the others is in such a call, too: MPI may need a process inside of it to move data.",
			"Время в вызове, который ждёт неблокирующей коллективной операции, после того как все её начали, до " +
				"входа последнего из остальных в такой же вызов: MPI передаёт данные, пока процесс находится внутри " +
				"MPI."}},
	"wait-at-neighbours": {Phrase{"Wait at neighbours", "Ожидание соседей"},
		Phrase{"Time in a neighbourhood collective, or in the wait for it, before the last of the neighbours that " +
			"give data to the thread began it.",
			"Время в коллективной операции соседей или в её ожидании до её начала последним из соседей, данные " +
				"которых нужны потоку."}},
	"late-post": {Phrase{"Late post", "Позднее открытие окна"},
		Phrase{"Time in MPI_Win_start, or in the MPI_Win_complete after it, before the last of the targets " +
			"entered MPI_Win_post.",
			"Время в начале доступа к чужим окнам и в его конце до входа последнего из их владельцев в вызов, " +
				"который открывает окно."}},
	"early-wait": {Phrase{"Early wait", "Раннее ожидание"},
		Phrase{"Time in MPI_Win_wait before the last origin of transfers entered MPI_Win_complete.",
			"Время ожидания конца доступа к окну до входа последнего источника передач в вызов, который его " +
				"завершает."}},
	"late-complete": {Phrase{"Late complete", "Позднее завершение"},
		Phrase{"The part of it after the last transfer from that origin had ended.",
			"Часть этого времени после конца последней передачи от этого источника."}},
	"wait-at-start-end": {Phrase{"Wait at start or end", "Ожидание в начале или конце"},
		Phrase{"Time in the start or the end of the run-time system before the last thread entered it.",
			"Время в инициализации или завершении исполнительной системы до входа последнего потока."}},
	"barrier-completion-first": {Phrase{"Barrier completion from the first exit",
		"Завершение барьера от первого выхода"},
		Phrase{"Time in a barrier after the first one had left, whether or not all had entered it by the clocks.",
			"Время в барьере после выхода первого потока, даже если по часам вошли ещё не все."}},
	"sync-on-exit-duration": {Phrase{"Synchronisation on exit beyond the usual duration",
		"Синхронизация на выходе сверх обычного"},
		Phrase{"Time in such an operation after all had entered it, beyond the least that any thread ever needed " +
			"from there at the same call path with as many bytes.",
			"Время в такой операции после входа всех сверх наименьшего, которое когда-либо понадобилось потоку " +
				"на том же пути вызова при том же числе байтов."}},
	"wait-inside-all": {Phrase{"All waits for data", "Всё ожидание данных"},
		Phrase{"Time in an operation with IN_MYSYNC before the last of those entered it whose data the thread " +
			"needs, whichever other pattern claims it.",
			"Время в операции с IN_MYSYNC до входа последнего из тех, чьи данные нужны потоку, к какому бы " +
				"шаблону оно ни относилось."}},
	"wait-inside-residual": {Phrase{"Unexplained time inside collectives",
		"Необъяснённое время в коллективных операциях"},
		Phrase{"Time in an operation that no pattern explains, beyond the least that any thread ever needed " +
			"at the same call path with as many bytes: waits at barriers within the operation, and what else " +
			"delays it.",
			"Время в операции, которого не объясняет ни один шаблон, сверх наименьшего, которое когда-либо " +
				"понадобилось потоку на том же пути вызова при том же числе байтов: ожидание у барьеров внутри " +
				"операции и прочие задержки."}},
}
