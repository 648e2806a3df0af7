// All colours, for style sheets and canvases alike: the palette of the reports (by Okabe and Ito, chosen for
// people with colour vision deficiency), light and dark.

import { current } from "./run.svelte";
import { app } from "./state.svelte";
import { factors } from "./words.gen";

const names = ["back", "card", "text", "faint", "rule", "link", "alarm", "a", "b"] as const;
type Class = (typeof factors)[keyof typeof factors]["class"];
export type Palette = Record<(typeof names)[number] | Class, string>;

const of = (theme: "light" | "dark", ...values: string[]) =>
  Object.fromEntries([...names.map((n, i) => [n, values[i]]),
    ...Object.values(factors).map((f) => [f.class, f[theme]])]) as Palette;
const light = of("light", "#ffffff", "#f5f6f8", "#1b1e24", "#5a6270", "#d9dde3", "#0b57a8", "#a32d00",
  "#0072b2", "#b35c00");
const dark = of("dark", "#16181d", "#20242b", "#e4e7ec", "#a3acba", "#39404b", "#7ab8ff", "#ffa680",
  "#3e9fe0", "#e8a04a");

/** The colours of the current theme. */
export function palette(): Palette {
  return app.dark ? dark : light;
}

/** Sets the colours of the style sheet. */
export function applyTheme(): void {
  const style = document.documentElement.style;
  style.colorScheme = app.dark ? "dark" : "light";
  for (const [name, color] of Object.entries(palette())) style.setProperty(`--${name}`, color);
}

export function factorColor(f: string): string {
  return palette()[f in factors ? factors[f as keyof typeof factors].class : "x"];
}

// Hues that also differ in lightness, so that neighbours can be told apart without colour. None is that of a
// factor.
const codesLight = ["#332288", "#117733", "#44aa99", "#999933", "#882255", "#aa4499", "#6699cc", "#661100",
  "#5c9a00", "#a6761d", "#7b68c8", "#cc6677", "#1f7a8c", "#6b6b00", "#9467bd", "#8c6d5a", "#2e5aac",
  "#3d6b35"];
const codesDark = ["#8f84e0", "#3fa568", "#5fcbb9", "#c2c25c", "#c75c93", "#d083c6", "#8fb8e4", "#b5654f",
  "#8fc93a", "#d0a24c", "#a99bec", "#e891a0", "#4db3c8", "#a5a53a", "#bf9be0", "#b89a86", "#6c94e8",
  "#86b87c"];

/** A number for a name, always the same. */
export function hash(name: string): number {
  let h = 2166136261;
  for (let i = 0; i < name.length; i++) h = Math.imul(h ^ name.charCodeAt(i), 16777619);
  return (h ^ (h >>> 13)) >>> 0;
}

/** Assigns each name one of so many places: its own by its hash, or the next free one. The result depends
 * only on the names. */
export function spread(names: string[], places: number): Map<string, number> {
  const out = new Map<string, number>();
  let used = new Set<number>();
  for (const name of [...new Set(names)].sort()) {
    if (used.size === places) used = new Set();
    let at = hash(name) % places;
    while (used.has(at)) at = (at + 1) % places;
    used.add(at);
    out.set(name, at);
  }
  return out;
}

let spreadOf: unknown;
let places = new Map<string, number>();

/** The colour of a name: that of the run's code fragment of this name, otherwise by its hash. */
export function nameColor(name: string): string {
  const run = current.run;
  if (spreadOf !== run) {
    spreadOf = run;
    places = spread(run?.codes.slice(1).map((c) => c.name) ?? [], codesLight.length);
  }
  const colors = app.dark ? codesDark : codesLight;
  return colors[places.get(name) ?? hash(name) % colors.length];
}

/** The colour of the run's code fragment with that number. */
export function codeColor(n: number): string {
  const c = current.run?.codes[n];
  return n === 0 || !c ? palette().x : nameColor(c.name);
}

/** The colour of the i-th of several series. */
export function seriesColor(i: number): string {
  const colors = app.dark ? codesDark : codesLight;
  return colors[(i * 7) % colors.length];
}

export function rgb(color: string): [number, number, number] {
  const n = parseInt(color.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

/** A colour between two: share 0 is a, 1 is b. */
export function mix(a: string, b: string, share: number): string {
  const [x, y] = [rgb(a), rgb(b)];
  return "#" + x.map((v, i) => Math.round(v + (y[i] - v) * share).toString(16).padStart(2, "0")).join("");
}

/** The relative luminance of a colour (WCAG), 0 to 1. */
export function luminance(color: string): number {
  const [r, g, b] = rgb(color).map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Black or white, whichever is easier to read on a colour. */
export function textOn(color: string): string {
  return luminance(color) > 0.179 ? "#000000" : "#ffffff";
}

/** From nothing (0) to the maximum (1). */
export function heat(v: number): string {
  const p = palette();
  return mix(p.back, p.l, 0.06 + 0.94 * Math.min(Math.max(v, 0), 1));
}
