// What the columns of a result are: numbers, times, ids; and how they are drawn.

import type { SQLResult } from "../api";

export type Field = number | string | null;

/** Says of each column whether it has numbers, and nothing else but missing values. */
export function numeric(r: SQLResult): boolean[] {
  return r.columns.map((_, i) => r.rows.some((row) => typeof row[i] === "number") &&
    r.rows.every((row) => typeof row[i] === "number" || row[i] === null));
}

/** Columns of tables that are moments of the run. Others that end in _ns are durations. */
const moments = /^(start|end|enter|exit|from|to|sent|received|created|ready|time|started|finished)_ns$/;
export const isMoment = (column: string): boolean => moments.test(column);

/** The CF that a field names, as the rest of the page writes it. */
export const cfOf = (column: string, v: unknown): string | undefined => (column === "id" &&
  typeof v === "string" && /^\d+\.\d+$/.test(v) ? v : undefined);

export interface Drawing {
  x: number; // column, -1: the rows' numbers
  y: number[]; // columns of numbers
  bars: boolean; // x is of names, or of few whole numbers
}

/** What a number in a column is measured in. */
export const unitOf = (column: string): "ns" | "bytes" | "" => (/(^|_)ns$/.test(column) ? "ns"
  : /(^|_)bytes$/.test(column) ? "bytes" : "");

/** What a plot of a result shows unless the user chooses: names or the first column across, all other numbers
 * upwards that are in the same unit as the first of them; moments only where there is nothing else. */
export function drawing(r: SQLResult, x?: number, y?: readonly number[]): Drawing {
  const numbers = numeric(r);
  const given = x !== undefined && x >= 0 && x < r.columns.length ? x : undefined;
  const name = numbers.findIndex((n) => !n);
  const across = given ?? (name >= 0 ? name : r.columns.length > 1 ? 0 : -1);
  const able = r.columns.map((_, i) => i).filter((i) => numbers[i] && i !== across);
  const chosen = (y ?? []).filter((i) => able.includes(i));
  const unit = (i: number) => /_([a-z]+)$/.exec(r.columns[i])?.[1] ?? "";
  const amounts = able.filter((i) => !isMoment(r.columns[i]));
  const of = amounts.length ? amounts : able;
  const upwards = chosen.length ? chosen : of.filter((i) => unit(i) === unit(of[0]));
  return { x: across, y: upwards, bars: across < 0 || !numbers[across] };
}

/** A scale from at least `lo` to at least `hi` in round steps. */
export function ticks(lo: number, hi: number, wanted = 5): number[] {
  if (!(hi > lo)) hi = lo + 1;
  const rough = (hi - lo) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough * (1 - 1e-9))!;
  const out: number[] = [];
  for (let k = Math.floor(lo / step + 1e-9); ; k++) {
    out.push(Number((k * step).toPrecision(12)));
    if (k * step >= hi - step * 1e-9) return out;
  }
}

/** Where in a text a line and a column are, both from 1; columns count characters. */
export function offset(text: string, line: number, column: number): number {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0);
  return before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
}
