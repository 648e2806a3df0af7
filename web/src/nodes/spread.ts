// How evenly nodes are loaded, by window of time.

import type { Series } from "../api";

export interface Even {
  mean: (number | null)[]; // of all nodes
  min: (number | null)[]; // the least of them
  max: (number | null)[];
  variation: (number | null)[]; // (max - min) / mean, 0 for mean 0
}

/** The spread of the means of nodes, or of links, in each window. `of` divides the values of a
 * node; a node that it gives 0 for is left out, as are those of which nothing is known. */
export function even(series: readonly Series[], of: (node: number) => number = () => 1): Even {
  const n = Math.max(0, ...series.map((s) => s.mean.length));
  const out: Even = { mean: [], min: [], max: [], variation: [] };
  const own = series.filter((s) => (s.node >= 0 || s.link !== "") && of(s.node) > 0);
  for (let i = 0; i < n; i++) {
    const values = own.map((s) => [s.mean[i] ?? null, of(s.node)] as const)
      .filter(([v]) => v !== null).map(([v, by]) => v! / by);
    if (!values.length) {
      for (const list of Object.values(out) as (number | null)[][]) list.push(null);
      continue;
    }
    const [min, max] = [Math.min(...values), Math.max(...values)];
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    out.mean.push(mean);
    out.min.push(min);
    out.max.push(max);
    out.variation.push(mean ? (max - min) / mean : 0);
  }
  return out;
}
