// The data of a plot, and the plot as SVG and CSV.

import { tickTimes } from "./axis";
import { csv } from "./save";
import { Svg } from "./svg";
import type { Unit } from "./units";

export interface PlotSeries {
  name: string; // stable: identifies the series when it is switched on or off
  label: string;
  color: string;
  values: readonly (number | null)[];
  min?: readonly (number | null)[];
  max?: readonly (number | null)[];
  unit?: Unit;
  show?: boolean;
}

/** The sum of each series and all series before it. Hidden series add nothing. */
export function stack(series: readonly PlotSeries[], shown: (s: PlotSeries) => boolean): (number | null)[][] {
  const length = Math.max(0, ...series.map((s) => s.values.length));
  const sum = new Array<number>(length).fill(0);
  return series.map((s) => {
    if (shown(s)) for (let i = 0; i < length; i++) sum[i] += s.values[i] ?? 0;
    return sum.slice();
  });
}

/** The greatest value among the visible series. */
export function greatest(series: readonly (readonly (number | null)[])[]): number {
  let most = 0;
  for (const values of series) for (const v of values) if (v !== null && v > most) most = v;
  return most;
}

/** The index of the window that contains t, or -1. x are the starts of the windows. */
export function windowAt(x: readonly number[], t: number): number {
  let a = 0;
  let b = x.length;
  while (a < b) {
    const m = (a + b) >> 1;
    if (x[m] <= t) a = m + 1;
    else b = m;
  }
  return a - 1;
}

/** The starts of the windows of an answer. */
export function windowTimes(from: number, window: number, n: number): number[] {
  return Array.from({ length: n }, (_, i) => from + i * window);
}

export function plotCSV(x: readonly number[], series: readonly PlotSeries[]): string {
  const heads = series.flatMap((s) => [s.label, ...(s.min ? [`${s.label} min`] : []),
    ...(s.max ? [`${s.label} max`] : [])]);
  return csv([
    ["t_ns", ...heads],
    ...x.map((t, i) => [t, ...series.flatMap((s) => [s.values[i] ?? null, ...(s.min ? [s.min[i] ?? null]
      : []), ...(s.max ? [s.max[i] ?? null] : [])])]),
  ]);
}

export interface PlotFrame {
  title: string;
  from: number;
  to: number;
  most: number; // of the y axis
  stacked: boolean;
  stepped: boolean;
  time: (t: number) => string;
  value: (v: number) => string;
  colors: { back: string; text: string; faint: string; rule: string };
}

/** The plot as a file. */
export function plotSVG(x: readonly number[], series: readonly PlotSeries[], f: PlotFrame): string {
  const [width, height, left, top, right, bottom] = [1000, 320, 80, 56, 20, 28];
  const g = new Svg(width, height, f.title);
  const [w, h] = [width - left - right, height - top - bottom];
  const px = (t: number) => left + ((t - f.from) / (f.to - f.from)) * w;
  const py = (v: number) => top + h - (v / (f.most || 1)) * h;
  g.fillStyle = f.colors.back;
  g.fillRect(0, 0, width, height);
  g.fillStyle = f.colors.text;
  g.font = "600 14px sans-serif";
  g.fillText(f.title, left, 18);
  g.font = "12px sans-serif";
  let at = left;
  for (const s of series) {
    g.fillStyle = s.color;
    g.fillRect(at, 30, 10, 10);
    g.fillStyle = f.colors.text;
    g.fillText(s.label, at + 14, 39);
    at += 30 + g.measureText(s.label).width;
  }
  g.strokeStyle = f.colors.rule;
  g.fillStyle = f.colors.faint;
  for (let i = 0; i <= 4; i++) {
    const v = (f.most * i) / 4;
    line(g, left, py(v), left + w, py(v));
    g.textAlign = "right";
    g.fillText(f.value(v), left - 8, py(v) + 4);
  }
  g.textAlign = "center";
  for (const t of tickTimes(f.from, f.to, w)) {
    line(g, px(t), top + h, px(t), top + h + 4);
    g.fillText(f.time(t), px(t), height - 8);
  }
  g.textAlign = "left";
  g.save();
  g.beginPath();
  g.rect(left, top, w, h);
  g.clip();
  const step = x.length > 1 ? x[1] - x[0] : f.to - f.from;
  const sums = f.stacked ? stack(series, () => true) : series.map((s) => s.values);
  for (let k = series.length - 1; k >= 0; k--) {
    g.beginPath();
    let open = false;
    sums[k].forEach((v, i) => {
      if (v === null || v === undefined) {
        open = false;
        return;
      }
      if (open) g.lineTo(px(x[i]), py(v));
      else g.moveTo(px(x[i]), py(v));
      open = true;
      if (f.stepped || f.stacked) g.lineTo(px(x[i] + step), py(v));
    });
    if (f.stacked) {
      g.lineTo(px((x[x.length - 1] ?? f.from) + step), py(0));
      g.lineTo(px(x[0] ?? f.from), py(0));
      g.closePath();
      g.fillStyle = series[k].color;
      g.fill();
    } else {
      g.strokeStyle = series[k].color;
      g.lineWidth = 1.6;
      g.stroke();
    }
  }
  g.restore();
  return g.toString();
}

function line(g: Svg, x0: number, y0: number, x1: number, y1: number): void {
  g.beginPath();
  g.moveTo(x0, y0);
  g.lineTo(x1, y1);
  g.stroke();
}
