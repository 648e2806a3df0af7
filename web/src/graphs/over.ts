// Geometry of the program over the nodes: each node is a frame, each box has its slot in every frame. Slots
// depend on what is open and on nothing else, so nothing but what migrates ever moves.

import type { Flight, MomentGroup } from "../api";

export const slot = { width: 128, height: 34, gap: 6, pad: 10, title: 24 };

export interface Point { x: number; y: number }
export interface Over {
  width: number;
  height: number;
  frame: { width: number; height: number };
  nodes: Point[]; // upper left corners
  slots: Record<string, Point>; // by id of the group, within a frame
}

/** Places frames for so many nodes: a dozen on an ellipse, more in rows. */
export function over(nodes: number, groups: readonly Pick<MomentGroup, "id" | "kind" | "open">[]): Over {
  const slots: Over["slots"] = {};
  const lists = (["cf", "df"] as const).map((kind) => groups.filter((g) => g.kind === kind && !g.open));
  const most = Math.max(1, ...lists.map((l) => l.length));
  const columns = Math.min(most, nodes <= 2 ? 4 : 2 + Math.floor(Math.sqrt(most / 4)));
  const { gap, pad } = slot;
  let y = slot.title;
  for (const list of lists) {
    list.forEach((g, i) => (slots[g.id] = { x: pad + (i % columns) * (slot.width + gap),
      y: y + Math.floor(i / columns) * (slot.height + gap) }));
    y += Math.ceil(list.length / columns) * (slot.height + gap) + (list.length ? gap : 0);
  }
  const frame = { width: 2 * pad + columns * (slot.width + gap) - gap, height: y + pad - gap };
  const places: Point[] = [];
  if (nodes <= 12) {
    const turn = nodes === 2 ? Math.PI : nodes === 4 ? -0.75 * Math.PI : -Math.PI / 2;
    const ring = Array.from({ length: nodes }, (_, i) => turn + (i / nodes) * 2 * Math.PI)
      .map((angle) => ({ x: Math.cos(angle), y: Math.sin(angle) }));
    // As small as it can be with a quarter of a frame between any two.
    const nearest = Math.min(2, ...ring.flatMap((a, i) => ring.slice(i + 1).map((b) =>
      Math.max(Math.abs(a.x - b.x), Math.abs(a.y - b.y)))));
    const k = 1.25 / nearest;
    for (const p of ring) places.push({ x: p.x * k * frame.width, y: p.y * k * frame.height });
  } else {
    const wide = Math.ceil(Math.sqrt((nodes * frame.height * 1.6) / frame.width));
    for (let i = 0; i < nodes; i++) places.push({ x: (i % wide) * (frame.width + 60),
      y: Math.floor(i / wide) * (frame.height + 50) });
  }
  const left = Math.min(...places.map((p) => p.x)) - pad;
  const top = Math.min(...places.map((p) => p.y)) - pad;
  for (const p of places) [p.x, p.y] = [p.x - left, p.y - top];
  return { width: Math.max(0, ...places.map((p) => p.x)) + frame.width + pad,
    height: Math.max(0, ...places.map((p) => p.y)) + frame.height + pad, frame, nodes: places, slots };
}

/** The middle of a box on a node. */
export function middle(o: Over, group: string, node: number): Point | undefined {
  const [at, own] = [o.nodes[node], o.slots[group]];
  return at && own && { x: at.x + own.x + slot.width / 2, y: at.y + own.y + slot.height / 2 };
}

/** The way from one frame to another: a curve by its ends and the point that bends it. Both directions of a
 * link are beside each other. */
export function way(o: Over, from: number, to: number): [Point, Point, Point] | undefined {
  if (!o.nodes[from] || !o.nodes[to] || from === to) return undefined;
  const { width, height } = o.frame;
  const centre = (n: number) => ({ x: o.nodes[n].x + width / 2, y: o.nodes[n].y + height / 2 });
  const [a, b] = [centre(from), centre(to)];
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const bend = { x: (a.x + b.x) / 2 - dy * 0.12, y: (a.y + b.y) / 2 + dx * 0.12 };
  // From the edges of the frames.
  const cut = (c: Point) => {
    const [ex, ey] = [bend.x - c.x, bend.y - c.y];
    const k = Math.min(width / 2 / Math.max(Math.abs(ex), 1e-9),
      height / 2 / Math.max(Math.abs(ey), 1e-9), 1);
    return { x: c.x + ex * k, y: c.y + ey * k };
  };
  return [cut(a), bend, cut(b)];
}

/** A point of a way; part is 0 at its beginning and 1 at its end. */
export function along([a, bend, b]: readonly [Point, Point, Point], part: number): Point {
  const [p, q] = [1 - part, part];
  return { x: p * p * a.x + 2 * p * q * bend.x + q * q * b.x, y: p * p * a.y + 2 * p * q * bend.y +
    q * q * b.y };
}

/** A way as the attribute d. */
export const path = ([a, bend, b]: readonly [Point, Point, Point]): string =>
  `M${a.x.toFixed(1)} ${a.y.toFixed(1)}Q${bend.x.toFixed(1)} ${bend.y.toFixed(1)} ${b.x.toFixed(1)} ${
    b.y.toFixed(1)}`;

/** How far something has travelled at a time, 0 to 1; undefined where it is not under way. */
export function travelled(f: Pick<Flight, "sent" | "received">, t: number): number | undefined {
  if (t < f.sent || t >= f.received) return undefined;
  return (t - f.sent) / (f.received - f.sent);
}
