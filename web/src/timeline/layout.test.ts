import { expect, test } from "vitest";
import type { Boxes, Lane } from "../api";
import { around, BoxSet, worthAsking } from "./boxes";
import { arrange, closedHeight, inSight, laneHeight, lanesShown, layOut, middle, nodeGap, numbersOf, pinSign,
  placeOf, ranges, rowAt } from "./layout";

const lanes: Lane[] = [0, 0, 1, 1, 2].map((node, i) => ({ node, worker: i % 2, host: `h${node}` }));

const all = [0, 1, 2, 3, 4];
const busy = [3, 1, 4, 1, 5];

test("lanes are below each other with gaps between groups", () => {
  const l = layOut(lanes, arrange(lanes, all, "node", [], [], () => 0), 20);
  expect(l.rows.map((r) => r.y)).toEqual([0, 20, 40 + nodeGap, 60 + nodeGap, 80 + 2 * nodeGap]);
  expect(l.total).toBe(100 + 2 * nodeGap);
  expect(l.groups.map((n) => [n.name, n.y, n.height])).toEqual([["0", 0, 40], ["1", 40 + nodeGap, 40],
    ["2", 80 + 2 * nodeGap, 20]]);
  expect(rowAt(l, 25, 0)?.lane).toBe(1);
  expect(rowAt(l, 5, 20)?.lane).toBe(1);
  expect(rowAt(l, 42, 0)).toBeUndefined();
  expect(inSight(l, 21, 47).map((r) => r.lane)).toEqual([1, 2]);
  expect(inSight(l, 5000, 6000)).toEqual([]);
  expect(middle(l, 3, 1)).toBe(70 + nodeGap);
  expect(middle(l, -1, 1)).toBe(50 + nodeGap);
  expect(middle(l, -1, 9)).toBeUndefined();
});

test("lanes are sorted, grouped, pinned and hidden", () => {
  const hosts = lanes.map((l) => ({ ...l, host: `h${l.node % 2}` }));
  const of = (order: "node" | "host" | "load", pinned: number[] = [], hidden: number[] = []) =>
    arrange(hosts, all, order, pinned, hidden, (l) => busy[l]).map((g) => [g.name, ...g.lanes]);
  expect(of("host")).toEqual([["h0", 0, 1, 4], ["h1", 2, 3]]);
  expect(of("load")).toEqual([["", 4, 2, 0, 1, 3]]);
  expect(of("node", [3, 0], [1, 4])).toEqual([[pinSign, 3, 0], ["1", 2]]);
  expect(of("load", [1], [1])).toEqual([["", 4, 2, 0, 3]]);
  expect(of("node", [], all)).toEqual([]);
});

test("a closed group is a strip without lanes", () => {
  const l = layOut(lanes, arrange(lanes, all, "node", [], [], () => 0, ["0"]), 20);
  expect(l.rows.map((r) => [r.lane, r.y])).toEqual([[2, closedHeight + nodeGap],
    [3, closedHeight + nodeGap + 20], [4, closedHeight + 2 * nodeGap + 40]]);
  expect(l.groups.map((g) => [g.closed, g.height, ...g.lanes])).toEqual([[true, closedHeight, 0, 1],
    [false, 40, 2, 3], [false, 20, 4]]);
  expect(rowAt(l, 10, 0)).toBeUndefined();
  expect(middle(l, 1, 0)).toBe(closedHeight / 2);
});

test("pinned lanes stay in sight as long as they leave half of the room", () => {
  const groups = arrange(lanes, all, "node", [4], [], () => 0);
  const l = layOut(lanes, groups, 20, 50);
  expect(l.pinned).toBe(20 + nodeGap);
  expect(inSight(l, 30, 30 + 50).map((r) => r.lane)).toEqual([4, 1, 2]);
  expect(rowAt(l, 10, 1000)?.lane).toBe(4);
  expect(rowAt(l, 30, 20)?.lane).toBe(1);
  expect(placeOf(l.place.get(4)!, 1000)).toBe(0);
  const tight = layOut(lanes, groups, 20, 30);
  expect(tight.pinned).toBe(0);
  expect(rowAt(tight, 10, 0)?.lane).toBe(4);
  expect(inSight(tight, 30, 60).map((r) => r.lane)).toEqual([0, 1]);
});

test("filters leave the lanes of a node or of a link's ends", () => {
  expect(lanesShown(lanes, undefined, undefined)).toEqual([0, 1, 2, 3, 4]);
  expect(lanesShown(lanes, "1", undefined)).toEqual([2, 3]);
  expect(lanesShown(lanes, undefined, "0->2")).toEqual([0, 1, 4]);
});

test("lanes fill the room, but can be read; dense ones are all in sight", () => {
  expect(laneHeight(8, 4, 600, false)).toBe(72);
  expect(laneHeight(1, 1, 600, false)).toBe(160);
  expect(laneHeight(2, 2, 606, false, 2)).toBe(300);
  expect(laneHeight(100, 4, 600, false, 2)).toBe(36);
  expect(laneHeight(100, 4, 600, false)).toBe(16);
  expect(laneHeight(100, 4, 600, true)).toBe(5);
  expect(laneHeight(5000, 100, 600, true)).toBe(1);
});

test("lanes in a question", () => {
  expect(ranges([0, 1, 2, 5, 7, 8])).toBe("0-2,5,7-8");
  expect(ranges([])).toBe("");
  expect(numbersOf("0-2,5,7-8", 8)).toEqual([0, 1, 2, 5, 7]);
  expect(numbersOf("x,3-,2-1,4", 8)).toEqual([4]);
  expect(numbersOf(undefined, 8)).toEqual([]);
});

const boxes: Boxes = {
  from: 0, to: 100, more: 0,
  cfs: { lane: [0, 0, 0, 1], start: [10, 20, 60, 0], end: [30, 25, 70, 50], cf: ["a", "s", "b", "c"],
    code: [1, 2, 1, 1], label: ["a", "s", "b", "c"], structured: [0, 1, 0, 0], running: [0, 0, 0, 0],
      class: [] },
  gaps: { lane: [0, 0], start: [30, 70], end: [60, 100], factor: ["S", "L"], part: ["", ""],
    consumer: ["", ""], producer: ["", ""], df: ["", ""], consumer_title: ["", ""], producer_title: ["", ""],
    df_title: ["", ""] },
};

test("what is at a place", () => {
  const set = new BoxSet(boxes, new Set([0, 1]), 1);
  expect(set.at(0, 15, false)).toEqual({ kind: "cf", i: 0 });
  expect(set.at(0, 22, false)).toEqual({ kind: "cf", i: 0 });
  expect(set.at(0, 22, true)).toEqual({ kind: "cf", i: 1 });
  expect(set.at(0, 40, false)).toEqual({ kind: "gap", i: 0 });
  expect(set.at(1, 40, false)).toEqual({ kind: "cf", i: 3 });
  expect(set.at(1, 60, false)).toBeUndefined();
  expect(set.at(7, 60, false)).toBeUndefined();
  expect(set.covers([10, 90], [0])).toBe(true);
  expect(set.covers([10, 101], [0])).toBe(false);
  expect(set.covers([10, 90], [2])).toBe(false);
});

test("boxes are asked for where there are few enough", () => {
  expect(worthAsking(undefined, 1e12, 100, 10_000)).toBe(true);
  const known = { count: 1_000_000, width: 1e9, lanes: 10 };
  expect(worthAsking(known, 1e9, 10, 10_000)).toBe(false);
  expect(worthAsking(known, 1e7, 10, 10_000)).toBe(true);
  expect(around([100, 200], 1000)).toEqual([50, 250]);
  expect(around([0, 1000], 1000)).toEqual([0, 1000]);
});
