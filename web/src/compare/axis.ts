// The time axis that two runs share. Absolute: both in nanoseconds since their own start. Stretched: each as
// a share of its length.

import type { Interval } from "../lib/url";

export type Mode = "absolute" | "stretched";

/** The visible part of the axis, as a share: 0 to 1. */
export type Part = [from: number, to: number];

/** The smallest part that can be shown. */
const least = 1e-7;

/** The length of the axis of a run, ns: that of the longer run, or its own. */
export function axisLength(mode: Mode, own: number, other: number): number {
  return Math.max(mode === "absolute" ? Math.max(own, other) : own, 1);
}

/** The interval of a run that a part of the axis shows, ns. It may extend beyond the run's end. */
export function window(part: Part, length: number): Interval {
  const from = Math.round(part[0] * length);
  return [from, Math.max(Math.round(part[1] * length), from + 1)];
}

/** The part of a window that the run covers, and the share of the picture's width that it takes; null if it
 * covers nothing. */
export function within(w: Interval, end: number): { from: number; to: number; share: number } | null {
  if (w[0] >= end) return null;
  const to = Math.min(w[1], Math.max(Math.ceil(end), w[0] + 1));
  return { from: w[0], to, share: (to - w[0]) / (w[1] - w[0]) };
}

/** The part after zooming by a factor around a position in the picture (0 to 1). */
export function zoom([from, to]: Part, place: number, factor: number): Part {
  const length = Math.min(Math.max((to - from) * factor, least), 1);
  const at = from + (to - from) * place;
  return shift([at - length * place, at + length * (1 - place)], 0);
}

/** The part, moved by so much within the axis. */
export function shift([from, to]: Part, by: number): Part {
  const length = Math.min(to - from, 1);
  const a = Math.min(Math.max(from + by, 0), 1 - length);
  return [a, a + length];
}

/** Parses the part from a filter's value. Nonsense means the whole axis. */
export function readPart(value: string | undefined): Part {
  const m = /^(\d*\.?\d+(?:e-\d+)?):(\d*\.?\d+(?:e-\d+)?)$/.exec(value ?? "");
  if (!m) return [0, 1];
  const [a, b] = [Number(m[1]), Number(m[2])];
  return b <= 1 && b - a >= least ? [a, b] : [0, 1];
}

/** The part as a filter's value; null for the whole axis. */
export function writePart([a, b]: Part): string | null {
  if (a <= 0 && b >= 1) return null;
  return `${Number(a.toFixed(9))}:${Number(b.toFixed(9))}`;
}
