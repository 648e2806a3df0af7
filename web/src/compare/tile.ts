// The server's picture of lanes, as pixels.

import { rgb } from "../lib/colors";

/** A tile as it arrives: see Tile in api.ts. */
export interface Tile {
  lanes: number;
  width: number;
  classes: Uint16Array; // lane by lane
  shares: Uint8Array;
}

/** Parses a tile. Throws if the bytes are not one. */
export function readTile(b: ArrayBuffer): Tile {
  const view = new DataView(b);
  const lanes = b.byteLength >= 8 ? view.getUint32(0, true) : 0;
  const width = b.byteLength >= 8 ? view.getUint32(4, true) : 0;
  if (b.byteLength < 8 ||
    b.byteLength !== 8 + lanes * width * 3)
      throw new Error(`a tile of ${lanes} x ${width} does not have ${b.byteLength} bytes`);
  const classes = new Uint16Array(lanes * width);
  const shares = new Uint8Array(lanes * width);
  let at = 8;
  for (let lane = 0; lane < lanes; lane++) {
    for (let x = 0; x < width; x++, at += 2) classes[lane * width + x] = view.getUint16(at, true);
    shares.set(new Uint8Array(b, at, width), lane * width);
    at += width;
  }
  return { lanes, width, classes, shares };
}

/** The pixels of a tile, one row per lane. `color` returns the colour of a class, or null to draw nothing. */
export function pixels(tile: Tile, color: (cls: number) => string | null,
  back: string): Uint8ClampedArray<ArrayBuffer> {
  const out = new Uint8ClampedArray(tile.lanes * tile.width * 4);
  const base = rgb(back);
  const known = new Map<number, [number, number, number] | null>();
  for (let i = 0; i < tile.classes.length; i++) {
    const cls = tile.classes[i];
    let c = known.get(cls);
    if (c === undefined) {
      const name = cls === 0 ? null : color(cls);
      c = name === null ? null : rgb(name);
      known.set(cls, c);
    }
    const share = c ? Math.max(tile.shares[i] / 255, 0.2) : 0;
    for (let k = 0; k < 3; k++) out[i * 4 + k] = base[k] + ((c?.[k] ?? 0) - base[k]) * share;
    out[i * 4 + 3] = 255;
  }
  return out;
}

/** The edges of stacked areas: for each row its lower and upper edge per window, in shares of `full`. */
export function stack(total: readonly (readonly number[])[], full: number): { low: number[];
  high: number[] }[] {
  const windows = total[0]?.length ?? 0;
  const sum = new Array<number>(windows).fill(0);
  return total.map((row) => {
    const low = sum.map((v) => (full > 0 ? v / full : 0));
    row.forEach((v, i) => (sum[i] += v));
    return { low, high: sum.map((v) => (full > 0 ? v / full : 0)) };
  });
}
