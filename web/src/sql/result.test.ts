import { expect, test } from "vitest";
import { cfOf, drawing, isMoment, numeric, offset, ticks } from "./result";

const r = { columns: ["node", "U", "S", "ms"], left: false,
  rows: [["run", 60.5, null, 12], ["0", 55, 3, 6]] as unknown[][] };

test("a plot shows names across and numbers of one unit upwards", () => {
  expect(numeric(r)).toEqual([false, true, true, true]);
  expect(drawing(r)).toEqual({ x: 0, y: [1, 2, 3], bars: true });
  expect(drawing(r, 1, [3])).toEqual({ x: 1, y: [3], bars: false });
  expect(drawing(r, 9, [0])).toEqual({ x: 0, y: [1, 2, 3], bars: true });
  expect(drawing({ columns: ["n"], rows: [[1], [2]], left: false })).toEqual({ x: -1, y: [0], bars: true });
  expect(drawing({ columns: ["k", "a_ms", "n", "b_ms"], rows: [[1, 2, 3, 4]], left: false }).y)
    .toEqual([1, 3]);
  expect(drawing({ columns: ["id", "start_ns", "cpu_ns"], rows: [["0.1", 2, 3]], left: false }).y)
    .toEqual([2]);
  expect(drawing({ columns: ["k"], rows: [["a"]], left: false }).y).toEqual([]);
});

test("scales are round and reach both ends", () => {
  expect(ticks(0, 10)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(ticks(-3, 7)).toEqual([-4, -2, 0, 2, 4, 6, 8]);
  expect(ticks(0, 0)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(ticks(0, 0.3)[0]).toBe(0);
  for (const hi of [1e-9, 0.07, 3, 1e15]) expect(ticks(0, hi).at(-1)).toBeGreaterThanOrEqual(hi);
});

test("columns are what their names say", () => {
  expect(isMoment("start_ns")).toBe(true);
  expect(isMoment("duration_ns")).toBe(false);
  expect(cfOf("id", "0.12")).toBe("0.12");
  expect(cfOf("id", 12)).toBeUndefined();
  expect(cfOf("name", "0.12")).toBeUndefined();
});

test("a place in a text", () => {
  expect(offset("ab\ncd", 2, 2)).toBe(4);
  expect(offset("\u{1f600}x", 1, 2)).toBe(2);
  expect(offset("a", 9, 9)).toBe(2);
});
