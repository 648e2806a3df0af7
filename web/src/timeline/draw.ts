// Draws lanes: tiles or single boxes, what crosses them, the axis and the names. The same functions draw on
// the screen and into an SVG. Nothing out of sight is looked at.

import { FACTOR, type Arrow, type Band, type Code, type CriticalPath, type FactorWindows } from "../api";
import { tickTimes } from "../lib/axis";
import { codeColor, factorColor, mix, palette, rgb, textOn } from "../lib/colors";
import { factors, tickLabel } from "../lib/i18n";
import { Svg, type Draw } from "../lib/svg";
import type { Interval } from "../lib/url";
import type { BoxRef, BoxSet } from "./boxes";
import { inSight, middle, placeOf, type Layout, type Place, type Row } from "./layout";
import { drawBands, drawVisits, type RegionSet } from "./regions";
import { factorOf, timesOf, type Tile } from "./tiles";

export const labelWidth = 84;
export const axisHeight = 24;
const letters = ["", ...factors];

export interface Scene {
  width: number;
  height: number;
  scroll: number;
  layout: Layout;
  visible: Interval;
  by: string;
  shades: readonly string[]; // colour by class where CFs are not coloured by code or factor, else empty
  code: number; // the only code fragment that is not dimmed; -1: none is dimmed
  codes: readonly Code[];
  tiles: readonly Tile[];
  boxes: BoxSet | null;
  regions: RegionSet | null;
  bands: readonly Band[]; // collectives
  arrows: readonly Arrow[];
  path: CriticalPath["steps"] | null;
  picked: string; // CF
  names: (lane: number) => string;
  strips: FactorWindows | null; // of closed groups
  nodes: readonly number[]; // by lane
  folds: ReadonlySet<Place>; // groups with a button before their name
  lacks: "" | "loading" | "failed"; // how it is with lanes of which nothing has come; "": all has
}

export function xOf(s: Scene, t: number): number {
  const [from, to] = s.visible;
  return labelWidth + ((t - from) / (to - from)) * (s.width - labelWidth);
}

/** The top of a row in the picture. */
export const yOf = (s: Pick<Scene, "scroll">, row: Row): number => axisHeight + placeOf(row, s.scroll);

/** Whether a row is below those that are pinned, or one of them. */
export const inView = (s: Pick<Scene, "scroll" | "layout">, row: Row): boolean => row.pinned ||
  placeOf(row, s.scroll) + s.layout.height > s.layout.pinned;

/** What colours depend on. Pictures made with another look are made again. */
export interface Look {
  by: string;
  code: number;
  of: readonly string[]; // colour by class: codes
  factors: readonly string[]; // by number of the factor
  back: string;
  key: string;
}

export function lookOf(by: Look["by"], code: number, codes: readonly Code[],
  shades: readonly string[] = []): Look {
  const back = palette().back;
  const of = shades.length ? shades : codes.map((_, i) => (code >= 0 && i !== code ? mix(codeColor(i), back,
    0.8) : codeColor(i)));
  const factors = letters.map((f, i) => (i === 0 ? back : by === "factor" ? factorColor(f) : gapColor(f)));
  return { by, code, of, factors, back, key: JSON.stringify([by, code, of, factors]) };
}

function gapColor(factor: string): string {
  return mix(factorColor(factor), palette().back, 0.62);
}

function classColor(c: number, look: Look): string {
  const f = factorOf(c);
  return f >= 0 ? (look.factors[f] ?? look.back) : (look.of[c] ?? palette().x);
}

/** The picture of a tile: a pixel per lane and column. */
function picture(t: Tile, look: Look): HTMLCanvasElement {
  if (t.picture && t.look === look.key) return t.picture as HTMLCanvasElement;
  const canvas = document.createElement("canvas");
  canvas.width = t.width;
  canvas.height = Math.max(t.lanes, 1);
  const g = canvas.getContext("2d")!;
  const image = g.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  const shades = new Map<number, number>();
  for (let i = 0; i < t.classes.length; i++) {
    if (t.classes[i] === 0 && t.shares[i] === 0) continue;
    // Sixteen shades are enough for the eye. A column that hardly belongs to its class is paler, but always
    // visible.
    const key = t.classes[i] * 16 + (t.shares[i] >> 4);
    let color = shades.get(key);
    if (color === undefined) {
      const [r, gr, b] = rgb(shade(t.classes[i], t.shares[i], look));
      shades.set(key, (color = (255 << 24) | (b << 16) | (gr << 8) | r));
    }
    pixels[i] = color;
  }
  g.putImageData(image, 0, 0);
  t.picture = canvas;
  t.look = look.key;
  return canvas;
}

function shade(c: number, share: number, look: Look): string {
  return mix(look.back, classColor(c, look), 0.35 + 0.65 * ((share >> 4) / 15));
}

export const inner = (l: Layout) => (l.height >= 6 ? l.height - 2 : l.height >= 3 ? l.height - 1 : l.height);

function drawTiles(g: Draw, s: Scene, rows: readonly Row[], look: Look): void {
  const h = inner(s.layout);
  for (const t of s.tiles) {
    const [from, to] = timesOf(t.key);
    const x = xOf(s, from);
    const w = xOf(s, to) - x;
    if (g instanceof Svg) {
      drawRuns(g, s, rows, t, x, w / t.width, look);
      continue;
    }
    const c = g as CanvasRenderingContext2D;
    const image = picture(t, look);
    // If a tile is much wider than the screen, only the columns in sight are drawn: browsers blur or refuse
    // the rest.
    const a = Math.max(Math.floor(((labelWidth - x) / w) * t.width), 0);
    const b = Math.min(Math.ceil(((s.width - x) / w) * t.width), t.width);
    if (b <= a) continue;
    c.imageSmoothingEnabled = false;
    const first = t.key.block * 64;
    for (const row of rows) {
      const lane = row.lane - first;
      if (lane >= 0 && lane < t.lanes) c.drawImage(image, a, lane, b - a, 1, x + (a * w) / t.width,
        yOf(s, row), ((b - a) * w) / t.width, h);
    }
  }
}

/** A tile as rectangles; neighbours of one colour are joined. */
function drawRuns(g: Svg, s: Scene, rows: readonly Row[], t: Tile, x: number, column: number,
  look: Look): void {
  const h = inner(s.layout);
  for (const row of rows) {
    const lane = row.lane - t.key.block * 64;
    if (lane < 0 || lane >= t.lanes) continue;
    const at = lane * t.width;
    for (let i = 0; i < t.width; ) {
      let j = i + 1;
      const key = t.classes[at + i] * 16 + (t.shares[at + i] >> 4);
      while (j < t.width && t.classes[at + j] * 16 + (t.shares[at + j] >> 4) === key) j++;
      if (x + j * column > labelWidth && x + i * column < s.width && (t.classes[at + i] ||
        t.shares[at + i])) {
        g.fillStyle = shade(t.classes[at + i], t.shares[at + i], look);
        g.fillRect(x + i * column, yOf(s, row), (j - i) * column, h);
      }
      i = j;
    }
  }
}

/** Lanes of which nothing is known yet have the stripes of what is loading, or what failed. */
function drawLacks(g: Draw, s: Scene, rows: readonly Row[]): void {
  if (!s.lacks) return;
  const known = new Set(s.tiles.map((t) => t.key.block));
  const h = inner(s.layout);
  g.strokeStyle = s.lacks === "failed" ? palette().alarm : palette().rule;
  g.lineWidth = s.lacks === "failed" ? 1 : 4;
  g.beginPath();
  for (const row of rows) {
    if (known.has(Math.floor(row.lane / 64))) continue;
    const y = yOf(s, row);
    for (let x = labelWidth; x < s.width; x += 17) {
      g.moveTo(x, y + h);
      g.lineTo(x + h, y);
    }
  }
  g.stroke();
}

/** Closed groups: the time of their nodes, by factor. */
function drawStrips(g: Draw, s: Scene): void {
  const d = s.strips;
  if (!d) return;
  g.save();
  g.beginPath();
  g.rect(labelWidth, axisHeight + s.layout.pinned, s.width - labelWidth, s.height);
  g.clip();
  for (const p of s.layout.groups) {
    const y = axisHeight + p.y - s.scroll;
    if (!p.closed || y > s.height || y + p.height < axisHeight) continue;
    const of = new Set(p.lanes.map((l) => s.nodes[l]));
    const nodes = d.nodes.filter((n) => of.has(n.node));
    for (let i = 0; i < d.windows; i++) {
      const x = xOf(s, d.from + i * d.window_ns);
      const width = xOf(s, Math.min(d.from + (i + 1) * d.window_ns, d.to)) - x;
      const sums = d.rows.map((_, r) => nodes.reduce((sum, n) => sum + (n.windows[r]?.[i] ?? 0), 0));
      const all = sums.reduce((a, b) => a + b, 0);
      let top = y + p.height;
      for (let r = 0; r < sums.length && all > 0; r++) {
        const part = (sums[r] / all) * p.height;
        g.fillStyle = factorColor(d.rows[r]);
        g.fillRect(x, top - part, width + 0.5, part);
        top -= part;
      }
    }
  }
  g.restore();
}

/** The place of a structured CF in its lane: a strip at the bottom. */
export const strip = (height: number) => Math.min(Math.max(Math.round(height * 0.28), 2), 7);

function drawBoxes(g: Draw, s: Scene, set: BoxSet, rows: readonly Row[], look: Look): void {
  const h = inner(s.layout);
  const { cfs, gaps } = set.data;
  const [from, to] = s.visible;
  const scale = (s.width - labelWidth) / (to - from);
  const edge = palette().text;
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  g.textAlign = "left";
  for (const row of rows) {
    const y = yOf(s, row);
    if (!(g instanceof Svg)) {
      // The boxes of this lane replace the tiles below them.
      const a = Math.max(xOf(s, set.data.from), labelWidth);
      g.fillStyle = look.back;
      g.fillRect(a, y, Math.min(xOf(s, set.data.to), s.width) - a, h);
    }
    const [c, d] = set.gapsOf(row.lane);
    for (let i = c; i < d; i++) {
      if (gaps.end[i] < from || gaps.start[i] > to) continue;
      const x0 = Math.max(labelWidth + (gaps.start[i] - from) * scale, labelWidth);
      const x1 = Math.min(labelWidth + (gaps.end[i] - from) * scale, s.width);
      g.fillStyle = look.factors[letters.indexOf(gaps.factor[i])] ?? look.back;
      g.fillRect(x0, y, Math.max(x1 - x0, 0.3), h);
      if (x1 - x0 > 14 && h >= 12) { // its letter, for those who cannot tell colours apart
        g.fillStyle = textOn(String(g.fillStyle));
        g.textAlign = "center";
        g.fillText(gaps.factor[i], (x0 + x1) / 2, y + h / 2 + 0.5);
        g.textAlign = "left";
      }
    }
    const [a, b] = set.cfsOf(row.lane);
    for (let pass = 0; pass < 2; pass++) {
      for (let i = a; i < b; i++) {
        if (cfs.structured[i] !== pass || cfs.end[i] < from || cfs.start[i] > to) continue;
        const x0 = Math.max(labelWidth + (cfs.start[i] - from) * scale, labelWidth - 2);
        const x1 = Math.min(labelWidth + (cfs.end[i] - from) * scale, s.width + 2);
        const w = Math.max(x1 - x0, 0.4);
        const low = pass === 1;
        const top = low ? y + h - strip(h) : y;
        const high = low ? strip(h) : h;
        const color = s.by === "factor" && !low ? look.factors[1] : (look.of[(s.shades.length ? cfs.class
          : cfs.code)[i]] ?? palette().x);
        g.fillStyle = color;
        g.fillRect(x0, top, w > 3 ? w - 0.75 : w, high);
        if (w > 26 && high >= 12) {
          const room = Math.floor((w - 7) / 6.1);
          const label = cfs.label[i];
          g.fillStyle = textOn(color);
          g.fillText(label.length <= room ? label : label.slice(0, Math.max(room - 1, 1)) + "…",
            Math.max(x0, labelWidth) + 4, top + high / 2 + 0.5);
        }
        if (s.picked === cfs.cf[i]) {
          g.strokeStyle = edge;
          g.lineWidth = 2;
          g.strokeRect(x0 - 1, top - 1, w + 2, high + 2);
        }
      }
    }
  }
}

/** The four points of an arrow's curve, or undefined if it is out of sight. */
function curve(s: Scene, a: Arrow): [x0: number, y0: number, c0: number, c1: number, x1: number, y1: number]
  | undefined {
  const ya = middle(s.layout, a.from_lane, a.from_node, s.scroll);
  const yb = middle(s.layout, a.to_lane, a.to_node, s.scroll);
  if (ya === undefined || yb === undefined || a.t1 < s.visible[0] || a.t0 > s.visible[1]) return undefined;
  const [x0, y0, x1, y1] = [xOf(s, a.t0), axisHeight + ya, xOf(s, a.t1), axisHeight + yb];
  if (Math.max(y0, y1) < axisHeight || Math.min(y0, y1) > s.height) return undefined;
  const bend = Math.max(Math.min((x1 - x0) / 2, 60), 8);
  return [x0, y0, x0 + bend, x1 - bend, x1, y1];
}

// x grows along the curve (except for arrows of a few pixels), so the point at an x is found by bisection.
function heightAt([x0, y0, c0, c1, x1, y1]: [number, number, number, number, number, number],
  x: number): number {
  let [a, b] = [0, 1];
  for (let i = 0; i < 40; i++) {
    const t = (a + b) / 2;
    const u = 1 - t;
    if (u * u * u * x0 + 3 * u * u * t * c0 + 3 * u * t * t * c1 + t * t * t * x1 < x) a = t;
    else b = t;
  }
  const u = 1 - a;
  return (u * u * u + 3 * u * u * a) * y0 + (3 * u * a * a + a * a * a) * y1;
}

/** The arrow under a place of the picture; the last drawn comes first. */
export function arrowAt(s: Scene, x: number, y: number): Arrow | undefined {
  return s.arrows.findLast((a) => {
    const c = curve(s, a);
    if (!c || x < c[0] - 5 || x > c[4] + 5 || y < Math.min(c[1], c[5]) - 5 || y > Math.max(c[1],
      c[5]) + 5) return false;
    const low = heightAt(c, x - 4);
    const high = heightAt(c, x + 4);
    return y > Math.min(low, high) - 4 && y < Math.max(low, high) + 4;
  });
}

const arrowColors = { df: "l", cf: "o", request: "faint", wait: "s", put: "l", get: "u",
  atomic: "o", message: "l" } as const;

function drawArrows(g: Draw, s: Scene): void {
  const p = palette();
  g.lineWidth = 1.2;
  for (const a of s.arrows) {
    const c = curve(s, a);
    if (!c) continue;
    const [x0, y0, c0, c1, x1, y1] = c;
    const color = p[arrowColors[a.kind]];
    // A halo keeps the line visible on any colour.
    for (const [style, width] of [[p.back, 3], [color, 1.4]] as const) {
      g.strokeStyle = style;
      g.lineWidth = width;
      g.setLineDash(a.kind === "request" && width < 2 ? [4, 3] : []);
      g.beginPath();
      g.moveTo(x0, y0);
      g.bezierCurveTo(c0, y0, c1, y1, x1, y1);
      g.stroke();
    }
    g.setLineDash([]);
    g.fillStyle = color;
    g.beginPath();
    g.moveTo(x1 + 1, y1);
    g.lineTo(x1 - 6, y1 - 3.5);
    g.lineTo(x1 - 6, y1 + 3.5);
    g.closePath();
    g.fill();
  }
}

/** The first step that ends after t. */
function firstStep(steps: CriticalPath["steps"], t: number): number {
  let a = 0;
  let b = steps.length;
  while (a < b) {
    const m = (a + b) >> 1;
    if (steps[m].to <= t) a = m + 1;
    else b = m;
  }
  return a;
}

function drawPath(g: Draw, s: Scene, steps: CriticalPath["steps"]): void {
  const p = palette();
  const h = inner(s.layout);
  g.save();
  g.globalAlpha = 0.45;
  g.fillStyle = p.back;
  g.fillRect(labelWidth, axisHeight, s.width, s.height);
  g.restore();
  let before: { x: number; y: number } | undefined;
  const first = Math.max(firstStep(steps, s.visible[0]) - 1, 0);
  const lines: [number, number, number, number][] = [];
  for (let i = first; i < steps.length && steps[i].from <= s.visible[1]; i++) {
    const row = s.layout.place.get(steps[i].lane);
    if (!row || !inView(s, row)) continue;
    const [x0, x1] = [xOf(s, steps[i].from), xOf(s, steps[i].to)];
    const y = yOf(s, row);
    const mid = y + h / 2;
    if (before && Math.abs(before.y - mid) > 1) lines.push([before.x, before.y, x0, mid]);
    before = { x: x1, y: mid };
    if (x1 - x0 < 0.2 && i % 4) continue; // so thin a step merges with its neighbours
    g.fillStyle = factorColor(steps[i].factor);
    g.fillRect(Math.max(x0, labelWidth), y, Math.max(Math.min(x1, s.width) - Math.max(x0, labelWidth), 0.5),
      h);
    if (s.layout.height >= 6) {
      g.fillStyle = p.text;
      g.fillRect(Math.max(x0, labelWidth), y, Math.max(Math.min(x1, s.width) - Math.max(x0, labelWidth), 0.5),
        2);
    }
  }
  g.strokeStyle = p.text;
  g.lineWidth = 1.2;
  g.beginPath();
  let drawn = -10;
  for (const [x0, y0, x1, y1] of lines) {
    if (x1 - drawn < 3) continue;
    drawn = x1;
    g.moveTo(x0, y0);
    g.lineTo(x1, y1);
  }
  g.stroke();
}

export function drawAxis(g: Draw, s: Pick<Scene, "width" | "visible">, height: number): void {
  const p = palette();
  g.fillStyle = p.back;
  g.fillRect(0, 0, s.width, axisHeight);
  g.font = "11.5px system-ui, sans-serif";
  g.textBaseline = "middle";
  g.textAlign = "center";
  const ticks = tickTimes(s.visible[0], s.visible[1], s.width - labelWidth);
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : s.visible[1] - s.visible[0];
  for (const t of ticks) {
    const x = labelWidth + ((t - s.visible[0]) / (s.visible[1] - s.visible[0])) * (s.width - labelWidth);
    g.fillStyle = p.rule;
    g.fillRect(x, axisHeight - 5, 1, height - axisHeight + 5);
    if (x > labelWidth + 24 && x < s.width - 30) {
      g.fillStyle = p.faint;
      g.fillText(tickLabel(t, s.visible[1], step), x, axisHeight / 2 - 1);
    }
  }
  g.fillStyle = p.rule;
  g.fillRect(0, axisHeight - 1, s.width, 1);
}

function drawNames(g: Draw, s: Scene, rows: readonly Row[], pinned: boolean): void {
  const p = palette();
  const scroll = pinned ? 0 : s.scroll;
  g.fillStyle = p.back;
  g.fillRect(0, axisHeight, labelWidth, s.height);
  g.textBaseline = "middle";
  const each = s.layout.height >= 11;
  for (const n of s.layout.groups) {
    const y = axisHeight + n.y - scroll;
    if (n.pinned !== pinned || y > s.height || y + n.height < axisHeight) continue;
    g.fillStyle = pinned ? p.text : p.rule;
    g.fillRect(0, y + n.height, s.width, 1);
    g.fillStyle = p.text;
    g.textAlign = "left";
    g.font = "600 11.5px system-ui, sans-serif";
    const left = s.folds.has(n) ? 24 : 6;
    const name = n.closed ? `${n.name} (${n.lanes.length})` : n.name;
    const room = (each && !n.closed ? 6 : 11) - (left > 6 ? 2 : 0); // letters
    if (n.height >= 11) g.fillText(name.length > room ? name.slice(0, room - 1) + "…" : name, left,
      Math.min(Math.max(y + Math.min(s.layout.height, n.height) / 2, axisHeight + 8), y + n.height - 6));
  }
  if (!each) return;
  g.font = "11px system-ui, sans-serif";
  g.textAlign = "right";
  g.fillStyle = p.faint;
  for (const r of rows) g.fillText(s.names(r.lane), labelWidth - 8, yOf(s, r) + s.layout.height / 2);
}

/** Draws f for the rows that are scrolled, then for the pinned ones, each within their part of the picture.
 * */
function inParts(g: Draw, s: Scene, rows: readonly Row[], left: number,
  f: (rows: Row[], pinned: boolean) => void): void {
  for (const pinned of s.layout.pinned ? [false, true] : [false]) {
    g.save();
    g.beginPath();
    const top = axisHeight + (pinned ? 0 : s.layout.pinned);
    g.rect(left, top, s.width - left, pinned ? s.layout.pinned : s.height - top);
    g.clip();
    f(rows.filter((r) => r.pinned === pinned), pinned);
    g.restore();
  }
}

/** Draws everything that does not follow the mouse. */
export function draw(g: Draw, s: Scene): void {
  const look = lookOf(s.by, s.code, s.codes, s.shades);
  const codes = s.shades.length ? lookOf("code", s.code, s.codes) : look;
  const rows = inSight(s.layout, s.scroll, s.scroll + s.height - axisHeight);
  g.fillStyle = look.back;
  g.fillRect(0, 0, s.width, s.height);
  drawAxis(g, s, s.height);
  drawStrips(g, s);
  inParts(g, s, rows, labelWidth, (some) => {
    drawLacks(g, s, some);
    drawTiles(g, s, some, look);
    if (s.boxes) drawBoxes(g, s, s.boxes, some, look);
    if (s.regions) drawVisits(g, s, s.regions, some, codes.of, look.back);
  });
  g.save();
  g.beginPath();
  g.rect(labelWidth, axisHeight, s.width - labelWidth, s.height - axisHeight);
  g.clip();
  drawBands(g, s, s.bands);
  if (s.path) drawPath(g, s, s.path);
  drawArrows(g, s);
  g.restore();
  inParts(g, s, rows, 0, (some, pinned) => drawNames(g, s, some, pinned));
  drawAxisLabels(g, s);
}

// Scrolled lanes lie under the axis.
function drawAxisLabels(g: Draw, s: Scene): void {
  g.save();
  g.beginPath();
  g.rect(0, 0, s.width, axisHeight);
  g.clip();
  drawAxis(g, s, axisHeight);
  g.restore();
}

/** The thing under the mouse. */
export type Under = { t: number; row: Row; arrow?: Arrow; visit?: number;
  box?: BoxRef; class?: number; share?: number };

/** The class and share that a tile shows at a time of a lane. */
export function tileAt(tiles: readonly Tile[], lane: number, t: number): { class: number; share: number }
  | undefined {
  for (let i = tiles.length - 1; i >= 0; i--) {
    const tile = tiles[i];
    const [from, to] = timesOf(tile.key);
    const row = lane - tile.key.block * 64;
    if (t < from || t >= to || row < 0 || row >= tile.lanes) continue;
    const at = row * tile.width + Math.min(Math.floor(((t - from) / (to - from)) * tile.width),
      tile.width - 1);
    return { class: tile.classes[at], share: tile.shares[at] / 255 };
  }
  return undefined;
}

/** The letter of the factor of a class, or "". */
export const factorLetter = (c: number) => (c >= FACTOR ? (letters[c - FACTOR] ?? "") : "");
