// Geometry and drawing of the communication matrix: rows send, columns receive. One function draws it on a
// canvas and into an SVG.

import type { Matrix } from "../api";
import type { Draw } from "../lib/svg";

/** The place of the matrix on its canvas, in CSS pixels. */
export interface Layout {
  nodes: number;
  cell: number; // side of a cell, may be a fraction
  left: number; // room for the numbers of rows
  top: number; // room for the numbers of columns
  size: number; // of the square of all cells
  every: number; // one in so many nodes gets its number
  gap: number; // between cells
}

/** The layout of so many nodes within so many pixels. */
export function layout(nodes: number, room: number): Layout {
  const left = 12 + 7 * String(Math.max(nodes - 1, 0)).length;
  const top = 18;
  const space = Math.max(room - left, 40);
  const cell = Math.min(space / Math.max(nodes, 1), 96);
  const whole = cell >= 4 ? Math.floor(cell) : cell;
  let every = 1;
  for (const n of [1, 2, 4, 8, 16, 32, 64, 128]) {
    every = n;
    if (n * whole >= left + 2) break;
  }
  return { nodes, cell: whole, left, top, size: whole * nodes, every, gap: whole >= 6 ? 1 : 0 };
}

/** The cell at a place of the canvas, or null outside the cells. */
export function cellAt(l: Layout, x: number, y: number): { from: number; to: number } | null {
  const to = Math.floor((x - l.left) / l.cell);
  const from = Math.floor((y - l.top) / l.cell);
  return from >= 0 && to >= 0 && from < l.nodes && to < l.nodes ? { from, to } : null;
}

/** The key of a link, as in the trace. */
export const linkKey = (from: number, to: number) => `${from}->${to}`;

/** The nodes of a link, or null if it is not a link. */
export function linkEnds(key: string | undefined): { from: number; to: number } | null {
  const m = /^(\d{1,6})->(\d{1,6})$/.exec(key ?? "");
  return m ? { from: Number(m[1]), to: Number(m[2]) } : null;
}

/** The strength of a cell's colour, 0 to 1; null if there is nothing. With `log`, small values are
 * distinguishable, too. */
export function strength(value: number | null, max: number, log: boolean): number | null {
  if (value === null || !(value > 0) || !(max > 0)) return null;
  return log ? Math.log1p(value) / Math.log1p(max) : value / max;
}

/** One row of the table of cells. */
export interface Cell {
  key: string;
  from: number;
  to: number;
  value: number;
}

/** All cells that hold something, greatest first. */
export function cells(m: Matrix): Cell[] {
  const out: Cell[] = [];
  m.cells.forEach((row, from) => row.forEach((value, to) => {
    if (value !== null && value > 0) out.push({ key: linkKey(from, to), from, to, value });
  }));
  return out.sort((a, b) => b.value - a.value || a.from - b.from || a.to - b.to);
}

/** Sums of rows (sent) and columns (received). */
export function sums(m: Matrix): { sent: number[]; received: number[] } {
  const sent = m.cells.map((row) => row.reduce<number>((a, v) => a + (v ?? 0), 0));
  const received = m.cells.map((_, to) => m.cells.reduce<number>((a, row) => a + (row[to] ?? 0), 0));
  return { sent, received };
}

export interface Look {
  back: string;
  empty: string;
  text: string;
  faint: string;
  mark: string;
  heat: (share: number) => string;
  on: (color: string) => string; // colour of text on that colour
  short: (value: number) => string; // a value in few letters
  log: boolean;
  chosen: { from: number; to: number } | null;
  hover: { from: number; to: number } | null;
}

/** Draws the whole matrix. */
export function draw(pen: Draw, m: Matrix, l: Layout, look: Look): void {
  pen.fillStyle = look.back;
  pen.fillRect(0, 0, l.left + l.size + 2, l.top + l.size + 2);
  pen.fillStyle = look.empty;
  pen.fillRect(l.left, l.top, l.size - l.gap, l.size - l.gap);
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  const side = l.cell - l.gap;
  m.cells.forEach((row, from) => row.forEach((value, to) => {
    const share = strength(value, m.max, look.log);
    if (share === null || value === null) return;
    const color = look.heat(share);
    const x = l.left + to * l.cell;
    const y = l.top + from * l.cell;
    pen.fillStyle = color;
    pen.fillRect(x, y, side, side);
    if (l.cell >= 44) {
      pen.fillStyle = look.on(color);
      pen.fillText(look.short(value), x + side / 2, y + side / 2);
    }
  }));
  for (let n = 0; n < l.nodes; n += l.every) {
    const at = n * l.cell + l.cell / 2;
    pen.fillStyle = look.hover && (look.hover.to === n) ? look.text : look.faint;
    pen.textAlign = "center";
    pen.fillText(String(n), l.left + at, l.top / 2);
    pen.fillStyle = look.hover && (look.hover.from === n) ? look.text : look.faint;
    pen.textAlign = "right";
    pen.fillText(String(n), l.left - 5, l.top + at);
  }
  for (const [mark, width] of [[look.hover, 1], [look.chosen, 2]] as const) {
    if (!mark || mark.from >= l.nodes || mark.to >= l.nodes) continue;
    pen.strokeStyle = look.mark;
    pen.lineWidth = width;
    pen.strokeRect(l.left + mark.to * l.cell - width / 2, l.top + mark.from * l.cell - width / 2,
      side + width, side + width);
  }
}
