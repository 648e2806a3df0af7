// Tiles: pictures of lanes that the server makes at levels of detail. A column of level k stands for 2^k ns.
// A tile has 512 columns and 64 lanes and lies on a grid, so it is the same tile wherever the view is. While
// the tiles of one level are in flight, available tiles of other levels are drawn instead.

import { FACTOR } from "../api";
import type { Interval } from "../lib/url";

export const columns = 512;
export const lanesPerTile = 64;

export interface TileKey {
  by: string; // "code", "factor", or as Shades.by
  level: number;
  index: number; // along the time axis
  block: number; // of lanes
}

export interface Tile {
  key: TileKey;
  lanes: number;
  width: number;
  classes: Uint16Array; // by lane, then column
  shares: Uint8Array;
  epoch: number; // how much of the run was known when it was requested
  asked: number; // ms
  used: number; // when it was last drawn, to decide what to drop
  picture?: unknown; // its picture in the colours of `look`
  look?: unknown;
}

export const nameOf = (k: TileKey) => `${k.by}/${k.level}/${k.index}/${k.block}`;

/** The length of a column of a level, ns. */
export const columnTime = (level: number) => 2 ** level;

/** The interval of a tile. */
export function timesOf(k: TileKey): Interval {
  const length = columns * columnTime(k.level);
  return [k.index * length, (k.index + 1) * length];
}

/** The level whose columns come closest to a pixel without being longer. */
export function levelFor(nsPerPixel: number): number {
  return Math.max(0, Math.floor(Math.log2(Math.max(nsPerPixel, 1)) + 1e-9));
}

/** The tiles that show an interval of some lanes. */
export function wanted(by: TileKey["by"], level: number, [from, to]: Interval,
  blocks: readonly number[]): TileKey[] {
  const length = columns * columnTime(level);
  const out: TileKey[] = [];
  for (const block of blocks) for (let index = Math.floor(from / length); index * length < to;
    index++) out.push({ by, level, index, block });
  return out;
}

/** The blocks that contain these lanes. */
export function blocksOf(lanes: readonly number[]): number[] {
  return [...new Set(lanes.map((l) => Math.floor(l / lanesPerTile)))];
}

/** The lanes of a block, as the server wants them: "0-63". */
export function lanesOf(block: number, lanes: number): string {
  return `${block * lanesPerTile}-${Math.min((block + 1) * lanesPerTile, lanes) - 1}`;
}

/** Parses the server's answer; null if it is not a tile. */
export function decode(data: ArrayBuffer): { lanes: number; width: number; classes: Uint16Array;
  shares: Uint8Array } | null {
  if (data.byteLength < 8) return null;
  const view = new DataView(data);
  const lanes = view.getUint32(0, true);
  const width = view.getUint32(4, true);
  if (data.byteLength !== 8 + lanes * width * 3) return null;
  const classes = new Uint16Array(lanes * width);
  const shares = new Uint8Array(lanes * width);
  for (let lane = 0; lane < lanes; lane++) {
    const at = 8 + lane * width * 3;
    for (let i = 0; i < width; i++) classes[lane * width + i] = view.getUint16(at + 2 * i, true);
    shares.set(new Uint8Array(data, at + 2 * width, width), lane * width);
  }
  return { lanes, width, classes, shares };
}

/** The factor that a class stands for, or -1. */
export function factorOf(c: number): number {
  return c >= FACTOR ? c - FACTOR : -1;
}

/** The available tiles, up to a limit. The least recently drawn are dropped first. */
export class TileCache {
  private tiles = new Map<string, Tile>();
  private clock = 0;

  constructor(readonly most = 300) {}

  get size(): number {
    return this.tiles.size;
  }

  get(k: TileKey): Tile | undefined {
    const t = this.tiles.get(nameOf(k));
    if (t) t.used = ++this.clock;
    return t;
  }

  put(t: Tile): void {
    t.used = ++this.clock;
    this.tiles.set(nameOf(t.key), t);
    if (this.tiles.size <= this.most) return;
    let oldest: Tile | undefined;
    for (const other of this.tiles.values()) if (!oldest || other.used < oldest.used) oldest = other;
    if (oldest) this.tiles.delete(nameOf(oldest.key));
  }

  clear(): void {
    this.tiles.clear();
  }

  /** What to draw to show an interval, from the bottom up: the wanted tiles that are available; below them
   * the nearest coarser ones for those that are missing, or finer ones if there are no coarser. */
  drawn(by: TileKey["by"], level: number, interval: Interval, blocks: readonly number[],
    deepest: number): Tile[] {
    const keys = wanted(by, level, interval, blocks);
    const there: Tile[] = [];
    const missing: TileKey[] = [];
    for (const k of keys) {
      const t = this.get(k);
      if (t) there.push(t);
      else missing.push(k);
    }
    const below: Tile[] = [];
    for (const k of missing) {
      let index = k.index;
      for (let up = level + 1; up <= deepest; up++) {
        index = Math.floor(index / 2);
        const t = this.get({ ...k, level: up, index });
        if (!t) continue;
        if (!below.includes(t)) below.push(t);
        break;
      }
      for (let down = 1; down <= 3 && level - down >= 0; down++) {
        const n = 2 ** down;
        for (let i = 0; i < n; i++) {
          const t = this.get({ ...k, level: level - down, index: k.index * n + i });
          if (t) below.push(t);
        }
      }
    }
    below.sort((a, b) => b.key.level - a.key.level);
    return [...below, ...there];
  }

  /** The wanted tiles that must be requested, missing ones first. `old` tells which are out of date. */
  lacking(keys: readonly TileKey[], old: (t: Tile) => boolean): TileKey[] {
    const none: TileKey[] = [];
    const stale: TileKey[] = [];
    for (const k of keys) {
      const t = this.tiles.get(nameOf(k));
      if (!t) none.push(k);
      else if (old(t)) stale.push(k);
    }
    return [...none, ...stale];
  }
}
