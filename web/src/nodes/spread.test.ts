import { expect, test } from "vitest";
import type { LinkState, Series } from "../api";
import { linkSpreads } from "../lib/at.svelte";
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

test("the spread of links, without their sum", () => {
  const link = (l: string, v: number) => ({ ...node(-1, [v]), link: l });
  expect(even([link("0->1", 1), link("1->0", 3), node(-1, [4])]).variation).toEqual([1]);
});

test("the largest variation of each property of links", () => {
  const link = (messages: number, send_queue: number | null) => ({ from: 0, to: 1, messages,
    send_queue }) as LinkState;
  expect(linkSpreads([link(1, null), link(3, null)])).toEqual({ messages: { min: 1, max: 3, mean: 2,
    variation: 1 } });
  expect(linkSpreads([link(0, 2)]).messages.variation).toBe(0);
  expect(linkSpreads([])).toEqual({});
});
