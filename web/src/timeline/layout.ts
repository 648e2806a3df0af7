// The places of lanes: one below the other, with a gap between nodes.

import type { Lane } from "../api";

export interface Row {
  lane: number;
  y: number; // from the top of all lanes, px
  pinned: boolean; // it stays in its place while the others are scrolled
}

export interface Layout {
  rows: Row[];
  height: number; // of a lane
  total: number; // of all lanes
  pinned: number; // px at the top that are not scrolled
  place: Map<number, Row>;
  nodes: Map<number, Row>; // by node, its first lane
  groups: Place[];
  shut: Map<number, number>; // by lane of a closed group: the middle of that
}
/** The place of a group. A closed one is a strip. */
export interface Place { name: string; y: number; height: number; pinned: boolean; closed: boolean;
  lanes: readonly number[] }

export const orders = ["node", "host", "load"] as const;
export type Order = (typeof orders)[number];

/** Lanes that are kept together, below a name; "": they need none. */
export interface Group { name: string; lanes: number[]; pinned?: boolean; closed?: boolean }

/** The height of a closed group: of a button. */
export const closedHeight = 24;

/** How pinned lanes are called where the names of nodes are. */
export const pinSign = "▲";

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

/** Lanes in an order: the pinned ones first, then by node, by host, or by how busy they are. closed: names of
 * groups. */
export function arrange(lanes: readonly Lane[], shown: readonly number[], order: Order,
  pinned: readonly number[], hidden: readonly number[], load: (lane: number) => number,
  closed: readonly string[] = []): Group[] {
  const away = new Set([...pinned, ...hidden]);
  const rest = shown.filter((l) => !away.has(l));
  const out: Group[] = [];
  const first = pinned.filter((l) => shown.includes(l) && !hidden.includes(l));
  if (first.length) out.push({ name: pinSign, lanes: first, pinned: true });
  if (order === "load") {
    if (rest.length) out.push({ name: "", lanes: rest.toSorted((a, b) => load(b) - load(a) || a - b) });
    return out;
  }
  const groups = new Map<string, number[]>();
  for (const l of rest) {
    const name = order === "host" ? lanes[l].host : String(lanes[l].node);
    const of = groups.get(name);
    if (of) of.push(l);
    else groups.set(name, [l]);
  }
  for (const [name, of] of groups) out.push({ name, lanes: of, closed: closed.includes(name) });
  return out;
}

/** Groups below each other. Pinned lanes are not scrolled, unless they take more than half of the room. */
export function layOut(lanes: readonly Lane[], arranged: readonly Group[], height: number,
  room = Infinity): Layout {
  const gap = height < 4 ? 1 : nodeGap;
  const rows: Row[] = [];
  const groups: Layout["groups"] = [];
  const nodes: Layout["nodes"] = new Map();
  const shut: Layout["shut"] = new Map();
  let y = 0;
  let still = 0;
  for (const g of arranged) {
    if (groups.length) y += gap;
    const pinned = !!g.pinned && g.lanes.length * height <= room / 2;
    const closed = !!g.closed;
    groups.push({ name: g.name, y, height: closed ? closedHeight : g.lanes.length * height, pinned, closed,
      lanes: g.lanes });
    if (closed) {
      for (const lane of g.lanes) shut.set(lane, y + closedHeight / 2);
      y += closedHeight;
    } else for (const lane of g.lanes) {
      const row = { lane, y, pinned };
      rows.push(row);
      if (!nodes.has(lanes[lane].node)) nodes.set(lanes[lane].node, row);
      y += height;
    }
    if (pinned) still = y + gap;
  }
  return { rows, height, total: y, pinned: still, place: new Map(rows.map((r) => [r.lane, r])), nodes,
    groups, shut };
}

/** The rows that are in sight between two heights, and those that always are. */
export function inSight(l: Layout, top: number, bottom: number): Row[] {
  const still = l.pinned ? l.rows.findIndex((r) => !r.pinned) : 0;
  if (still < 0) return l.rows;
  let a = still;
  let b = l.rows.length;
  while (a < b) {
    const m = (a + b) >> 1;
    if (l.rows[m].y + l.height <= top + l.pinned) a = m + 1;
    else b = m;
  }
  let end = a;
  while (end < l.rows.length && l.rows[end].y < bottom) end++;
  return [...l.rows.slice(0, still), ...l.rows.slice(a, end)];
}

/** Where a row is while the lanes are scrolled. */
export const placeOf = (row: Row, scroll: number): number => row.y - (row.pinned ? 0 : scroll);

/** The row at a height while the lanes are scrolled, or undefined between groups. */
export function rowAt(l: Layout, y: number, scroll: number): Row | undefined {
  return inSight(l, scroll, scroll + y + 1).find((r) => r.pinned === y < l.pinned &&
    y >= placeOf(r, scroll) && y < placeOf(r, scroll) + l.height);
}

/** The middle of a lane or, if only the node is known, of its first lane; undefined if neither is in the
 * layout. */
export function middle(l: Layout, lane: number, node: number, scroll = 0): number | undefined {
  const shut = l.shut.get(lane);
  if (shut !== undefined) return shut - scroll;
  const row = l.place.get(lane) ?? (lane < 0 ? l.nodes.get(node) : undefined);
  return row && placeOf(row, scroll) + l.height / 2;
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

/** Lanes of a text such as "0-3,7"; what is wrong in it counts as missing. */
export function numbersOf(s: string | undefined, below: number): number[] {
  const out = new Set<number>();
  for (const part of (s ?? "").split(",")) {
    const [, a, b = a] = /^(\d{1,7})(?:-(\d{1,7}))?$/.exec(part) ?? [];
    for (let i = Number(a); i <= Number(b) && i < below; i++) out.add(i);
  }
  return [...out];
}
