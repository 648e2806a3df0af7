import { expect, test } from "vitest";
import { hash, luminance, mix, rgb, spread, textOn } from "./colors";

test("names have places of their own that depend on nothing but the names", () => {
  const names = ["step", "add", "larger", "make_row", "report", "main"];
  const a = spread(names, 18);
  expect(new Set(a.values()).size).toBe(names.length);
  expect([...spread([...names].reverse(), 18)].sort()).toEqual([...a].sort());
  const many = Array.from({ length: 100 }, (_, i) => `f${i}`);
  const counts = new Map<number, number>();
  for (const p of spread(many, 18).values()) counts.set(p, (counts.get(p) ?? 0) + 1);
  expect(Math.max(...counts.values()) - Math.min(...[...Array(18).keys()].map((p) => counts.get(p) ??
    0))).toBeLessThanOrEqual(1);
  expect(hash("step")).toBe(hash("step"));
});

test("colours", () => {
  expect(rgb("#0a10ff")).toEqual([10, 16, 255]);
  expect(mix("#000000", "#ffffff", 0.5)).toBe("#808080");
  expect(luminance("#ffffff")).toBeCloseTo(1);
  expect([textOn("#ffffff"), textOn("#000000"), textOn("#e6b800"), textOn("#332288")]).toEqual(["#000000",
    "#ffffff", "#000000", "#ffffff"]);
});
