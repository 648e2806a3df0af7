// The curve of a program on more and more nodes, between the bounds that its work and its longest chain set.
// Both scales double with every step.

import type { Prediction } from "../api";
import type { Palette } from "../lib/colors";
import type { Draw } from "../lib/svg";

export interface Curve {
  width: number;
  height: number;
  machines: readonly Prediction[];
  recorded: number; // wall time, ns
  pays: number; // nodes, 0: none
  nodes: number; // those asked for, marked
  colors: Palette;
}

export const left = 46;
const [right, top, bottom] = [14, 10, 26];

/** Where the curve is: a place for a number of nodes and a time, and the marks of both axes. */
export function scales(c: Curve) {
  const faster = (ns: number) => Math.log2(c.recorded / Math.max(ns, 1));
  const nodes = c.machines.map((m) => Math.log2(m.nodes));
  const walls = c.machines.map((m) => faster(m.wall_ns));
  const from = Math.floor(Math.min(0, ...walls));
  const to = Math.ceil(Math.max(0, ...walls, ...c.machines.map((m) => faster(m.least_ns))) + 0.05);
  const last = Math.max(nodes[nodes.length - 1], 1);
  const x = (n: number) => left + (Math.log2(n) / last) * (c.width - left - right);
  const at = (log: number) => top + ((to - log) / (to - from)) * (c.height - top - bottom);
  const step = Math.max(1, Math.ceil((to - from) / 6));
  const ticks: number[] = [];
  for (let v = from; v <= to; v += step) ticks.push(v);
  return { x, y: (ns: number) => at(faster(ns)), at, ticks, to };
}

export function drawCurve(g: Draw, c: Curve): void {
  const { x, y, at, ticks } = scales(c);
  const p = c.colors;
  const line = (color: string, width: number, dash: number[], points: [number, number][]) => {
    g.strokeStyle = color;
    g.lineWidth = width;
    g.setLineDash(dash);
    g.beginPath();
    points.forEach(([a, b], i) => (i ? g.lineTo(a, b) : g.moveTo(a, b)));
    g.stroke();
    g.setLineDash([]);
  };
  const end = c.width - right;
  g.fillStyle = p.back;
  g.fillRect(0, 0, c.width, c.height);
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  g.textAlign = "right";
  for (const v of ticks) {
    line(p.rule, 1, [], [[left, at(v)], [end, at(v)]]);
    g.fillStyle = p.faint;
    g.fillText(v < 0 ? `×1/${2 ** -v}` : `×${2 ** v}`, left - 6, at(v));
  }
  g.textAlign = "center";
  let free = -Infinity;
  for (const m of c.machines) if (x(m.nodes) - free > 26 || m.nodes === c.nodes) {
    g.fillStyle = m.nodes === c.nodes ? p.text : p.faint;
    g.fillText(String(m.nodes), x(m.nodes), c.height - bottom / 2);
    free = x(m.nodes);
  }
  if (c.pays) line(p.faint, 1, [], [[x(c.pays), top], [x(c.pays), c.height - bottom]]);
  g.save();
  g.beginPath();
  g.rect(left, top, end - left + 6, c.height - top - bottom);
  g.clip();
  line(p.faint, 2, [6, 4], c.machines.map((m) => [x(m.nodes), y(m.useful_ns / (m.nodes * m.workers))]));
  const chain = y(Math.max(...c.machines.map((m) => m.chain_ns)));
  line(p.alarm, 2, [2, 3], [[left, chain], [end, chain]]);
  line(p.a, 2, [], c.machines.map((m) => [x(m.nodes), y(m.wall_ns)]));
  g.restore();
  for (const m of c.machines) {
    g.beginPath();
    g.arc(x(m.nodes), y(m.wall_ns), m.nodes === c.nodes ? 5 : 3.5, 0, 2 * Math.PI);
    g.fillStyle = m.nodes === c.nodes ? p.a : p.back;
    g.fill();
    g.strokeStyle = p.a;
    g.lineWidth = 2;
    g.stroke();
  }
}
