import { dictionary } from "../lib/i18n";

export const text = dictionary(
  {
    title: "Links at the cursor", link: "Link", from: "From", to: "To",
    objects: "CFs moved", object_bytes: "Bytes of CFs", messages: "Messages", message_bytes: "Bytes of messages", send_queue: "Send queue", in_flight: "In flight", bytes_in_flight: "Bytes in flight",
    flight_ns: "Time of flight", bandwidth: "Bandwidth",
    tipObjects: "CFs that moved over the link up to the cursor: migrated or stolen", tipMessages: "CFs and DFs that were sent up to the cursor", tipQueue: "Messages that waited to be sent, as the node told it", tipFlight: "Messages that were sent and not yet received at the cursor",
    noLinks: "Nothing was sent between nodes up to this time.",
    matrix: "Communication matrix", value: "Value", log: "Logarithmic", tipLog: "Colour by the logarithm: small values can be told apart too",
    matrixHelp: "Rows send, columns receive. A click shows everything for that link only; arrow keys move, Enter chooses.",
    cell: (from: number, to: number, v: string) => `${from} → ${to}: ${v}`, nothing: "nothing", none: "Nothing was sent between nodes in this interval.", oneNode: "No messages between nodes: there is one node only", oneNodeWhy: "With more nodes (whyslow run -n 4) this view shows what goes over the links between them.",
    over: "Over", greatest: "Cells", sent: (v: string) => `sent in all: ${v}`, total: (v: string) => `Total ${v}`, amount: "Value", notRecorded: "This value was not recorded.",
    cost: "What links cost", costHelp: "Latency: the time workers waited for what was on its way over the link.", latency: "Latency", bytes: "Bytes", ofLatency: (s: string) => `${s} of the latency of the whole run`,
    causes: "For which data workers waited", causesOf: (l: string) => `For which data workers waited: ${l}`, wholeRun: "whole run", df: "DF", producer: "Produced", consumer: "Waited", time: "Lost", times: "Times",
    itself: "the CF itself", noCost: "No worker waited for this link.", noCosts: "No worker waited for a link.", events: "Its events", plots: "Over time", links: "Links", sum: "all together", top: "the busiest", each: "each",
  },
  {
    title: "Связи в момент курсора", link: "Связь", from: "Откуда", to: "Куда",
    objects: "Переехало ФВ", object_bytes: "Байты ФВ", messages: "Сообщения", message_bytes: "Байты сообщений", send_queue: "Очередь отправки", in_flight: "В пути", bytes_in_flight: "Байты в пути",
    flight_ns: "Время в пути", bandwidth: "Пропускная способность",
    tipObjects: "ФВ, переместившиеся по связи до момента курсора: переданные или украденные", tipMessages: "ФВ и ФД, отправленные до момента курсора", tipQueue: "Сообщения, ожидающие отправки, как сообщил узел", tipFlight: "Сообщения, отправленные и ещё не полученные в момент курсора",
    noLinks: "До этого момента между узлами ничего не передавалось.",
    matrix: "Коммуникационная матрица", value: "Значение", log: "Логарифм", tipLog: "Цвет по логарифму: различимы и малые значения",
    matrixHelp: "Строки отправляют, столбцы принимают. Щелчок оставит везде только эту связь; стрелки двигают, Enter выбирает.",
    cell: (from, to, v) => `${from} → ${to}: ${v}`, nothing: "ничего", none: "В этом интервале между узлами ничего не передавалось.", oneNode: "Сообщений между узлами нет: узел только один", oneNodeWhy: "Если узлов больше (whyslow run -n 4), здесь видно, что передаётся по связям между ними.",
    over: "За", greatest: "Ячейки", sent: (v) => `всего отправлено: ${v}`, total: (v) => `Всего ${v}`, amount: "Значение", notRecorded: "Это значение не записано.",
    cost: "Во что обходятся связи", costHelp: "Задержка: время, которое рабочие потоки ждали того, что было в пути по связи.", latency: "Задержка", bytes: "Байты", ofLatency: (s) => `${s} задержки всего запуска`,
    causes: "Каких данных ждали рабочие потоки", causesOf: (l) => `Каких данных ждали рабочие потоки: ${l}`, wholeRun: "весь запуск", df: "ФД", producer: "Производит", consumer: "Ждёт", time: "Потеряно", times: "Раз",
    itself: "сам ФВ", noCost: "Этой связи никто не ждал.", noCosts: "Связей никто не ждал.", events: "Её события", plots: "Во времени", links: "Связи", sum: "все вместе", top: "самые занятые", each: "каждая",
  },
);
