// The tables of a comparison: figures of both runs and the changes.

import type { Comparison, CompareRow } from "../api";

export interface Line extends CompareRow {
  id: string;
  change: number | null; // b - a
  relative: number | null; // change / a
}

/** Rows with their changes. */
export function lines(rows: readonly CompareRow[] | null): Line[] {
  return (rows ?? []).map((r, i) => {
    const change = r.a === null || r.b === null ? null : r.b - r.a;
    return { ...r, id: `${i}:${r.name}`, change, relative: change === null || !r.a ? null : change / r.a };
  });
}

export interface FragmentLine {
  code: string;
  count_a: number;
  count_b: number;
  time: Line;
  useful: Line;
  mean: Line;
}

/** The code fragments, largest change of time first. */
export function fragmentLines(c: Comparison): FragmentLine[] {
  return c.fragments
    .map((f) => ({ code: f.code, count_a: f.count_a, count_b: f.count_b, time: lines([f.time])[0],
      useful: lines([f.useful])[0], mean: lines([f.mean])[0] }))
    .sort((x, y) => Math.abs(y.time.change ?? 0) - Math.abs(x.time.change ?? 0));
}
