import { expect, test } from "vitest";
import { bars, edges } from "./histogram";

const bins = [{ from: 0, to: 10, count: 1 }, { from: 10, to: 100, count: 0 }, { from: 100, to: 1000,
  count: 4 }];

test("bars fill the width side by side", () => {
  const b = bars(bins, 300);
  expect(b.map((x) => [x.x, x.height])).toEqual([[0, 0.25], [100, 0], [200, 1]]);
  expect(bars([], 300)).toEqual([]);
});
test("by the logarithm small counts are seen",
  () => expect(bars(bins, 300, true)[0].height).toBeGreaterThan(0.4));
test("all the same, or none at all", () => {
  expect(bars([{ from: 5, to: 5, count: 0 }], 100)[0].height).toBe(0);
  expect(bars([{ from: 5, to: 5, count: 7 }], 100)[0].height).toBe(1);
});
test("numbers do not run into each other", () => {
  const many = Array.from({ length: 60 }, (_, i) => ({ from: i, to: i + 1, count: 1 }));
  const e = edges(many, 480, 80);
  expect(e[0]).toEqual({ at: 0, value: 0 });
  for (let i = 1; i < e.length; i++) expect(e[i].at - e[i - 1].at).toBeGreaterThanOrEqual(56);
  expect(e[e.length - 1].value).toBe(60);
});
