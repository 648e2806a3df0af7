import { describe, expect, test } from "vitest";
import { axisLength, readPart, shift, window, within, writePart, zoom, type Part } from "./axis";
import { fragmentLines, lines } from "./rows";
import { pixels, readTile, stack } from "./tile";

describe("the axis of two runs", () => {
  test("absolute: that of the longer", () => expect([axisLength("absolute", 5, 9), axisLength("absolute", 9,
    5)]).toEqual([9, 9]));
  test("stretched: each its own", () => expect([axisLength("stretched", 5, 9), axisLength("stretched", 9,
    5)]).toEqual([5, 9]));
  test("a window beyond the run's end shows what there is", () => {
    expect(within(window([0, 1], 100), 50)).toEqual({ from: 0, to: 50, share: 0.5 });
    expect(within(window([0.5, 1], 100), 50)).toBeNull();
    expect(within(window([0.2, 0.4], 100), 50)).toEqual({ from: 20, to: 40, share: 1 });
  });
  test("zooming keeps the place under the pointer", () => {
    const part: Part = [0.2, 0.6];
    const [a, b] = zoom(part, 0.25, 0.5);
    expect(a + (b - a) * 0.25).toBeCloseTo(0.3);
    expect(b - a).toBeCloseTo(0.2);
  });
  test("nothing leaves the axis", () => {
    expect(zoom([0, 1], 0.9, 4)).toEqual([0, 1]);
    expect(shift([0.5, 0.9], 1)[1]).toBeCloseTo(1);
    expect(shift([0.5, 0.9], -1)[0]).toBe(0);
  });
  test("is kept in the address", () => {
    expect(writePart([0, 1])).toBeNull();
    expect(readPart(writePart([0.125, 0.5])!)).toEqual([0.125, 0.5]);
    for (const wrong of [undefined, "", "1", "0.5:0.2", "0:2", "a:b"]) expect(readPart(wrong)).toEqual([0,
      1]);
  });
});

describe("tables", () => {
  const row = (name: string, a: number | null, b: number | null) => ({ name, unit: "ns" as const, a, b,
    share: 0 });
  test("the change, and null where a run has no figure", () => {
    expect(lines([row("wall", 100, 150), row("x", null, 5), row("y", 0, 5)]).map((l) => [l.change,
      l.relative])).toEqual([[50, 0.5], [null, null], [5, null]]);
    expect(lines(null)).toEqual([]);
  });
  test("code fragments that changed most come first", () => {
    const f = (code: string, a: number, b: number) => ({ code, count_a: 1, count_b: 1, time: row("time", a,
      b), useful: row("useful", a, b), mean: row("mean", a, b) });
    const side = { name: "", program: "", ended: "done", nodes: 1, workers: 1 };
    const got = fragmentLines({ a: side, b: side, whole: [], factors: [], parts: [], path: null,
      fragments: [f("small", 10, 12), f("faster", 500, 100)] });
    expect(got.map((g) => g.code)).toEqual(["faster", "small"]);
  });
});

describe("tiles", () => {
  const tile = (lanes: number, width: number, classes: number[], shares: number[]) => {
    const b = new ArrayBuffer(8 + lanes * width * 3);
    const v = new DataView(b);
    v.setUint32(0, lanes, true);
    v.setUint32(4, width, true);
    let at = 8;
    for (let l = 0; l < lanes; l++) {
      for (let x = 0; x < width; x++, at += 2) v.setUint16(at, classes[l * width + x], true);
      for (let x = 0; x < width; x++) v.setUint8(at++, shares[l * width + x]);
    }
    return b;
  };
  test("are read, an odd width too", () => {
    const t = readTile(tile(2, 3, [1, 2, 0xff01, 4, 5, 6], [10, 20, 30, 40, 50, 60]));
    expect([...t.classes]).toEqual([1, 2, 0xff01, 4, 5, 6]);
    expect([...t.shares]).toEqual([10, 20, 30, 40, 50, 60]);
  });
  test("of a wrong size are refused", () => {
    expect(() => readTile(new ArrayBuffer(4))).toThrow();
    expect(() => readTile(new ArrayBuffer(20))).toThrow();
  });
  test("become pixels: nothing is the background, a full class its colour", () => {
    const p = pixels(readTile(tile(1, 2, [0, 7], [0, 255])), () => "#ff8000", "#101010");
    expect([...p]).toEqual([16, 16, 16, 255, 255, 128, 0, 255]);
  });
  test("areas stand on each other", () => {
    const s = stack([[1, 2], [3, 0]], 4);
    expect(s[0]).toEqual({ low: [0, 0], high: [0.25, 0.5] });
    expect(s[1]).toEqual({ low: [0.25, 0.5], high: [1, 0.5] });
  });
});
