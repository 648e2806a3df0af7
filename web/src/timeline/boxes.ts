// The single CFs and gaps of an interval: finding them by place, and when to request them.

import type { Boxes } from "../api";
import type { Interval } from "../lib/url";

export interface BoxRef {
  kind: "cf" | "gap";
  i: number; // in the columns of the answer
}

/** An answer, with the place of each lane's boxes in it. */
export class BoxSet {
  private readonly cfs: Map<number, [number, number]>;
  private readonly gaps: Map<number, [number, number]>;

  constructor(
    readonly data: Boxes,
    readonly lanes: ReadonlySet<number>,
    readonly epoch: number,
  ) {
    this.cfs = byLane(data.cfs.lane);
    this.gaps = byLane(data.gaps.lane);
  }

  get size(): number {
    return this.data.cfs.lane.length + this.data.gaps.lane.length;
  }

  /** Whether it contains all of an interval of these lanes. */
  covers([from, to]: Interval, lanes: readonly number[]): boolean {
    return this.data.from <= from && this.data.to >= to && lanes.every((l) => this.lanes.has(l));
  }

  cfsOf(lane: number): [number, number] {
    return this.cfs.get(lane) ?? [0, 0];
  }
  gapsOf(lane: number): [number, number] {
    return this.gaps.get(lane) ?? [0, 0];
  }

  /** What is at a time of a lane: an atomic CF, otherwise a structured one, otherwise a gap. `low`: in the
   * strip where structured CFs are drawn. */
  at(lane: number, t: number, low: boolean): BoxRef | undefined {
    const { cfs, gaps } = this.data;
    let atomic = -1;
    let structured = -1;
    const [a, b] = this.cfsOf(lane);
    for (let i = a; i < b && cfs.start[i] <= t; i++) {
      if (cfs.end[i] < t) continue;
      if (cfs.structured[i]) structured = i;
      else atomic = i;
    }
    if (structured >= 0 && (low || atomic < 0)) return { kind: "cf", i: structured };
    if (atomic >= 0) return { kind: "cf", i: atomic };
    const [c, d] = this.gapsOf(lane);
    for (let i = c; i < d && gaps.start[i] <= t; i++) if (gaps.end[i] > t) return { kind: "gap", i };
    return undefined;
  }
}

/** Where each lane's entries are in a column of lanes: its first, and one after its last. */
export function byLane(lanes: readonly number[]): Map<number, [number, number]> {
  const out = new Map<number, [number, number]>();
  for (let i = 0; i < lanes.length; ) {
    let j = i;
    while (j < lanes.length && lanes[j] === lanes[i]) j++;
    out.set(lanes[i], [i, j]);
    i = j;
  }
  return out;
}

/** What the last request for boxes told about their number. */
export interface Density {
  count: number;
  width: number; // of the interval of that request, ns
  lanes: number;
}

/** Whether it makes sense to request the boxes of so wide an interval of so many lanes. */
export function worthAsking(known: Density | undefined, width: number, lanes: number,
  limit: number): boolean {
  if (!known) return true;
  return (known.count * width * lanes) / (known.width * Math.max(known.lanes, 1)) < limit * 1.5;
}

/** The interval to request: half as much again on either side, so that a small move needs no request. */
export function around([from, to]: Interval, end: number): Interval {
  const more = (to - from) / 2;
  return [Math.max(Math.floor(from - more), 0), Math.max(Math.min(Math.ceil(to + more), end),
    Math.ceil(from) + 1)];
}
