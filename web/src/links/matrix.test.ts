import { describe, expect, test } from "vitest";
import type { Matrix } from "../api";
import { cellAt, cells, draw, layout, linkEnds, linkKey, strength, sums, type Look } from "./matrix";
import type { Draw } from "../lib/svg";

const matrix = (grid: (number | null)[][]): Matrix => ({
  value: "messages", unit: "count", nodes: grid.length, cells: grid,
  max: Math.max(0, ...grid.flat().map((v) => v ?? 0)), total: grid.flat().reduce<number>((a, v) => a + (v ??
    0), 0),
});

describe("layout", () => {
  test("fits from 1 to 1024 nodes", () => {
    for (const n of [1, 2, 3, 16, 64, 255, 256, 1024]) {
      const l = layout(n, 600);
      expect(l.left + l.size, `${n} nodes`).toBeLessThanOrEqual(601);
      expect(l.every * l.cell, `${n} nodes`).toBeGreaterThanOrEqual(Math.min(l.left, l.cell));
    }
  });
  test("finds every cell by its middle", () => {
    for (const n of [2, 7, 256]) {
      const l = layout(n, 640);
      for (const [from, to] of [[0, 0], [n - 1, 0], [0, n - 1], [n >> 1, n >> 2]]) {
        expect(cellAt(l, l.left + (to + 0.5) * l.cell, l.top + (from + 0.5) * l.cell)).toEqual({ from, to });
      }
      expect(cellAt(l, 2, 2)).toBeNull();
      expect(cellAt(l, l.left + l.size + 2, l.top + 3)).toBeNull();
    }
  });
});

test("a link has two ends", () => {
  expect(linkEnds(linkKey(3, 14))).toEqual({ from: 3, to: 14 });
  for (const wrong of [undefined, "", "3", "3->", "a->b", "1->2->3"]) expect(linkEnds(wrong)).toBeNull();
});

test("strength is 0 to 1 and null where there is nothing", () => {
  expect(strength(null, 5, false)).toBeNull();
  expect(strength(0, 5, true)).toBeNull();
  expect(strength(5, 5, false)).toBe(1);
  expect(strength(5, 5, true)).toBe(1);
  expect(strength(1, 1000, true)!).toBeGreaterThan(strength(1, 1000, false)!);
});

test("cells and sums", () => {
  const m = matrix([[null, 5, 0], [1, null, 9], [null, null, null]]);
  expect(cells(m).map((c) => [c.key, c.value])).toEqual([["1->2", 9], ["0->1", 5], ["1->0", 1]]);
  expect(sums(m)).toEqual({ sent: [5, 10, 0], received: [1, 5, 9] });
});

test("what is drawn: one rectangle for each cell that holds something", () => {
  const log: string[] = [];
  const pen = {
    fillStyle: "", strokeStyle: "",
    fillRect: () => log.push(`fill ${pen.fillStyle}`),
      strokeRect: () => log.push(`stroke ${pen.strokeStyle}`), fillText: (t: string) => log.push(`text ${t}`),
  };
  const look: Look = { back: "back", empty: "empty", text: "text", faint: "faint", mark: "mark",
    heat: (s) => `heat${s}`, on: () => "on", short: String, log: false, chosen: { from: 0, to: 1 },
    hover: null };
  const m = matrix([[null, 4], [2, null]]);
  draw(pen as unknown as Draw, m, layout(2, 400), look);
  expect(log).toEqual(["fill back", "fill empty", "fill heat1", "text 4", "fill heat0.5", "text 2", "text 0",
    "text 0", "text 1", "text 1", "stroke mark"]);
});
