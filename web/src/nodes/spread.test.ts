import { expect, test } from "vitest";
import type { Series } from "../api";
import { even } from "./spread";

const node = (n: number, mean: (number | null)[]) => ({ name: "running", node: n, link: "", mean }) as Series;

test("the spread of nodes by window", () => {
  const e = even([node(0, [2, 0, null]), node(1, [4, 0, null]), { ...node(-1, [6, 0, 0]) }]);
  expect(e).toEqual({ mean: [3, 0, null], min: [2, 0, null], max: [4, 0, null],
    variation: [2 / 3, 0, null] });
});

test("utilisation is of a node's own workers; nodes without any do not count", () => {
  const e = even([node(0, [1]), node(1, [4]), node(2, [0])], (n) => [2, 4, 0][n]);
  expect([e.mean, e.min, e.max]).toEqual([[0.75], [0.5], [1]]);
});
