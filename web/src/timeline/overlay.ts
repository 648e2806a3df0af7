// Draws what lies over the lanes and follows the mouse, the cursor and the reader's marks. It has a canvas of
// its own, so that moving the mouse does not draw the lanes again.

import type { Mark, Wait } from "../api";
import { palette } from "../lib/colors";
import { duration } from "../lib/i18n";
import type { Interval } from "../lib/url";
import { axisHeight, inner, inView, labelWidth, xOf, yOf, type Scene } from "./draw";
import type { Row } from "./layout";

/** What is drawn over the lanes. Times are nanoseconds since the start of the run. */
export interface Overlay {
  now: number | null; // the cursor
  sel: Interval | null;
  hover: { row: Row; from: number; to: number } | null;
  picked: { lane: number; t: number }[]; // where the picked CF started
  stop: { lane: number; start: number; end: number } | null; // the stop that the keyboard has reached
  waits: readonly Wait[]; // of the chosen reason
  wait: Wait | null; // the one that was stepped to
  marks: readonly Mark[];
  measured: Interval | null; // between two marks
  known: number | null; // for a live run: up to here single CFs are known
}

// A frame around a wait, light and dark, so that it shows on every colour.
function drawWait(g: CanvasRenderingContext2D, s: Scene, w: Wait, line: number): void {
  const row = s.layout.place.get(w.lane);
  if (!row || !inView(s, row) || w.to < s.visible[0] || w.from > s.visible[1]) return;
  const [a, b] = [Math.max(xOf(s, w.from), labelWidth - 4), Math.min(xOf(s, w.to), s.width + 4)];
  const p = palette();
  for (const [style, width] of [[p.back, line + 1.5], [p.alarm, line]] as const) {
    g.strokeStyle = style;
    g.lineWidth = width;
    g.strokeRect(a, yOf(s, row) + 1, Math.max(b - a, 2), inner(s.layout) - 2);
  }
}

/** Marks as flags on the axis with their notes, and a dimension line between two of them. */
function drawNotes(g: CanvasRenderingContext2D, s: Scene, m: Overlay): void {
  const p = palette();
  const color = p.alarm;
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  g.textAlign = "left";
  let free = 0;
  for (const mark of m.marks) {
    const [a, b] = [xOf(s, mark.from), xOf(s, mark.to)];
    if (b < labelWidth || a > s.width) continue;
    g.fillStyle = color;
    g.globalAlpha = 0.7;
    g.fillRect(a - 0.5, 0, 1, s.height);
    if (b > a + 1) g.fillRect(b - 0.5, 0, 1, s.height);
    g.globalAlpha = 1;
    g.fillRect(a, 0, Math.max(b - a, 7), 4);
    if (!mark.text || a < free) continue;
    const label = mark.text.length > 24 ? mark.text.slice(0, 23) + "…" : mark.text;
    const w = g.measureText(label).width + 6;
    free = a + w;
    g.fillStyle = p.back;
    g.fillRect(a + 1, 4, w, 14);
    g.fillStyle = p.text;
    g.fillText(label, a + 4, 11);
  }
  if (!m.measured || m.measured[0] >= m.measured[1]) return;
  const [a, b] = [xOf(s, m.measured[0]), xOf(s, m.measured[1])];
  const y = axisHeight + 7;
  g.fillStyle = color;
  g.fillRect(a, y, b - a, 1.5);
  for (const [x, way] of [[a, 5], [b, -5]] as const) {
    g.beginPath();
    g.moveTo(x, y + 0.75);
    g.lineTo(x + way, y - 3);
    g.lineTo(x + way, y + 4.5);
    g.closePath();
    g.fill();
  }
  const label = duration(m.measured[1] - m.measured[0]);
  const w = g.measureText(label).width + 8;
  const at = (Math.max(a, labelWidth) + Math.min(b, s.width)) / 2;
  g.fillStyle = p.back;
  g.fillRect(at - w / 2, y - 7, w, 15);
  g.fillStyle = p.text;
  g.fillText(label, at - w / 2 + 4, y + 0.5);
}

/** Draws what follows the mouse and the cursor. */
export function drawOverlay(g: CanvasRenderingContext2D, s: Scene, m: Overlay): void {
  const p = palette();
  g.clearRect(0, 0, s.width, s.height);
  g.save();
  g.beginPath();
  g.rect(labelWidth, 0, s.width - labelWidth, s.height);
  g.clip();
  if (m.known !== null && xOf(s, m.known) < s.width) {
    const x = Math.max(xOf(s, m.known), labelWidth);
    g.globalAlpha = 0.25;
    g.fillStyle = p.x;
    for (let at = x; at < s.width; at += 6) g.fillRect(at, axisHeight, 1, s.height);
    g.globalAlpha = 1;
  }
  if (m.sel) {
    const [a, b] = [xOf(s, m.sel[0]), xOf(s, m.sel[1])];
    g.globalAlpha = 0.14;
    g.fillStyle = p.link;
    g.fillRect(a, 0, b - a, s.height);
    g.globalAlpha = 0.8;
    g.fillRect(a, 0, 1, s.height);
    g.fillRect(b - 1, 0, 1, s.height);
    g.globalAlpha = 1;
  }
  drawNotes(g, s, m);
  for (const w of m.waits) if (w !== m.wait) drawWait(g, s, w, 1.5);
  if (m.wait) drawWait(g, s, m.wait, 4);
  if (m.hover) {
    g.strokeStyle = p.text;
    g.lineWidth = 1;
    const [a, b] = [Math.max(xOf(s, m.hover.from), labelWidth - 2), Math.min(xOf(s, m.hover.to),
      s.width + 2)];
    g.strokeRect(a, yOf(s, m.hover.row) + 0.5, Math.max(b - a, 1), inner(s.layout) - 1);
  }
  const stop = m.stop && s.layout.place.get(m.stop.lane);
  if (m.stop && stop) {
    const [a, b] = [Math.max(xOf(s, m.stop.start), labelWidth - 4) - 2, Math.min(xOf(s, m.stop.end),
      s.width + 4) + 2];
    for (const [style, width] of [[p.back, 5], [p.link, 2.5]] as const) {
      g.strokeStyle = style;
      g.lineWidth = width;
      g.strokeRect(a, yOf(s, stop), Math.max(b - a, 6), inner(s.layout));
    }
  }
  for (const at of m.picked) {
    const row = s.layout.place.get(at.lane);
    if (!row) continue;
    const [px, py] = [xOf(s, at.t), yOf(s, row) + inner(s.layout)];
    g.beginPath();
    g.moveTo(px, py - 5);
    g.lineTo(px - 6, py + 5);
    g.lineTo(px + 6, py + 5);
    g.closePath();
    g.fillStyle = p.text;
    g.strokeStyle = p.back;
    g.lineWidth = 1.5;
    g.fill();
    g.stroke();
  }
  if (m.now === null) return g.restore();
  const x = xOf(s, m.now);
  g.fillStyle = p.link;
  g.fillRect(x - 0.75, 0, 1.5, s.height);
  g.beginPath();
  g.moveTo(x - 5, 0);
  g.lineTo(x + 5, 0);
  g.lineTo(x, 7);
  g.closePath();
  g.fill();
  g.restore();
}
