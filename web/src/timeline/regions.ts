// Visits to regions, collectives and locks in sight: finding them by place, and drawing them.

import type { Band, LockTrack, Regions } from "../api";
import { factorColor, mix, palette, seriesColor, textOn } from "../lib/colors";
import type { Draw } from "../lib/svg";
import type { Interval } from "../lib/url";
import { byLane } from "./boxes";
import { inner, labelWidth, strip, xOf, yOf, type Scene } from "./draw";
import type { Row } from "./layout";

/** An answer, with the place of each lane's visits in it. */
export class RegionSet {
  private readonly visits: Map<number, [number, number]>;

  constructor(
    readonly data: Regions,
    readonly lanes: ReadonlySet<number>,
    readonly epoch: number,
    readonly pixel: number, // ns
  ) {
    this.visits = byLane(data.visits.lane);
  }

  /** Whether it contains all of an interval of these lanes, about as finely as is asked. */
  covers([from, to]: Interval, lanes: readonly number[], pixel: number): boolean {
    return this.data.from <= from && this.data.to >= to && this.pixel <= pixel * 1.01 &&
      lanes.every((l) => this.lanes.has(l));
  }

  visitsOf(lane: number): [number, number] {
    return this.visits.get(lane) ?? [0, 0];
  }

  /** The deepest visit of a lane at a time, at most so deep. */
  at(lane: number, t: number, depth: number): number | undefined {
    const v = this.data.visits;
    let best: number | undefined;
    const [a, b] = this.visitsOf(lane);
    for (let i = a; i < b; i++) {
      if (v.start[i] <= t && v.end[i] >= t && v.depth[i] <= depth && (best === undefined ||
        v.depth[i] > v.depth[best])) best = i;
    }
    return best;
  }

  /** The visits around one, the outermost first, and the visit. */
  around(i: number): number[] {
    const v = this.data.visits;
    const out: number[] = [];
    const [a, b] = this.visitsOf(v.lane[i]);
    for (let k = a; k < b; k++) if (v.depth[k] < v.depth[i] && v.start[k] <= v.start[i] &&
      v.end[k] >= v.end[i]) out.push(k);
    return [...out.sort((x, y) => v.depth[x] - v.depth[y]), i];
  }
}

/** The heights of a lane that has regions: each depth's, and that of the strip of causes below them. */
export function parts(height: number, depth: number): { each: number; causes: number } {
  const causes = height >= 12 ? strip(height) : 0;
  return { each: Math.max((height - causes) / Math.max(depth, 1), 1), causes };
}

/** How deep a place in a lane is; below all visits, the deepest. */
export function depthAt(y: number, height: number, depth: number): number {
  return Math.min(Math.floor(y / parts(height, depth).each), depth - 1);
}

/** The visits of lanes, one inside the other. By code they are filled; by factor the causes show through. */
export function drawVisits(g: Draw, s: Scene, set: RegionSet, rows: readonly Row[], colors: readonly string[],
  back: string): void {
  const h = inner(s.layout);
  const { each, causes } = parts(h, set.data.depth);
  const v = set.data.visits;
  const fill = s.by !== "factor";
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  g.textAlign = "left";
  for (const row of rows) {
    const y = yOf(s, row);
    const [a, b] = set.visitsOf(row.lane);
    if (fill && b > a) {
      g.fillStyle = back;
      g.fillRect(labelWidth, y, s.width - labelWidth, h - causes);
    }
    for (let i = a; i < b; i++) {
      if (v.end[i] < s.visible[0] || v.start[i] > s.visible[1]) continue;
      const x0 = Math.max(xOf(s, v.start[i]), labelWidth - 2);
      const x1 = Math.min(xOf(s, v.end[i]), s.width + 2);
      const w = Math.max(x1 - x0, 0.5);
      const top = y + v.depth[i] * each;
      const code = set.data.places[v.place[i]].code;
      const color = colors[code] ?? palette().x;
      if (fill) {
        g.fillStyle = v.count[i] > 1 ? mix(color, back, 0.3) : color;
        g.fillRect(x0, top, w > 3 ? w - 0.75 : w, each > 3 ? each - 0.75 : each);
      } else if (w > 3 && each > 5) {
        g.strokeStyle = back;
        g.lineWidth = 1;
        g.strokeRect(x0 + 0.5, top + 0.5, w - 1, each - 1);
      }
      if (w <= 26 || each < 11) continue;
      const name = s.codes[code]?.name ?? "?";
      const room = Math.floor((w - 7) / 6.1);
      g.fillStyle = fill ? textOn(color) : palette().text;
      g.fillText(name.length <= room ? name : name.slice(0, Math.max(room - 1, 1)) + "…",
        Math.max(x0, labelWidth) + 4, top + each / 2 + 0.5);
    }
  }
}

type Members = readonly { m: Band["members"][0]; y: number }[];

/** Continues a path, or begins one, along an edge of a band: down, or back up. */
function edge(g: Draw, s: Scene, at: Members, h: number, end: "from" | "to", up: boolean): void {
  if (!up) g.beginPath();
  (up ? at.toReversed() : at).forEach(({ m, y }, i) => {
    const x = Math.min(Math.max(xOf(s, m[end]), labelWidth - 2), s.width + 2);
    const [first, second] = up ? [y + h, y] : [y, y + h];
    if (i || up) g.lineTo(x, first);
    else g.moveTo(x, first);
    g.lineTo(x, second);
  });
}

/** A collective as a band from lane to lane, from when each was ready to when it left. Lanes that are not in
 * the group, or hidden, are passed over. */
export function drawBands(g: Draw, s: Scene, bands: readonly Band[]): void {
  const p = palette();
  const h = inner(s.layout);
  for (const b of bands) {
    const at = b.members.filter((m) => s.layout.place.has(m.lane))
      .map((m) => ({ m, y: yOf(s, s.layout.place.get(m.lane)!) }))
      .sort((x, y) => x.y - y.y);
    if (at.length < 2 || at.every(({ m }) => m.to < s.visible[0] || m.from > s.visible[1])) continue;
    g.save();
    g.globalAlpha = 0.1;
    g.fillStyle = p.text;
    edge(g, s, at, h, "from", false);
    edge(g, s, at, h, "to", true);
    g.closePath();
    g.fill();
    g.globalAlpha = 0.75;
    g.strokeStyle = p.text;
    g.lineWidth = 1;
    for (const end of ["from", "to"] as const) {
      edge(g, s, at, h, end, false);
      g.stroke();
    }
    g.restore();
    // The edge at which all were there, and the lane that was last.
    const last = at.reduce((x, y) => (y.m.from > x.m.from ? y : x));
    g.fillStyle = factorColor("S");
    g.fillRect(xOf(s, last.m.from) - 1, last.y, 2.5, h);
  }
}

export const trackHeight = 22;

/** A lock: who had it, in the colour of the lane's node, and above that how many waited. */
export function drawLock(g: Draw, width: number, visible: Interval, lock: LockTrack, nodeOf: (lane: number)
  => number, name: (lane: number) => string): void {
  const x = (t: number) => labelWidth + ((t - visible[0]) / (visible[1] - visible[0])) * (width - labelWidth);
  const clip = (a: number, b: number) => [Math.max(x(a), labelWidth), Math.min(Math.max(x(b), x(a) + 0.7),
    width)] as const;
  g.font = "10.5px system-ui, sans-serif";
  g.textBaseline = "middle";
  g.textAlign = "left";
  const { holds, waits } = lock;
  for (let i = 0; i < holds.lane.length; i++) {
    const [a, b] = clip(holds.start[i], holds.end[i]);
    if (b <= a) continue;
    const color = seriesColor(nodeOf(holds.lane[i]));
    g.fillStyle = holds.count[i] > 1 ? mix(color, palette().back, 0.3) : color;
    g.fillRect(a, 9, b - a > 3 ? b - a - 0.75 : b - a, trackHeight - 11);
    if (b - a < 30) continue;
    g.fillStyle = textOn(color);
    g.fillText(name(holds.lane[i]), a + 3, 9 + (trackHeight - 11) / 2 + 0.5);
  }
  const most = Math.max(1, new Set(waits.lane).size);
  const steps = changesOf(waits.start, waits.end);
  g.fillStyle = factorColor("S");
  for (let i = 0; i + 1 < steps.length; i++) {
    const [a, b] = clip(steps[i][0], steps[i + 1][0]);
    const high = (steps[i][1] / most) * 8;
    if (b > a && high > 0) g.fillRect(a, 9 - high, b - a, high);
  }
}

/** How many stretches there are at once, from each time at which that changes. */
export function changesOf(start: readonly number[], end: readonly number[]): [t: number, n: number][] {
  const at = [...start.map((t) => [t, 1] as const), ...end.map((t) => [t, -1] as const)].sort((a, b) => a[0] -
    b[0]);
  const out: [number, number][] = [];
  let n = 0;
  for (const [t, d] of at) {
    n += d;
    if (out.at(-1)?.[0] === t) out[out.length - 1][1] = n;
    else out.push([t, n]);
  }
  return out;
}

/** Who had a lock at a time, and who waited. */
export function lockAt(l: LockTrack, t: number): { owner: number; from: number; to: number; count: number;
  waiters: number[] } | undefined {
  const at = (s: LockTrack["holds"]) =>
    s.lane.flatMap((_, i) => (s.start[i] <= t && s.end[i] >= t ? [i] : []));
  const [hold] = at(l.holds);
  const waiters = [...new Set(at(l.waits).map((i) => l.waits.lane[i]))];
  if (hold === undefined && !waiters.length) return undefined;
  return { owner: hold === undefined ? -1 : l.holds.lane[hold], from: l.holds.start[hold] ?? 0,
    to: l.holds.end[hold] ?? 0, count: l.holds.count[hold] ?? 0, waiters };
}
