import { dictionary, plural } from "../lib/i18n";

export const text = dictionary(
  {
    codes: "Code fragments", userEvents: "User events", over: (s: string) => `over ${s}`, name: "Code fragment", count: "CFs", total: "Total", mean: "Mean", min: "Min", p50: "Median", p90: "90 %", p99: "99 %", max: "Max",
    causedS: "Caused S", causedL: "Caused L", causedO: "Caused O", before: "Lost before",
    tipCausedS: "Starvation of workers that waited for what this code fragment produces", tipCausedL: "Latency of what this code fragment sent", tipCausedO: "Overhead of creating and dispatching its CFs",
    tipBefore: "Time that workers lost just before its CFs started, by whatever cause",
    choose: "A click on a code fragment shows how its CFs differ.", distribution: "How long its CFs take", logCount: "Logarithmic count", byNode: "By node", node: "Node",
    cfs: (n: number) => plural(n, "CF", "CFs"), list: "Its CFs", sortBy: "Order", start: "start", longest: "longest", waited: "waited longest", label: "indices", cf: "CF", lane: "Worker", from: "Start", to: "End", runs: "Runs", wait: "Waited before", weight: "Weight", when: "When", running: "runs",
    filter: "Show only this code fragment in all views", unfilter: "Show all code fragments", close: "Close", none: "No CF ran in this interval.", bin: (a: string, b: string, n: string) => `${a} – ${b}: ${n}`,
    noUser: "The program records no events of its own.", noUserHelp: "Events that a program defines itself appear here with statistics of their fields.",
    event: "Event", field: "Field", type: "Type", sum: "Sum", values: "Frequent values", perNode: "Per node", times: (n: number) => plural(n, "time", "times"), different: "values",
  },
  {
    codes: "Фрагменты кода", userEvents: "События пользователя", over: (s) => `за ${s}`, name: "Фрагмент кода", count: "ФВ", total: "Всего", mean: "Сред.", min: "Мин.", p50: "50 %", p90: "90 %", p99: "99 %", max: "Макс.",
    causedS: "Вызвал S", causedL: "Вызвал L", causedO: "Вызвал O", before: "До него",
    tipCausedS: "Голодание рабочих потоков, ждавших того, что производит этот фрагмент кода", tipCausedL: "Задержка связи для того, что он отправил", tipCausedO: "Накладные расходы на создание и запуск его ФВ",
    tipBefore: "Время, потерянное рабочими потоками непосредственно перед его ФВ, по любой причине",
    choose: "Щелчок по фрагменту кода покажет, чем различаются его ФВ.", distribution: "Сколько длятся его ФВ", logCount: "Логарифм количества", byNode: "По узлам", node: "Узел",
    cfs: (n) => plural(n, "ФВ", "ФВ", "ФВ"), list: "Его ФВ", sortBy: "Порядок", start: "начало", longest: "самые долгие", waited: "дольше ждали", label: "индексы", cf: "ФВ", lane: "Поток", from: "Начало", to: "Конец", runs: "Запуски", wait: "Ждали перед ним", weight: "Вес", when: "Когда", running: "выполняется",
    filter: "Во всех видах только этот фрагмент кода", unfilter: "Показать все фрагменты кода", close: "Закрыть", none: "В этом интервале ФВ не выполнялись.", bin: (a, b, n) => `${a} – ${b}: ${n}`,
    noUser: "Программа не записывает собственных событий.", noUserHelp: "Здесь появятся события, определённые самой программой, и статистика их полей.",
    event: "Событие", field: "Поле", type: "Тип", sum: "Сумма", values: "Частые значения", perNode: "По узлам", times: (n) => plural(n, "раз", "раза", "раз"), different: "значения",
  },
);
