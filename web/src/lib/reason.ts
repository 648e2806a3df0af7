// Which waits a reason counts: a question for /waits, kept in the filter "waits" as a query string. So a link
// opens the same waits elsewhere.

import type { Advice, Lane, Report } from "../api";

export interface Waits { factors?: string; parts?: string; producer?: string; consumer?: string; code?:
  string;
  df?: string; link?: string; lanes?: string }

const names = ["factors", "parts", "producer", "consumer", "code", "df", "link", "lanes"] as const;

export function format(w: Waits): string {
  const q = new URLSearchParams();
  for (const n of names) if (w[n]) q.set(n, w[n]);
  return q.toString();
}

export function parse(s: string | undefined): Waits | null {
  if (!s) return null;
  const q = new URLSearchParams(s);
  const out: Waits = {};
  for (const n of names) if (q.get(n)) out[n] = q.get(n)!;
  return out;
}

/** The waits that a piece of advice counts; null where it counts none, as for memory. */
export function ofAdvice(a: Advice, lanes: readonly Lane[]): Waits | null {
  const e = a.evidence as Record<string, string | number | undefined>;
  const s = (name: string) => (typeof e[name] === "string" ? e[name] : undefined);
  switch (a.id) {
    case "one-node":
      return { factors: "S", lanes: lanes.flatMap((l, i) => (l.node === e.node ? [] : [i])).join(",") };
    case "distribution": return { factors: "S", parts: "elsewhere" };
    case "parallelism": return { factors: "S", parts: "nowhere" };
    case "fewer-workers": return { factors: "S" };
    case "order": return { factors: "S", producer: s("producer") };
    case "too-many-nodes": return { factors: "L" };
    case "latency": return { factors: "L", link: s("link"), df: s("df"), consumer: s("consumer") };
    case "migration": return { factors: "L", link: s("link"), consumer: s("consumer") };
    case "far-data": case "late-transfer": case "replicate": case "too-small-to-send": case "asked-again":
    case "too-large": return { factors: "L", df: Number(e.names ?? 1) > 1 ? undefined : s("df") };
    case "preempted": return { factors: "O", parts: "preempt" };
    case "off-core": return { factors: "O,W", parts: "preempt,blocked" };
    case "too-many-workers": return { factors: "O", parts: "dispatch,preempt" };
    case "too-small": case "overhead": return { factors: "O" };
    case "blocked": return { factors: "W", parts: s("part") };
    case "contention": return { factors: "W", parts: s("name") };
    default: return null;
  }
}

/** The waits of one cause. */
export function ofCause(c: Report["causes"][number]): Waits {
  return { factors: c.factor, parts: c.link ? undefined : c.part, link: c.link, producer: c.producer, df:
    c.df,
    consumer: c.consumer };
}

/** A place in the source within a text, "examples/heat.fa:12". */
export const place = /([\w./-]*[\w-]+\.(?:fa|cpp|cc|cxx|c|h|hpp|go|upc)):(\d+)/;
