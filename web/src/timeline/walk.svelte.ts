// Moves from CF to CF by keyboard: to the next and the previous one of a lane, and to the lanes above and
// below. CFs in sight are at hand; if tiles are shown, a few questions for ever wider (or narrower) intervals
// find the neighbour.

import type { Boxes } from "../api";
import { reveal } from "../lib/axis";
import { app } from "../lib/state.svelte";

export interface Stop {
  lane: number;
  cf: string;
  label: string;
  code: number;
  start: number;
  end: number;
  running: boolean;
}

type Source = (from: number, to: number, lane: number) => Promise<Pick<Boxes, "cfs" | "more">>;

function stops(b: Pick<Boxes, "cfs">, lane: number): Stop[] {
  const c = b.cfs;
  const out: Stop[] = [];
  for (let i = 0; i < c.lane.length; i++)
    if (c.lane[i] === lane) out.push({ lane, cf: c.cf[i], label: c.label[i], code: c.code[i],
      start: c.start[i], end: c.end[i], running: c.running[i] === 1 });
  return out.sort((a, b) => a.start - b.start || b.end - a.end);
}

/** The neighbour of a time, or of the stop that begins there: forward (1) or back (-1). null: there is
 * none. */
export async function neighbour(source: Source, lane: number, t: number, at: Stop | null, way: 1 | -1,
  width: number, end: number): Promise<Stop | null> {
  let [none, many] = [0, Infinity]; // a width with nothing in it, a width with too much
  for (let tries = 0; tries < 60; tries++) {
    const from = way > 0 ? t : Math.max(t - width, 0);
    const to = way > 0 ? Math.min(t + width, end) : t + 1;
    const got = await source(Math.floor(from), Math.max(Math.ceil(to), Math.floor(from) + 1), lane);
    if (got.more) {
      if (width - none <= 1) return null;
      many = width;
      width = none ? Math.floor((none + many) / 2) : Math.max(Math.floor(width / 8), 1);
      continue;
    }
    const all = stops(got, lane);
    const own = at ? all.findIndex((s) => s.cf === at.cf && s.start === at.start) : -1;
    // After one that began before the interval there may be others that also ended there.
    const found = way > 0 ? (own >= 0 ? all[own + 1] : all.find((s) => s.start > t))
      : (own >= 0 ? all.slice(0, own) : all.filter((s) => s.start < t)).findLast((s) => s.start >= from ||
      from === 0);
    if (found) return found;
    if (way > 0 ? to >= end : from <= 0) return null;
    none = width;
    width = many < Infinity ? Math.ceil((none + many) / 2) : width * 4;
  }
  return null;
}

// Without a cursor a walk begins where the view does.
const cursor = () => app.now ?? app.visible[0];

export class Walk {
  at = $state.raw<Stop | null>(null);
  private turn = 0;

  constructor(private readonly source: Source) {}

  private width = () => Math.max((app.visible[1] - app.visible[0]) / 50, 1000);

  /** Moves to the next or the previous CF of the lane. */
  async along(way: 1 | -1, lane: number): Promise<void> {
    const at = this.at?.lane === lane && this.at.start === app.t ? this.at : null;
    await this.go(() => neighbour(this.source, lane, at?.start ?? cursor(), at, way, this.width(), app.end));
  }

  /** Moves to what a lane runs at the cursor's time, otherwise to the next CF, otherwise to the last one
   * before. */
  async enter(lane: number): Promise<void> {
    const t = cursor();
    await this.go(async () => {
      const here = stops(await this.source(t, t + 1, lane), lane).findLast((s) => s.start <= t && s.end > t);
      return here ?? (await neighbour(this.source, lane, t, null, 1, this.width(), app.end)) ??
        (await neighbour(this.source, lane, t, null, -1, this.width(), app.end));
    });
  }

  private async go(find: () => Promise<Stop | null>): Promise<void> {
    const turn = ++this.turn;
    const to = await find();
    if (turn !== this.turn || !to) return;
    this.at = to;
    // If a story is open, it becomes that of the new CF.
    app.set({ t: to.start, ...(app.pick?.kind === "cf" ? { pick: { kind: "cf" as const, key: to.cf } } : {}),
      ...(app.vis ? { vis: reveal(app.vis, to.start, app.end) } : {}) }, "replace");
  }
}
