// Counter tracks: which there are, and their values from the server's answers.

import type { FactorWindows, Property, SeriesAnswer, UserCurves } from "../api";
import type { Unit } from "../lib/i18n";

/** A row of values over time. */
export interface Track {
  key: string;
  name: string;
  node: number; // -1: all nodes
  from: number;
  step: number; // ns
  values: (number | null)[];
  unit: Unit;
}

/** What can be chosen besides the program's own events: properties of nodes ("n.") and links ("l."), and the
 * share of time that workers spend in the run-time system. */
export const usual = ["n.ready_queue", "n.bytes", "l.message_bytes", "l.send_queue", "n.load", "n.resident",
  "rts"];

export const system = "rts";

/** The chosen names of a kind, without what says so. */
export const chosenOf = (names: readonly string[], kind: "n" | "l" | "e"): string[] =>
  names.filter((n) => n.startsWith(`${kind}.`)).map((n) => n.slice(2));

export function ofSeries(kind: "n" | "l", a: SeriesAnswer, all: readonly Property[], title: (p: Property) =>
  string): Track[] {
  const of = kind === "n" ? "node" : "link";
  return a.series.flatMap((s) => {
    const p = all.find((q) => q.name === s.name && q.of === of);
    return p ? [{ key: `${kind}.${s.name}`, name: title(p), node: kind === "n" ? s.node : -1, from: a.from,
      step: a.window_ns, values: s.mean, unit: (p.unit === "bytes" && p.kind === "amount" ? "bytes/s"
        : p.unit) as Unit }] : [];
  });
}

/** The share of time of all workers, or of each node's, that is overhead. */
export function ofSystem(f: FactorWindows, name: string, byNode: boolean): Track[] {
  const row = f.rows.indexOf("O");
  const share = (rows: number[][]) => Array.from({ length: f.windows }, (_, i) => {
    const all = rows.reduce((n, r) => n + (r[i] ?? 0), 0);
    return all > 0 ? rows[row][i] / all : null;
  });
  const one = (node: number, rows: number[][]): Track => ({ key: system, name, node, from: f.from,
    step: f.window_ns, values: share(rows), unit: "share" });
  if (row < 0) return [];
  return byNode ? f.nodes.map((n) => one(n.node, n.windows)) : [one(-1, f.total)];
}

/** Events: how many in each window; fields: their mean. */
export function ofCurves(c: UserCurves, byNode: boolean): Track[] {
  const out: Track[] = [];
  for (const name of [...new Set(c.curves.map((x) => x.name))]) {
    const of = c.curves.filter((x) => x.name === name);
    const one = (node: number, list: typeof of): Track => ({ key: `e.${name}`, name, node, from: c.from,
      step: c.window_ns, unit: "count", values: list[0].count.map((_, i) => {
        const n = list.reduce((sum, x) => sum + x.count[i], 0);
        if (!list[0].mean.length) return n;
        return n ? list.reduce((sum, x) => sum + (x.mean[i] ?? 0) * x.count[i], 0) / n : null;
      }) });
    if (byNode) for (const x of of) out.push(one(x.node, [x]));
    else out.push(one(-1, of));
  }
  return out;
}

/** The value of a track at a time. */
export function valueAt(t: Track, at: number): number | null {
  return t.values[Math.floor((at - t.from) / t.step)] ?? null;
}
