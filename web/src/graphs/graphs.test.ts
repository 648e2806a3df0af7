import { describe, expect, test } from "vitest";
import { arc, circle, slice, width } from "./circle";
import { layered, smooth } from "./layout";
import { box, curve, line, nested } from "./nested";
import { gather, place, size, wire, type Box } from "./lanes";

describe("layered layout", () => {
  const nodes = ["a", "b", "c", "d"].map((id) => ({ id, width: 100, height: 30 }));
  test("goes along the edges", () => {
    const l = layered({ nodes, edges: [{ from: "a", to: "b" }, { from: "b", to: "c" },
      { from: "a", to: "d" }], direction: "LR" });
    expect(l.nodes.a.x).toBeLessThan(l.nodes.b.x);
    expect(l.nodes.b.x).toBeLessThan(l.nodes.c.x);
    expect([l.nodes.a.rank, l.nodes.b.rank, l.nodes.c.rank]).toEqual([0, 1, 2]);
    expect(l.edges.every((e) => e.length >= 2)).toBe(true);
    expect(l.width).toBeGreaterThan(300);
  });
  test("takes rings, edges to itself, several between the same, and edges to nowhere", () => {
    const l = layered({ nodes, edges: [{ from: "a", to: "b" }, { from: "a", to: "b" }, { from: "b", to: "a" },
      { from: "c", to: "c" }, { from: "a", to: "nobody" }], direction: "TB" });
    expect(l.edges.map((e) => e.length > 0)).toEqual([true, true, true, true, false]);
  });
  test("of nothing", () => expect(layered({ nodes: [], edges: [], direction: "TB" }).nodes).toEqual({}));
  test("its paths", () => {
    expect(smooth([{ x: 0, y: 0 }])).toBe("");
    expect(smooth([{ x: 0, y: 0 }, { x: 1, y: 2 }])).toBe("M0.0 0.0L1.0 2.0");
    expect(smooth([{ x: 0, y: 0 }, { x: 10, y: 0 }, { x: 10, y: 10 }])).toBe("M0.0 0.0Q10.0 0.0 10.0 10.0");
  });
});

describe("groups within groups", () => {
  const boxes = [{ id: "a", parent: "", open: true }, { id: "b", parent: "", open: false },
    { id: "alone", parent: "", open: false }, { id: "a/1", parent: "a", open: true },
    { id: "a/2", parent: "a", open: false }, ...[0, 1, 2, 3].map((i) => ({ id: `a/1/${i}`, parent: "a/1",
      open: false }))];
  const edges = [{ from: "a/1/0", to: "b" }, { from: "a/1/1", to: "a/2" }, { from: "a/2", to: "nowhere" },
    { from: "b", to: "b" }];
  const l = nested({ boxes, edges });
  test("lie inside each other, below the name, and nowhere on each other", () => {
    for (const b of boxes) {
      const s = l.at[b.id];
      const p = b.parent ? l.at[b.parent] : { x: 0, y: -box.title, width: l.width,
        height: l.height + box.title };
      expect(s.x).toBeGreaterThan(p.x);
      expect(s.y).toBeGreaterThan(p.y + box.title);
      expect(s.x + s.width).toBeLessThan(p.x + p.width);
      expect(s.y + s.height).toBeLessThan(p.y + p.height);
      for (const o of boxes) {
        if (o.parent !== b.parent || o.id === b.id) continue;
        const t = l.at[o.id];
        expect(s.x + s.width <= t.x || t.x + t.width <= s.x || s.y + s.height <= t.y ||
          t.y + t.height <= s.y).toBe(true);
      }
    }
  });
  test("stand along the edges between their frames", () => {
    expect(l.at.a.y + l.at.a.height).toBeLessThan(l.at.b.y);
    expect(l.at["a/1"].y + l.at["a/1"].height).toBeLessThan(l.at["a/2"].y);
  });
  test("keep their inner places when another one opens", () => {
    const more = nested({ boxes: [...boxes.map((b) => ({ ...b, open: b.open || b.id === "b" })),
      { id: "b/1", parent: "b", open: false }], edges });
    for (const i of [1, 2, 3]) expect(more.at[`a/1/${i}`].x - more.at["a/1/0"].x).toBe(l.at[`a/1/${i}`].x -
      l.at["a/1/0"].x);
  });
  test("edges go around boxes of their frame", () => {
    const flat = nested({ boxes: ["a", "b", "c"].map((id) => ({ id, parent: "", open: false })),
      edges: [{ from: "a", to: "b" }, { from: "b", to: "c" }, { from: "a", to: "c" }] });
    const way = flat.ways["a c"];
    const { x, y, width, height } = flat.at.b;
    expect(way.length).toBeGreaterThan(2);
    expect(way.some((p) => p.x > x && p.x < x + width && p.y > y && p.y < y + height)).toBe(false);
    expect(line(flat, "a", "c").turn).toBeGreaterThan(0);
    expect(Object.keys(l.ways)).toEqual([]);
  });
  test("of nothing", () => expect(nested({ boxes: [], edges: [] }).at).toEqual({}));
  test("edges end at the sides that face each other", () => {
    const at = (x: number, y: number) => ({ x, y, width: 100, height: 40 });
    expect(curve(at(0, 0), at(0, 200))).toMatchObject({ y: 200, turn: 90 });
    expect(curve(at(0, 200), at(0, 0))).toMatchObject({ y: 40, turn: -90 });
    expect(curve(at(0, 0), at(300, 10))).toMatchObject({ x: 300, turn: 0 });
    expect(curve(at(300, 0), at(0, 10))).toMatchObject({ x: 100, turn: 180 });
    expect(curve(at(0, 0), at(0, 200)).x).not.toBe(curve(at(0, 200), at(0, 0)).x);
  });
});

describe("a circle", () => {
  test("keeps nodes apart and within its square", () => {
    for (const n of [1, 2, 5, 64, 256]) {
      const c = circle(n);
      for (const p of c.places) {
        expect(p.x - c.radius).toBeGreaterThan(0);
        expect(p.y + c.radius).toBeLessThan(c.size);
      }
      for (let i = 1; i < n; i++) expect(Math.hypot(c.places[i].x - c.places[i - 1].x,
        c.places[i].y - c.places[i - 1].y)).toBeGreaterThan(2 * c.radius);
    }
  });
  test("arcs of both directions are two lines", () => {
    const { places, radius } = circle(2);
    expect(arc(places[0], places[1], radius).middle).not.toEqual(arc(places[1], places[0], radius).middle);
  });
  test("lines are 1 to 12 wide", () => {
    expect(width(0, 0)).toBe(1);
    expect(width(10, 10)).toBe(12);
    expect(width(1, 1e9)).toBeGreaterThan(1);
  });
  test("slices", () => {
    expect(slice(0, 0, 10, 0)).toBe("");
    expect(slice(0, 0, 10, 0.25)).toMatch(/^M0 0L0 -10A10 10 0 0 1 10.00 -?0.00Z$/);
    expect(slice(0, 0, 10, 1)).toContain("A10 10 0 1 1");
  });
});

describe("fragments on nodes", () => {
  const boxes: Box[] = [
    { id: "x", node: 1, rank: 0, order: 0 },
    { id: "y", node: 0, rank: 2, order: 0 },
    { id: "z", node: 0, rank: 2, order: 1 },
    { id: "nowhere", node: -1, rank: 4, order: 0 },
  ];
  test("a band per node, that of nowhere last",
    () => expect(place(boxes).bands.map((b) => b.node)).toEqual([0, 1, -1]));
  test("no two in one place, all in their bands", () => {
    const p = place(boxes);
    expect(new Set(Object.values(p.at).map((a) => `${a.x},${a.y}`)).size).toBe(4);
    for (const b of boxes) {
      const band = p.bands.find((c) => c.node === b.node)!;
      expect(p.at[b.id].y - size.height / 2).toBeGreaterThanOrEqual(band.y);
      expect(p.at[b.id].y + size.height / 2).toBeLessThanOrEqual(band.y + band.height);
      expect(p.at[b.id].x + size.width / 2).toBeLessThan(p.width);
    }
  });
  test("moving one to another node leaves its column", () => {
    const later = place(boxes.map((b) => (b.id === "x" ? { ...b, node: 0 } : b)));
    expect(later.at.x.x).toBe(place(boxes).at.x.x);
    expect(later.bands.map((b) => b.node)).toEqual([0, -1]);
  });
  test("many alike are put on a heap, but not what is to be kept", () => {
    const many: Box[] = Array.from({ length: 20 }, (_, i) => ({ id: `b${i}`, node: 0, rank: 1, order: i }));
    const g = gather([...many, ...boxes], (b) => b.id[0], (b) => b.id === "b7", 5);
    expect(g.heaps.length).toBe(1);
    expect(g.heaps[0].of.length).toBe(15);
    expect(g.boxes.length).toBe(4 + 1 + 1 + boxes.length);
    expect(g.place.get("b7")).toBe("b7");
    expect(g.place.get("b19")).toBe(g.heaps[0].id);
    expect(new Set(g.place.keys()).size).toBe(24);
    for (const to of g.place.values()) expect(g.boxes.some((b) => b.id === to)).toBe(true);
  });
  test("few stay as they are", () => expect(gather(boxes, () => "", () => false,
    5)).toMatchObject({ boxes: expect.arrayContaining(boxes), heaps: [] }));
  test("none", () => expect(place([]).bands).toEqual([]));
  test("wires leave on the side of the other", () => {
    expect(wire({ x: 0, y: 0 }, { x: 400, y: 0 })).toMatch(/^M84 0C/);
    expect(wire({ x: 400, y: 0 }, { x: 0, y: 0 })).toMatch(/^M316 0C/);
  });
});
