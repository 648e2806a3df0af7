import { expect, test } from "vitest";
import { along, middle, over, slot, travelled, way } from "./over";

const groups = (cfs: number, dfs: number) => [
  ...Array.from({ length: cfs }, (_, i) => ({ id: `${i}`, kind: "cf" as const, open: i === 0 && cfs > 2 })),
  ...Array.from({ length: dfs }, (_, i) => ({ id: `df=${i}`, kind: "df" as const, open: false }))];

test("frames of nodes do not touch, slots are within them and do not touch", () => {
  for (const nodes of [1, 2, 3, 4, 5, 7, 8, 12, 13, 64, 100]) for (const [cfs, dfs] of [[1, 0], [0, 1],
    [5, 3], [30, 30], [3, 20]]) {
    const list = groups(cfs, dfs);
    const o = over(nodes, list);
    expect(o.nodes.length).toBe(nodes);
    const apart = (a: { x: number; y: number }, b: { x: number; y: number }, w: number, h: number) =>
      Math.abs(a.x - b.x) >= w || Math.abs(a.y - b.y) >= h;
    o.nodes.forEach((a, i) => {
      expect(a.x >= 0 && a.y >= 0 && a.x + o.frame.width <= o.width && a.y + o.frame.height <=
        o.height).toBe(true);
      o.nodes.slice(i + 1).forEach((b) => expect(apart(a, b, o.frame.width, o.frame.height),
        `${nodes} nodes, ${cfs} ${dfs}`).toBe(true));
    });
    const own = Object.values(o.slots);
    expect(own.length).toBe(list.filter((g) => !g.open).length);
    own.forEach((a, i) => {
      expect(a.x + slot.width <= o.frame.width && a.y + slot.height <= o.frame.height).toBe(true);
      own.slice(i + 1).forEach((b) => expect(apart(a, b, slot.width, slot.height)).toBe(true));
    });
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
