package eventlist

import (
	"github.com/whyslow/whyslow/internal/words"
	"github.com/whyslow/whyslow/trace"
)

// kindTexts has a sentence for every standard kind. {field} is the value of a field in words, {field:form}
// the same in another form: ns is a duration, time a time since the start of the run, sign a number with its
// sign. What is in [brackets] is left out where all fields in it have nothing to tell: no CF, an empty list,
// the usual weight. bytes and size are amounts in parentheses of their own.
var kindTexts = map[trace.Kind]words.Phrase{
	trace.KindCFCreated: {"created {cf}[ by {parent}[, its execution {execution}]][, weight {weight}]",
		"создан {cf}[, создатель {parent}[, его исполнение {execution}]][, вес {weight}]"},
	trace.KindCFReady: {"{cf} is ready[, has been for {late}]", "{cf} готов[, уже {late}]"},
	trace.KindCFStarted: {"started {cf}[, execution {execution}][, given {inputs}]",
		"начат {cf}[, исполнение {execution}][, входы {inputs}]"},
	trace.KindCFFinished: {"finished {cf}[, execution {execution}][, {cpu:ns} of CPU time]",
		"завершён {cf}[, исполнение {execution}][, процессорное время {cpu:ns}]"},
	trace.KindCFWaiting: {"{cf} waits[ for {awaited}]", "{cf} ждёт[ {awaited}]"},
	trace.KindCFMigrated: {"{cf} leaves for node {to}[ ({bytes})][, weight {weight}]",
		"{cf} уходит на узел {to}[ ({bytes})][, вес {weight}]"},
	trace.KindCFStolen: {"node {by} steals {cf}[ ({bytes})][, weight {weight}]",
		"узел {by} забирает {cf}[ ({bytes})][, вес {weight}]"},
	trace.KindCFReceived: {"{cf} came from node {from}[ ({bytes})][, weight {weight}]",
		"{cf} пришёл с узла {from}[ ({bytes})][, вес {weight}]"},
	trace.KindCFDestroyed: {"{cf} will not run again", "{cf} больше не будет исполняться"},
	trace.KindCFHeld:      {"a debugger stops {cf}", "отладчик остановил {cf}"},
	trace.KindCFResumed: {"{cf} goes on after the debugger's stop",
		"{cf} продолжен после остановки отладчиком"},
	trace.KindCFPlaced: {"the locator of {cf} names node {place}", "локатор {cf} называет узел {place}"},

	trace.KindDFCreate: {"created DF {df} ({size})[ by {cf}]",
		"создан ФД {df} ({size})[, произвёл {cf}]"},
	trace.KindDFRequested: {"asked node {node} for {df}[ for {cf}], request {request}",
		"у узла {node} запрошен {df}[ для {cf}], запрос {request}"},
	trace.KindDFRequestReceived: {"node {from} asks for {df}, request {request}",
		"узел {from} запрашивает {df}, запрос {request}"},
	trace.KindDFSent: {"sent {df} ({bytes}) to node {to}, message {message}[, answering request {request}][, " +
		"pushed by {cf}]",
		"{df} ({bytes}) отправлен узлу {to}, сообщение {message}[, ответ на запрос {request}][, послал {cf}]"},
	trace.KindDFReceived: {"received {df} ({bytes}) from node {from}, message {message}[, answering request " +
		"{request}][, on behalf of {cf}]",
		"{df} ({bytes}) получен от узла {from}, сообщение {message}[, ответ на запрос {request}][, ради {cf}]"},
	trace.KindDFStored:  {"stored a copy of {df} ({size})", "сохранена копия {df} ({size})"},
	trace.KindDFDropped: {"dropped a copy of {df} ({size})", "копия {df} больше не нужна ({size})"},
	trace.KindDFDestroy: {"destroyed DF {df} ({size}): {reason}", "уничтожен ФД {df} ({size}): {reason}"},
	trace.KindDFDuplicate: {"DF {df} was assigned twice[, first by {first}][, then by {second}]",
		"ФД {df} присвоен дважды[, сначала {first}][, затем {second}]"},
	trace.KindDFPlaced: {"the locator of {df} names node {place}", "локатор {df} называет узел {place}"},

	trace.KindBlockStarted: {"block {block} of {function} starts", "начат блок {block} в {function}"},
	trace.KindBlockExited:  {"{function} ends in block {block}", "{function} завершается в блоке {block}"},
	trace.KindBlockWaiting: {"block {block} of {function} ends: a DF is not here yet",
		"блок {block} в {function} окончен: ФД ещё нет на узле"},
	trace.KindBlockMigrated: {"{function} goes on at another node, with block {block}",
		"{function} продолжится на другом узле, с блока {block}"},
	trace.KindBlockContinued: {"{function} goes on with block {block}",
		"{function} продолжается с блока {block}"},
	trace.KindForeignStarted: {"calls user code of {function}", "вызван код пользователя {function}"},
	trace.KindForeignEnded: {"user code of {function} has returned",
		"код пользователя {function} вернул управление"},
	trace.KindProgramStarted: {"the program starts[ in process {process}][, {cpu} of CPU time so far]",
		"программа начата[ в процессе {process}][, процессорное время {cpu}]"},
	trace.KindProgramFinished: {"the program has ended[, {cpu} of CPU time in all]",
		"программа завершена[, процессорное время всего {cpu}]"},
	trace.KindIdle:       {"nothing to do: the worker parks", "работы нет: рабочий поток засыпает"},
	trace.KindBusy:       {"the worker goes on", "рабочий поток продолжает"},
	trace.KindReadyQueue: {"CFs in the queue of ready ones: {length}", "ФВ в очереди готовых: {length}"},
	trace.KindSendQueue: {"messages in the queue to node {peer}: {length}",
		"сообщений в очереди к узлу {peer}: {length}"},
	trace.KindUsage: {"the process takes {load} % of a core, {resident}, {arenas} of it for the run-time " +
		"system, {threads} threads", "процесс занимает {load} % ядра, {resident}, из них {arenas} у " +
		"исполнительной системы, потоков: {threads}"},
	trace.KindRelations: {"CF-DF relations here {inner:sign}, with one end here {outer:sign}",
		"отношений ФВ-ФД на узле {inner:sign}, с одним концом на узле {outer:sign}"},
	trace.KindClockSync: {"clock compared with node 0: offset {offset:ns}, error up to {error}",
		"часы сверены с узлом 0: сдвиг {offset:ns}, ошибка до {error}"},
	trace.KindLost: {"{count} events of stream {stream} were lost, from {first:time} to {last:time}",
		"потеряно событий потока {stream}: {count}, с {first:time} по {last:time}"},

	trace.KindThreadTime: {"the thread's last {span}[, up to {ago} ago]: {cpu} of CPU time[, {queued:ns} " +
		"waiting for a core][, {faulted} for page faults]",
		"последние {span} потока[, до {ago} назад]: процессорное время {cpu}[, ожидание ядра {queued:ns}][, " +
			"страниц с диска {faulted}]"},
	trace.KindBalanced: {"moved {count} CFs of {site} to node {to}: {ahead} against {there} of work ahead",
		"ФВ, переданных узлу {to}, из {site}: {count}; впереди работы на {ahead}, там на {there}"},

	trace.KindWaitStarted: {"waits for {name}", "ждёт {name}"},
	trace.KindWaitEnded:   {"the wait for {name} is over", "ожидание {name} окончено"},
	trace.KindCollective: {"collective {kind}[ {sync}] of {size} nodes from node {start}[, root {root}][, " +
		"{sent} sent][, {received} received]",
		"коллективная операция {kind}[ {sync}], узлов {size}, с узла {start}[, корень {root}][, отправлено " +
			"{sent}][, получено {received}]"},
	trace.KindAcquired: {"has lock {lock}", "захватил блокировку {lock}"},
	trace.KindBlocked: {"{cf} was blocked for {span}, {reason}[: {what}][, at {site}][, held by {holder}]",
		"{cf} был заблокирован {span}, {reason}[: {what}][, вызов {site}][, держал {holder}]"},
	trace.KindGroup:    {"of group {group}[, nodes {members}]", "группы {group}[, узлы {members}]"},
	trace.KindReleased: {"gives lock {lock} back", "отпустил блокировку {lock}"},

	trace.KindEntered: {"enters {region}", "входит в {region}"},
	trace.KindExited:  {"leaves {region}", "выходит из {region}"},

	trace.KindPut: {"writes {bytes} to node {to}[, transfer {transfer}]",
		"пишет {bytes} на узел {to}[, передача {transfer}]"},
	trace.KindGet: {"reads {bytes} from node {from}[, transfer {transfer}]",
		"читает {bytes} с узла {from}[, передача {transfer}]"},
	trace.KindRemoteAtomic: {"changes {bytes} on node {on} at once", "атомарно меняет {bytes} на узле {on}"},
	trace.KindCompleted:    {"transfers are over[: {transfer}]", "передачи завершены[: {transfer}]"},
	trace.KindSent: {"sends {bytes} to node {to}, tag {tag}[, transfer {transfer}]",
		"отправляет {bytes} узлу {to}, тег {tag}[, передача {transfer}]"},
	trace.KindReceived: {"has received {bytes} from node {from}, tag {tag}",
		"получил {bytes} от узла {from}, тег {tag}"},
}

// reasons are those of onDestroy.
var reasons = [...]words.Phrase{
	trace.Expired: {"served as often as announced", "выдан столько раз, сколько объявлено"},
	trace.Deleted: {"deleted by the program", "удалён программой"},
	trace.End:     {"held to the end of the run", "хранился до конца запуска"},
}

// pieces of sentences that do not come from a field.
var (
	andMore  = [2][2]string{{" and ", " more"}, {" и ещё ", ""}}
	seconds  = words.Phrase{"s", "с"}
	kindWord = words.Phrase{"event of kind ", "событие вида "}
	cfWord   = words.Phrase{"CF ", "ФВ "}

	neighbourWords = [2]words.Phrase{{"reads", "читает"}, {"makes", "создаёт"}}
)
