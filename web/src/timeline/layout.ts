// The places of lanes: one below the other, with a gap between nodes.

import type { Lane } from "../api";

export interface Row {
  lane: number;
  y: number; // from the top of all lanes, px
}

export interface Layout {
  rows: Row[];
  height: number; // of a lane
  total: number; // of all lanes
  place: Map<number, Row>;
  nodes: { node: number; y: number; height: number; host: string }[];
}

export const nodeGap = 6;

/** The height of lanes: they fill the available room within the limits of legibility. dense: all of them are
 * in sight, if one pixel each is enough. depth: how many regions lie inside each other. */
export function laneHeight(lanes: number, nodes: number, room: number, dense: boolean, depth = 0): number {
  const fits = (room - nodeGap * Math.max(nodes - 1, 0)) / Math.max(lanes, 1);
  return Math.min(Math.max(Math.floor(fits), dense ? 1 : depth ? 14 * Math.min(depth, 12) + 8 : 16),
    depth ? Infinity : 160);
}

/** The lanes that filters leave: those of one node, or of both ends of a link. */
export function lanesShown(lanes: readonly Lane[], node: string | undefined, link: string
  | undefined): number[] {
  const ends = link?.split("->").map(Number);
  const out: number[] = [];
  lanes.forEach((l, i) => {
    if (node !== undefined && l.node !== Number(node)) return;
    if (ends && !ends.includes(l.node)) return;
    out.push(i);
  });
  return out;
}

export function layOut(lanes: readonly Lane[], shown: readonly number[], height: number): Layout {
  const gap = height < 4 ? 1 : nodeGap;
  const rows: Row[] = [];
  const nodes: Layout["nodes"] = [];
  let y = 0;
  for (const lane of shown) {
    const l = lanes[lane];
    const last = nodes[nodes.length - 1];
    if (!last || last.node !== l.node) {
      if (last) y += gap;
      nodes.push({ node: l.node, y, height: 0, host: l.host });
    }
    rows.push({ lane, y });
    y += height;
    nodes[nodes.length - 1].height = y - nodes[nodes.length - 1].y;
  }
  return { rows, height, total: y, place: new Map(rows.map((r) => [r.lane, r])), nodes };
}

/** The rows that are in sight between two heights. */
export function inSight(l: Layout, top: number, bottom: number): Row[] {
  let a = 0;
  let b = l.rows.length;
  while (a < b) {
    const m = (a + b) >> 1;
    if (l.rows[m].y + l.height <= top) a = m + 1;
    else b = m;
  }
  let end = a;
  while (end < l.rows.length && l.rows[end].y < bottom) end++;
  return l.rows.slice(a, end);
}

/** The row at a height, or undefined between nodes. */
export function rowAt(l: Layout, y: number): Row | undefined {
  const [row] = inSight(l, y, y + 0.001);
  return row && y >= row.y && y < row.y + l.height ? row : undefined;
}

/** The middle of a lane or, if only the node is known, of the node; undefined if neither is in the layout. */
export function middle(l: Layout, lane: number, node: number): number | undefined {
  const row = l.place.get(lane);
  if (row) return row.y + l.height / 2;
  const n = lane < 0 ? l.nodes.find((n) => n.node === node) : undefined;
  return n && n.y + n.height / 2;
}

/** Lanes, as the server wants them: "0-3,7". */
export function ranges(lanes: readonly number[]): string {
  const out: string[] = [];
  for (let i = 0; i < lanes.length; ) {
    let j = i;
    while (j + 1 < lanes.length && lanes[j + 1] === lanes[j] + 1) j++;
    out.push(i === j ? `${lanes[i]}` : `${lanes[i]}-${lanes[j]}`);
    i = j + 1;
  }
  return out.join(",");
}
