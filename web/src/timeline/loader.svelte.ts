// Fetches the tiles and boxes in sight, a few at a time, and says when there is something new to draw.

import type { Boxes, Regions } from "../api";
import { ApiError, get, getBinary, runPath } from "../lib/client";
import { common } from "../lib/i18n";
import { current, hasRegions } from "../lib/run.svelte";
import { app, type Interval } from "../lib/state.svelte";
import { terms } from "../lib/terms.svelte";
import { around, BoxSet, worthAsking, type Density } from "./boxes";
import { ranges } from "./layout";
import { RegionSet } from "./regions";
import { blocksOf, decode, lanesOf, levelFor, nameOf, TileCache, timesOf, wanted, type Tile,
  type TileKey } from "./tiles";

const atOnce = 3;
export const boxLimit = 10_000;

export class Loader {
  readonly cache = new TileCache();
  boxes = $state.raw<BoxSet | null>(null);
  /** Visits to regions, collectives and locks; null: none are known yet, or there are none. */
  regions = $state.raw<RegionSet | null>(null);
  /** Grows when there is something new to draw. */
  changed = $state(0);
  /** The number of boxes if they are too many to be shown, otherwise 0. */
  tooMany = $state(0);
  loading = $state(false);
  /** Why the newest request failed, or null. */
  error = $state<string | null>(null);
  /** Whether there is anything to draw yet. */
  any = $state(false);
  readonly since = performance.now();

  private running = new Map<string, AbortController>();
  private boxControl: AbortController | undefined;
  private boxBy = ""; // the Shades of the boxes
  private boxAsked = "";
  private boxTime = 0;
  private regionControl: AbortController | undefined;
  private regionsAsked = "";
  private density: Density | undefined;
  private view: { by: TileKey["by"]; level: number; visible: Interval; lanes: number[]; all: number;
    pixels: number } | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private failed = new Map<string, number>();

  /** Tells the loader what is in sight. Call it for every frame: it requests only what is missing. */
  show(by: TileKey["by"], visible: Interval, lanes: number[], all: number, pixels: number): void {
    const level = levelFor((visible[1] - visible[0]) / Math.max(pixels, 1));
    this.view = { by, level, visible, lanes, all, pixels };
    this.next();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      void this.askBoxes();
      void this.askRegions();
    }, 60); // not for every step of a zoom
  }

  /** The tiles to draw now. */
  tiles(): Tile[] {
    const v = this.view;
    if (!v) return [];
    return this.cache.drawn(v.by, v.level, v.visible, blocksOf(v.lanes), this.deepest());
  }

  /** The boxes, if they have what a colour needs. */
  boxesBy(by: string): BoxSet | null {
    const boxes = this.boxes; // read in any case: whoever asks is told when others arrive
    return by === "code" || by === "factor" || this.boxBy === by ? boxes : null;
  }

  /** The single CFs of a lane, from what is at hand or from the server. */
  single = async (from: number, to: number, lane: number): Promise<Pick<Boxes, "cfs" | "more">> =>
    this.boxes?.covers([from, to], [lane]) ? this.boxes.data : get<Boxes>(runPath("boxes"),
      { from, to, lanes: lane, limit: 2000 });

  /** Asks again for what failed. */
  refresh = (): void => {
    this.error = null;
    this.failed.clear();
    this.next();
    void this.askBoxes();
    this.regionsAsked = "";
    void this.askRegions();
  };

  stop(): void {
    clearTimeout(this.timer);
    this.boxControl?.abort();
    this.regionControl?.abort();
    for (const c of this.running.values()) c.abort();
  }

  // The level at which one tile holds the whole run.
  private deepest(): number {
    return Math.max(Math.ceil(Math.log2(app.end / 512)), 0);
  }

  // The data behind tiles and boxes: the newest snapshot of a live run, or all of a finished one.
  private epoch(): number {
    return current.live ? (current.update?.snapshot_ns ?? 0) : -current.version;
  }

  // With a new snapshot, tiles near its end change; older ones change only if something arrived late, so they
  // are requested less often.
  private old = (t: Tile): boolean => {
    const epoch = this.epoch();
    if (t.epoch === epoch) return false;
    return t.epoch < 0 || epoch < 0 || timesOf(t.key)[1] > t.epoch - 1e9 ||
      performance.now() - t.asked > 10_000;
  };

  private next(): void {
    const v = this.view;
    if (!v) return;
    const blocks = blocksOf(v.lanes);
    const keys = wanted(v.by, v.level, v.visible, blocks);
    // The whole run is fetched once, so that there is always something to draw.
    const base = wanted(v.by, this.deepest(), [0, Math.max(app.end, 1)],
      blocks).filter((k) => !this.cache.get(k));
    const names = new Set([...keys, ...base].map(nameOf));
    for (const [name, control] of this.running) {
      if (names.has(name)) continue;
      control.abort();
      this.running.delete(name);
    }
    for (const k of [...base, ...this.cache.lacking(keys, this.old)]) {
      if (this.running.size >= atOnce) break;
      const name = nameOf(k);
      if (this.running.has(name) || performance.now() - (this.failed.get(name) ?? -1e9) < 5000) continue;
      void this.ask(k, v.all);
    }
    this.loading = this.running.size > 0;
  }

  private async ask(k: TileKey, all: number): Promise<void> {
    const control = new AbortController();
    const name = nameOf(k);
    this.running.set(name, control);
    const [from, to] = timesOf(k);
    const epoch = this.epoch();
    const asked = performance.now();
    try {
      const data = decode(await getBinary(runPath("tile"), { from, to, width: 512, by: k.by,
        lanes: lanesOf(k.block, all) }, control.signal));
      if (data && !control.signal.aborted) {
        this.cache.put({ key: k, ...data, epoch, asked, used: 0 });
        this.failed.delete(name);
        this.any = true;
        this.error = null;
      }
    } catch (e) {
      if (!control.signal.aborted) {
        this.failed.set(name, performance.now());
        this.failedWith(e);
      }
    }
    if (this.running.get(name) === control) this.running.delete(name);
    if (control.signal.aborted) return;
    this.changed++;
    this.next();
  }

  // A live run of which nothing has arrived yet is no failure.
  private failedWith(e: unknown): void {
    if (!(e instanceof ApiError && e.status === 503)) this.error = (e as Error).message || common.unreachable;
  }

  private async askBoxes(): Promise<void> {
    const v = this.view;
    if (!v || v.lanes.length === 0) return;
    const width = v.visible[1] - v.visible[0];
    const have = this.boxes;
    const lanes = ranges(v.lanes);
    const by = v.by === "code" || v.by === "factor" ? "" : v.by;
    if (have && this.boxBy === by && have.covers(v.visible, v.lanes) && (have.epoch === this.epoch() ||
      (current.live && performance.now() - this.boxTime < 1000))) {
      this.tooMany = 0;
      return;
    }
    if (!worthAsking(this.density, width * 2, v.lanes.length, boxLimit)) {
      if (this.density) this.tooMany = Math.round((this.density.count * width * v.lanes.length)
        / (this.density.width * this.density.lanes));
      this.boxes = null;
      return;
    }
    const asked = JSON.stringify([v.visible, lanes, by, this.epoch()]);
    if (this.boxAsked === asked) return;
    this.boxAsked = asked;
    this.boxControl?.abort();
    const control = (this.boxControl = new AbortController());
    const epoch = this.epoch();
    this.boxTime = performance.now();
    const [from, to] = around(v.visible, app.end);
    try {
      const got = await get<Boxes>(runPath("boxes"), { from, to, lanes, by, limit: boxLimit },
        control.signal);
      if (control.signal.aborted) return;
      const set = new BoxSet(got, new Set(v.lanes), epoch);
      this.boxBy = by;
      this.density = { count: got.more || set.size, width: to - from, lanes: v.lanes.length };
      this.tooMany = got.more ? Math.round((got.more * width) / (to - from)) : 0;
      this.boxes = got.more ? null : set;
    } catch (e) {
      if (control.signal.aborted) return;
      this.boxAsked = "";
      this.failedWith(e);
    }
    this.changed++;
  }

  private async askRegions(): Promise<void> {
    const v = this.view;
    if (!v || v.lanes.length === 0 || !(hasRegions() || terms.tasks)) return;
    const columns = Math.max(Math.ceil(v.pixels / 2), 1);
    const pixel = (v.visible[1] - v.visible[0]) / columns;
    const epoch = this.epoch();
    if (this.regions?.epoch === epoch && this.regions.covers(v.visible, v.lanes, pixel)) return;
    const [from, to] = around(v.visible, app.end);
    const params = { from, to, lanes: ranges(v.lanes.toSorted((a, b) => a - b)),
      width: Math.min(Math.ceil((to - from) / pixel), 16384) };
    const asked = JSON.stringify([params, epoch]);
    if (this.regionsAsked === asked) return;
    this.regionsAsked = asked;
    this.regionControl?.abort();
    const control = (this.regionControl = new AbortController());
    try {
      const got = await get<Regions>(runPath("regions"), params, control.signal);
      if (control.signal.aborted) return;
      this.regions = new RegionSet(got, new Set(v.lanes), epoch, (to - from) / params.width);
    } catch (e) {
      if (control.signal.aborted) return;
      this.regionsAsked = "";
      this.failedWith(e);
    }
    this.changed++;
  }
}
