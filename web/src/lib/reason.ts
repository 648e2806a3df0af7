// Which waits a reason counts: a question for /waits, kept in the filter "waits" as a query string. So a link
// opens the same waits elsewhere.

import type { Counted, Lane, Report } from "../api";

export interface Waits { factors?: string; parts?: string; producer?: string; consumer?: string; code?:
  string;
  df?: string; link?: string; place?: string; lanes?: string }

const names = ["factors", "parts", "producer", "consumer", "code", "df", "link", "place",
  "lanes"] as const;

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

/** The waits that a reason counts. */
export function ofReason(c: Counted, lanes: readonly Lane[]): Waits {
  const { factors, parts, but_node, ...rest } = c;
  return { ...rest, factors: factors?.join(","), parts: parts?.join(","), lanes: but_node === undefined ?
    undefined
    : lanes.flatMap((l, i) => (l.node === but_node ? [] : [i])).join(",") };
}

/** The waits of one cause. */
export function ofCause(c: Report["causes"][number]): Waits {
  return { factors: c.factor, parts: c.link ? undefined : c.part, link: c.link, producer: c.producer, df:
    c.df,
    consumer: c.consumer };
}

/** A place in the source within a text, "examples/heat.fa:12". */
export const place = /([\w./-]*[\w-]+\.(?:fa|cpp|cc|cxx|c|h|hpp|go|upc)):(\d+)/;
