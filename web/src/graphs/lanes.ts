// Places single fragments on nodes: one band per node, from left to right by layer of the graph. The layer
// comes from the layout of the graph and does not change with time. So while the cursor moves, a fragment
// moves only between the bands.

export interface Box {
  id: string;
  node: number; // -1: on no node, or on several
  rank: number;
  order: number; // place within the layer, from the layout
}
export interface Band {
  node: number;
  y: number;
  height: number;
}
export interface Placed {
  width: number;
  height: number;
  bands: Band[];
  at: Record<string, { x: number; y: number }>; // middle of each
}

/** A heap: it stands for similar boxes that are too many to draw. It has a place and a number. */
export interface Heap {
  id: string;
  of: string[];
}

/** Puts similar boxes (by `alike`, of the same node and layer) on a heap if there are more than `most`. The
 * first of them stay; the heap stands for the others. Boxes for which `keep` returns true are never put on a
 * heap. */
export function gather<B extends Box>(boxes: readonly B[], alike: (b: B) => string, keep: (b: B) => boolean,
  most: number): { boxes: Box[]; heaps: Heap[]; place: Map<string, string> } {
  const groups = new Map<string, B[]>();
  for (const b of boxes) {
    const key = keep(b) ? `one ${b.id}` : `${b.node} ${b.rank} ${alike(b)}`;
    const group = groups.get(key);
    if (group) group.push(b);
    else groups.set(key, [b]);
  }
  const out: Box[] = [];
  const heaps: Heap[] = [];
  const place = new Map<string, string>();
  for (const group of groups.values()) {
    group.sort((a, b) => a.order - b.order || (a.id < b.id ? -1 : 1));
    const shown = group.length > most ? most - 1 : group.length;
    for (const b of group.slice(0, shown)) {
      out.push(b);
      place.set(b.id, b.id);
    }
    const rest = group.slice(shown);
    if (rest.length === 0) continue;
    const id = `heap ${rest[0].id}`;
    out.push({ ...rest[0], id });
    heaps.push({ id, of: rest.map((b) => b.id) });
    for (const b of rest) place.set(b.id, id);
  }
  return { boxes: out, heaps, place };
}

/** The sizes of a box and of the gaps, and the width of the column of names at the left. */
export const size = { width: 168, height: 40, gapX: 46, gapY: 8, pad: 10, names: 66 };

/** Places the boxes. Bands are in the order of nodes, the one for -1 last. Nodes without a box have no
 * band. */
export function place(boxes: readonly Box[]): Placed {
  const nodes = [...new Set(boxes.map((b) => b.node))].sort((a, b) => (a < 0 ? 1 : b < 0 ? -1 : a - b));
  const ranks = [...new Set(boxes.map((b) => b.rank))].sort((a, b) => a - b);
  const column = new Map(ranks.map((r, i) => [r, i]));
  const at: Placed["at"] = {};
  const bands: Band[] = [];
  let y = 0;
  for (const node of nodes) {
    const used = new Map<number, number>();
    for (const b of boxes.filter((c) => c.node === node).sort((a, c) => a.order - c.order ||
      (a.id < c.id ? -1 : 1))) {
      const row = used.get(b.rank) ?? 0;
      used.set(b.rank, row + 1);
      at[b.id] = {
        x: size.names + size.pad + (column.get(b.rank) ?? 0) * (size.width + size.gapX) + size.width / 2,
        y: y + size.pad + row * (size.height + size.gapY) + size.height / 2,
      };
    }
    const rows = Math.max(...used.values());
    const height = 2 * size.pad + rows * (size.height + size.gapY) - size.gapY;
    bands.push({ node, y, height });
    y += height + size.gapY;
  }
  return { width: size.names + 2 * size.pad + ranks.length * (size.width + size.gapX) - size.gapX,
    height: Math.max(y - size.gapY, size.height), bands, at };
}

/** A curve between two boxes: from the right side of one to the left side of the other, or back. */
export function wire(a: { x: number; y: number }, b: { x: number; y: number }): string {
  const out = a.x < b.x ? a.x + size.width / 2 : a.x - size.width / 2;
  const into = a.x < b.x ? b.x - size.width / 2 : b.x + size.width / 2;
  if (a.x === b.x) {
    const x = a.x + size.width / 2;
    return `M${x} ${a.y}C${x + 30} ${a.y} ${x + 30} ${b.y} ${x} ${b.y}`;
  }
  const bend = Math.max(Math.abs(into - out) / 2, 20) * Math.sign(into - out || 1);
  return `M${out} ${a.y}C${out + bend} ${a.y} ${into - bend} ${b.y} ${into} ${b.y}`;
}
