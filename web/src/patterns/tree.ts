// Trees of amounts, as the three columns show them: a closed row shows its own amount and everything below
// it, an open row only its own.

import type { Patterns } from "../api";
import type { Waits } from "../lib/reason";

/** A tree or forest as a list, parents before children. */
export interface Item {
  parent: number; // -1: none
  name: string;
  tip: string;
}

/** A row of a column: a visible item. */
export interface Row {
  item: number;
  depth: number;
  leaf: boolean;
  open: boolean;
  value: number;
}

/** Each item's amount together with those of all items below it. */
export function subtrees(items: readonly Item[], own: readonly number[]): number[] {
  const sum = [...own];
  for (let i = items.length - 1; i >= 0; i--) if (items[i].parent >= 0) sum[items[i].parent] += sum[i];
  return sum;
}

/** The visible rows, each item before those below it, in the order of the list. own are the items' amounts
 * without those of items below. */
export function rows(items: readonly Item[], own: readonly number[], open: ReadonlySet<number>): Row[] {
  const below: number[][] = items.map(() => []);
  const roots: number[] = [];
  items.forEach((x, i) => (x.parent >= 0 ? below[x.parent] : roots).push(i));
  const sum = subtrees(items, own);
  const out: Row[] = [];
  const walk = (list: number[], depth: number) => {
    for (const i of list) {
      const leaf = below[i].length === 0;
      const opened = !leaf && open.has(i);
      out.push({ item: i, depth, leaf, open: opened, value: opened ? own[i] : sum[i] });
      if (opened) walk(below[i], depth + 1);
    }
  };
  walk(roots, 0);
  return out;
}

/** The items above one, and the item itself. */
export function above(items: readonly Item[], item: number): number[] {
  const path: number[] = [];
  for (let i = item; i >= 0; i = items[i].parent) path.push(i);
  return path;
}

/** The amounts of a metric by call path and thread, without those of its children if it is open. */
export function severity(p: Patterns, metric: number, open: boolean): number[][] {
  const out = p.calls.map(() => p.threads.map(() => 0));
  const add = (m: number, sign: number) => {
    for (const r of p.metrics[m].rows ?? []) r.values.forEach((v, t) => (out[r.call][t] += sign * v));
  };
  add(metric, 1);
  if (open) p.metrics.forEach((x, m) => x.parent === metric && add(m, -1));
  return out;
}

/** The amount of each metric without its children's, over all call paths and threads. */
export function ownOfMetrics(p: Patterns): number[] {
  const own = p.metrics.map((m) => (m.rows ?? []).reduce((n, r) => r.values.reduce((a, b) => a + b, n), 0));
  const all = [...own];
  p.metrics.forEach((m, i) => m.parent >= 0 && (own[m.parent] -= all[i]));
  return own;
}

/** The root above a metric. */
export function rootOf(p: Patterns, metric: number): number {
  let m = metric;
  while (p.metrics[m].parent >= 0) m = p.metrics[m].parent;
  return m;
}

/** The amounts of a call path by thread: its own, or with those below it. */
export function byThread(p: Patterns, amounts: readonly number[][], call: number, alone: boolean): number[] {
  const out = p.threads.map(() => 0);
  const inside = p.calls.map(() => false);
  p.calls.forEach((c, i) => {
    inside[i] = i === call || (!alone && c.parent >= 0 && inside[c.parent]);
    if (inside[i]) amounts[i].forEach((v, t) => (out[t] += v));
  });
  return out;
}

/** A call path in words: "main > upc_memget, is.c:12". */
export function callName(p: Patterns, call: number): string {
  const names: string[] = [];
  for (let i = call; i >= 0; i = p.calls[i].parent) names.unshift(p.regions[p.calls[i].region].name);
  return names.join(" > ") + place(p.calls[call].file, p.calls[call].line, ", ");
}

/** A lock in words: "queue_lock, queue.c:12". */
export function lockName(l: NonNullable<Patterns["locks"]>[0]): string {
  return l.name + place(l.file, l.line, ", ");
}

/** A place in the source, with the last name of its file's path. */
export function place(file: string | undefined, line: number | undefined, before = ""): string {
  return file ? `${before}${file.split("/").pop()}${line ? ":" + line : ""}` : "";
}

/** The threads as a tree: hosts, unless there is only one; processes that have several threads; threads. For
 * an item that is a thread, `thread` has its index. */
export function system(p: Patterns, node: (n: number) => string, thread: (n: number, s: number) =>
  string): { items: Item[]; thread: number[] } {
  const items: Item[] = [];
  const which: number[] = [];
  const add = (parent: number, name: string, t: number) => {
    items.push({ parent, name, tip: "" });
    which.push(t);
    return items.length - 1;
  };
  const hosts = new Map<string, number>();
  const several = new Set(p.threads.map((t) => t.host ?? "")).size > 1;
  // Parents come before children: a list by host, in the order in which hosts first appear.
  const order = p.threads.map((_, t) => t);
  const first = new Map<string, number>();
  p.threads.forEach((t, i) => first.has(t.host ?? "") || first.set(t.host ?? "", i));
  if (several) order.sort((a, b) => first.get(p.threads[a].host ?? "")! - first.get(p.threads[b].host ??
    "")! || a - b);
  const streams = new Map<number, number>();
  p.threads.forEach((t) => streams.set(t.node, (streams.get(t.node) ?? 0) + 1));
  const nodes = new Map<number, number>();
  for (const t of order) {
    const x = p.threads[t];
    let parent = -1;
    if (several) {
      const host = x.host ?? "";
      if (!hosts.has(host)) hosts.set(host, add(-1, host || "?", -1));
      parent = hosts.get(host)!;
    }
    if (streams.get(x.node)! > 1) {
      if (!nodes.has(x.node)) nodes.set(x.node, add(parent, node(x.node), -1));
      add(nodes.get(x.node)!, thread(x.node, x.stream), t);
    } else add(parent, node(x.node), t);
  }
  return { items, thread: which };
}

/** The waits in which a metric is lost, in a call path and a lane (-1: all); null where it has no moments of
 * its own. Time in transfers is divided by link, so the place says which it is. */
export function instances(p: Patterns, metric: number, call: number, lane: number): Waits | null {
  const m = p.metrics[metric];
  if (m.unit !== "ns" || m.id === "time" || m.id === "program" || rootOf(p, metric) !== 0) return null;
  const up = (i: number): number[] => (i < 0 ? [] : [i, ...up(p.metrics[i].parent)]);
  const transfer = up(metric).some((i) => p.metrics[i].id === "communication") &&
    !up(metric).some((i) => p.metrics[i].id === "collective");
  const at = call >= 0 ? p.calls[call] : undefined;
  const own = p.metrics.flatMap((x, i) => (up(i).includes(metric) ? [x.id] : []));
  return { ...(transfer ? { factors: "L" } : { parts: own.join(",") }), place: at?.file
    ? `${at.file}:${at.line ?? 0}` : undefined, lanes: lane >= 0 ? String(lane) : undefined };
}
