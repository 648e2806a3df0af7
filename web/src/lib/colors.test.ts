import { expect, test } from "vitest";
import { factors } from "./words.gen";
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

// How colours look to people who lack one kind of cone: matrices for linear RGB by Machado, Oliveira and
// Fernandes (2009).
const sight = {
  all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116,
    1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294,
    0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367,
    0.3039]],
};
type Three = number[];
const times = (m: number[][], v: Three) => m.map((row) => row.reduce((n, x, i) => n + x * v[i], 0));
const linear = (color: string) => rgb(color).map((v) => ((v /= 255) <= 0.04045 ? v / 12.92
  : ((v + 0.055) / 1.055) ** 2.4));
/** CIE 1976 L*a*b* of linear RGB, D65. */
function lab(color: Three): Three {
  const xyz = times([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175],
    [0.0193339, 0.119192, 0.9503041]], color.map((v) => Math.min(Math.max(v, 0), 1)));
  const [x, y, z] = [xyz[0] / 0.95047, xyz[1], xyz[2] / 1.08883].map((t) => (t > 216 / 24389 ? Math.cbrt(t)
    : ((24389 / 27) * t + 16) / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test("any two factors differ, whatever colours one sees", () => {
  for (const theme of ["light", "dark"] as const) {
    const colors = [...new Set(Object.values(factors).map((f) => f[theme]))];
    expect(colors.length).toBe(6);
    for (const [name, m] of Object.entries(sight)) {
      const seen = colors.map((c) => lab(times(m, linear(c))));
      for (let i = 0; i < seen.length; i++) for (let j = 0; j < i; j++) {
        const delta = Math.hypot(...seen[i].map((v, k) => v - seen[j][k]));
        expect(delta, `${theme}, ${name}: ${colors[i]} and ${colors[j]}`).toBeGreaterThanOrEqual(20);
      }
    }
  }
});
