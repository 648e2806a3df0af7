// Arithmetic of a time axis: the places of its ticks, and how an interval moves. Times are nanoseconds since
// the start of the run.

import type { Interval } from "./url";

/** The shortest interval that can be shown, in ns. */
export const shortest = 50;

/** The smallest step of 1, 2 or 5 times a power of ten that is at least `least`. */
export function niceStep(least: number): number {
  if (!(least > 1)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  for (const m of [1, 2, 5, 10]) if (m * power >= least * (1 - 1e-9)) return Math.round(m * power);
  return Math.round(10 * power);
}

/** The places of ticks on an axis of so many pixels, at least gap pixels apart. */
export function tickTimes(from: number, to: number, pixels: number, gap = 90): number[] {
  if (!(to > from) || !(pixels > 0)) return [];
  const step = niceStep(((to - from) * gap) / pixels);
  const out: number[] = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(t);
  return out;
}

/** The unit that suits a time (0 ns, 1 µs, 2 ms, 3 s), and how many digits a step within it needs. */
export function scaleOf(to: number, step: number): { unit: number; digits: number } {
  const unit = to >= 1e9 ? 3 : to >= 1e6 ? 2 : to >= 1e3 ? 1 : 0;
  const ns = 1000 ** unit;
  const digits = step >= ns ? 0 : Math.min(9, Math.ceil(Math.log10(ns / Math.max(step, 1)) - 1e-9));
  return { unit, digits };
}

/** The interval, moved into [0, end] and at least as long as can be shown. */
export function clampInterval([from, to]: Interval, end: number): Interval {
  const width = Math.min(Math.max(to - from, shortest), Math.max(end, shortest));
  const a = Math.min(Math.max(from, 0), Math.max(end, shortest) - width);
  return [Math.round(a), Math.round(a + width)];
}

/** The interval, `factor` times as long, with the time `at` in its place. */
export function zoomAt([from, to]: Interval, at: number, factor: number, end: number): Interval {
  const width = Math.min(Math.max((to - from) * factor, shortest), Math.max(end, shortest));
  const place = (at - from) / (to - from);
  return clampInterval([at - place * width, at + (1 - place) * width], end);
}

/** The interval, moved by so much within [0, end]. */
export function pan([from, to]: Interval, by: number, end: number): Interval {
  return clampInterval([from + by, to + by], end);
}

/** The interval in which two times are at two places of an axis, 0 to 1: those of two fingers. */
export function pinch(a: { t: number; at: number }, b: { t: number; at: number }, end: number): Interval {
  const between = Math.max(b.at - a.at, 0.01); // fingers may touch each other, or pass each other
  const width = Math.min(Math.max((b.t - a.t) / between, shortest), Math.max(end, shortest));
  const from = (a.t + b.t) / 2 - ((a.at + b.at) / 2) * width;
  return clampInterval([from, from + width], end);
}

/** The interval, moved without zooming as little as needed to have t in its middle four fifths; the same
 * interval if t is there already. */
export function reveal([from, to]: Interval, t: number, end: number): Interval {
  const margin = (to - from) / 10;
  if (t < from + margin) return t < from || from > 0 ? clampInterval([t - margin, t - margin + (to - from)],
    end) : [from, to];
  if (t > to - margin) return t > to || to < end ? clampInterval([t + margin - (to - from), t + margin], end)
    : [from, to];
  return [from, to];
}
