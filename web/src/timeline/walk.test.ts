import { expect, test } from "vitest";
import { neighbour, type Stop } from "./walk.svelte";

// A lane with short CFs, one around others, and a long pause.
const all: [number, number, string][] = [[0, 10, "a"], [20, 500, "outer"], [30, 40, "b"], [50, 60, "c"],
  [5000, 5010, "d"], [90_000, 90_001, "e"]];
const asked: [number, number][] = [];
function source(limit: number) {
  return async (from: number, to: number, lane: number) => {
    asked.push([from, to]);
    const got = all.filter(([s, e]) => s < to && e > from);
    const n = got.length;
    if (n > limit) return { more: n, cfs: { lane: [], start: [], end: [], cf: [], code: [], label: [],
      structured: [], running: [], class: [] } };
    return { more: 0, cfs: { lane: got.map(() => lane), start: got.map((g) => g[0]),
      end: got.map((g) => g[1]), cf: got.map((g) => g[2]), code: got.map(() => 1),
      label: got.map((g) => g[2]), structured: got.map(() => 0), running: got.map(() => 0), class: [] } };
  };
}

test("all CFs of a lane are gone through, forth and back, whatever the first interval is", async () => {
  for (const width of [1, 100, 7000, 200_000]) {
    for (const limit of [4, 100]) {
      const names: string[] = [];
      let at: Stop | null = null;
      for (let to = await neighbour(source(limit), 3, -1, null, 1, width, 100_000); to;
        to = await neighbour(source(limit), 3, at!.start, at, 1, width, 100_000)) {
        names.push(to.cf);
        at = to;
      }
      expect(names).toEqual(all.map((c) => c[2]));
      for (let to = await neighbour(source(limit), 3, at!.start, at, -1, width, 100_000); to;
        to = await neighbour(source(limit), 3, at!.start, at, -1, width, 100_000)) {
        names.pop();
        expect(to.cf).toBe(names.at(-1));
        at = to;
      }
      expect(names).toEqual(["a"]);
    }
  }
  expect(asked.every(([from, to]) => from < to)).toBe(true);
});
