// Graphs while a run is played: the structure is that of the whole interval, so that nothing moves, and the
// numbers are those up to the cursor.

import type { GraphEdge } from "../api";

const key = (e: GraphEdge) => `${e.from} ${e.to} ${e.kind}`;

/** The boxes of a graph with the numbers of a part of it; what the part does not have has none yet. */
export function boxesUpTo<B extends { id: string; count: number; ns: number }>(all: B[], part: B[]): B[] {
  const at = new Map(part.map((b) => [b.id, b]));
  return all.map((b) => at.get(b.id) ?? { ...b, count: 0, ns: 0, ...("bytes" in b ? { bytes: 0 } : {}) });
}

/** Likewise, its edges. */
export function edgesUpTo(all: GraphEdge[], part: GraphEdge[]): GraphEdge[] {
  const at = new Map(part.map((e) => [key(e), e]));
  return all.map((e) => at.get(key(e)) ?? { ...e, count: 0, bytes: 0 });
}
