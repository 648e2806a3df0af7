// Two sliders for a part of a run: its start and its length. The scale of the length is logarithmic, because
// the interesting part may last a millionth of the run.

import type { Interval } from "../lib/url";
import { shortest } from "../lib/axis";

/** Steps of a slider. */
export const steps = 1000;

/** The positions of the two sliders, 0 to `steps`, for an interval of a run that lasts `end`. */
export function places([from, to]: Interval, end: number): { start: number; length: number } {
  const room = end - (to - from);
  const least = Math.min(shortest, end);
  const span = Math.log(end / least);
  const share = span > 0 ? Math.log(Math.min(Math.max(to - from, least), end) / least) / span : 1;
  return { start: room > 0 ? Math.round((from / room) * steps) : 0, length: Math.round(share * steps) };
}

/** The interval after the start slider was moved: the length stays. */
export function moved([from, to]: Interval, start: number, end: number): Interval {
  const length = to - from;
  const a = Math.round(((end - length) * start) / steps);
  return [Math.max(0, a), Math.max(0, a) + length];
}

/** The interval after the length slider was moved: the start stays if possible. */
export function stretched([from]: Interval, length: number, end: number): Interval {
  const least = Math.min(shortest, end);
  const width = Math.round(least * (end / least) ** (length / steps));
  const a = Math.max(0, Math.min(from, end - width));
  return [a, a + width];
}
