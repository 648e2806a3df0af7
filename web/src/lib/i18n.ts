// English and Russian. Each dictionary holds both under the same keys, so that what lacks Russian does not compile; what is
// read from one is in the language of now and changes with it.

import { scaleOf } from "./axis";
import { app } from "./state.svelte";
import * as units from "./units";
import type { Unit } from "./units";

export type { Unit } from "./units";

type Entry = string | ((...args: never[]) => string);
type Like<E> = E extends (...args: infer A) => string ? (...args: A) => string : string;

/** Words of two languages under the same keys. */
export function dictionary<T extends Record<string, Entry>>(en: T, ru: { [K in keyof T]: Like<T[K]> }): { readonly [K in keyof T]: Like<T[K]> } {
  const words: Record<units.Lang, unknown> = { en, ru };
  return new Proxy(en, { get: (_, key) => (words[app.lang] as Record<PropertyKey, unknown>)[key] }) as never;
}

export const duration = (ns: number | null): string => (ns === null ? "-" : units.formatDuration(ns, app.lang));
export const bytes = (n: number | null): string => (n === null ? "-" : units.formatBytes(n, app.lang));
export const count = (n: number | null): string => (n === null ? "-" : units.formatCount(n, app.lang));
export const decimal = (v: number | null): string => (v === null ? "-" : units.formatDecimal(v, app.lang));
export const share = (v: number): string => units.formatShare(v, app.lang);
export const percent = (part: number, whole: number): string => share(whole > 0 ? part / whole : 0);
export const value = (v: number | null, unit: Unit): string => (v === null || v === undefined ? "-" : units.formatValue(v, unit, app.lang));

/** "1 CF", "3 CFs"; in Russian with three forms. English takes the first and the last. */
export function plural(n: number, one: string, few: string, many: string = few): string {
  return `${count(n)} ${units.plural(n, app.lang, one, few, many)}`;
}

/** A time on the axis, with digits that tell two pixels of the visible interval apart. */
export function moment(t: number): string {
  const [from, to] = app.visible;
  return units.formatMoment(t, scaleOf(to, (to - from) / 1000), app.lang);
}

/** Labels of an axis' ticks. */
export function tickLabel(t: number, to: number, step: number): string {
  return units.formatMoment(t, scaleOf(to, step), app.lang);
}

export type Factor = "U" | "S" | "L" | "O" | "W" | "loss" | "undivided";
export const factors: Factor[] = ["U", "S", "L", "O", "W", "loss"];

export const common = dictionary(
  {
    cf: "CF", df: "DF", cfs: "CFs", dfs: "DFs", node: "Node", nodes: "Nodes", worker: "Worker", workers: "Workers", link: "Link", links: "Links",
    code: "Code fragment", codes: "Code fragments", factor: "Factor", run: "Run", trace: "Trace", event: "Event", events: "Events",
    U: "Useful work", S: "Starvation", L: "Latency", O: "Overhead", W: "Waiting", loss: "Not recorded", undivided: "Not known", unknown: "unknown",
    hintU: "Running CFs", hintS: "No CF was ready to run: not enough work for the workers at this time", hintL: "A CF was ready but for data that was on its way from another node",
    hintO: "The system's own work: dispatching, creating CFs, managing data", hintW: "Waiting for something outside: a lock, a device, the processor", hintLoss: "Events of this time were lost or not recorded", hintUndivided: "Events that are needed to say what this time went to were not recorded, or have not come yet",
    time: "Time", from: "From", to: "To", name: "Name", count: "Count", total: "Total", mean: "Mean", min: "Least", max: "Greatest", sum: "Sum", size: "Size", share: "Share", kind: "Kind", place: "Place",
    csv: "CSV", png: "PNG", svg: "SVG", save: "Save", copyLink: "Copy link", close: "Close", clear: "Clear", all: "all", none: "none", more: (n: number) => `${n} more`,
    loading: "Loading…", nothing: "Nothing here", notRecorded: "Not recorded", missing: (events: string) => `This run did not record ${events}, which this is worked out from.`, unreachable: "The server cannot be reached. Is it running?", noRun: "This server does not show such a run. Those it does:", failed: "This could not be loaded", again: "Try again",
    nodeN: (n: number | string) => `Node ${n}`, workerN: (n: string) => `Worker ${n}`, linkN: (l: string) => `Link ${l.replace("->", " → ")}`,
    wholeRun: "the whole run", selected: "selected interval", cursor: "Cursor", bytes: "Bytes", structured: "run by the system", running: "running",
  },
  {
    cf: "ФВ", df: "ФД", cfs: "ФВ", dfs: "ФД", node: "Узел", nodes: "Узлы", worker: "Рабочий поток", workers: "Рабочие потоки", link: "Связь", links: "Связи",
    code: "Фрагмент кода", codes: "Фрагменты кода", factor: "Фактор", run: "Запуск", trace: "Трасса", event: "Событие", events: "События",
    U: "Полезная работа", S: "Голодание", L: "Задержка связи", O: "Накладные расходы", W: "Ожидание", loss: "Не записано", undivided: "Не известно", unknown: "неизвестно",
    hintU: "Выполнение ФВ", hintS: "Нет ни одного готового ФВ: в это время рабочим потокам не хватает работы", hintL: "ФВ был бы готов, но данные ещё идут с другого узла",
    hintO: "Работа самой системы: диспетчеризация, создание ФВ, управление данными", hintW: "Ожидание внешнего: блокировки, устройства, процессора", hintLoss: "События этого времени потеряны или не записаны", hintUndivided: "События, по которым видно, на что ушло это время, не записаны или ещё не пришли",
    time: "Время", from: "От", to: "До", name: "Имя", count: "Количество", total: "Всего", mean: "Среднее", min: "Наименьшее", max: "Наибольшее", sum: "Сумма", size: "Размер", share: "Доля", kind: "Вид", place: "Место",
    csv: "CSV", png: "PNG", svg: "SVG", save: "Сохранить", copyLink: "Скопировать ссылку", close: "Закрыть", clear: "Сбросить", all: "все", none: "нет", more: (n) => `ещё ${n}`,
    loading: "Загрузка…", nothing: "Здесь ничего нет", notRecorded: "Не записано", missing: (events) => `В этом запуске не записаны события ${events}, по которым это видно.`, unreachable: "Сервер недоступен. Он запущен?", noRun: "Такого запуска этот сервер не показывает. Вот те, что есть:", failed: "Не удалось загрузить", again: "Повторить",
    nodeN: (n) => `Узел ${n}`, workerN: (n) => `Рабочий поток ${n}`, linkN: (l) => `Связь ${l.replace("->", " → ")}`,
    wholeRun: "весь запуск", selected: "выбранный интервал", cursor: "Курсор", bytes: "Байты", structured: "выполняет система", running: "выполняется",
  },
);

const isFactor = (f: string): f is Factor => f === "undivided" || (factors as string[]).includes(f);

/** A factor in words; what is none stands for itself. */
export function factorName(f: string): string {
  return isFactor(f) ? common[f] : f;
}

export function factorHint(f: Factor): string {
  return common[f === "loss" ? "hintLoss" : f === "undivided" ? "hintUndivided" : `hint${f}` as const];
}

const parts = dictionary(
  {
    nowhere: "nothing ready anywhere", here: "ready on this node", elsewhere: "ready on other nodes", create: "creating CFs", request: "before DFs are requested",
    send: "before DFs are sent", deliver: "from arrival to ready", dispatch: "from ready to start", preempt: "pre-empted", steal: "stealing CFs", extra: "cores beyond the workers",
  },
  {
    nowhere: "готового нет нигде", here: "готовое есть на этом узле", elsewhere: "готовое есть на других узлах", create: "создание ФВ", request: "до запроса ФД",
    send: "до отправки ФД", deliver: "от прихода до готовности", dispatch: "от готовности до старта", preempt: "процессор отобран", steal: "перехват ФВ", extra: "ядра сверх рабочих потоков",
  },
);

/** A part of a factor ("here" or "S.here") in words; parts that are named by a link or a lock speak for themselves. */
export function partName(part: string): string {
  const key = part.replace(/^[USLOW]\./, "");
  return (parts as Partial<Record<string, string>>)[key] ?? key.replace("->", " → ");
}
