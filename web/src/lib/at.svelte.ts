// Properties of nodes and links at the cursor or, as long as there is none, over the selected interval or the
// whole run: then levels are means and amounts are sums.

import type { At, LinkState, NodeState, SeriesAnswer, Spread } from "../api";
import { query, type Query } from "./query.svelte";
import { current } from "./run.svelte";
import { app } from "./state.svelte";

const ofNodes = ["cfs", "copies", "objects", "bytes", "inner", "outer", "running", "ready_queue", "weight",
  "waiting", "ready", "sent", "sent_bytes", "received", "received_bytes"] as const;
const ofLinks = ["objects", "object_bytes", "messages", "message_bytes", "data_messages",
  "data_bytes", "send_queue", "in_flight",
  "bytes_in_flight"] as const;

type Shown = Omit<At, "t">;

/** The properties that are shown, and the query behind them. Call it while a component is created. */
export function properties(): { readonly data: Shown | undefined; readonly query: Query<unknown>;
  readonly atCursor: boolean } {
  const at = query<At>(() => (app.now === null ? undefined : ["at", { t: app.now }]));
  const ask = (of: "nodes" | "links", names: readonly string[]) => query<SeriesAnswer>(() =>
    (app.now === null ? ["series", { names: names.join(","), [of]: "all", from: app.interval[0],
      to: app.interval[1], points: 1 }] : undefined));
  const nodes = ask("nodes", ofNodes);
  const links = ask("links", ofLinks);
  const data = $derived(app.now !== null ? at.data : nodes.data && links.data
    ? summed(nodes.data, links.data) : undefined);
  return {
    get data() {
      return data;
    },
    get query() {
      return app.now !== null ? at : nodes.error || !nodes.data ? nodes : links;
    },
    get atCursor() {
      return app.now !== null;
    },
  };
}

/** An amount, or the mean of a level. */
const own = (s: SeriesAnswer["series"][number]) => (s.sum ? s.sum[0] : (s.mean[0] ?? null));

function summed(nodes: SeriesAnswer, links: SeriesAnswer): Shown {
  const workers = new Map<number, number>();
  for (const l of current.run?.lanes ?? []) workers.set(l.node, (workers.get(l.node) ?? 0) + 1);
  const byNode = new Map<number, Record<string, number | null>>();
  for (const s of nodes.series) if (s.node >= 0) row(byNode, s.node)[s.name] = own(s);
  const byLink = new Map<string, Record<string, number | null>>();
  for (const s of links.series) if (s.link) row(byLink, s.link)[s.name] = own(s);
  const list = [...byNode].map(([node, v]) => ({ node, workers: workers.get(node) ?? 0, ...v }) as NodeState);
  return {
    nodes: list,
    links: [...byLink].map(([link, v]) => {
      const [from, to] = link.split("->").map(Number);
      return { from, to, ...v } as LinkState;
    }).filter((l) => l.messages > 0 || l.objects > 0),
    spread: spreads(list),
    utilisation: Math.min(list.reduce((n, r) => n + r.running, 0) / Math.max(current.run?.workers ?? 1, 1),
      1),
  };
}

function row<K>(rows: Map<K, Record<string, number | null>>, key: K): Record<string, number | null> {
  const r = rows.get(key) ?? {};
  rows.set(key, r);
  return r;
}

/** How uneven nodes are, by property, as the server works it out for a moment. */
export function spreads(list: readonly NodeState[]): Record<string, Spread> {
  const busy = list.filter((n) => n.workers).map((n) => Math.min(n.running / n.workers, 1));
  return { ...spreadOf(list, ofNodes), ...(busy.length ? { utilisation: spread(busy) } : {}) };
}

/** How uneven links are, by property: those that anything went over. */
export const linkSpreads = (list: readonly LinkState[]): Record<string, Spread> => spreadOf(list, ofLinks);

function spreadOf<N extends string>(list: readonly Record<N, number | null>[],
  names: readonly N[]): Record<string, Spread> {
  return Object.fromEntries(names.map((name) => [name, list.map((r) => r[name]).filter((v) => v !== null &&
    v !== undefined)] as const).filter(([, v]) => v.length > 0).map(([name, v]) => [name, spread(v)]));
}

function spread(v: readonly number[]): Spread {
  const [min, max] = [Math.min(...v), Math.max(...v)];
  const mean = v.reduce((a, b) => a + b, 0) / v.length;
  return { min, max, mean, variation: mean ? (max - min) / mean : 0 };
}
