// Layout of groups within groups: a group that is open is a frame around what is in it. Every frame is laid
// out by itself, from the inside out, so opening one moves the others but leaves what is in them as it was.

import { layered, smooth } from "./layout";

export interface NestedInput {
  boxes: { id: string; parent: string /* "": none */; open: boolean }[]; // each before those in it
  edges: { from: string; to: string }[];
}
/** A box or a frame, by its upper left corner. */
export interface Spot { x: number; y: number; width: number; height: number }
export interface Nested {
  width: number;
  height: number;
  at: Record<string, Spot>;
  // by "from to": the way of an edge around other boxes, where both ends are boxes of one frame
  ways: Record<string, { x: number; y: number }[]>;
}

export const box = { width: 176, height: 46, gap: 14, pad: 12, title: 26 };

/** Places boxes within frames. */
export function nested(input: NestedInput): Nested {
  const parent = new Map(input.boxes.map((b) => [b.id, b.parent]));
  const inside = new Map<string, string[]>();
  for (const b of input.boxes) inside.set(b.parent, [...(inside.get(b.parent) ?? []), b.id]);
  const open = new Set(input.boxes.filter((b) => b.open).map((b) => b.id));

  // An edge counts where its ends part: between two that are in the same frame.
  const way = (id: string) => {
    const list = [id];
    for (let p = parent.get(id); p; p = parent.get(p)) list.unshift(p);
    return list;
  };
  const between = new Map<string, Map<string, [string, string]>>();
  for (const e of input.edges) {
    if (!parent.has(e.from) || !parent.has(e.to)) continue;
    const [a, b] = [way(e.from), way(e.to)];
    const i = a.findIndex((id, k) => id !== b[k]);
    if (i < 0 || b[i] === undefined) continue;
    const frame = parent.get(a[i])!;
    if (!between.has(frame)) between.set(frame, new Map());
    between.get(frame)!.set(`${a[i]} ${b[i]}`, [a[i], b[i]]);
  }

  function place(frame: string): Nested {
    const parts = (inside.get(frame) ?? []).map((id) => (open.has(id) ? { id, ...place(id) }
      : { id, width: box.width, height: box.height, at: {} as Nested["at"], ways: {} as Nested["ways"] }));
    const edges = [...(between.get(frame)?.values() ?? [])];
    const joined = new Set(edges.flat());
    const spots = new Map<string, { x: number; y: number }>();
    const ways: Nested["ways"] = {};
    let width = 0;
    let height = 0;
    const top = frame === "" ? 0 : box.title;
    if (joined.size > 0) {
      const some = parts.filter((p) => joined.has(p.id));
      const l = layered({ nodes: some, edges: edges.map(([from, to]) => ({ from, to })), direction: "TB" });
      for (const p of some) spots.set(p.id, { x: l.nodes[p.id].x - p.width / 2,
        y: l.nodes[p.id].y - p.height / 2 });
      edges.forEach(([from, to], i) => {
        if (!open.has(from) && !open.has(to)) ways[`${from} ${to}`] = l.edges[i].map(({ x, y }) => ({ x,
          y: y + top }));
      });
      [width, height] = [l.width, l.height];
    }
    // Those without edges stand in rows below, about as wide as high.
    const rest = parts.filter((p) => !joined.has(p.id));
    const area = rest.reduce((sum, p) => sum + (p.width + box.gap) * (p.height + box.gap), 0);
    const wide = Math.max(width, Math.sqrt(area * 2), ...rest.map((p) => p.width));
    let x = box.pad;
    let y = Math.max(height, box.pad);
    let row = 0;
    for (const p of rest) {
      if (x > box.pad && x + p.width > wide) {
        x = box.pad;
        y += row + box.gap;
        row = 0;
      }
      spots.set(p.id, { x, y });
      x += p.width + box.gap;
      row = Math.max(row, p.height);
      width = Math.max(width, x - box.gap + box.pad);
    }
    if (rest.length) height = y + row + box.pad;
    const at: Nested["at"] = {};
    for (const p of parts) {
      const { x, y } = spots.get(p.id)!;
      at[p.id] = { x, y: y + top, width: p.width, height: p.height };
      const moved = <P extends { x: number; y: number }>(s: P): P => ({ ...s, x: s.x + x, y: s.y + y + top });
      for (const [id, s] of Object.entries(p.at)) at[id] = moved(s);
      for (const [key, way] of Object.entries(p.ways)) ways[key] = way.map(moved);
    }
    return { width: Math.max(width, 40), height: Math.max(height, 40) + top, at, ways };
  }
  return place("");
}

/** An edge along its way, or straight to the other box. */
export function line(l: Nested, from: string, to: string): { d: string; x: number; y: number; turn: number } {
  const way = l.ways[`${from} ${to}`] ?? [];
  if (way.length < 2) return curve(l.at[from], l.at[to]);
  const [near, end] = way.slice(-2);
  return { d: smooth(way), ...end, turn: (Math.atan2(end.y - near.y, end.x - near.x) * 180) / Math.PI };
}

/** A curve from one box to another, and where its arrow points (degrees, clockwise from right). Ways there
 * and back are beside each other. */
export function curve(a: Spot, b: Spot): { d: string; x: number; y: number; turn: number } {
  const beside = 8;
  const f = (v: number) => v.toFixed(1);
  const draw = (x1: number, y1: number, x2: number, y2: number, dx: number, dy: number, turn: number) =>
    ({ d: `M${f(x1)} ${f(y1)}C${f(x1 + dx)} ${f(y1 + dy)} ${f(x2 - dx)} ${f(y2 - dy)} ${f(x2)} ${f(y2)}`,
      x: x2, y: y2, turn });
  const [ax, bx] = [a.x + a.width / 2, b.x + b.width / 2];
  const [ay, by] = [a.y + a.height / 2, b.y + b.height / 2];
  if (b.y >= a.y + a.height || a.y >= b.y + b.height) {
    const down = by > ay ? 1 : -1;
    const y1 = ay + (down * a.height) / 2;
    const y2 = by - (down * b.height) / 2;
    return draw(ax + down * beside, y1, bx + down * beside, y2, 0, (y2 - y1) / 2, down * 90);
  }
  const right = bx > ax ? 1 : -1;
  const x1 = ax + (right * a.width) / 2;
  const x2 = bx - (right * b.width) / 2;
  return draw(x1, ay + right * beside, x2, by + right * beside, (x2 - x1) / 2, 0, right > 0 ? 0 : 180);
}
