// English and Russian. Words that reports use as well (units, nouns, factors and their parts) come from Go
// (words.gen.ts). A view's own words are in its dictionary, both languages under the same keys; a missing
// Russian word does not compile. A dictionary returns words in the current language, and they change with it.

import { scaleOf } from "./axis";
import { app } from "./state.svelte";
import { inTerms } from "./terms.svelte";
import * as units from "./units";
import type { Noun, Unit } from "./units";
import { factors as factorTable, parts as partNames } from "./words.gen";

export type { Unit } from "./units";

type Entry = string | ((...args: never[]) => string);
type Like<E> = E extends (...args: infer A) => string ? (...args: A) => string : string;

/** Words in two languages under the same keys. */
export function dictionary<T extends Record<string, Entry>>(
  en: T, ru: { [K in keyof T]: Like<T[K]> },
): { readonly [K in keyof T]: Like<T[K]> } {
  const words: Record<units.Lang, unknown> = { en, ru };
  return new Proxy(en, { get: (_, key) => {
    const entry = (words[app.lang] as Record<PropertyKey, unknown>)[key];
    if (typeof entry === "string") return inTerms(entry, app.lang);
    if (typeof entry !== "function") return entry;
    return (...args: never[]) => inTerms((entry as (...args: never[]) => string)(...args), app.lang, args);
  } }) as never;
}

export const duration = (ns: number | null): string => (ns === null ? "-" : units.formatDuration(ns,
  app.lang));
export const bytes = (n: number | null): string => (n === null ? "-" : units.formatBytes(n, app.lang));
export const count = (n: number | null): string => (n === null ? "-" : units.formatCount(n, app.lang));
export const decimal = (v: number | null): string => (v === null ? "-" : units.formatDecimal(v, app.lang));
export const percent = (part: number, whole: number): string => units.formatPercent(part, whole, app.lang);
export const share = (v: number): string => percent(v, 1);
export const value = (v: number | null, unit: Unit): string =>
  v === null || v === undefined ? "-" : units.formatValue(v, unit, app.lang);

/** "1 CF", "3 CFs"; in Russian with three forms. */
export const counted = (n: number, noun: Noun): string =>
  inTerms(units.formatNumber(n, noun, app.lang), app.lang);

/** A time on the axis, with enough digits to distinguish two pixels of the visible interval. */
export function moment(t: number): string {
  const [from, to] = app.visible;
  return units.formatMoment(t, scaleOf(to, (to - from) / 1000), app.lang);
}

/** The labels of an axis' ticks. */
export function tickLabel(t: number, to: number, step: number): string {
  return units.formatMoment(t, scaleOf(to, step), app.lang);
}

export type Factor = keyof typeof factorTable;
const allFactors = (Object.keys(factorTable) as Factor[])
  .sort((a, b) => factorTable[a].order - factorTable[b].order);
/** The factors in their order, then "loss". */
export const factors = allFactors.filter((f) => f !== "undivided");
export const common = dictionary(
  {
    cf: "CF", df: "DF", cfs: "CFs", dfs: "DFs", node: "Node", nodes: "Nodes", worker: "Worker",
    workers: "Workers", link: "Link", links: "Links",
    code: "Code fragment", codes: "Code fragments", factor: "Factor", run: "Run", trace: "Trace",
    event: "Event", events: "Events",
    unknown: "unknown",
    time: "Time", from: "From", to: "To", name: "Name", count: "Count", total: "Total", mean: "Mean",
    min: "Least", max: "Greatest", sum: "Sum", size: "Size", share: "Share", kind: "Kind", place: "Place",
    csv: "CSV", png: "PNG", svg: "SVG", save: "Save", copyLink: "Copy link", close: "Close", clear: "Clear",
    all: "all", none: "none", more: (n: number) => `${n} more`,
    loading: "Loading…", nothing: "Nothing here", notRecorded: "Not recorded",
    missing: (events: string) => `This run did not record ${events}, which are needed for this.`,
    failedAgain: "This is an earlier answer; the newest could not be loaded",
    knownShare: (s: string) => `${s} of the run is known`,
    ofInterval: "Only of the selected interval", ofVisible: "Only of the visible interval",
    notOfInterval: "Of the whole run: the selected interval does not apply here",
    ofFilter: "Only what the filter leaves", notOfFilter: "This filter does not apply here",
    unreachable: "The server cannot be reached. Is it running?",
    noRun: "This server does not have that run. It has:", failed: "This could not be loaded",
    again: "Try again",
    nodeN: (n: number | string) => `Node ${n}`, workerN: (n: string) => `Worker ${n}`,
    linkN: (l: string) => `Link ${l.replace("->", " → ")}`,
    wholeRun: "the whole run", selected: "selected interval", cursor: "Cursor", bytes: "Bytes",
    structured: "run by the system", running: "running", asTable: "As a table",
  },
  {
    cf: "ФВ", df: "ФД", cfs: "ФВ", dfs: "ФД", node: "Узел", nodes: "Узлы", worker: "Рабочий поток",
    workers: "Рабочие потоки", link: "Связь", links: "Связи",
    code: "Фрагмент кода", codes: "Фрагменты кода", factor: "Фактор", run: "Запуск", trace: "Трасса",
    event: "Событие", events: "События",
    unknown: "неизвестно",
    time: "Время", from: "От", to: "До", name: "Имя", count: "Количество", total: "Всего", mean: "Среднее",
    min: "Наименьшее", max: "Наибольшее", sum: "Сумма", size: "Размер", share: "Доля", kind: "Вид",
    place: "Место",
    csv: "CSV", png: "PNG", svg: "SVG", save: "Сохранить", copyLink: "Скопировать ссылку", close: "Закрыть",
    clear: "Сбросить", all: "все", none: "нет", more: (n) => `ещё ${n}`,
    loading: "Загрузка…", nothing: "Здесь ничего нет", notRecorded: "Не записано",
    missing: (events) => `В этом запуске не записаны события ${events}, по которым это видно.`,
    failedAgain: "Это прежний ответ; новый загрузить не удалось",
    knownShare: (s) => `известно ${s} запуска`,
    ofInterval: "Только за выбранный интервал", ofVisible: "Только за показанный интервал",
    notOfInterval: "За весь запуск: выбранный интервал здесь не действует",
    ofFilter: "Только то, что оставляет отбор", notOfFilter: "Этот отбор здесь не действует",
    unreachable: "Сервер недоступен. Он запущен?",
    noRun: "Такого запуска этот сервер не показывает. Вот те, что есть:", failed: "Не удалось загрузить",
    again: "Повторить",
    nodeN: (n) => `Узел ${n}`, workerN: (n) => `Рабочий поток ${n}`,
    linkN: (l) => `Связь ${l.replace("->", " → ")}`,
    wholeRun: "весь запуск", selected: "выбранный интервал", cursor: "Курсор", bytes: "Байты",
    structured: "выполняет система", running: "выполняется", asTable: "Таблицей",
  },
);

/** Words that the server gives in both languages. */
export function said(both: Record<units.Lang, string>): string;
export function said(both: Record<units.Lang, string> | undefined): string | undefined;
export function said(both: Record<units.Lang, string> | undefined): string | undefined {
  return both && inTerms(both[app.lang], app.lang);
}

/** The entry of Go's table for a name, in the current language. */
function named(table: Record<string, Record<units.Lang, string>>, name: string): string | undefined {
  const word = table[name]?.[app.lang];
  return word === undefined ? word : inTerms(word, app.lang);
}

const isFactor = (f: string): f is Factor => f in factorTable;

/** A factor in words. A name that is no factor is returned as it is. */
export const factorName = (f: string): string =>
  (isFactor(f) ? inTerms(factorTable[f].name[app.lang], app.lang) : f);

export const factorHint = (f: Factor): string => inTerms(factorTable[f].hint[app.lang], app.lang);

/** Whether a factor is cut out of a worker's time before the rest is divided: its time is always known. */
export const isCutOut = (f: string): boolean => isFactor(f) && factorTable[f].cutOut;

/** The letter of a factor; undefined for what has none, such as "loss". */
export const letterOf = (f: string | undefined): string | undefined => (f?.length === 1 ? f : undefined);

/** A part of a factor ("here" or "S.here") in words. Parts named by a link or a lock are returned as they
 * are. */
export function partName(part: string): string {
  const key = part.replace(/^[A-Z]\./, "");
  return named(partNames, key) ?? key.replace("->", " → ");
}
