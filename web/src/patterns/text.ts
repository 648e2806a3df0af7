import { dictionary, plural } from "../lib/i18n";

export const text = dictionary(
  {
    metrics: "Metrics", calls: "Call paths", threads: "Threads", none: "This run has no regions: it is a program of tasks. The other views tell about it.", absolute: "Amounts", relative: "Shares", shown: "Shown",
    ofAll: (v: string, all: string) => `${v} of ${all}`, expand: "Open all", collapse: "Close all", pattern: (n: number) => `Pattern ${n}`, reading: (of: string) => `Another reading of ${of}: not a part of the time above`,
    late: "Who came late", locks: "Locks", collectives: "Collective operations", transfers: "Transfers", counts: "Counts", others: "others lost", times: "Times", metric: "Metric", call: "Call path", thread: "Thread", doing: "Meanwhile it was in",
    lock: "Lock", acquired: "Acquired", contended: "After waiting", waited: "Waited", held: "Held", longest: "Longest", handover: "Handed over", chain: "Waiting at once", blocks: "Who waits for whom",
    kind: "Kind", sync: "Modes", bytes: "Bytes", time: "Time", entry: "Lost on entry", allsync: "By ALLSYNC", exit: "Lost on exit", afterBarrier: "After a barrier",
    tipAllsync: "What the mode IN_MYSYNC would save", tipAfterBarrier: "Operations right before which all members had left a barrier: nothing was written in between",
    runs: "Sequences", overlap: "Could overlap", tipRuns: "Sequences of transfers with nothing between them", tipOverlap: "What would be saved if those of a sequence were under way at once", opCalls: "Operations", syncs: "Synchronisations", puts: "Puts", gets: "Gets", atomics: "Atomics", sent: "Sent", received: "Received",
    thread0: (n: number) => `thread ${n}`, thread1: (n: number, s: number) => `thread ${n}.${s}`, onHost: "Host", problems: (n: number) => plural(n, "problem", "problems"),
  },
  {
    metrics: "Метрики", calls: "Пути вызовов", threads: "Потоки", none: "В этом запуске нет областей: это программа из задач. О ней расскажут другие виды.", absolute: "Величины", relative: "Доли", shown: "Показано",
    ofAll: (v, all) => `${v} из ${all}`, expand: "Раскрыть всё", collapse: "Свернуть всё", pattern: (n) => `Шаблон ${n}`, reading: (of) => `Другое определение, чем у «${of}»: в сумму времени не входит`,
    late: "Кто опоздал", locks: "Блокировки", collectives: "Коллективные операции", transfers: "Передачи", counts: "Счётчики", others: "потеряли другие", times: "Раз", metric: "Метрика", call: "Путь вызова", thread: "Поток", doing: "Чем был занят",
    lock: "Блокировка", acquired: "Захватов", contended: "С ожиданием", waited: "Ожидание", held: "Удержание", longest: "Наибольшее", handover: "Передача", chain: "Ждали разом", blocks: "Кто кого ждёт",
    kind: "Вид", sync: "Режимы", bytes: "Байты", time: "Время", entry: "Потеряно на входе", allsync: "Из-за ALLSYNC", exit: "Потеряно на выходе", afterBarrier: "После барьера",
    tipAllsync: "Сколько сберёг бы режим IN_MYSYNC", tipAfterBarrier: "Операции, непосредственно перед которыми все участники вышли из барьера: между ними ничего не записано",
    runs: "Подряд", overlap: "Можно совместить", tipRuns: "Последовательности передач, между которыми ничего нет", tipOverlap: "Что сбереглось бы, если бы передачи последовательности шли одновременно", opCalls: "Операций", syncs: "Синхронизаций", puts: "Записей", gets: "Чтений", atomics: "Атомарных", sent: "Отправлено", received: "Получено",
    thread0: (n) => `поток ${n}`, thread1: (n, s) => `поток ${n}.${s}`, onHost: "Компьютер", problems: (n) => plural(n, "проблема", "проблемы", "проблем"),
  },
);
