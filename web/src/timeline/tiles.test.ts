import { expect, test } from "vitest";
import { FACTOR } from "../api";
import { blocksOf, columns, decode, factorOf, lanesOf, levelFor, nameOf, TileCache, timesOf, wanted,
  type Tile, type TileKey } from "./tiles";

const tile = (key: TileKey): Tile => ({ key, lanes: 1, width: 1, classes: new Uint16Array(1),
  shares: new Uint8Array(1), epoch: 1, asked: 0, used: 0 });
const key = (level: number, index: number, block = 0): TileKey => ({ by: "code", level, index, block });

test("a column is at most a pixel, and more than half of one", () => {
  for (const ns of [1, 1.5, 2, 1000, 1e6, 3e9]) {
    const column = 2 ** levelFor(ns);
    expect(column <= ns && 2 * column > ns).toBe(true);
  }
  expect(levelFor(0.01)).toBe(0);
});

test("wanted tiles cover an interval and no more", () => {
  const keys = wanted("code", 3, [10_000, 30_000], [0, 2]);
  const length = columns * 8;
  for (const k of keys) {
    const [from, to] = timesOf(k);
    expect(to - from).toBe(length);
    expect(to > 10_000 && from < 30_000).toBe(true);
  }
  expect(keys.filter((k) =>
    k.block === 0).length).toBe(Math.ceil(30_000 / length) - Math.floor(10_000 / length));
  expect(new Set(keys.map(nameOf)).size).toBe(keys.length);
});

test("blocks of lanes", () => {
  expect(blocksOf([0, 1, 63, 64, 200])).toEqual([0, 1, 3]);
  expect(lanesOf(0, 8)).toBe("0-7");
  expect(lanesOf(1, 100)).toBe("64-99");
  expect(lanesOf(1, 500)).toBe("64-127");
});

test("the server's answer", () => {
  const data = new ArrayBuffer(8 + 2 * 3 * 3);
  const view = new DataView(data);
  view.setUint32(0, 2, true);
  view.setUint32(4, 3, true);
  view.setUint16(8 + 9, FACTOR + 2, true); // the second lane's first column
  view.setUint8(8 + 9 + 6, 200);
  const t = decode(data)!;
  expect([t.lanes, t.width]).toEqual([2, 3]);
  expect([...t.classes]).toEqual([0, 0, 0, FACTOR + 2, 0, 0]);
  expect([...t.shares]).toEqual([0, 0, 0, 200, 0, 0]);
  expect(factorOf(t.classes[3])).toBe(2);
  expect(factorOf(7)).toBe(-1);
  expect(decode(new ArrayBuffer(7))).toBeNull();
  expect(decode(data.slice(0, 20))).toBeNull();
});

test("what is drawn longest ago is forgotten first", () => {
  const c = new TileCache(3);
  for (let i = 0; i < 3; i++) c.put(tile(key(0, i)));
  c.get(key(0, 0));
  c.put(tile(key(0, 3)));
  expect(c.size).toBe(3);
  expect(c.get(key(0, 1))).toBeUndefined();
  expect(c.get(key(0, 0))).toBeDefined();
});

test("until the wanted tiles are there, others stand in", () => {
  const c = new TileCache();
  c.put(tile(key(5, 0)));
  const interval: [number, number] = [0, 2 * columns * 4];
  expect(c.drawn("code", 2, interval, [0], 10).map((t) => t.key.level)).toEqual([5]);
  c.put(tile(key(2, 0)));
  expect(c.drawn("code", 2, interval, [0], 10).map((t) => nameOf(t.key))).toEqual([nameOf(key(5, 0)),
    nameOf(key(2, 0))]);
  c.put(tile(key(2, 1)));
  expect(c.drawn("code", 2, interval, [0], 10).map((t) => t.key.level)).toEqual([2, 2]);
  expect(c.drawn("factor", 2, interval, [0], 10)).toEqual([]);
  // Zoomed out from a place with finer tiles.
  expect(c.drawn("code", 3, interval, [0], 4).map((t) => t.key.level)).toEqual([2, 2]);
});

test("what is missing is asked for before what is old", () => {
  const c = new TileCache();
  c.put(tile(key(1, 0)));
  expect(c.lacking([key(1, 0), key(1, 1)], () => true)).toEqual([key(1, 1), key(1, 0)]);
  expect(c.lacking([key(1, 0), key(1, 1)], () => false)).toEqual([key(1, 1)]);
});
