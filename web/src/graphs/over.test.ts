import { expect, test } from "vitest";
import { along, middle, over, slot, travelled, way, type Point } from "./over";

const groups = (cfs: number, dfs: number) => [
  ...Array.from({ length: cfs }, (_, i) => ({ id: `${i}`, kind: "cf" as const, open: i === 0 && cfs > 2 })),
  ...Array.from({ length: dfs }, (_, i) => ({ id: `df=${i}`, kind: "df" as const, open: false }))];

/** Boxes that touch another one or stick out. */
const bad = (list: Point[], size: { width: number; height: number }, within: { width: number;
  height: number }) => list.filter((a, i) => a.x < 0 || a.y < 0 || a.x + size.width > within.width ||
  a.y + size.height > within.height || list.some((b, k) => k !== i && Math.abs(a.x - b.x) < size.width &&
  Math.abs(a.y - b.y) < size.height));

test("frames of nodes do not touch, slots are within them and do not touch", () => {
  for (const nodes of [1, 2, 3, 4, 5, 7, 8, 12, 13, 64]) for (const [cfs, dfs] of [[1, 0], [0, 1], [5, 3],
    [30, 30], [3, 20]]) {
    const list = groups(cfs, dfs);
    const o = over(nodes, list);
    expect(o.nodes.length).toBe(nodes);
    expect(Object.keys(o.slots).sort()).toEqual(list.filter((g) => !g.open).map((g) => g.id).sort());
    expect(bad(o.nodes, o.frame, o), `nodes: ${nodes} of ${cfs} and ${dfs}`).toEqual([]);
    expect(bad(Object.values(o.slots), slot, o.frame), `slots: ${nodes} of ${cfs} and ${dfs}`).toEqual([]);
  }
});

test("what travels goes from one frame to the other", () => {
  const o = over(4, groups(3, 2));
  const w = way(o, 0, 2)!;
  expect(along(w, 0)).toEqual(w[0]);
  expect(along(w, 1).x).toBeCloseTo(w[2].x);
  expect(way(o, 1, 1)).toBeUndefined();
  expect(way(o, 1, 9)).toBeUndefined();
  expect(middle(o, "none", 0)).toBeUndefined();
  expect(travelled({ sent: 10, received: 20 }, 15)).toBe(0.5);
  expect(travelled({ sent: 10, received: 20 }, 20)).toBeUndefined();
  expect(travelled({ sent: 10, received: 20 }, 9)).toBeUndefined();
});
