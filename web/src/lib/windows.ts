// Factors over time in words, for tables of what pictures show.

import type { FactorWindows } from "../api";
import { common, duration, factorName, percent } from "./i18n";

const readable = 40; // rows

export const windowHead = (d: FactorWindows | undefined): string[] => [common.time, ...(d?.rows ??
  []).map((r) => factorName(r))];

/** Up to forty stretches of time, with the share of each factor. */
export function windowRows(d: FactorWindows | undefined): string[][] {
  if (!d) return [];
  const every = Math.max(1, Math.ceil(d.windows / readable));
  return Array.from({ length: Math.ceil(d.windows / every) }, (_, k) => {
    const sums = d.total.map((row) => row.slice(k * every, (k + 1) * every).reduce((a, b) => a + b, 0));
    const all = sums.reduce((a, b) => a + b, 0);
    return [duration(d.from + k * every * d.window_ns), ...sums.map((v) => percent(v, all))];
  });
}
