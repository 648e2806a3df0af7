import { describe, expect, test } from "vitest";
import { arc, circle, slice, width } from "./circle";
import { layered, smooth } from "./layout";
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
