// The list of runs: finding them, and a figure over those of one program.

import type { FactorWindows, RunSummary } from "../api";

/** The name of a program without its folders and its ending. */
export const programOf = (r: Pick<RunSummary, "program">): string =>
  (r.program.split(/[\\/]/).filter(Boolean).pop() ?? r.program).replace(/\.[^.]+$/, "") || r.program;

/** The name of a run: the folder of its trace. */
export const nameOf = (r: Pick<RunSummary, "path" | "program">): string =>
  (r.path.split(/[\\/]/).filter(Boolean).pop() ?? r.program).replace(/\.trace$/, "");

/** The runs that all words of a text fit, whatever the case. `more` gives further words of a run. */
export function find(list: readonly RunSummary[], text: string, more: (r: RunSummary) => string):
  RunSummary[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [...list];
  return list.filter((r) => {
    const all = [r.program, ...r.args, nameOf(r), more(r)].join(" ").toLowerCase();
    return words.every((w) => all.includes(w));
  });
}

/** The programs of runs, those with the most runs first. */
export function programs(list: readonly RunSummary[]): { name: string; runs: number }[] {
  const count = new Map<string, number>();
  for (const r of list) count.set(programOf(r), (count.get(programOf(r)) ?? 0) + 1);
  return [...count].map(([name, n]) => ({ name, runs: n }))
    .sort((a, b) => b.runs - a.runs || (a.name < b.name ? -1 : 1));
}

/** The last so many runs of a program, the oldest first. The list has the newest first, more exactly than
 * `started` tells. Runs whose start is not known come before others. */
export function lastRuns(list: readonly RunSummary[], program: string, n: number): RunSummary[] {
  const at = (r: RunSummary) => (r.started ? Date.parse(r.started) : 0);
  return list.filter((r) => programOf(r) === program).reverse().sort((a, b) => at(a) - at(b)).slice(-n);
}

/** The share of the workers' time that a factor takes, 0 to 1; null if nothing is known. */
export function shareOf(f: FactorWindows, factor: string): number | null {
  const known = f.rows.reduce((a, row, i) => a + (row === "loss" || row === "undivided" ? 0 : f.sum[i]), 0);
  const i = f.rows.indexOf(factor);
  return i < 0 || known <= 0 ? null : f.sum[i] / known;
}

/** The median of numbers; null of none. */
export function median(values: readonly number[]): number | null {
  if (!values.length) return null;
  const v = [...values].sort((a, b) => a - b);
  const half = v.length >> 1;
  return v.length % 2 ? v[half] : (v[half - 1] + v[half]) / 2;
}

export const minute = 60e3;
const units: [Intl.RelativeTimeFormatUnit, number][] = [["year", 365 * 24 * 60 * minute],
  ["month", 30 * 24 * 60 * minute], ["day", 24 * 60 * minute], ["hour", 60 * minute], ["minute", minute],
  ["second", 1000]];

/** How long ago something was, in milliseconds, in words: "3 days ago". */
export function ago(ms: number, lang: string): string {
  const [unit, size] = units.find(([, s]) => ms >= s) ?? units[units.length - 1];
  return new Intl.RelativeTimeFormat(lang, { numeric: "always" }).format(-Math.max(0, Math.floor(ms / size)),
    unit);
}
